package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/cluster"
	"concordat/cmd/internal/cli"
	"concordat/index"
	"concordat/site"
	"concordat/store"
)

// A reindex builds the new index beside the old one, marks it complete, and exchanges the two by
// renaming. Whatever moment it is cut short at, the old index or the complete new one is there:
// finishReindex ends an exchange that was begun, and everything before the mark starts anew.
const (
	newIndexName = "index.new"
	oldIndexName = "index.old"
	completeName = "complete"
)

func (a *app) reindexCommand() *cobra.Command {
	var dryRun bool
	c := &cobra.Command{
		Use: "reindex", Short: "Make all fingerprints anew from the stored texts", Args: cobra.NoArgs,
		Long: `Reindex makes the fingerprints of every document anew, by the scheme of the configuration: after the
scheme was changed there, or after an upgrade that changed it. The old index serves until the new one is complete; there must be room on the disk
for both. An interrupted reindex leaves the old index as it was.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), locked, func(o *opened) error { return a.reindex(cmd.Context(), o, dryRun) })
		},
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "say what would be done")
	return c
}

// finishReindex completes the exchange of an index whose successor is complete, and removes what else a reindex that was
// cut short left: both hold the texts of all documents. The caller has the lock of the site.
func finishReindex(dir string) error {
	next, now, old := filepath.Join(dir, newIndexName), filepath.Join(dir, indexName), filepath.Join(dir, oldIndexName)
	if _, err := os.Stat(filepath.Join(next, completeName)); errors.Is(err, fs.ErrNotExist) {
		if err := os.RemoveAll(next); err != nil {
			return err
		}
		if _, err := os.Stat(now); err != nil {
			return nil // there never was an index, or nobody can tell
		}
		return os.RemoveAll(old)
	} else if err != nil {
		return err
	}
	if err := os.RemoveAll(old); err != nil {
		return err
	}
	if err := os.Rename(now, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(next, now); err != nil {
		return err
	}
	return errors.Join(os.Remove(filepath.Join(now, completeName)), os.RemoveAll(old))
}

func (a *app) reindex(ctx context.Context, o *opened, dryRun bool) error {
	if o.clustered() {
		return a.reindexNode(ctx, o, dryRun)
	}
	if holdsShards(o.dir) {
		return cli.Usagef("the index came from a backup of a site of several machines: found the cluster anew with concordat cluster init")
	}
	if err := finishReindex(o.dir); err != nil {
		return err
	}
	// What a killed process left in the log only has to come into the index first.
	err := cluster.Replay(ctx, filepath.Join(o.dir, indexName, "00"))
	var from *index.Shard
	if err == nil {
		from, err = index.Open(filepath.Join(o.dir, indexName, "00"), index.Options{ReadOnly: true})
	}
	if errors.Is(err, concordat.ErrNotFound) {
		return o.store.SetSetting(ctx, "scheme", string(o.Scheme())) // nothing was ever added
	}
	if err != nil {
		return err
	}
	stats := from.Stats()
	if dryRun {
		a.Say("would make %d documents of scheme %s anew in scheme %s", stats.Documents, from.Scheme(), o.Scheme())
		if a.JSON {
			err = a.Line(map[string]any{"documents": stats.Documents, "from": from.Scheme(), "to": o.Scheme(), "dry_run": true})
		}
		return errors.Join(err, from.Close())
	}
	n, err := a.rebuild(ctx, o, from)
	if err = errors.Join(err, from.Close()); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(o.dir, newIndexName, completeName), nil, 0o600); err != nil {
		return err
	}
	if err := errors.Join(finishReindex(o.dir), o.store.SetSetting(ctx, "scheme", string(o.Scheme()))); err != nil {
		return err
	}
	if a.JSON {
		return a.Line(map[string]any{"documents": n, "scheme": o.Scheme()})
	}
	a.Say("%d documents are indexed by scheme %s", n, o.Scheme())
	return nil
}

// How many documents, and bytes of their texts, from which on no more, are fingerprinted at a time and noted in the
// catalogue together. Some are on their way on each core.
const (
	anewDocuments = 200
	anewBytes     = 4 << 20
)

// rebuild writes the successor of an index and returns its number of documents. Documents are read and fingerprinted
// ahead, on all cores, while the index is built. The catalogue is brought up to date with it, after each batch: rows of
// an unfinished reindex carry the new scheme too early, which only means that adding those documents again reads them
// again.
func (a *app) rebuild(ctx context.Context, o *opened, from *index.Shard) (n int, err error) {
	next := filepath.Join(o.dir, newIndexName)
	if err := os.RemoveAll(next); err != nil {
		return 0, err
	}
	if err := os.Mkdir(next, 0o700); err != nil {
		return 0, err
	}
	b := a.Progress(int64(from.Stats().Documents), "reindexing")
	defer b.Done()
	profiles := func(yield func([]*concordat.Profile, error) bool) {
		for batch := range ahead(ctx, anew(ctx, from), o.profileBatch) {
			if batch.err == nil {
				batch.err = o.noteAnew(ctx, batch.profiles)
			}
			if !yield(batch.profiles, batch.err) || batch.err != nil {
				return
			}
			n += len(batch.profiles)
			b.Add(len(batch.profiles))
		}
		if err := context.Cause(ctx); err != nil {
			yield(nil, err)
		}
	}
	err = build(filepath.Join(next, "00"), o.shardOptions(), profiles)
	return n, err
}

// build makes a new shard in dir of batches of profiles.
func build(dir string, options index.Options, batches iter.Seq2[[]*concordat.Profile, error]) error {
	if !options.StockSegments {
		return index.Build(dir, options, func(yield func(*concordat.Profile, error) bool) {
			for batch, err := range batches {
				if err != nil {
					yield(nil, err)
					return
				}
				for _, p := range batch {
					if !yield(p, nil) {
						return
					}
				}
			}
		})
	}
	// Bleve's own writer of segments, which the builder does not have.
	to, err := index.Open(dir, options)
	if err != nil {
		return err
	}
	for batch, err := range batches {
		if err == nil {
			err = to.Put(context.Background(), batch...)
		}
		if err != nil {
			return errors.Join(err, to.Close())
		}
	}
	return errors.Join(to.Merge(context.Background()), to.Close())
}

// anewBatch is some documents of the index, on their way to profiles.
type anewBatch struct {
	docs     []*concordat.Document
	profiles []*concordat.Profile
	err      error
}

// anew yields the documents of an index in batches.
func anew(ctx context.Context, from *index.Shard) iter.Seq[anewBatch] {
	return func(yield func(anewBatch) bool) {
		var b anewBatch
		size := 0
		for d, err := range from.Documents(ctx) {
			if err != nil {
				b.err = err
				break
			}
			b.docs = append(b.docs, d)
			if size += len(d.Text); len(b.docs) < anewDocuments && size < anewBytes {
				continue
			}
			if !yield(b) {
				return
			}
			b, size = anewBatch{}, 0
		}
		if len(b.docs) > 0 || b.err != nil {
			yield(b)
		}
	}
}

func (o *opened) profileBatch(ctx context.Context, b anewBatch) anewBatch {
	for _, d := range b.docs {
		if b.err = cmp.Or(b.err, context.Cause(ctx)); b.err != nil {
			break
		}
		var p *concordat.Profile
		p, b.err = o.profiler.ForIndex(*d)
		b.profiles = append(b.profiles, p)
	}
	b.docs = nil
	return b
}

// profileAnew makes the profiles of documents of the index.
func (o *opened) profileAnew(ctx context.Context, docs []*concordat.Document) ([]*concordat.Profile, error) {
	profiles := make([]*concordat.Profile, len(docs))
	g, _ := errgroup.WithContext(ctx)
	for i, d := range docs {
		g.Go(func() (err error) {
			profiles[i], err = o.profiler.ForIndex(*d)
			return err
		})
	}
	return profiles, g.Wait()
}

// noteAnew brings the catalogue up to date with profiles that were made anew.
func (o *opened) noteAnew(ctx context.Context, profiles []*concordat.Profile) error {
	rows := make([]store.DocumentRow, len(profiles))
	for i, p := range profiles {
		d := &p.Document
		row, err := o.store.DocumentRow(ctx, d.Library, d.ID)
		if err != nil {
			return fmt.Errorf("catalogue row of %s/%s: %w", d.Library, d.ID, err)
		}
		row.Sentences, row.Characters, row.Scheme = len(p.Indexed), p.Characters, p.Scheme
		row.Short = site.ShortPieces(p)
		rows[i] = row
	}
	return o.store.PutDocuments(context.WithoutCancel(ctx), rows)
}
