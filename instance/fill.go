package instance

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/cluster"
	"concordat/index"
	"concordat/site/compare"
	"concordat/store"
)

// OneMachine returns the index folder of a site with one machine.
func OneMachine(dir string) string { return filepath.Join(dir, IndexName, "00") }

// fillBatch is the number of documents moved to the shards at once.
const fillBatch = 100

// fillCluster moves the documents of a one-machine index to the shards, if there is such an index.
func (o *Instance) fillCluster(ctx context.Context, log *slog.Logger) error {
	dir := OneMachine(o.Dir)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	err := cluster.Replay(ctx, dir) // applies the log left by a killed process
	var from *index.Shard
	if err == nil {
		from, err = index.Open(dir, index.Options{ReadOnly: true})
	}
	if err != nil {
		return fmt.Errorf("single-machine index: %w", err)
	}
	all := from.Stats().Documents
	log.Info("moving the single-machine index into the shards", "documents", all)
	n, told := 0, time.Now()
	for docs, err := range Batches(from.Documents(ctx), fillBatch) {
		if err == nil {
			err = Retry(ctx, func() error { return o.fillDocuments(ctx, docs) })
			o.panics.note(err, "documents", len(docs))
		}
		if err != nil {
			return errors.Join(fmt.Errorf("move documents into the shards: stopped after %d of %d: %w", n, all, err), from.Close())
		}
		if n += len(docs); time.Since(told) > 10*time.Second {
			told = time.Now()
			log.Info("moving the single-machine index into the shards", "done", n, "documents", all)
		}
	}
	if err := from.Close(); err != nil {
		return err
	}
	var held int
	err = Retry(ctx, func() (err error) {
		held, err = o.Member.Node.Documents(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if held < n || n != all {
		return fmt.Errorf("move documents into the shards: read %d of %d documents, but the shards contain %d: %w", n, all, held, concordat.ErrCorrupt)
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	log.Info("moved the single-machine index to the shards", "documents", n)
	return nil
}

// fillTime is the maximum time for which a shard may lack a master, for example while the node starts.
const fillTime = 2 * time.Minute

// Retry calls f until it no longer fails with concordat.ErrUnavailable, for at most fillTime.
func Retry(ctx context.Context, f func() error) error {
	for end := time.Now().Add(fillTime); ; {
		err := f()
		if !errors.Is(err, concordat.ErrUnavailable) || time.Now().After(end) {
			return err
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// Profile returns the index's data about a document, according to its library's policy.
func (o *Instance) Profile(ctx context.Context, d concordat.Document) (*concordat.Profile, error) {
	l, err := o.Store.Catalogue.Library(ctx, d.Library)
	if err != nil && !errors.Is(err, concordat.ErrNotFound) {
		return nil, err
	}
	return o.Profiler.ForLibrary(d, l.Policy.Meaning != store.MeaningOff)
}

func (o *Instance) fillDocuments(ctx context.Context, docs []*concordat.Document) error {
	profiles := make([]*concordat.Profile, len(docs))
	g, gctx := errgroup.WithContext(ctx)
	for i, d := range docs {
		compare.Go(g, func() error {
			there, err := o.Member.Node.Document(gctx, concordat.Ref{Site: o.Config.Site.ID, Library: d.Library, Document: d.ID})
			if err == nil && there.Text == d.Text && there.Title == d.Title {
				return nil // an interrupted start has removed it
			}
			if err != nil && !errors.Is(err, concordat.ErrNotFound) {
				return err
			}
			profiles[i], err = o.Profile(gctx, *d)
			return err
		})
	}
	if err := g.Wait(); err != nil {
		return err
	}
	var put []*concordat.Profile
	for _, p := range profiles {
		if p != nil {
			put = append(put, p)
		}
	}
	if len(put) == 0 {
		return nil
	}
	return o.Member.Node.Put(ctx, put...)
}

// Batches groups a sequence into slices of n; an error follows the values before it.
func Batches[T any](seq iter.Seq2[T, error], n int) iter.Seq2[[]T, error] {
	return func(yield func([]T, error) bool) {
		var batch []T
		for v, err := range seq {
			if err != nil {
				if len(batch) == 0 || yield(batch, nil) {
					yield(nil, err)
				}
				return
			}
			if batch = append(batch, v); len(batch) == n {
				if !yield(slices.Clip(batch), nil) {
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
