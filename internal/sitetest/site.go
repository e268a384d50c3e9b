package sitetest

import (
	"context"
	"fmt"
	"iter"
	"path/filepath"
	"testing"

	"concordat"
	"concordat/index"
	"concordat/internal/storetest"
	"concordat/profile"
	"concordat/report"
	"concordat/site"
	"concordat/site/answer"
	"concordat/site/ask"
	"concordat/store"
)

// Parts is a site with its components.
type Parts struct {
	*Services
	Store    *store.DB
	Index    *Faulty
	Profiler *profile.Profiler
}

// Services is a site with the services that answer and ask for it.
type Services struct {
	*site.Site
	*answer.Answerer
	*ask.Asker
}

// Open returns a site's services, all of which use its store.
func Open(o site.Options) *Services {
	r := &Services{}
	r.Answerer = answer.New(answer.Options{ID: o.ID, Index: o.Index, Store: o.Store, Logger: o.Logger, Now: o.Now,
		Shared: o.Shared, Meaning: o.Profiler.Meaning,
		Noticed: func(ctx context.Context, from concordat.SiteID, n *concordat.Notice) (concordat.TaskID, error) {
			return r.Noticed(ctx, from, n)
		}})
	o.Sharing = r.Answerer.Shares
	r.Site = site.New(o)
	r.Asker = ask.New(r.Site, ask.Options{Store: o.Store})
	return r
}

// Faulty is an index whose next calls can be made to fail or to answer only in part.
type Faulty struct {
	concordat.Index
	PutErr, MatchErr   error
	DeleteErr, ReadErr error
	Missing            []concordat.ShardID
	Capped             int  // added to the number of truncated look-ups
	Panics             bool // panic when a document is requested
	PutPanics          bool
}

func (f *Faulty) Document(ctx context.Context, ref concordat.Ref) (*concordat.Document, error) {
	if f.Panics {
		panic("document")
	}
	if f.ReadErr != nil {
		return nil, f.ReadErr
	}
	return f.Index.Document(ctx, ref)
}

func (f *Faulty) Put(ctx context.Context, ps ...*concordat.Profile) error {
	if f.PutPanics {
		panic("put")
	}
	if f.PutErr != nil {
		return f.PutErr
	}
	return f.Index.Put(ctx, ps...)
}

func (f *Faulty) Delete(ctx context.Context, refs ...concordat.Ref) error {
	if f.DeleteErr != nil {
		return f.DeleteErr
	}
	return f.Index.Delete(ctx, refs...)
}

func (f *Faulty) Match(ctx context.Context, q *concordat.Query) (*concordat.Answer, error) {
	if f.MatchErr != nil {
		return nil, f.MatchErr
	}
	a, err := f.Index.Match(ctx, q)
	if err == nil {
		a.Missing, a.Capped = f.Missing, a.Capped+f.Capped
	}
	return a, err
}

// NewSite returns a site with empty libraries.
func NewSite(t testing.TB, libraries ...concordat.LibraryID) *Parts {
	t.Helper()
	return NewKeyedSite(t, nil, libraries...)
}

// NewKeyedSite is like NewSite, with keyed fingerprints.
func NewKeyedSite(t testing.TB, key []byte, libraries ...concordat.LibraryID) *Parts {
	t.Helper()
	dir := t.TempDir()
	db, err := store.Open(t.Context(), storetest.SQLitePath(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	p, err := profile.New(profile.Options{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	shard, err := index.Open(filepath.Join(dir, "index"), index.Options{Site: "here", Scheme: p.Scheme(), Shard: "00"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { shard.Close() })
	for _, l := range libraries {
		if err := db.Catalogue.CreateLibrary(t.Context(), store.Library{ID: l}); err != nil {
			t.Fatal(err)
		}
	}
	f := &Faulty{Index: shard}
	return &Parts{Open(site.Options{ID: "here", Index: f, Store: db, Profiler: p}), db, f, p}
}

// Docs passes documents to Ingest.
func Docs(ds ...site.Incoming) iter.Seq2[site.Incoming, error] {
	return func(yield func(site.Incoming, error) bool) {
		for _, d := range ds {
			if !yield(d, nil) {
				return
			}
		}
	}
}

// Add adds documents and returns each outcome as id:outcome.
func (p *Parts) Add(t *testing.T, lib concordat.LibraryID, ds ...site.Incoming) []string {
	t.Helper()
	var out []string
	err := p.Ingest(t.Context(), lib, Docs(ds...), func(d site.Ingested) error {
		out = append(out, fmt.Sprintf("%s:%s", d.ID, d.Outcome))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

const (
	River  = "The ancient river carried silver timber downstream while the merchants counted barrels of salted fish beside the frozen harbour. "
	Winter = "Every winter the council fixed the price of bread, coal and candles before the first ships returned from the northern islands. "
	Garden = "A small botanical garden behind the hospital supplied physicians with foxglove, chamomile and a pale variety of valerian. "
	Han    = "委员会认定，商人在整个漫长的冬季清点了成桶的咸鱼，并且向城市的居民按照规定的价格出售了这些食品和蜡烛。"
)

// Found checks a text and returns the findings.
func (p *Parts) Found(t *testing.T, text string, o site.CheckOptions) *report.Findings {
	t.Helper()
	f, err := p.Check(t.Context(), site.Submission{ID: "sub", Text: text}, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
