package index

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	bleve "github.com/blevesearch/bleve_index_api"
	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/internal/indextest"
)

// TestMetaVersions fixes what each version of the stored metadata says of cells.
func TestMetaVersions(t *testing.T) {
	m := meta{library: "l", id: "d", title: "T", added: time.Unix(1, 2).UTC(), sentences: 7, words: 3, text: true}
	plain := appendMeta(nil, &m)
	for _, c := range []struct {
		version      byte
		cells        []concordat.Cell
		meant, stale bool
	}{
		{2, nil, false, false},
		{3, []concordat.Cell{}, true, true},
		{3, []concordat.Cell{5, 300}, true, true},
		{4, []concordat.Cell{}, true, false},
		{4, []concordat.Cell{5, 300}, true, false},
	} {
		b := appendCells(append([]byte{c.version}, plain[1:]...), c.cells)
		want := m
		want.meant, want.stale, want.cells = c.meant, c.stale, appendCells(nil, c.cells)
		got, err := decodeMeta(b)
		if err != nil {
			t.Errorf("version %d: %v", c.version, err)
			continue
		}
		if len(got.cells) == 0 {
			got.cells = nil
		}
		if d := cmp.Diff(&want, got, cmp.AllowUnexported(meta{})); d != "" {
			t.Errorf("version %d, %d cells: %s", c.version, len(c.cells), d)
		}
		if again := appendMeta(nil, &want); !bytes.Equal(again, b) {
			t.Errorf("version %d, %d cells: written as %x instead of %x", c.version, len(c.cells), again, b)
		}
	}
	for _, v := range []byte{0, 1, 5} {
		if _, err := decodeMeta(append([]byte{v}, plain[1:]...)); err == nil {
			t.Errorf("version %d is read", v)
		}
	}
}

// TestTableCells: a table file states consistently whether a document's cells are known.
func TestTableCells(t *testing.T) {
	for _, c := range []struct {
		known, cells uint64
		ok           bool
	}{
		{cellsUnknown, 0, true},
		{cellsUnknown, 1, false},
		{cellsKnown, 0, true},
		{cellsKnown, uint64(concordat.Cells), true},
		{cellsKnown, uint64(concordat.Cells) + 1, false},
		{cellsStale, 0, true},
		{cellsStale, 1, true},
		{cellsStale + 1, 1, false},
	} {
		var b []byte
		for _, v := range []uint64{1, 0, 0, c.known, c.cells, 0} { // number, sentences, words; cells; bytes of spans
			b = binary.AppendUvarint(b, v)
		}
		docs, err := tableDocuments(append(b, "\x01l\x01d\x00"...), 1)
		if (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
		if err != nil {
			continue
		}
		if d := docs[0]; d.meant != (c.known > 0) || d.stale != (c.known == 2) || uint64(d.cellCount) != c.cells {
			t.Errorf("%+v: read as %v, %v, %d", c, d.meant, d.stale, d.cellCount)
		}
	}
}

// putStale stores a profile on disk like a program that wrote metadata of version 3; only the next opening loads it.
func putStale(t *testing.T, s *Shard, p *concordat.Profile) {
	t.Helper()
	n, err := s.state.number()
	if err != nil {
		t.Fatal(err)
	}
	a := new(arena)
	a.add(n, p, s.state.counters)
	doc := &a.entries[0].fields[0]
	if doc.name != fieldDocument || doc.value[0] != 4 {
		t.Fatalf("the metadata is written as field %s, version %d", doc.name, doc.value[0])
	}
	doc.value[0] = 3
	batch := bleve.NewBatch()
	for _, e := range a.entries[:a.used] {
		batch.Update(e)
	}
	if err := s.engine.batch(batch); err != nil {
		t.Fatal(err)
	}
}

// TestStale: documents with cells by an earlier definition are counted as stale until they are put again, but are found by their cells, in
// cold and warm starts, in copies of the index, and after merges.
func TestStale(t *testing.T) {
	for _, stock := range []bool{false, true} {
		dir := filepath.Join(t.TempDir(), "shard")
		g := indextest.NewGenerator(1, 20)
		profile := func(id concordat.DocumentID, cells ...concordat.Cell) *concordat.Profile {
			p := g.Profile("l", id, 30)
			p.Cells, p.Terms = append([]concordat.Cell{}, cells...), []concordat.TermCount{{Term: 7, Count: 3}}
			return p
		}
		cold, warm := testOptions, warmOptions()
		cold.StockSegments, warm.StockSegments = stock, stock
		s := openWarm(t, dir, cold)
		if err := s.Put(t.Context(), profile("present", 3, 4), profile("none")); err != nil {
			t.Fatal(err)
		}
		putStale(t, s, profile("stale", 3, 5))
		putStale(t, s, profile("stale none"))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}

		bare := []UnfitDocument{{"none", true}, {"stale none", true}}
		check := func(what string, s *Shard, want Meant, u Unfit) {
			t.Helper()
			q := UnfitQuery{Library: "l", Want: want, Limit: 9}
			got, err := s.Unfit(&q)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Documents) == 0 {
				got.Documents = nil
			}
			if d := cmp.Diff(&u, got); d != "" {
				t.Errorf("%s, stock %v, want %d: %s", what, stock, want, d)
			}
		}
		checkStale := func(what string, s *Shard) {
			t.Helper()
			check(what, s, MeantCells, Unfit{Stale: 1, Bare: 2, Documents: []UnfitDocument{bare[0], {"stale", false}, bare[1]}})
			check(what, s, MeantNone, Unfit{Superfluous: 2, Documents: []UnfitDocument{{"present", false}, {"stale", false}}})
			check(what, s, MeantUnknown, Unfit{Superfluous: 4,
				Documents: []UnfitDocument{{"none", false}, {"present", false}, {"stale", false}, {"stale none", false}}})
			wantFound(t, s, 5, "stale")
			wantFound(t, s, 3, "present", "stale")
			if st := s.Stats(); st.Meant != 4 {
				t.Errorf("%s, stock %v: the cells of %d documents are known, of 4", what, stock, st.Meant)
			}
			checkCurrent(t, what, s, 3)
		}
		for i, what := range []string{"cold", "still cold", "warm"} {
			s = openWarm(t, dir, warm)
			if is := s.engine.warm.Load(); is != (i == 2) && i != 1 {
				t.Errorf("%s, stock %v: the start is warm: %v", what, stock, is)
			}
			checkStale(what, s)
			if i < 2 {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}

		f, err := s.Freeze()
		if err != nil {
			t.Fatal(err)
		}
		copied := filepath.Join(t.TempDir(), "copy")
		if err := f.CopyTo(t.Context(), copied); err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		checkStale("copy", open(t, copied, cold))

		if err := s.Merge(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(filepath.Join(dir, tableName)); err != nil {
			t.Fatal(err)
		}
		s = open(t, dir, warm)
		checkStale("merged", s)

		if err := s.Put(t.Context(), profile("stale", 3, 6)); err != nil {
			t.Fatal(err)
		}
		check("renewed", s, MeantCells, Unfit{Bare: 2, Documents: bare})
		checkCurrent(t, "renewed", s, 4)
		wantFound(t, s, 5)
		wantFound(t, s, 6, "stale")
	}
}

// checkCurrent checks how many documents TextStats counts as having no cells by an earlier definition.
func checkCurrent(t *testing.T, what string, s *Shard, want int) {
	t.Helper()
	if st, err := s.TextStats(t.Context(), nil); err != nil || st.Meant != 4 || st.Current != want {
		t.Errorf("%s: statistics %+v, %v; want 4 documents with known cells, %d of them current", what, st, err, want)
	}
}

// wantFound checks which documents a search for one cell returns.
func wantFound(t *testing.T, s *Shard, cell concordat.Cell, want ...concordat.DocumentID) {
	t.Helper()
	a, err := s.SearchText(t.Context(), &concordat.TextQuery{Cells: true, AverageLength: 3, Limit: 9,
		Windows: [][]concordat.WeightedTerm{{{Term: concordat.Term(cell), Weight: 1}}}})
	if err != nil {
		t.Fatal(err)
	}
	var got []concordat.DocumentID
	for _, m := range a.Matches {
		got = append(got, m.Source.Document)
	}
	slices.Sort(got)
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("cell %d: %s", cell, d)
	}
}

// TestStaleChange: a change by a log that states another definition of cells stores stale cells, in memory and on disk; so does Put.
func TestStaleChange(t *testing.T) {
	g := indextest.NewGenerator(1, 20)
	var ps []*concordat.Profile
	for id, by := range map[concordat.DocumentID]string{"present": "", "stated": PresentCells, "earlier": "0123456789abcdef",
		"unknown": UnknownCells} {
		p := g.Profile("l", id, 3)
		p.Cells, p.CellsBy, p.Terms = []concordat.Cell{3}, by, []concordat.TermCount{{Term: 7, Count: 3}}
		ps = append(ps, p)
	}
	want := &Unfit{Stale: 2, Documents: []UnfitDocument{{"earlier", false}, {"unknown", false}}}
	for _, logged := range []bool{false, true} {
		dir, o := filepath.Join(t.TempDir(), "shard"), testOptions
		o.Logged = logged
		s := open(t, dir, o)
		var err error
		if logged {
			changes := make([]Change, len(ps))
			for i, p := range ps {
				changes[i].Put = p
			}
			err = errors.Join(s.Apply(t.Context(), changes, Applied{Seq: 4, Epoch: 1}), s.Persist(t.Context()))
		} else {
			err = s.Put(t.Context(), ps...)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, what := range []string{"written", "reopened"} {
			got, err := s.Unfit(&UnfitQuery{Library: "l", Want: MeantCells, Limit: 9})
			if d := cmp.Diff(want, got); err != nil || d != "" {
				t.Errorf("%s, logged %v: %v: %s", what, logged, err, d)
			}
			checkCurrent(t, what, s, 2)
			if what == "written" {
				if err := s.Close(); err != nil {
					t.Fatal(err)
				}
				s = open(t, dir, o)
			}
		}
	}
}
