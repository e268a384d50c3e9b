package cluster

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"concordat"
	"concordat/index"
)

// To change the scheme, every copy is rebuilt in place from the texts in its own index, while no node is running. The log does not
// change; records not yet in the index are profiled again when they are applied.

const (
	reindexSuffix = ".reindex"
	reindexMarker = "complete"
	reindexBatch  = 100 // in documents
)

// Reindexing configures how copies are rebuilt. Scheme, Site and Profile are mandatory.
type Reindexing struct {
	Site   concordat.SiteID
	Scheme concordat.Scheme
	// Profile profiles documents under Scheme, in their order, and can also record the profiles elsewhere.
	Profile       func(context.Context, []*concordat.Document) ([]*concordat.Profile, error)
	StockSegments bool // for the new copies; see index.Options
	// Progress, if not nil, is called with the number of documents completed since the last call.
	Progress func(documents int)
}

// Reindex rebuilds the copy of a shard in dir using r, if its scheme differs, and returns its number of documents. It must not be open
// elsewhere. An interrupted call leaves either the old copy or the new one.
func Reindex(ctx context.Context, dir string, r Reindexing) (n int, err error) {
	if err := errors.Join(finishInstall(dir), finishReindex(dir)); err != nil {
		return 0, err
	}
	from, err := index.Open(dir, index.Options{ReadOnly: true})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	if n = from.Stats().Documents; from.Scheme() == r.Scheme {
		return n, nil
	}
	next := dir + reindexSuffix // finishReindex removed the remains of an earlier call
	to, err := index.Open(next, index.Options{Site: r.Site, Scheme: r.Scheme, Shard: from.ID(), Logged: true, StockSegments: r.StockSegments})
	if err != nil {
		return 0, err
	}
	if err = errors.Join(r.fill(ctx, from, to), to.Close()); err != nil {
		return 0, err
	}
	if err := os.WriteFile(filepath.Join(next, reindexMarker), nil, 0o600); err != nil {
		return 0, err
	}
	if err := syncDir(next); err != nil {
		return 0, err
	}
	return n, finishReindex(dir)
}

func (r *Reindexing) fill(ctx context.Context, from, to *index.Shard) error {
	at := from.Applied()
	for docs, err := range inBatches(from.Documents(ctx)) {
		if err != nil {
			return err
		}
		ps, err := r.Profile(ctx, docs)
		if err != nil {
			return err
		}
		changes := make([]index.Change, len(ps))
		for i, p := range ps {
			changes[i].Put = p
		}
		if err := to.Apply(ctx, changes, at); err != nil {
			return err
		}
		if r.Progress != nil {
			r.Progress(len(docs))
		}
	}
	if err := to.Apply(ctx, nil, at); err != nil { // even a shard without documents has a position in its log
		return err
	}
	return to.Persist(ctx)
}

func inBatches(docs iter.Seq2[*concordat.Document, error]) iter.Seq2[[]*concordat.Document, error] {
	return func(yield func([]*concordat.Document, error) bool) {
		var batch []*concordat.Document
		for d, err := range docs {
			if err != nil {
				yield(nil, err)
				return
			}
			if batch = append(batch, d); len(batch) == reindexBatch {
				if !yield(batch, nil) {
					return
				}
				batch = nil
			}
		}
		if len(batch) > 0 {
			yield(batch, nil)
		}
	}
}

// finishReindex completes an interrupted exchange of the index, or discards an incomplete new one.
func finishReindex(dir string) error {
	next := dir + reindexSuffix
	if _, err := os.Stat(filepath.Join(next, reindexMarker)); errors.Is(err, fs.ErrNotExist) {
		return os.RemoveAll(next)
	} else if err != nil {
		return err
	}
	// A process that died may have left the marker, and the new index's name, only in memory.
	if err := errors.Join(syncDir(next), syncDir(filepath.Dir(next))); err != nil {
		return err
	}
	return moveIndex(next, dir)
}

// moveIndex replaces the index in dir with the one in next, and removes next.
func moveIndex(next, dir string) error {
	for _, name := range []string{"store", "shard.json"} {
		from, to := filepath.Join(next, name), filepath.Join(dir, name)
		if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
			continue // already moved before the crash
		} else if err != nil {
			return err
		}
		if err := os.RemoveAll(to); err != nil {
			return err
		}
		if err := os.Rename(from, to); err != nil {
			return err
		}
	}
	return errors.Join(syncDir(dir), os.RemoveAll(next))
}

// Copies returns the names of the shards with a copy in a node's folder of copies.
func Copies(dir string) []concordat.ShardID {
	var out []concordat.ShardID
	for i := range MaxShards {
		if id := ShardName(i); exists(filepath.Join(dir, string(id), "shard.json")) {
			out = append(out, id)
		}
	}
	return out
}

// ofScheme fails with concordat.ErrScheme if a node's folder of copies has one with a different scheme.
func ofScheme(root string, scheme concordat.Scheme) error {
	for _, id := range Copies(root) {
		dir := copyDir(root, id)
		if err := finishReindex(dir); err != nil {
			return err
		}
		s, err := index.SchemeOf(dir)
		if err == nil && s != scheme {
			return fmt.Errorf("shard %s on this machine uses scheme %s, but this node uses scheme %s: %w", id, s, scheme, concordat.ErrScheme)
		}
	}
	return nil // an unreadable header is a fault of this copy, which others may be able to repair
}
