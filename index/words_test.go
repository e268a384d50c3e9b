package index

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/cputime"
)

// TestLengthCode: codes increase with the length, decode to its four highest digits, and fit into one uvarint byte.
func TestLengthCode(t *testing.T) {
	last := -1
	for n := 0; n < 1<<19; n++ {
		code := lengthCode(n)
		if code < last || code > last+1 || code > maxLengthCode {
			t.Fatalf("length %d has code %d after %d", n, code, last)
		}
		last = code
		want := min(n, 1<<18-1)
		unit := 1
		for want/unit >= mantissas {
			unit *= 2
		}
		if got := codedLength(code); got != want-want%unit {
			t.Fatalf("length %d: code %d stands for %d, want %d", n, code, got, want-want%unit)
		}
	}
	if last != maxLengthCode {
		t.Errorf("greatest code %d, want %d", last, maxLengthCode)
	}
}

// givenWords are the terms of a damaged segment.
type givenWords []uint32

func (g *givenWords) next() (uint32, []posting, bool, error) {
	if len(*g) == 0 {
		return 0, nil, false, nil
	}
	term := (*g)[0]
	*g = (*g)[1:]
	return term, []posting{{0, 1, 1}}, true, nil
}

// TestWordOrder: a dictionary that is not in ascending order is refused rather than merged.
func TestWordOrder(t *testing.T) {
	for _, c := range []struct {
		terms []uint32
		ok    bool
	}{{[]uint32{0, 1, 1<<32 - 1}, true}, {[]uint32{0, 0}, false}, {[]uint32{5, 7, 6}, false}} {
		words := givenWords(c.terms)
		w := segmentWriter{ids: []string{"x"}, words: func() wordLists { return &words }}
		if _, err := w.wordIndex(); (err == nil) != c.ok || err != nil && !errors.Is(err, errStored) {
			t.Errorf("%v: %v", c.terms, err)
		}
	}
}

// TestOldFormat: a shard in the format without terms is refused with advice.
func TestOldFormat(t *testing.T) {
	dir := t.TempDir()
	s, err := Open(dir, testOptions)
	if err != nil {
		t.Fatal(err)
	}
	h := s.opt.header()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	h.Format = 1
	if err := writeHeader(dir, h); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, headerName))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(dir, testOptions); !errors.Is(err, concordat.ErrInvalid) || !strings.Contains(err.Error(), "index the documents again") {
		t.Errorf("got %v, want ErrInvalid that says what to do", err)
	}
	if after, err := os.ReadFile(filepath.Join(dir, headerName)); err != nil || string(after) != string(before) {
		t.Errorf("the refused folder has changed (%v)", err)
	}
}

// BenchmarkSearchText searches for 40 windows of 16 terms among 50,000 texts of 60 terms.
func BenchmarkSearchText(b *testing.B) {
	const texts, vocabulary = 50_000, 20_000
	dir := filepath.Join(b.TempDir(), "shard")
	terms := func(i int) []concordat.TermCount {
		var out []concordat.TermCount
		for k := range 60 { // some rare, some in hundreds of texts
			out = append(out, concordat.TermCount{Term: concordat.Term(k*vocabulary + (i*(k+7))%(vocabulary/(1+k%5*40))), Count: 1})
		}
		return out
	}
	err := Build(dir, testOptions, func(yield func(*concordat.Profile, error) bool) {
		for i := range texts {
			p := &concordat.Profile{Scheme: testOptions.Scheme, Document: concordat.Document{Library: "l",
				ID: concordat.DocumentID(fmt.Sprint(i))}, Terms: terms(i)}
			if !yield(p, nil) {
				return
			}
		}
	})
	if err != nil {
		b.Fatal(err)
	}
	s := open(b, dir, testOptions)
	q := &concordat.TextQuery{AverageLength: 60, Limit: 2}
	var all []concordat.Term
	for i := range 40 {
		var w []concordat.WeightedTerm
		for _, t := range terms(i * 1000)[:16] {
			w = append(w, concordat.WeightedTerm{Term: t.Term, Weight: 1})
			all = append(all, t.Term)
		}
		q.Windows = append(q.Windows, w)
	}
	stats, err := s.TextStats(b.Context(), all)
	if err != nil {
		b.Fatal(err)
	}
	postings := 0
	for _, n := range stats.Holding {
		postings += n
	}
	b.ReportAllocs()
	start := cputime.Used()
	for b.Loop() {
		if _, err := s.SearchText(b.Context(), q); err != nil {
			b.Fatal(err)
		}
	}
	cputime.Report(b, start, b.N*postings, "posting")
	b.ReportMetric(float64(postings), "postings")
}
