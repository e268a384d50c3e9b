package eval

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/report"
	"concordat/site"
)

// coverage holds the spans covered in each document's report.
type coverage map[string][]concordat.Span

// differs returns the number of letters of a document that only one of two ways covers.
func (c coverage) differs(d *innocentDoc, other coverage) int {
	a, b := d.within(c[d.name]), d.within(other[d.name])
	n := 0
	for i := range a {
		if a[i] != b[i] {
			n++
		}
	}
	return n
}

// innocentWay is one way of comparing each document of a scenario with all others.
type innocentWay struct {
	name      string
	batch     bool // in one batch; otherwise, each is checked against libraries of the others
	libraries int
	template  bool // in a batch, whether the wording that was handed out is supplied
	backwards bool // whether the documents come in reverse order
	key       int
}

// innocentWayList holds all ways; the first is the baseline for the others.
var innocentWayList = []innocentWay{
	{name: "one library", libraries: 1},
	{name: "three libraries", libraries: 3},
	{name: "the other order", libraries: 1, backwards: true},
	{name: "a second key", libraries: 1, key: 1},
	{name: "a third key", libraries: 1, key: 2},
	{name: "a batch", batch: true},
	{name: "a batch in the other order", batch: true, backwards: true},
	{name: "a batch with a second key", batch: true, key: 1},
}

// innocentWays counts the documents for which a different way of asking the same question covers different text. Every stretch must be
// treated the same. Findings must not depend on how documents are divided into libraries, on their order, on the fingerprint key, or on
// whether a batch or a check asks.
func innocentWays(r *run) error {
	want, ways := r.o.Scenarios, innocentWayList
	if r.short {
		want = innocentShort.scenarios
		ways = slices.DeleteFunc(slices.Clone(ways), func(w innocentWay) bool {
			return w.libraries > 1 || w.backwards || w.key > 1 ||
				w.batch && w.key > 0
		})
	}
	scenarios, err := r.corpora.innocent(want)
	if err != nil {
		return err
	}
	coverages := make([][]coverage, len(scenarios))
	g, ctx := errgroup.WithContext(r.ctx)
	g.SetLimit(runtime.GOMAXPROCS(0))
	for n, s := range scenarios {
		coverages[n] = make([]coverage, len(ways))
		for k, w := range ways {
			g.Go(func() (err error) {
				dir := filepath.Join(r.dir, fmt.Sprint("way", n, "-", k))
				if coverages[n][k], err = w.coverage(ctx, dir, s); err != nil {
					return fmt.Errorf("%s, %s: %w", s.name, w.name, err)
				}
				return nil
			})
		}
	}
	if err := g.Wait(); err != nil {
		return err
	}
	t := Table{Title: "documents of which other text is covered than with one library, and per cent of their letters",
		Columns: []string{"scenario", "way", "docs", "differ", "letters"}}
	for k, w := range ways[1:] {
		documents, differ := 0, 0
		for n, s := range scenarios {
			docs, letters, all := 0, 0, 0
			for _, d := range s.docs {
				if x := coverages[n][0].differs(d, coverages[n][k+1]); x > 0 {
					docs, letters, all = docs+1, letters+x, all+len(d.letters)
				}
			}
			documents, differ = documents+len(s.docs), differ+docs
			t.Rows = append(t.Rows, []any{s.name, w.name, len(s.docs), docs, percent(ratio(letters, all))})
		}
		r.count(w.name, "documents of which other text is covered than with one library", differ, documents).most(0, 0)
	}
	slices.SortStableFunc(t.Rows, func(a, b []any) int { return cmp.Compare(a[0].(string), b[0].(string)) })
	r.tables = append(r.tables, t)
	return nil
}

// coverage compares the documents in this way and returns the spans that the reports cover.
func (w innocentWay) coverage(ctx context.Context, dir string, s *innocentScenario) (coverage, error) {
	docs := slices.Clone(s.docs)
	if w.backwards {
		slices.Reverse(docs)
	}
	if w.batch {
		return batchCoverage(ctx, dir, s, docs, innocentMode{name: "all", template: w.template}, innocentKey(w.key))
	}
	return libraryCoverage(ctx, dir, s, docs, w.libraries, innocentKey(w.key))
}

// libraryCoverage checks each document against libraries of the others and returns the spans that the reports cover.
func libraryCoverage(ctx context.Context, dir string, s *innocentScenario, docs []*innocentDoc, libraries int,
	key []byte) (_ coverage, err error) {
	i, err := newInnocentSite(ctx, dir, s, key)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, i.close()) }()
	held := make([][]Doc, libraries)
	for _, d := range docs {
		n := home(d.name, libraries)
		held[n] = append(held[n], Doc{d.name, d.text})
	}
	for n, docs := range held {
		if err := i.AddTo(ctx, libraryName(n), docs); err != nil {
			return nil, err
		}
	}
	out := coverage{}
	for _, d := range docs {
		ref := concordat.Ref{Site: i.Site.ID(), Library: libraryName(home(d.name, libraries)), Document: concordat.DocumentID(d.name)}
		f, err := i.Site.Check(ctx, d.item.Submission, site.CheckOptions{Exclude: []concordat.Ref{ref}})
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.name, err)
		}
		out[d.name] = counted(report.Build(f, report.Rules{}))
	}
	return out, nil
}

func libraryName(n int) concordat.LibraryID {
	return concordat.LibraryID(fmt.Sprint("library", n))
}

// batchCoverage compares a scenario's documents in a mode and returns the spans that the reports cover.
func batchCoverage(ctx context.Context, dir string, s *innocentScenario, docs []*innocentDoc, m innocentMode,
	key []byte) (_ coverage, err error) {
	i, err := newInnocentSite(ctx, dir, s, key)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, i.close()) }()
	v, err := i.batch(ctx, m, docs)
	if err != nil {
		return nil, err
	}
	out := coverage{}
	for _, member := range v.Members {
		rep, err := i.report(ctx, m, member)
		if err != nil {
			return nil, err
		}
		out[member.Name] = counted(rep)
	}
	return out, nil
}
