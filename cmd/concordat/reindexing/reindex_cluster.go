package reindexing

import (
	"concordat/cmd/concordat/clustering"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/cluster/zk"
	"concordat/index"
	"concordat/instance"
)

// reindexNode recomputes the copies on this machine. While no node runs, the first machine also changes the cluster's scheme; the other
// machines follow before they restart.
func (a *commands) reindexNode(ctx context.Context, o *instance.Instance, dry bool) error {
	return a.WithCluster(ctx, func(_ *instance.Instance, w *instance.Observer, l *cluster.Layout) error {
		next := o.Site.Scheme()
		if live := slices.Sorted(maps.Keys(w.Seen.Live)); l.Scheme != next && len(live) > 0 {
			return fmt.Errorf("nodes %s are running: stop concordat serve on every machine, because nodes with different schemes cannot work together: %w",
				clustering.NodeNames(live), concordat.ErrLocked)
		}
		dir := filepath.Join(o.Dir, instance.IndexName, instance.NodeDirName)
		var old []string
		for _, id := range cluster.Copies(dir) {
			s, err := index.SchemeOf(filepath.Join(dir, string(id)))
			if err != nil {
				return fmt.Errorf("shard %s: %w", id, err)
			}
			if s != next {
				old = append(old, string(id))
			}
		}
		if dry {
			a.Say("would recompute the copies of shards %s with scheme %s; the cluster uses scheme %s", strings.Join(old, ", "), next, l.Scheme)
			return a.TellJSON(map[string]any{"shards": old, "from": l.Scheme, "to": next, "dry_run": true})
		}
		documents, err := a.reindexCopies(ctx, o, dir)
		if err != nil {
			return err
		}
		if err := changeScheme(ctx, w, next); err != nil {
			return err
		}
		if err := o.Store.SetSetting(ctx, "scheme", string(next)); err != nil {
			return err
		}
		a.Say("%d documents in %d copies on this machine are indexed with scheme %s", documents, len(cluster.Copies(dir)), next)
		a.Say("before you start the other machines, set the same scheme in their configuration and run concordat reindex on each of them")
		a.Say("meaning cells can be updated only while a node runs on this machine: start concordat serve, then repeat the command")
		return a.TellJSON(map[string]any{"documents": documents, "shards": old, "scheme": next})
	})
}

func (a *commands) reindexCopies(ctx context.Context, o *instance.Instance, dir string) (documents int, err error) {
	b := a.Progress(-1, "reindexing")
	defer b.Done()
	for _, id := range cluster.Copies(dir) {
		n, err := cluster.Reindex(ctx, filepath.Join(dir, string(id)),
			cluster.Reindexing{Site: o.Site.ID(), Scheme: o.Site.Scheme(), StockSegments: o.Config.Index.StockSegments, Progress: b.Add,
				Profile: func(ctx context.Context, docs []*concordat.Document) ([]*concordat.Profile, error) {
					profiles, err := profileAnew(ctx, o, docs)
					if err == nil {
						err = instance.NoteProfiles(ctx, o.Store, profiles)
					}
					return profiles, err
				}})
		if err != nil {
			return documents, fmt.Errorf("shard %s: %w", id, err)
		}
		documents += n
	}
	return documents, nil
}

// changeScheme changes the cluster's scheme to next.
func changeScheme(ctx context.Context, w *instance.Observer, next concordat.Scheme) error {
	for {
		l, err := cluster.ParseLayout(w.Seen.Config)
		if err != nil {
			return err
		}
		if z, ok := w.Session.(*zk.Session); ok {
			if err := z.SetScheme(ctx, string(l.Scheme), string(next)); err != nil {
				return err
			}
		}
		if l.Scheme == next {
			return nil
		}
		if live := slices.Sorted(maps.Keys(w.Seen.Live)); len(live) > 0 {
			return fmt.Errorf("nodes %s have been started: stop these nodes and repeat the command: %w", clustering.NodeNames(live),
				concordat.ErrLocked)
		}
		l.Scheme = next
		data, err := json.Marshal(l)
		if err != nil {
			return err
		}
		if _, err = w.Configure(ctx, w.Seen.Config.Version, data); !errors.Is(err, coord.ErrStale) {
			return err
		}
		if err := w.Next(ctx); err != nil {
			return err
		}
	}
}
