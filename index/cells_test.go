package index

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"concordat"
)

// randomCells returns n cells or slightly fewer, never nil; most are random, and some belong to a small set.
func randomCells(r *rand.Rand, n int) []concordat.Cell {
	out := make([]concordat.Cell, 0, n)
	for range n {
		c := concordat.Cell(r.Uint32N(uint32(concordat.Cells)))
		if r.IntN(4) == 0 {
			c = concordat.Cells - 1 - c%5
		}
		out = append(out, c)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// TestCellBytes: the stored form matches the description in DESIGN.md, and damaged forms are refused.
func TestCellBytes(t *testing.T) {
	cells := []concordat.Cell{0, 1, 129, concordat.Cells - 1}
	b := appendCells(nil, cells)
	if want := []byte{0, 1, 0x80, 0x01, 0xfe, 0xfe, 0xff, 0x04}; !bytes.Equal(b, want) {
		t.Errorf("got %x, want %x", b, want)
	}
	var got []concordat.Cell
	if err := decodeCells(b, func(c concordat.Cell) { got = append(got, c) }); err != nil || !slices.Equal(got, cells) {
		t.Errorf("got %v, %v", got, err)
	}
	for _, bad := range [][]byte{{0x80}, {1, 0}, {0, 0}, {0x80, 0x80, 0x80, 0x05}, {0xff, 0xff, 0xff, 0x04, 1},
		bytes.Repeat([]byte{0xff}, 12)} {
		if err := decodeCells(bad, func(concordat.Cell) {}); err == nil {
			t.Errorf("%x is taken", bad)
		}
	}
}

// TestCellLevel: a level of any size yields the same results as scanning every entry.
func TestCellLevel(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, 5, 3000, 400_000} {
		entries := make([]termDoc, n)
		by := map[concordat.Cell][]uint32{}
		for i := range entries {
			c := concordat.Cell(r.Uint32N(uint32(concordat.Cells)))
			if i%3 == 0 {
				c = c % 300 << 10
			}
			entries[i] = termDoc{uint32(c), uint32(i)}
			by[c] = append(by[c], uint32(i))
		}
		l := newCellLevel(sortTerms(slices.Clone(entries), make([]termDoc, n), 24))
		for c, want := range by {
			if got := l.find(c); !slices.Equal(got, want) {
				t.Fatalf("%d entries: cell %d has %v, want %v", n, c, got, want)
			}
		}
		for range 1000 {
			c := concordat.Cell(r.Uint32N(uint32(concordat.Cells)))
			if got := l.find(c); !slices.Equal(got, by[c]) {
				t.Fatalf("%d entries: cell %d has %v, want %v", n, c, got, by[c])
			}
		}
		count := 0
		l.all(func(e termDoc) {
			if !slices.Contains(by[concordat.Cell(e.term)], e.doc) {
				t.Fatalf("%d entries: entry %v is none", n, e)
			}
			count++
		})
		if count != n {
			t.Errorf("%d of %d entries", count, n)
		}
	}
}

// TestCellsStay: after changes, rebuilding, warm and cold starts and a merge, the cell table equals one built from only the live
// documents.
func TestCellsStay(t *testing.T) {
	dir := t.TempDir()
	s := openWarm(t, dir, warmOptions())
	r := rand.New(rand.NewPCG(6, 7))
	living := map[concordat.DocumentID][]concordat.Cell{}
	check := func(what string) {
		t.Helper()
		by := map[concordat.Cell][]string{}
		for id, cells := range living {
			for _, c := range cells {
				by[c] = append(by[c], string(id))
			}
		}
		stats, err := s.TextStats(t.Context(), nil)
		if err != nil || stats.Meant != len(living) {
			t.Fatalf("%s: %d documents are known, want %d (%v)", what, stats.Meant, len(living), err)
		}
		for c, want := range by {
			a, err := s.SearchText(t.Context(), &concordat.TextQuery{Cells: true, AverageLength: 1, Limit: 1000,
				Windows: [][]concordat.WeightedTerm{{{Term: concordat.Term(c), Weight: 1}}}})
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, m := range a.Matches {
				got = append(got, string(m.Source.Document))
			}
			slices.Sort(want)
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Fatalf("%s: cell %d has %v, want %v", what, c, got, want)
			}
		}
	}
	for round := range 12 {
		for range 15 {
			id := concordat.DocumentID(fmt.Sprint(r.IntN(60)))
			if r.IntN(3) == 0 {
				if err := s.Delete(t.Context(), concordat.Ref{Site: testOptions.Site, Library: "l", Document: id}); err != nil {
					t.Fatal(err)
				}
				delete(living, id)
				continue
			}
			p := &concordat.Profile{Scheme: testOptions.Scheme, Document: concordat.Document{Library: "l", ID: id}, Cells: randomCells(r, 30),
				Indexed: []concordat.Sentence{{Fingerprint: randomFingerprint(r)}}, Terms: []concordat.TermCount{{Term: 1, Count: 1 + r.IntN(9)}}}
			living[id] = p.Cells
			if err := s.Put(t.Context(), p); err != nil {
				t.Fatal(err)
			}
		}
		check(fmt.Sprint("round ", round))
		if round%4 == 3 {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			o := warmOptions()
			o.Warm = round != 7 // so that the third start finds nothing
			s = openWarm(t, dir, o)
			if s.engine.warm.Load() != (round == 3) {
				t.Errorf("round %d: warm is %v", round, s.engine.warm.Load())
			}
			check(fmt.Sprint("start ", round))
		}
	}
	if err := s.Merge(t.Context()); err != nil {
		t.Fatal(err)
	}
	check("merged")
	if len(s.state.cells.levels) != 1 || s.state.cells.waste != 0 || len(s.state.cells.docs) > len(living) {
		t.Errorf("%d levels, waste %d, %d documents", len(s.state.cells.levels), s.state.cells.waste, len(s.state.cells.docs))
	}
}

// BenchmarkSearchCells searches a table of that many sentences with ten cells each, from documents of 50 sentences, as a check does for
// one sentence: 1,600 cells, for 100 documents. Real sentences are nearer to each other than these.
func BenchmarkSearchCells(b *testing.B) {
	for _, sentences := range []int{100_000, 1_000_000} {
		b.Run(fmt.Sprint(sentences), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			s := &Shard{opt: testOptions, engine: new(engine)}
			s.state.init()
			for i := range sentences / 50 {
				d := &document{key: key{"l", concordat.DocumentID(fmt.Sprint(i))}, words: 1000, meant: true}
				for range 500 {
					d.cells = append(d.cells, concordat.Cell(r.Uint32N(uint32(concordat.Cells)/2)))
				}
				slices.Sort(d.cells)
				d.cells = slices.Compact(d.cells)
				s.state.cells.add(d)
			}
			s.state.rebuildCells(true)
			q := &concordat.TextQuery{Cells: true, AverageLength: 1000, Limit: 100, Windows: make([][]concordat.WeightedTerm, 1)}
			for range 1600 {
				q.Windows[0] = append(q.Windows[0], concordat.WeightedTerm{Term: concordat.Term(r.Uint32N(uint32(concordat.Cells) / 2)), Weight: 1})
			}
			slices.SortFunc(q.Windows[0], func(a, b concordat.WeightedTerm) int { return int(a.Term) - int(b.Term) })
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.searchCells(b.Context(), q); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(s.state.cells.levels[0].bytes())/float64(sentences), "B/sentence")
		})
	}
}
