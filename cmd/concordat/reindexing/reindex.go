package reindexing

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/cluster"
	"concordat/cmd/cli"
	"concordat/cmd/parallel"
	"concordat/index"
	"concordat/instance"
)

func Command(s *cli.Site) *cobra.Command {
	a := &commands{s}
	var dryRun bool
	c := &cobra.Command{
		Use: "reindex", Short: "Recompute all fingerprints from the stored texts", Args: cobra.NoArgs,
		Long: `Reindex recomputes every document's fingerprints with the current configuration: after the scheme was changed,
after an upgrade that changed it, or after meaning.index was turned on.

If the site is not served, the new index is built next to the old one and replaces it when complete. This is
fast, but needs disk space for both. If interrupted, it leaves the old index untouched.

While concordat serve runs and the scheme stays the same, documents are replaced one by one in the index, and
checks, additions and deletions go on. This takes more processor time. If the command or the server is
interrupted, repeat the command to continue. To change the scheme, stop the site.

On a site of several machines, run it on one node: it adds missing meaning cells to documents on all nodes,
and removes superfluous ones. Nodes may come and go. All running nodes must use the same value of meaning.index
and programs that make the same cells; otherwise, reindex names the nodes that differ and does nothing.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, served := cmd.Context(), false
			err := a.With(ctx, instance.StoreOnly, func(o *instance.Instance) error {
				served = renewsServed(ctx, o)
				return nil
			})
			if err != nil {
				return err
			}
			if served {
				return a.With(ctx, instance.WithIndex, func(o *instance.Instance) error { return a.renew(ctx, o, dryRun) })
			}
			return a.With(ctx, instance.Locked, func(o *instance.Instance) error { return a.reindex(ctx, o, dryRun) })
		},
	}
	c.Flags().BoolVar(&dryRun, "dry-run", false, "show how many documents would be recomputed")
	return c
}

func (a *commands) reindex(ctx context.Context, o *instance.Instance, dryRun bool) error {
	if o.Config.Clustered() {
		return a.reindexNode(ctx, o, dryRun)
	}
	if instance.HoldsShards(o.Dir) {
		return cli.Usagef("the index was restored from a backup of a cluster: create the cluster again with concordat cluster init")
	}
	if err := instance.FinishReindex(o.Dir); err != nil {
		return err
	}
	// First, apply to the index what a killed process left in its log.
	err := cluster.Replay(ctx, filepath.Join(o.Dir, instance.IndexName, "00"))
	var from *index.Shard
	if err == nil {
		from, err = index.Open(filepath.Join(o.Dir, instance.IndexName, "00"), index.Options{ReadOnly: true})
	}
	if errors.Is(err, concordat.ErrNotFound) {
		if err := instance.RefuseEmptyIndex(ctx, o.Dir, o.Store); err != nil {
			return err
		}
		return o.Store.SetSetting(ctx, "scheme", string(o.Site.Scheme())) // nothing has ever been added
	}
	if err != nil {
		return err
	}
	stats := from.Stats()
	if stats.Documents == 0 {
		if err := instance.RefuseEmptyIndex(ctx, o.Dir, o.Store); err != nil {
			return errors.Join(err, from.Close())
		}
	}
	if dryRun {
		a.Say("would recompute %d documents from scheme %s to scheme %s", stats.Documents, from.Scheme(), o.Site.Scheme())
		if a.JSON {
			err = a.Line(map[string]any{"documents": stats.Documents, "from": from.Scheme(), "to": o.Site.Scheme(), "dry_run": true})
		}
		return errors.Join(err, from.Close())
	}
	n, err := a.rebuild(ctx, o, from)
	if err = errors.Join(err, from.Close()); err != nil {
		return err
	}
	if err := instance.MarkReindexed(o.Dir); err != nil {
		return err
	}
	if err := errors.Join(instance.FinishReindex(o.Dir), endReindex(ctx, o)); err != nil {
		return err
	}
	a.Say("%d documents are indexed with scheme %s", n, o.Site.Scheme())
	return a.TellJSON(map[string]any{"type": "summary", "documents": n, "scheme": o.Site.Scheme()})
}

// These are the maximum numbers of documents, and of bytes of their texts, that are fingerprinted at the same time and recorded together
// in the catalogue. Each core processes some of them.
const (
	anewDocuments = 200
	anewBytes     = 4 << 20
)

// rebuild writes a new index to replace the current one and returns its number of documents. It reads and fingerprints documents ahead on
// all cores while it builds the index. It also updates the catalogue after each batch. If the reindex does not finish, some rows have the
// new scheme too early. The only effect is that adding those documents again reads them again.
func (a *commands) rebuild(ctx context.Context, o *instance.Instance, from *index.Shard) (n int, err error) {
	next := filepath.Join(o.Dir, instance.NewIndexName)
	if err := os.RemoveAll(next); err != nil {
		return 0, err
	}
	if err := os.Mkdir(next, 0o700); err != nil {
		return 0, err
	}
	b := a.Progress(int64(from.Stats().Documents), "reindexing")
	defer b.Done()
	profiles := func(yield func([]*concordat.Profile, error) bool) {
		docs := from.Documents(ctx)
		profiled := func(ctx context.Context, b anewBatch) anewBatch { return profileBatch(ctx, o, b) }
		for batch := range parallel.Ahead(ctx, anew(all(docs)), profiled) {
			if batch.err == nil {
				batch.err = instance.NoteProfiles(ctx, o.Store, batch.profiles)
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
	err = build(filepath.Join(next, "00"), o.ShardOptions(), profiles)
	return n, err
}

// build creates a new shard in dir from batches of profiles.
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
	// Bleve writes this index with its own segment writer, which the builder lacks.
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

// anewBatch is a group of indexed documents whose profiles are being recomputed.
type anewBatch struct {
	docs     []instance.UnfitDocument
	profiles []*concordat.Profile
	fit      int // documents that do not need a new profile
	err      error
}

// all yields every document as one that needs a new profile.
func all(docs iter.Seq2[*concordat.Document, error]) iter.Seq2[instance.UnfitDocument, error] {
	return func(yield func(instance.UnfitDocument, error) bool) {
		for d, err := range docs {
			if !yield(instance.UnfitDocument{Document: d}, err) {
				return
			}
		}
	}
}

// anew yields documents in batches.
func anew(docs iter.Seq2[instance.UnfitDocument, error]) iter.Seq[anewBatch] {
	return func(yield func(anewBatch) bool) {
		var b anewBatch
		size := 0
		for d, err := range docs {
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

func profileBatch(ctx context.Context, o *instance.Instance, b anewBatch) anewBatch {
	for _, d := range b.docs {
		if b.err = cmp.Or(b.err, context.Cause(ctx)); b.err != nil {
			break
		}
		var p *concordat.Profile
		if p, b.err = o.Profile(ctx, *d.Document); b.err != nil {
			break
		}
		if d.Bare && len(p.Cells) == 0 {
			b.fit++
		} else {
			b.profiles = append(b.profiles, p)
		}
	}
	b.docs = nil
	return b
}

// profileAnew recomputes the profiles of indexed documents.
func profileAnew(ctx context.Context, o *instance.Instance, docs []*concordat.Document) ([]*concordat.Profile, error) {
	profiles := make([]*concordat.Profile, len(docs))
	g, _ := errgroup.WithContext(ctx)
	for i, d := range docs {
		g.Go(func() (err error) {
			profiles[i], err = o.Profile(ctx, *d)
			return err
		})
	}
	return profiles, g.Wait()
}
