package instance

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"concordat/cluster"
)

// copyClusterState is CopyState for a site with several machines, in the serving process of one of them.
func (o *Instance) copyClusterState(ctx context.Context, to string) (t Snapshot, err error) {
	t = Snapshot{Site: o.Site.ID(), Scheme: o.Site.Scheme()}
	path := filepath.Join(to, StoreName)
	// Copy the store in parallel with the shards, because a database ends a transaction that is idle for too long.
	var g errgroup.Group
	if err := os.MkdirAll(filepath.Join(to, IndexName), 0o700); err != nil {
		return t, err
	}
	shards, err := o.Member.Node.CopyAll(ctx, filepath.Join(to, IndexName, NodeDirName), func(context.Context) error {
		state, err := o.Store.Snapshot(ctx)
		if err != nil {
			return err
		}
		t.Made = time.Now().UTC()
		g.Go(func() error { return errors.Join(state.CopyTo(ctx, path), state.Close()) })
		return nil
	})
	if err = errors.Join(err, g.Wait()); err != nil {
		return t, err
	}
	for _, s := range shards {
		t.Sentences += s.Sentences
	}
	t.Shards = len(shards)
	return t, t.readCopy(ctx, path)
}

// HoldsShards reports whether the index in dir belongs to a node, either because the machine is one or because it was restored and is
// about to become one.
func HoldsShards(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, IndexName, NodeDirName, string(cluster.ShardName(0))))
	return err == nil
}
