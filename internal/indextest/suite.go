package indextest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"concordat"
)

// Subject is an implementation under test.
type Subject struct {
	// Open returns a new empty index of Site and Scheme, and closes it when the test ends.
	Open func(t *testing.T) concordat.Index
	// Reopen closes the index and opens it again from its stored data; nil if it stores none.
	Reopen func(t *testing.T, x concordat.Index) concordat.Index
	// Disturb, if not nil, does something that must not change any answer, for example a merge.
	Disturb func(t *testing.T, x concordat.Index)
	// Also returns another way to query x, which must give the same answers; nil if there is no other way.
	Also func(x concordat.Index) concordat.Matcher
}

// Run tests the contract.
func Run(t *testing.T, s Subject) {
	t.Run("empty", s.empty)
	t.Run("guarantees", s.guarantees)
	t.Run("documents", s.documents)
	t.Run("replace", s.replace)
	t.Run("filters", s.filters)
	t.Run("long", s.long)
	t.Run("repeats", s.repeats)
	t.Run("refusals", s.refusals)
	t.Run("texts", s.texts)
	t.Run("cancelled", s.cancelled)
	t.Run("random", s.random)
	t.Run("concurrent", s.concurrent)
}

func put(t *testing.T, x concordat.Index, ps ...*concordat.Profile) {
	t.Helper()
	if err := x.Put(t.Context(), ps...); err != nil {
		t.Fatalf("Put: %v", err)
	}
}

// ask returns the answer of x, and fails the test if Also gives a different one.
func (s *Subject) ask(t *testing.T, x concordat.Index, q *concordat.Query) *concordat.Answer {
	t.Helper()
	a, err := x.Match(t.Context(), q)
	if err != nil {
		t.Fatalf("Match: %v", err)
	}
	if s.Also != nil {
		b, err := s.Also(x).Match(t.Context(), q)
		if err != nil {
			t.Fatalf("the second way of querying failed: %v", err)
		}
		if d := cmp.Diff(a, b, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("the two ways of querying differ (-Match +second):\n%s", d)
		}
	}
	return a
}

func ref(p *concordat.Profile) concordat.Ref {
	return concordat.Ref{Site: Site, Library: p.Document.Library, Document: p.Document.ID}
}

func (s *Subject) empty(t *testing.T) {
	x := s.Open(t)
	put(t, x)
	a := s.ask(t, x, &concordat.Query{Scheme: Scheme, Fingerprints: make([]concordat.Fingerprint, 3), MaxDistance: 100,
		Probe: concordat.ProbeOne})
	if a.Site != Site || len(a.Matches) != 0 || len(a.Missing) != 0 || a.Capped != 0 {
		t.Errorf("an empty index returned %+v", a)
	}
	if err := x.Delete(t.Context(), concordat.Ref{Site: Site, Library: "l", Document: "d"}); err != nil {
		t.Errorf("Delete of a document that does not exist: %v", err)
	}
	if _, err := x.Document(t.Context(), concordat.Ref{Site: Site, Library: "l", Document: "d"}); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("Document for a document that does not exist: got %v, want ErrNotFound", err)
	}
}

// guarantees tests the guarantees of Manku, Jain and Das Sarma 2007, section 3. Pairs that differ in at most Complete bits share a band;
// pairs that differ in at most CompleteNibbles nibbles have a band with at most one different nibble.
func (s *Subject) guarantees(t *testing.T) {
	g, x := NewGenerator(11, 1), s.Open(t)
	p := g.Profile("l", "d", 0)
	exact := &concordat.Query{Scheme: Scheme, MaxDistance: concordat.Complete, Probe: concordat.ProbeExact}
	near := &concordat.Query{Scheme: Scheme, MaxDistance: 4 * concordat.CompleteNibbles, Probe: concordat.ProbeOne}
	for i := range 1500 {
		f := g.Random()
		p.Indexed = append(p.Indexed, concordat.Sentence{Fingerprint: f})
		exact.Fingerprints = append(exact.Fingerprints, g.ChangeBits(f, i%(concordat.Complete+1)))
		near.Fingerprints = append(near.Fingerprints, g.ChangeNibbles(f, i%(concordat.CompleteNibbles+1)))
	}
	put(t, x, p)
	for _, q := range []*concordat.Query{exact, near} {
		found := make(map[int]bool)
		a, err := x.Match(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range a.Matches {
			if m.Ordinal == m.Sentence {
				found[m.Sentence] = true
			}
		}
		if len(found) != len(p.Indexed) {
			t.Errorf("probe %v finds %d of %d planted pairs", q.Probe, len(found), len(p.Indexed))
		}
	}
}

func (s *Subject) documents(t *testing.T) {
	g, x := NewGenerator(12, 5), s.Open(t)
	ps := []*concordat.Profile{g.Profile("l", "some", 30), g.Profile("l", "none", 0), g.Profile("m", "some", 1), g.Profile("m", "bare", 3)}
	ps[1].Document.Text, ps[1].Document.Title = "too short", ""
	ps[3].Document.Text = ""
	put(t, x, ps...)
	check := func(x concordat.Index) {
		t.Helper()
		for _, p := range ps {
			d, err := x.Document(t.Context(), ref(p))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&p.Document, d); diff != "" {
				t.Errorf("document %s (-put +got):\n%s", ref(p), diff)
			}
		}
		other := ref(ps[0])
		other.Site = "elsewhere"
		if _, err := x.Document(t.Context(), other); !errors.Is(err, concordat.ErrNotFound) {
			t.Errorf("Document for a document of another site: got %v, want ErrNotFound", err)
		}
	}
	check(x)
	if s.Reopen != nil {
		check(s.Reopen(t, x))
	}
}

func (s *Subject) replace(t *testing.T) {
	g, x := NewGenerator(13, 3), s.Open(t)
	old, other := g.Profile("l", "d", 45), g.Profile("l", "e", 5)
	put(t, x, old, other)
	fresh := g.Profile("l", "d", 3)
	for i := range fresh.Indexed {
		fresh.Indexed[i].Fingerprint = g.Random()
	}
	ask := func(p *concordat.Profile) (n int) {
		q := &concordat.Query{Scheme: Scheme}
		for _, s := range p.Indexed {
			q.Fingerprints = append(q.Fingerprints, s.Fingerprint)
		}
		for _, m := range s.ask(t, x, q).Matches {
			if m.Source == ref(old) {
				n++
			}
		}
		return n
	}
	put(t, x, old, fresh) // the last profile in a call counts
	if n := ask(old); n != 0 {
		t.Errorf("got %d matches in the replaced version, want none", n)
	}
	if n := ask(fresh); n != 3 {
		t.Errorf("got %d matches in the current version, want 3", n)
	}
	if s.Reopen != nil {
		x = s.Reopen(t, x)
		if a, b := ask(old), ask(fresh); a != 0 || b != 3 {
			t.Errorf("after reopening the index: got %d matches in the old version and %d in the new version", a, b)
		}
	}
	foreign := ref(fresh)
	foreign.Site = "elsewhere"
	if err := x.Delete(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	if n := ask(fresh); n != 3 {
		t.Errorf("after another site's document was deleted, %d of 3 matches are left", n)
	}
	if err := x.Delete(t.Context(), ref(fresh), ref(fresh)); err != nil {
		t.Fatal(err)
	}
	if n := ask(fresh); n != 0 {
		t.Errorf("got %d matches in a deleted document, want none", n)
	}
	if _, err := x.Document(t.Context(), ref(fresh)); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("Document for a deleted document: got %v, want ErrNotFound", err)
	}
	put(t, x, fresh)
	if n := ask(fresh); n != 3 {
		t.Errorf("after the deleted document was added again: got %d matches, want 3", n)
	}
}

func (s *Subject) filters(t *testing.T) {
	g, x := NewGenerator(14, 1), s.Open(t)
	f := g.Random()
	var ps []*concordat.Profile
	for i := range 60 {
		p := g.Profile(concordat.LibraryID(fmt.Sprintf("lib%02d", i%20)), concordat.DocumentID(fmt.Sprintf("d%02d", i)), 2)
		p.Indexed[0].Fingerprint = g.ChangeBits(f, i%4)
		p.Indexed[1].Fingerprint = f
		ps = append(ps, p)
	}
	put(t, x, ps...)
	q := concordat.Query{Scheme: Scheme, Fingerprints: []concordat.Fingerprint{f}, MaxDistance: 4}
	if n := len(s.ask(t, x, &q).Matches); n != 120 {
		t.Fatalf("got %d matches in total, want 120", n)
	}
	one := q
	one.Libraries = []concordat.LibraryID{"lib07", "lib19", "unknown"}
	one.Exclude = []concordat.Ref{ref(ps[7]), {Site: "elsewhere", Library: "lib07", Document: "d27"}}
	a := s.ask(t, x, &one)
	got := make(map[concordat.DocumentID]int)
	for _, m := range a.Matches {
		got[m.Source.Document]++
		if m.Distance == 0 && m.Documents != 60 {
			t.Errorf("%d documents contain the fingerprint, want 60: filters must not change this number", m.Documents)
		}
	}
	if want := (map[concordat.DocumentID]int{"d27": 2, "d47": 2, "d19": 2, "d39": 2, "d59": 2}); !cmp.Equal(got, want) {
		t.Errorf("filtered matches %v, want %v", got, want)
	}
	limited := q
	limited.Limit = 70
	b := s.ask(t, x, &limited)
	if diff := cmp.Diff(s.ask(t, x, &q).Matches[:70], b.Matches); diff != "" {
		t.Errorf("a limit does not keep the nearest matches (-first of all +limited):\n%s", diff)
	}
}

// long tests documents of many blocks, and spans far into a text.
func (s *Subject) long(t *testing.T) {
	g, x := NewGenerator(15, 2000), s.Open(t)
	o := &Oracle{Site: Site, Scheme: Scheme}
	for _, n := range []int{1, 19, 20, 21, 1279, 1280, 1281, 1500, 2600} {
		p := g.Profile("l", concordat.DocumentID(fmt.Sprint(n)), n)
		put(t, x, p)
		put(t, o, p)
	}
	q := g.Query(40)
	q.Libraries, q.Exclude, q.Limit, q.MaxDistance = nil, nil, 0, 30
	s.same(t, x, o, q)
	if s.Reopen != nil {
		s.same(t, s.Reopen(t, x), o, q)
	}
}

// same fails the test if x and the oracle answer differently.
func (s *Subject) same(t *testing.T, x concordat.Index, o *Oracle, q *concordat.Query) {
	t.Helper()
	want, err := o.Match(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	got := s.ask(t, x, q)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("query %+v (-oracle +got):\n%s", q, diff)
	}
}

// repeats tests a sentence that occurs in many documents, and many times in one of them.
func (s *Subject) repeats(t *testing.T) {
	g, x := NewGenerator(16, 1), s.Open(t)
	f := g.Random()
	for i := range 40 {
		p := g.Profile("l", concordat.DocumentID(fmt.Sprintf("d%02d", i)), 25)
		for j := range p.Indexed {
			p.Indexed[j].Fingerprint = f
		}
		put(t, x, p)
	}
	q := &concordat.Query{Scheme: Scheme, Fingerprints: []concordat.Fingerprint{g.ChangeNibbles(f, 9)}, MaxDistance: 36,
		Probe: concordat.ProbeOne}
	a := s.ask(t, x, q)
	if len(a.Matches) != 1000 || a.Matches[0].Documents != 40 {
		t.Fatalf("got %d matches, the first of which is in %d documents; want 1000 matches in 40 documents", len(a.Matches), a.Matches[0].Documents)
	}
	if m := a.Matches[26]; m.Source.Document != "d01" || m.Ordinal != 1 {
		t.Errorf("match 26 is %v, want sentence 1 of d01", m)
	}
}

func (s *Subject) refusals(t *testing.T) {
	g, x := NewGenerator(17, 1), s.Open(t)
	bad := func(what string, want error, change func(p *concordat.Profile)) {
		t.Helper()
		p := g.Profile("l", "d", 3)
		change(p)
		if err := x.Put(t.Context(), p); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", what, err, want)
		}
	}
	bad("another scheme", concordat.ErrScheme, func(p *concordat.Profile) { p.Scheme = "other@0" })
	bad("no library", concordat.ErrInvalid, func(p *concordat.Profile) { p.Document.Library = "" })
	bad("no identity", concordat.ErrInvalid, func(p *concordat.Profile) { p.Document.ID = "" })
	bad("a span beyond the text", concordat.ErrInvalid, func(p *concordat.Profile) { p.Indexed[2].Span.End = len(p.Document.Text) + 1 })
	bad("spans out of order", concordat.ErrInvalid, func(p *concordat.Profile) { p.Indexed[0].Span = concordat.Span{Start: 2, End: 1} })
	bad("a term twice", concordat.ErrInvalid, func(p *concordat.Profile) {
		p.Terms = []concordat.TermCount{{Term: 7, Count: 1},
			{Term: 7, Count: 1}}
	})
	bad("a term that does not occur", concordat.ErrInvalid, func(p *concordat.Profile) { p.Terms = []concordat.TermCount{{Term: 7}} })
	bad("a cell twice", concordat.ErrInvalid, func(p *concordat.Profile) { p.Cells = []concordat.Cell{7, 7} })
	bad("a cell beyond all", concordat.ErrInvalid, func(p *concordat.Profile) { p.Cells = []concordat.Cell{concordat.Cells} })
	for _, q := range []concordat.Query{{Scheme: Scheme, MaxDistance: -1}, {Scheme: Scheme, MaxDistance: 101}, {Scheme: Scheme, Limit: -1},
		{Scheme: Scheme, MaxHashes: -1}, {Scheme: Scheme, MaxHashes: 26}} {
		if _, err := x.Match(t.Context(), &q); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("query %+v: got %v, want ErrInvalid", q, err)
		}
	}
	if _, err := x.Match(t.Context(), &concordat.Query{Scheme: "other@0"}); !errors.Is(err, concordat.ErrScheme) {
		t.Errorf("query with a different scheme: got %v, want ErrScheme", err)
	}
	if _, err := x.Document(t.Context(), concordat.Ref{Site: Site, Library: "l", Document: "d"}); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("a refused document was stored: %v", err)
	}
}

func (s *Subject) cancelled(t *testing.T) {
	g, x := NewGenerator(18, 1), s.Open(t)
	put(t, x, g.Profile("l", "d", 3))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	q := g.Query(100)
	if _, err := x.Match(ctx, q); !errors.Is(err, context.Canceled) {
		t.Errorf("Match with a cancelled context: %v", err)
	}
	if err := x.Put(ctx, g.Profile("l", "e", 3)); !errors.Is(err, context.Canceled) {
		t.Errorf("Put with a cancelled context: %v", err)
	}
}

// random performs the same random work on the index and the oracle and compares all answers.
func (s *Subject) random(t *testing.T) {
	seeds := uint64(4)
	if testing.Short() {
		seeds = 2
	}
	for seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			g, x := NewGenerator(seed, 6), s.Open(t)
			o := &Oracle{Site: Site, Scheme: Scheme}
			for range 60 {
				switch n := g.IntN(20); {
				case n < 8:
					var ps []*concordat.Profile
					for range 1 + g.IntN(4) {
						ps = append(ps, g.Profile(g.Library(), g.ID(), g.IntN(45)))
					}
					put(t, x, ps...)
					put(t, o, ps...)
				case n < 11:
					r := concordat.Ref{Site: Site, Library: g.Library(), Document: g.ID()}
					if err := errors.Join(x.Delete(t.Context(), r), o.Delete(t.Context(), r)); err != nil {
						t.Fatal(err)
					}
				case n < 12 && s.Reopen != nil:
					x = s.Reopen(t, x)
				case n < 14 && s.Disturb != nil:
					s.Disturb(t, x)
				default:
					s.same(t, x, o, g.Query(1+g.IntN(8)))
					s.sameText(t, x, o, g.TextQuery(1+g.IntN(4)))
				}
			}
		})
	}
}

// concurrent puts versions of documents while querying: no answer may contain only part of a version, and every acknowledged version or a
// later one must be visible.
func (s *Subject) concurrent(t *testing.T) {
	const documents, versions, sentences = 4, 12, 30
	g, x := NewGenerator(19, 1), s.Open(t)
	var prints [documents]concordat.Fingerprint
	for i := range prints {
		prints[i] = g.Random()
	}
	profile := func(doc, version int) *concordat.Profile {
		p := &concordat.Profile{Scheme: Scheme, Document: concordat.Document{
			Library: "l", ID: concordat.DocumentID(fmt.Sprint(doc)), Title: fmt.Sprint(version)},
			Terms: []concordat.TermCount{{Term: 1, Count: 1 + version}, {Term: concordat.Term(2 + version), Count: 1}}}
		for i := range sentences {
			p.Indexed = append(p.Indexed, concordat.Sentence{Span: concordat.Span{Start: i, End: i + 1}, Fingerprint: prints[doc]})
		}
		return p
	}
	var mu sync.Mutex
	var acknowledged [documents]int // version numbers, starting at 1
	var writers, readers sync.WaitGroup
	stop := make(chan struct{})
	for doc := range documents {
		writers.Go(func() {
			for v := 1; v <= versions; v++ {
				if err := x.Put(t.Context(), profile(doc, v)); err != nil {
					t.Errorf("Put: %v", err)
					return
				}
				mu.Lock()
				acknowledged[doc] = v
				mu.Unlock()
			}
		})
	}
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				mu.Lock()
				atLeast := acknowledged
				mu.Unlock()
				a, err := x.Match(t.Context(), &concordat.Query{Scheme: Scheme, Fingerprints: prints[:]})
				if err != nil {
					t.Errorf("Match: %v", err)
					return
				}
				for doc := range documents {
					wholeVersion(t, a.Matches, doc, sentences, atLeast[doc])
				}
				b, err := x.SearchText(t.Context(), &concordat.TextQuery{Windows: [][]concordat.WeightedTerm{{{Term: 1, Weight: 1}}},
					AverageLength: 10, Limit: 2 * documents})
				if err != nil {
					t.Errorf("SearchText: %v", err)
					return
				}
				for doc := range documents {
					oneVersion(t, b.Matches, doc, atLeast[doc])
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
}

// wholeVersion checks that the answer contains one whole version of a document, not before atLeast.
func wholeVersion(t *testing.T, ms []concordat.Match, doc, sentences, atLeast int) {
	n, titles := 0, map[string]int{}
	for _, m := range ms {
		if m.Sentence == doc {
			n++
			titles[m.Title]++
		}
	}
	version := 0
	for title := range titles {
		if _, err := fmt.Sscan(title, &version); err != nil {
			t.Error(err)
		}
	}
	whole := n == sentences && len(titles) == 1 || n == 0 && atLeast == 0
	if !whole || version < atLeast {
		t.Errorf("document %d, acknowledged version %d: the matches contain sentences of versions %v", doc, atLeast, titles)
	}
	if !slices.IsSortedFunc(ms, func(a, b concordat.Match) int { return a.Sentence - b.Sentence }) {
		t.Error("the matches are out of order")
	}
}

// oneVersion checks that a text answer contains one version of a document, not before atLeast.
func oneVersion(t *testing.T, ms []concordat.TextMatch, doc, atLeast int) {
	n, version := 0, 0
	for _, m := range ms {
		if m.Source.Document == concordat.DocumentID(fmt.Sprint(doc)) {
			n++
			if _, err := fmt.Sscan(m.Title, &version); err != nil {
				t.Error(err)
			}
		}
	}
	if n > 1 || n == 0 && atLeast > 0 || version < atLeast {
		t.Errorf("document %d, acknowledged version %d: the text search found the document %d times, with version %d", doc, atLeast, n, version)
	}
}
