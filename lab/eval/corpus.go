package eval

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"time"

	"concordat"
	"concordat/index"
	"concordat/index/encoded"
	"concordat/profile"
	"concordat/report"
	"concordat/site"
	"concordat/site/batch"
	"concordat/site/compare"
	"concordat/store"
)

// Bench is a site in a temporary folder, for evaluation with the product's own code.
type Bench struct {
	Site     *site.Site
	Index    *index.Shard
	Store    *store.DB
	Profiler *profile.Profiler
	Encoder  *compare.Encoder // verifies the site's leads; nil if none does
	vectors  *encoded.Index   // index of the encoder's vectors, or nil
}

// NewBench creates a site below dir with one library named "library" and the given recipe.
func NewBench(ctx context.Context, dir, recipe string) (*Bench, error) {
	return newBench(ctx, dir, profile.Options{Recipe: recipe})
}

func newBench(ctx context.Context, dir string, o profile.Options) (*Bench, error) {
	p, err := profile.New(o)
	if err != nil {
		return nil, err
	}
	shard, err := index.Open(dir+"/index", index.Options{Site: "bench", Scheme: p.Scheme(), Shard: "00"})
	if err != nil {
		return nil, err
	}
	db, err := store.Open(ctx, dir+"/site.db")
	if err != nil {
		return nil, fmt.Errorf("%w; %v", err, shard.Close())
	}
	b := &Bench{Index: shard, Store: db, Profiler: p}
	b.Site = site.New(site.Options{ID: "bench", Index: shard, Store: db, Profiler: p})
	return b, db.Catalogue.CreateLibrary(ctx, store.Library{ID: "library"})
}

// Close closes all parts of the site.
func (b *Bench) Close() error {
	if b.vectors != nil {
		if err := b.vectors.Close(); err != nil {
			return err
		}
	}
	if err := b.Index.Close(); err != nil {
		return err
	}
	return b.Store.Close()
}

// Add ingests documents into the site's library.
func (b *Bench) Add(ctx context.Context, docs []Doc) error { return b.ingest(ctx, "library", docs) }

// AddTo ingests documents into a library that it creates.
func (b *Bench) AddTo(ctx context.Context, library concordat.LibraryID, docs []Doc) error {
	if err := b.Store.Catalogue.CreateLibrary(ctx, store.Library{ID: library}); err != nil {
		return err
	}
	return b.ingest(ctx, library, docs)
}

func (b *Bench) ingest(ctx context.Context, library concordat.LibraryID, docs []Doc) error {
	return b.Site.Ingest(ctx, library, func(yield func(site.Incoming, error) bool) {
		for _, d := range docs {
			if !yield(site.Incoming{ID: concordat.DocumentID(d.ID), Title: d.ID, Text: d.Text}, nil) {
				return
			}
		}
	}, func(site.Ingested) error { return nil })
}

// compareAll compares documents only with each other, as a batch whose index is below dir while the batch runs, and returns the user's
// view of the batch. Their names must be distinct.
func (b *Bench) compareAll(ctx context.Context, dir string, docs []site.Item, job batch.Job,
	o site.CheckOptions) (_ *batch.View, err error) {
	job.NoLibraries = true
	row, err := batch.New("batch", "", "eval", job, time.Now())
	if err != nil {
		return nil, err
	}
	var inputs []store.BatchInput
	by := map[string]site.Item{}
	for _, d := range docs {
		inputs = append(inputs, store.BatchInput{Name: string(d.ID), Place: string(d.ID)})
		by[string(d.ID)] = d
	}
	batch.UniqueNames(inputs)
	if err := b.Store.Batches.CreateBatch(ctx, row, inputs); err != nil {
		return nil, err
	}
	dir = filepath.Join(dir, "batch-"+row.ID)
	shard, err := index.Open(dir, index.Options{Site: b.Site.ID(), Scheme: b.Profiler.Scheme(), Shard: "00"})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, shard.Close(), os.RemoveAll(dir)) }()
	run := batch.Options{
		Store: b.Store, Index: shard,
		Read: func(_ context.Context, in store.BatchInput) ([]site.Item, error) {
			return []site.Item{by[in.Name]}, nil
		},
		Options: func(context.Context, batch.Job) (site.CheckOptions, func(), error) { return o, nil, nil },
	}
	if job.Rules != nil {
		run.Rules = *job.Rules
	}
	if err := batch.Run(ctx, b.Site, row.ID, run); err != nil {
		return nil, err
	}
	return batch.Open(ctx, b.Store, row.ID)
}

// Doc is a document under evaluation.
type Doc struct{ ID, Text string }

// Hit is a source document found for a submission by fingerprints alone.
type Hit struct {
	Source concordat.DocumentID
	Blocks int // number of distinct sentences of the submission within the gate
}

// Fingerprints returns the sources with at least two matched sentences within the gate, which is the rule for reporting a source without
// its text. The best sources come first.
func (b *Bench) Fingerprints(ctx context.Context, d Doc, probe concordat.Probe) ([]Hit, error) {
	p, err := b.Profiler.Profile(concordat.Document{Text: d.Text}, nil)
	if err != nil {
		return nil, err
	}
	q := b.query(p, probe, d.ID)
	for _, s := range p.Indexed {
		q.Fingerprints = append(q.Fingerprints, s.Fingerprint)
	}
	a, err := b.Index.Match(ctx, q)
	if err != nil {
		return nil, err
	}
	seen := map[concordat.DocumentID]map[int]bool{}
	for _, m := range a.Matches {
		if b.Profiler.Nearness(p.Indexed[m.Sentence], m) <= 0 {
			continue
		}
		if seen[m.Source.Document] == nil {
			seen[m.Source.Document] = map[int]bool{}
		}
		seen[m.Source.Document][m.Sentence] = true
	}
	var out []Hit
	for id, s := range seen {
		if len(s) >= 2 {
			out = append(out, Hit{id, len(s)})
		}
	}
	sort.Slice(out, func(i, j int) bool {
		return out[i].Blocks > out[j].Blocks || out[i].Blocks == out[j].Blocks && out[i].Source < out[j].Source
	})
	return out, nil
}

// Check checks a document against the library's other documents.
func (b *Bench) Check(ctx context.Context, d Doc) (*report.Findings, error) {
	return b.Site.Check(ctx, site.Submission{ID: concordat.DocumentID(d.ID), Text: d.Text},
		site.CheckOptions{Exclude: []concordat.Ref{{Site: "bench", Library: "library", Document: concordat.DocumentID(d.ID)}}})
}

// Report checks a document against the library's other documents and returns its report.
func (b *Bench) Report(ctx context.Context, d Doc) (*report.Report, error) {
	f, err := b.Check(ctx, d)
	if err != nil {
		return nil, err
	}
	return report.Build(f, report.Rules{}), nil
}
