package cluster

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"concordat"
	"concordat/cluster/coord"
)

// A vanished node does not end its connections: packets are lost silently, or a suspended process accepts them and never answers. A
// question that takes twice as long as usual is therefore followed by one that requires no work; if that one is not answered either, the
// first question is abandoned. Other copies are then asked, and the node gets no questions until it answers again.

const (
	callAlive   = "alive"
	leastSilent = 400 * time.Millisecond // minimum delay before the node is doubted
	aliveTime   = 600 * time.Millisecond // how long a live node can take to say that it is alive
	aliveAgain  = time.Second            // interval between probes of a node that is busy or was silent
)

var (
	errSilent = fmt.Errorf("the node is not responding: %w", concordat.ErrUnavailable)
	errGone   = fmt.Errorf("the node is no longer live: %w", concordat.ErrUnavailable)
)

// doubts determines which nodes do not answer.
type doubts struct {
	fan   *fan
	peers *HTTPPeers
	ask   *asking
	log   *slog.Logger
	ctx   context.Context // context of the node
	wg    *sync.WaitGroup
}

func serveAlive(w http.ResponseWriter, _ *http.Request) {
	_ = gob.NewEncoder(w).Encode(true) // a caller that went away misses nothing
}

// alive reports whether the node answers at all.
func (d *doubts) alive(ctx context.Context, to coord.Node) bool {
	ctx, cancel := context.WithTimeout(ctx, aliveTime)
	defer cancel()
	var yes bool
	err := d.peers.exchange(ctx, to, "-", callAlive, true, &yes)
	answer := (*remoteError)(nil) // even an error is an answer, possibly from a program that does not know the call
	return err == nil || errors.As(err, &answer)
}

// guarded returns a context for a message to another node. The context is cancelled, with a cause, when the node leaves the view or falls
// silent. The caller must call done once the answer has arrived.
func (d *doubts) guarded(ctx context.Context, to coord.Node) (_ context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	d.wg.Go(func() { cancel(d.watch(ctx, to)) })
	return ctx, func() { cancel(nil) }
}

// watch returns nil when ctx ends, or an error explaining why a message to the node must be abandoned.
func (d *doubts) watch(ctx context.Context, to coord.Node) error {
	doubt := time.NewTimer(max(leastSilent, 2*d.ask.patience()))
	defer doubt.Stop()
	for {
		v, news := d.fan.now()
		if v.Live[to.ID].Incarnation != to.Incarnation {
			return errGone
		}
		select {
		case <-ctx.Done():
			return nil
		case <-news:
		case <-doubt.C:
			if !d.alive(ctx, to) && ctx.Err() == nil {
				d.silenced(to)
				return errSilent
			}
			doubt.Reset(aliveAgain)
		}
	}
}

// silenced records that the node does not answer, and probes it until it answers or is gone.
func (d *doubts) silenced(to coord.Node) {
	if !d.ask.silence(to.ID, true) {
		return // already being probed
	}
	d.log.Warn("node is not responding", "node", to.ID)
	d.wg.Go(func() {
		defer d.ask.silence(to.ID, false)
		t := time.NewTicker(aliveAgain)
		defer t.Stop()
		for {
			select {
			case <-d.ctx.Done():
				return
			case <-t.C:
			}
			v, _ := d.fan.now()
			if v.Live[to.ID].Incarnation != to.Incarnation || d.alive(d.ctx, to) {
				return
			}
		}
	})
}
