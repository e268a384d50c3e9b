package instance

import (
	"context"
	"fmt"
	"time"

	"concordat"
	"concordat/cluster/coord"
)

// Observer is a look at the cluster from outside.
type Observer struct {
	coord.Session
	Seen coord.View
}

// Next waits for another view.
func (w *Observer) Next(ctx context.Context) error {
	select {
	case v, ok := <-w.Session.View():
		if !ok {
			return fmt.Errorf("coordinator: %w", concordat.ErrUnavailable)
		}
		w.Seen = v
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// AwaitSelf returns how the others find this node, which lets new ones in.
func (w *Observer) AwaitSelf(ctx context.Context, dir string, own coord.NodeID) (coord.Node, error) {
	ctx, cancel := context.WithTimeout(ctx, selfTime)
	defer cancel()
	for {
		if me, live := w.Seen.Live[own]; live {
			return me, nil
		}
		if _, err := Serving(ctx, dir); err != nil {
			return coord.Node{}, Usagef("start concordat serve here first: it lets the other machine in")
		}
		if err := w.Next(ctx); err != nil {
			return coord.Node{}, fmt.Errorf("this node serves, but the coordinator does not know it yet: %w", err)
		}
	}
}

// selfTime is how long a node that serves may take to become live.
const selfTime = 30 * time.Second
