package eval

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/report"
	"concordat/site"
	"concordat/store"
)

// FederateOptions describe what an evaluation of a federation compares. Documents, Submissions, Truth and Dir
// are required.
type FederateOptions struct {
	Documents   []Doc              // for the libraries
	Submissions []Doc              // to be checked; a submission with a document's ID is not compared with that document
	Truth       map[[2]string]bool // pairs of a submission and a document that share text
	Ignore      map[[2]string]bool // pairs that count neither way
	Dir         string             // folder for the sites
	Sites       int                // 0 means 3
	// Share is the minimum proportion of a submission, 0 to 1, that a document's matched sentences must cover for the pair to be found by
	// sentences; 0 means 0.3, as in the base paper (Jiang, section 4).
	Share float64
	// Letters is the minimum number of letters and digits of evidence for a pair to be found by evidence; 0 means 100.
	Letters int
	// Outline is the form of the second round: concordat.OutlineWords, OutlineFingerprints or empty.
	Outline string
}

func (o FederateOptions) filled() FederateOptions {
	o.Sites = cmp.Or(o.Sites, 3)
	o.Share = cmp.Or(o.Share, 0.3)
	o.Letters = cmp.Or(o.Letters, 100)
	return o
}

// FederateRow is the result of one way of checking.
type FederateRow struct {
	Way     string  `json:"way"`     // alone, federated, unmatched or central
	Measure string  `json:"measure"` // sentences or evidence
	Found   int     `json:"found"`   // number of pairs found
	True    int     `json:"true"`    // number of found pairs in the truth
	Truth   int     `json:"truth"`   // number of pairs in the truth
	CPU     float64 `json:"cpu_seconds"`
	Bytes   int64   `json:"bytes"` // between sites, in both directions

	pairs map[[2]string]bool
}

// Recall is the proportion of true pairs that were found; Precision is the proportion of found pairs that are true.
func (r *FederateRow) Recall() float64    { return ratio(r.True, r.Truth) }
func (r *FederateRow) Precision() float64 { return ratio(r.True, r.Found) }

func ratio(a, b int) float64 {
	if b == 0 {
		return 0
	}
	return float64(a) / float64(b)
}

// Federate distributes documents and submissions over sites by the hash of their IDs and checks each submission at its site. It checks
// alone, then with the other sites, asking them everything or only what is not found at home, and finally at one site that has all
// documents. The sites are real and communicate over loopback, without gates or budgets. It counts pairs by matched sentences, like the
// base paper, and by evidence.
func Federate(ctx context.Context, o FederateOptions, say func(string, ...any)) ([]FederateRow, error) {
	o = o.filled()
	key := sha256.Sum256([]byte("a key that does not change, so that runs can be compared"))
	all, err := NewFedSites(ctx, filepath.Join(o.Dir, "sites"), o.Sites, key[:])
	if err != nil {
		return nil, err
	}
	one, err := NewFedSites(ctx, filepath.Join(o.Dir, "central"), 1, key[:])
	if err != nil {
		return nil, errors.Join(err, all.Close())
	}
	f := &fedRun{o: o, all: all, one: one, say: say, submitted: map[string]bool{}}
	for _, d := range o.Submissions {
		f.submitted[d.ID] = true
	}
	rows, err := f.run(ctx)
	return rows, errors.Join(err, all.Close(), one.Close())
}

// fedRun is one run of Federate.
type fedRun struct {
	o        FederateOptions
	all, one *FedSites
	say      func(string, ...any)
	// submitted holds the IDs of the submissions.
	submitted map[string]bool
}

// home returns a document's site.
func home(id string, sites int) int {
	sum := sha256.Sum256([]byte(id))
	return int(binary.BigEndian.Uint64(sum[:8]) % uint64(sites))
}

func (f *fedRun) run(ctx context.Context) ([]FederateRow, error) {
	began := processTime()
	for i, s := range f.all.Sites {
		err := s.Add(ctx, func(yield func(Doc) bool) {
			for _, d := range f.o.Documents {
				if home(d.ID, len(f.all.Sites)) == i && !yield(d) {
					return
				}
			}
		})
		if err != nil {
			return nil, err
		}
	}
	if err := f.one.Sites[0].Add(ctx, slices.Values(f.o.Documents)); err != nil {
		return nil, err
	}
	rule := store.ShareRule{Level: concordat.ShowMetadata, Outline: f.o.Outline, Matches: 1, Closeness: concordat.Bits, Limits: noLimits()}
	if err := f.all.Share(ctx, rule); err != nil {
		return nil, err
	}
	f.say("%d documents at %d sites and at one, %d submissions, %.0f s CPU to take in", len(f.o.Documents), len(f.all.Sites),
		len(f.o.Submissions), (processTime() - began).Seconds())
	var rows []FederateRow
	for _, measure := range []struct {
		name string
		pair func(context.Context, *way, Doc) (map[string]bool, error)
	}{{"sentences", f.bySentences}, {"evidence", f.byEvidence}} {
		for _, w := range []way{{"alone", site.ForwardNone, f.all, 0}, {"federated", site.ForwardAll, f.all, 0},
			{"unmatched", site.ForwardUnmatched, f.all, 0}, {"central", site.ForwardNone, f.one, 0}} {
			row, err := f.check(ctx, measure.name, w, measure.pair)
			if err != nil {
				return nil, err
			}
			f.say("%s", row)
			rows = append(rows, *row)
		}
	}
	return rows, nil
}

func (r *FederateRow) String() string {
	return fmt.Sprintf("%-9s %-9s found %6d  true %5d of %5d  precision %.3f  recall %.3f  %7.1f s CPU  %11d bytes", r.Measure, r.Way,
		r.Found, r.True, r.Truth, r.Precision(), r.Recall(), r.CPU, r.Bytes)
}

// way is one way of checking submissions.
type way struct {
	name    string
	forward string
	sites   *FedSites
	at      int // site of the submission
}

// submitters is the number of submissions checked concurrently.
const submitters = 2

func (f *fedRun) check(ctx context.Context, measure string, w way,
	pair func(context.Context, *way, Doc) (map[string]bool, error)) (*FederateRow, error) {
	row := &FederateRow{Way: w.name, Measure: measure, pairs: map[[2]string]bool{}, Truth: len(f.o.Truth)}
	began, sent := processTime(), w.sites.bytes.Load()
	var mu sync.Mutex // guards row
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(submitters)
	for _, d := range f.o.Submissions {
		g.Go(func() error {
			at := w
			at.at = home(d.ID, len(w.sites.Sites))
			found, err := pair(ctx, &at, d)
			if err != nil {
				return fmt.Errorf("submission %s, %s: %w", d.ID, w.name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			for id := range found {
				if p := [2]string{d.ID, id}; id != d.ID && !f.o.Ignore[p] {
					row.pairs[f.known(p)] = true
				}
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		return nil, err
	}
	row.CPU, row.Bytes = (processTime() - began).Seconds(), w.sites.bytes.Load()-sent
	row.Found = len(row.pairs)
	for p := range maps.Keys(row.pairs) {
		if f.o.Truth[p] {
			row.True++
		}
	}
	return row, nil
}

// known normalises a pair if the two documents can be checked against each other, so that it counts once.
func (f *fedRun) known(p [2]string) [2]string {
	q := [2]string{p[1], p[0]}
	if f.o.Truth[p] || !f.o.Truth[q] && (p[0] < q[0] || !f.submitted[q[0]]) {
		return p
	}
	return q
}

func (w *way) options(d Doc) (*FedSite, site.CheckOptions) {
	s := w.sites.Sites[w.at]
	o := site.CheckOptions{Forward: w.forward, Exclude: []concordat.Ref{{Site: s.id, Library: fedLibrary,
		Document: concordat.DocumentID(d.ID)}}}
	if w.forward != site.ForwardNone {
		o.Partners = w.sites.Partners(w.at)
	}
	return s, o
}

// bySentences returns the documents whose matched sentences cover enough of a submission.
func (f *fedRun) bySentences(ctx context.Context, w *way, d Doc) (map[string]bool, error) {
	s, o := w.options(d)
	m, err := s.asks.Matches(ctx, site.Submission{ID: "s", Text: d.Text}, o)
	if err != nil {
		return nil, err
	}
	if err := answered(m.Consulted); err != nil {
		return nil, err
	}
	spans := map[string][]concordat.Span{}
	for _, x := range m.Matches {
		spans[x.Title] = append(spans[x.Title], m.Sentences[x.Source.Site][x.Sentence].Span)
	}
	count := report.NewCounter(d.Text)
	least := f.o.Share * float64(count.Characters(concordat.Span{End: len(d.Text)}))
	out := map[string]bool{}
	for title, ss := range spans {
		if float64(held(count, ss)) >= least {
			out[title] = true
		}
	}
	return out, nil
}

// held counts the letters in any of the spans.
func held(count *report.Counter, ss []concordat.Span) int {
	slices.SortFunc(ss, func(a, b concordat.Span) int { return cmp.Compare(a.Start, b.Start) })
	n, end := 0, 0
	for _, s := range ss {
		if s.Start = max(s.Start, end); s.Start < s.End {
			n += count.Characters(s)
			end = s.End
		}
	}
	return n
}

// byEvidence returns the documents with enough evidence in a check's report.
func (f *fedRun) byEvidence(ctx context.Context, w *way, d Doc) (map[string]bool, error) {
	s, o := w.options(d)
	found, err := s.Check(ctx, site.Submission{ID: "s", Text: d.Text}, o)
	if err != nil {
		return nil, err
	}
	if err := answered(found.Consulted); err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, x := range report.Build(found, report.Rules{}).Sources {
		if x.Excluded == "" && x.Characters >= f.o.Letters {
			out[x.Title] = true
		}
	}
	return out, nil
}

// answered returns an error if a partner's answer was incomplete, because a measurement without it is
// invalid.
func answered(cs []concordat.Consulted) error {
	for _, c := range cs {
		if c.Err != "" || c.Unready > 0 || c.Withheld > 0 {
			return fmt.Errorf("%s/%s: %s: %w", c.Site, c.Library, report.ConsultedWords(c), concordat.ErrUnavailable)
		}
	}
	return nil
}
