package index

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"concordat"
)

// warmOptions enables the table file for any size.
func warmOptions() Options {
	o := testOptions
	o.Warm, o.tableLeast = true, 1
	return o
}

// warmShard creates a shard in dir with spans, titles, repeats, long documents and deletions, and returns questions for it.
func warmShard(t testing.TB, dir string) []concordat.Fingerprint {
	t.Helper()
	s := openWarm(t, dir, warmOptions())
	r := rand.New(rand.NewPCG(5, 8))
	var asked []concordat.Fingerprint
	for d := range 40 {
		p := &concordat.Profile{Scheme: testOptions.Scheme, Document: concordat.Document{
			Library: concordat.LibraryID(fmt.Sprint("l", d%2)), ID: concordat.DocumentID(fmt.Sprint(d)), Title: fmt.Sprint("title of ", d)}}
		for i := range 10 + 40*(d%3) {
			f := randomFingerprint(r)
			if len(asked) > 0 && i%5 == 0 {
				f = asked[r.IntN(len(asked))]
			}
			asked = append(asked, f)
			p.Indexed = append(p.Indexed, concordat.Sentence{Fingerprint: f, Span: concordat.Span{Start: 100 * i, End: 100*i + 90}})
		}
		if d%4 != 3 {
			p.Cells = randomCells(r, 5*(d%3))
		}
		if err := s.Put(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Delete(t.Context(), concordat.Ref{Site: testOptions.Site, Library: "l1", Document: "7"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return asked
}

func openWarm(t testing.TB, dir string, o Options) *Shard {
	t.Helper()
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// answers returns the answers of s and closes it.
func answers(t *testing.T, s *Shard, asked []concordat.Fingerprint) []concordat.Match {
	t.Helper()
	a, err := s.Match(t.Context(), &concordat.Query{Scheme: testOptions.Scheme, Fingerprints: asked, MaxDistance: 20,
		Probe: concordat.ProbeOne})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return a.Matches
}

// TestWarm: a warm start answers like a cold one, the first change removes the file, and the file never contains a deleted document.
func TestWarm(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, tableName)
	asked := warmShard(t, dir)
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(kept, []byte("title of 7")) || !bytes.Contains(kept, []byte("title of 8")) {
		t.Error("the table holds a deleted document, or lacks another")
	}
	o := warmOptions()
	o.ReadOnly, o.Warm = true, false
	want := answers(t, openWarm(t, dir, o), asked)
	for _, readOnly := range []bool{true, false} {
		o := warmOptions()
		o.ReadOnly = readOnly
		s := openWarm(t, dir, o)
		if !s.engine.warm.Load() {
			t.Fatalf("read only %v: the start is not warm", readOnly)
		}
		if d := cmp.Diff(want, answers(t, s, asked)); d != "" || len(want) == 0 {
			t.Errorf("read only %v (-cold +warm):\n%s", readOnly, d)
		}
		if b, err := os.ReadFile(path); err != nil || readOnly && !bytes.Equal(b, kept) {
			t.Errorf("read only %v: the table is gone or another (%v)", readOnly, err)
		}
	}
	s := openWarm(t, dir, warmOptions())
	stats := s.Stats()
	if err := s.Delete(t.Context(), concordat.Ref{Site: testOptions.Site, Library: "l0", Document: "8"}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("after a change the table is there (%v)", err)
	}
	if n := s.Stats().Sentences; n >= stats.Sentences {
		t.Errorf("%d sentences after a deletion, %d before", n, stats.Sentences)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// The table of an earlier state is not used, so its deleted document does not reappear.
	if b, err := os.ReadFile(path); err != nil || bytes.Contains(b, []byte("title of 8")) {
		t.Errorf("the table after a deletion is absent or holds it (%v)", err)
	}
	if err := os.WriteFile(path, kept, 0o600); err != nil {
		t.Fatal(err)
	}
	s = openWarm(t, dir, warmOptions())
	if s.engine.warm.Load() {
		t.Error("a table of an earlier state is taken")
	}
	for _, m := range answers(t, s, asked) {
		if m.Source.Document == "8" {
			t.Fatal("a deleted document is found")
		}
	}
}

// TestColdKeepsNoTable: without Warm, an old table is neither read nor kept, and none is written.
func TestColdKeepsNoTable(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, tableName)
	asked := warmShard(t, dir)
	want := answers(t, openWarm(t, dir, warmOptions()), asked)
	o := warmOptions()
	o.Warm = false
	for _, damage := range []bool{false, true} {
		if damage {
			if err := os.WriteFile(path, []byte("no table"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		s := openWarm(t, dir, o)
		if s.engine.warm.Load() {
			t.Error("the start is warm")
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("the old table is there after opening (%v)", err)
		}
		if d := cmp.Diff(want, answers(t, s, asked)); d != "" {
			t.Errorf("-warm +cold:\n%s", d)
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("a table was written (%v)", err)
		}
	}
	s := openWarm(t, dir, warmOptions()) // enabled again
	if s.engine.warm.Load() {
		t.Error("the start is warm without a table")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Errorf("turned on again: %v", err)
	}
}

// TestWarmLogged: a log record that changes no document leaves the table unchanged, even if the process dies; a record that changes a
// document removes it.
func TestWarmLogged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, tableName)
	asked := warmShard(t, dir)
	merged := openWarm(t, dir, warmOptions()) // otherwise the merge happens in the background and creates another table
	if err := errors.Join(merged.Merge(t.Context()), merged.Close()); err != nil {
		t.Fatal(err)
	}
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	o := warmOptions()
	o.Logged = true
	want := answers(t, openWarm(t, dir, o), asked)
	for seq := uint64(1); seq < 3; seq++ {
		s := openWarm(t, dir, o)
		if !s.engine.warm.Load() {
			t.Fatalf("start %d is not warm", seq)
		}
		if err := s.Apply(t.Context(), nil, Applied{Seq: seq, Epoch: 1}); err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, kept) {
			t.Errorf("after record %d the table is gone or another (%v)", seq, err)
		}
		if err := s.Persist(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, answers(t, s, asked)); d != "" {
			t.Errorf("record %d:\n%s", seq, d)
		}
	}
	s := openWarm(t, dir, o)
	if got := s.Applied(); !s.engine.warm.Load() || got.Seq != 2 {
		t.Errorf("warm %v, at %v", s.engine.warm.Load(), got)
	}
	gone := Change{Delete: concordat.Ref{Site: testOptions.Site, Library: "l0", Document: "8"}}
	if err := s.Apply(t.Context(), []Change{gone}, Applied{Seq: 3, Epoch: 1}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); !os.IsNotExist(err) {
		t.Errorf("after a deletion the table is there (%v)", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestWarmDamaged: a table with a changed, missing or additional byte is detected and derived again.
func TestWarmDamaged(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, tableName)
	asked := warmShard(t, dir)
	kept, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := answers(t, openWarm(t, dir, warmOptions()), asked)
	damaged := [][]byte{{}, kept[:len(kept)-1], kept[:tableHead], append(bytes.Clone(kept), 0)}
	for _, at := range []int{0, len(tableMagic) - 1, len(tableMagic), tableHead - 8, tableHead, tableHead + 5, len(kept) / 3, len(kept) / 2,
		len(kept) - 1} {
		b := bytes.Clone(kept)
		b[at] ^= 0x10
		damaged = append(damaged, b)
	}
	for i, b := range damaged {
		if testing.Short() && i%4 != 0 {
			continue
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		s := openWarm(t, dir, warmOptions())
		if s.engine.warm.Load() {
			t.Errorf("damaged table %d is taken", i)
		}
		if d := cmp.Diff(want, answers(t, s, asked)); d != "" {
			t.Errorf("damaged table %d:\n%s", i, d)
		}
		o := warmOptions()
		o.ReadOnly = true
		if s = openWarm(t, dir, o); !s.engine.warm.Load() {
			t.Errorf("damaged table %d: not written anew", i)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestTableNotKept: if the table cannot be written or there is no space for it, only the next start takes longer.
func TestTableNotKept(t *testing.T) {
	for name, spoil := range map[string]func(*Shard) error{
		"no room":    func(s *Shard) error { s.reserve = math.MaxUint64 / 4; return nil },
		"no writing": func(s *Shard) error { return os.MkdirAll(filepath.Join(s.dir, tableTemp, "in the way"), 0o700) },
	} {
		dir := t.TempDir()
		asked := warmShard(t, dir)
		want := answers(t, openWarm(t, dir, warmOptions()), asked)
		s := openWarm(t, dir, warmOptions())
		if err := s.Delete(t.Context(), concordat.Ref{Site: testOptions.Site, Library: "none", Document: "none"},
			concordat.Ref{Site: testOptions.Site, Library: "l0", Document: "0"}); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(spoil(s), s.Close()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(dir, tableName)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: a table is there (%v)", name, err)
		}
		s = openWarm(t, dir, warmOptions())
		if s.engine.warm.Load() {
			t.Errorf("%s: the start is warm", name)
		}
		if got := answers(t, s, asked); len(got) == 0 || len(got) >= len(want) {
			t.Errorf("%s: %d matches after a deletion, %d before", name, len(got), len(want))
		}
	}
}

// FuzzTable: a table file with a valid checksum and key is refused or can be queried, whatever it contains.
func FuzzTable(f *testing.F) {
	var key [32]byte
	fps, occs := skewedOccurrences(3, 300)
	l := newLevel(fps, occs)
	docs := map[uint32]*document{}
	for _, o := range occs {
		if docs[o.doc] == nil {
			docs[o.doc] = &document{number: o.doc + 1, key: key1(o.doc)}
		}
		docs[o.doc].sentences++
	}
	cells := cellTable{}
	r := rand.New(rand.NewPCG(5, 9))
	var list []*document
	for i := range uint32(len(docs)) {
		list = append(list, docs[i])
		docs[i].meant, docs[i].cells = true, randomCells(r, 20)
		cells.add(docs[i])
	}
	cells.levels = []*cellLevel{newCellLevel(sortTerms(cells.fresh, make([]termDoc, len(cells.fresh)), 24))}
	var valid bytes.Buffer
	if err := writeTable(&valid, key, list, l, cells.cellsOf(list)); err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(0), uint64(0), uint32(0), uint64(0))
	f.Add(uint32(tableHead-64), uint64(1<<40), uint32(9), uint64(7))
	f.Add(uint32(tableHead+2), uint64(200), uint32(valid.Len()-100), uint64(1<<63))
	// The file is as large as five tables of groups; two of its words vary.
	f.Fuzz(func(t *testing.T, at1 uint32, x1 uint64, at2 uint32, x2 uint64) {
		b := bytes.Clone(valid.Bytes())
		body := b[len(tableMagic)+32 : len(b)-4]
		for _, c := range []struct {
			at uint32
			x  uint64
		}{{at1, x1}, {at2, x2}} {
			at := int(c.at) % (len(body) - 8)
			binary.LittleEndian.PutUint64(body[at:], binary.LittleEndian.Uint64(body[at:])^c.x)
		}
		binary.LittleEndian.PutUint32(b[len(b)-4:], crc32.Checksum(b[:len(b)-4], castagnoli))
		docs, l, cells, err := readTable(bytes.NewReader(b), int64(len(b)), key)
		if at1 == 0 && x1 == 0 && x2 == 0 && err != nil {
			t.Errorf("a table as written: %v", err)
		}
		if err != nil {
			return
		}
		n := 0
		for range l.all() {
			n++
		}
		if n != len(l.first) {
			t.Errorf("%d entries in buckets, %d in all", n, len(l.first))
		}
		for c := concordat.Cell(0); cells != nil && c < concordat.Cells; c += 1 << 16 {
			for _, d := range cells.find(c) {
				_ = docs[d]
			}
		}
		k := &lookup{probe: concordat.ProbeOne, most: 40, cap: defaultBandCap}
		for _, q := range fps[:20] {
			k.search(l, q, 0)
		}
		k.resolve(k.out, []*level{l})
		for _, o := range k.out {
			for _, occ := range l.occs(o.entry) {
				_, _ = docs[occ.doc].span(occ.ordinal)
			}
		}
	})
}

func key1(n uint32) key { return key{"l", concordat.DocumentID(fmt.Sprint(n))} }
