package clustering

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/instance"
)

// To move copies, commands change the wanted nodes in a shard's state, and the shard's master performs the moves. After an interruption,
// the master resumes.

// plan contains the changes that a command makes.
type plan map[concordat.ShardID][]coord.NodeID

func moveFlags(c *cobra.Command, dry, wait *bool) {
	c.Flags().BoolVar(dry, "dry-run", false, "show what would be moved")
	c.Flags().BoolVar(wait, "wait", false, "wait until all copies have been moved, and show progress")
}

// balance returns the balanced placement of copies.
func balance(w *instance.Observer, l *cluster.Layout) plan {
	now := make([][]coord.NodeID, l.Shards)
	for i := range now {
		now[i] = w.Seen.Shards[cluster.ShardName(i)].Replicas
	}
	p := plan{}
	for i, nodes := range cluster.Place(l, now) {
		if len(nodes) > 0 && !slices.Equal(slices.Sorted(slices.Values(nodes)), slices.Sorted(slices.Values(now[i]))) {
			p[cluster.ShardName(i)] = nodes
		}
	}
	return p
}

// carryOut changes the wanted nodes and, if requested, waits until the copies have moved.
func (a *commands) carryOut(ctx context.Context, w *instance.Observer, p plan, dry, wait bool) error {
	if len(p) == 0 {
		a.Say("no copies need to be moved")
		return nil
	}
	for _, id := range slices.Sorted(maps.Keys(p)) {
		old := w.Seen.Shards[id].Replicas
		if a.JSON {
			if err := a.Line(map[string]any{"shard": id, "from": old, "to": p[id], "dry_run": dry}); err != nil {
				return err
			}
		}
		a.Say("shard %s: %s -> %s", id, NodeNames(old), NodeNames(p[id]))
		if dry {
			continue
		}
		err := cluster.SetReplicas(ctx, w, id, p[id])
		for errors.Is(err, coord.ErrStale) { // its master has changed something else
			err = cluster.SetReplicas(ctx, w, id, p[id])
		}
		if err != nil {
			return fmt.Errorf("shard %s: %w", id, err)
		}
	}
	if dry || !wait {
		return nil
	}
	b := a.Progress(int64(len(p)), "moving")
	defer b.Done()
	for {
		done := 0
		for id, want := range p {
			s := w.Seen.Shards[id]
			if slices.Equal(slices.Sorted(slices.Values(s.ISR)), slices.Sorted(slices.Values(want))) && w.Seen.Leads(s.State) {
				done++
			}
		}
		if b.Set(done); done == len(p) {
			a.Say("the copies of %d shards are on their planned nodes", done)
			return nil
		}
		if err := w.Next(ctx); err != nil {
			return err
		}
	}
}
