package index

import (
	"bytes"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	bleve "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"

	"concordat"
	"concordat/internal/indextest"
)

// TestApplyRefusesAfterFailure: after a batch that may or may not have been applied, a logged shard takes no further changes, and Persist
// does not report them as saved.
func TestApplyRefusesAfterFailure(t *testing.T) {
	s := openLogged(t)
	failed := errors.New("the batch failed")
	s.logged.mu.Lock()
	s.logged.err = failed
	s.logged.mu.Unlock()
	change := Change{Put: indextest.NewGenerator(1, 3).Profile("l", "d", 3)}
	if err := s.Apply(t.Context(), []Change{change}, Applied{Seq: 1}); !errors.Is(err, failed) {
		t.Errorf("Apply: got %v, want %v", err, failed)
	}
	if err := s.Persist(t.Context()); !errors.Is(err, failed) {
		t.Errorf("Persist: got %v, want %v", err, failed)
	}
	if n := s.Stats().Documents; n != 0 {
		t.Errorf("%d documents, want 0", n)
	}
}

// TestApplyNothing: an Apply that is refused or finds the disk full returns its error and changes nothing, and a later one succeeds.
func TestApplyNothing(t *testing.T) {
	s := openLogged(t)
	g := indextest.NewGenerator(1, 3)
	change, other := Change{Put: g.Profile("l", "d", 3)}, Change{Put: g.Profile("l", "e", 3)}
	other.Put.Scheme = "other@1"
	reserve := s.reserve
	s.reserve = math.MaxUint64 / 4
	if err := s.Apply(t.Context(), []Change{change}, Applied{Seq: 1}); !errors.Is(err, concordat.ErrDiskFull) {
		t.Errorf("full disk: %v, want ErrDiskFull", err)
	}
	s.reserve = reserve
	if err := s.Apply(t.Context(), []Change{change, other}, Applied{Seq: 1}); !errors.Is(err, concordat.ErrScheme) {
		t.Errorf("another scheme: %v, want ErrScheme", err)
	}
	if n := s.Stats().Documents; n != 0 || s.Applied() != (Applied{}) {
		t.Errorf("%d documents at %v, want none", n, s.Applied())
	}
	if err := s.Apply(t.Context(), []Change{change}, Applied{Seq: 1}); err != nil || s.Stats().Documents != 1 {
		t.Errorf("%d documents, want 1 (%v)", s.Stats().Documents, err)
	}
}

// TestHas: the engine reports what is in any of its segments, which decides whether a failed batch was kept and must be visible.
func TestHas(t *testing.T) {
	s := open(t, t.TempDir(), testOptions)
	g := indextest.NewGenerator(1, 3)
	for _, id := range []concordat.DocumentID{"d", "e"} {
		if err := s.Put(t.Context(), g.Profile("l", id, 3)); err != nil {
			t.Fatal(err)
		}
	}
	gone := s.state.find(key{"l", "e"}).number
	if err := s.Delete(t.Context(), concordat.Ref{Site: testOptions.Site, Library: "l", Document: "e"}); err != nil {
		t.Fatal(err)
	}
	for number, want := range map[uint32]bool{s.state.find(key{"l", "d"}).number: true, gone: false, 99: false} {
		if got, err := s.engine.has(blockID(number, 0)); err != nil || got != want {
			t.Errorf("document %d: %v, %v, want %v", number, got, err, want)
		}
	}
}

// TestPutBatches: Put divides profiles into batches of about 2,000 sentences and 4 MB of text, and never divides a profile.
func TestPutBatches(t *testing.T) {
	for _, c := range []struct {
		name            string
		sentences, text []int
		batches         uint64
	}{
		{"small", []int{1, 1, 1}, []int{0, 9, 0}, 1},
		{"sentences", []int{1500, 1500}, []int{0, 0}, 2},
		{"text", []int{1, 1}, []int{3 << 20, 3 << 20}, 2},
		{"one above the limits", []int{2100, 1}, []int{5 << 20, 0}, 2},
	} {
		s := open(t, t.TempDir(), testOptions)
		var ps []*concordat.Profile
		for i, n := range c.sentences {
			p := &concordat.Profile{Scheme: testOptions.Scheme, Indexed: make([]concordat.Sentence, n),
				Document: concordat.Document{Library: "l", ID: concordat.DocumentID('a' + rune(i)), Text: strings.Repeat("x", c.text[i])}}
			ps = append(ps, p)
		}
		if err := s.Put(t.Context(), ps...); err != nil {
			t.Fatal(err)
		}
		if got := s.state.view.epoch; got != c.batches { // each batch begins an epoch
			t.Errorf("%s: %d batches, want %d", c.name, got, c.batches)
		}
	}
}

// TestSpanLimit: the greatest offset that can be read back is stored; one more is refused, since the shard could not be opened again.
func TestSpanLimit(t *testing.T) {
	dir := t.TempDir()
	for end, want := range map[int]error{maxOffset - 1: nil, maxOffset: nil, maxOffset + 1: concordat.ErrInvalid} {
		s := open(t, dir, testOptions)
		p := &concordat.Profile{Scheme: testOptions.Scheme, Document: concordat.Document{Library: "l", ID: "d"},
			Indexed: []concordat.Sentence{{Span: concordat.Span{Start: end - 5, End: end}}}}
		if err := s.Put(t.Context(), p); !errors.Is(err, want) {
			t.Errorf("offset %d: %v, want %v", end, err, want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		s = open(t, dir, testOptions)
		a, err := s.Match(t.Context(), &concordat.Query{Scheme: testOptions.Scheme, Fingerprints: make([]concordat.Fingerprint, 1)})
		if err != nil || want == nil && (len(a.Matches) != 1 || a.Matches[0].Span.End != end) {
			t.Errorf("offset %d: found %v (%v)", end, a, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDeletionFreesMemory: after most documents were deleted, the next query frees the memory of their sentences, also those that a
// merged level holds.
func TestDeletionFreesMemory(t *testing.T) {
	s := open(t, t.TempDir(), testOptions)
	r := rand.New(rand.NewPCG(4, 6))
	var ps []*concordat.Profile
	var refs []concordat.Ref
	for i := range 10 {
		p := &concordat.Profile{Scheme: testOptions.Scheme, Document: concordat.Document{Library: "l", ID: concordat.DocumentID('a' + rune(i))}}
		for range maxFresh / 8 {
			p.Indexed = append(p.Indexed, concordat.Sentence{Fingerprint: randomFingerprint(r)})
		}
		ps, refs = append(ps, p), append(refs, concordat.Ref{Site: testOptions.Site, Library: "l", Document: p.Document.ID})
	}
	if err := s.Put(t.Context(), ps...); err != nil {
		t.Fatal(err)
	}
	s.state.consolidate()
	if err := s.Delete(t.Context(), refs[1:]...); err != nil {
		t.Fatal(err)
	}
	q := &concordat.Query{Scheme: testOptions.Scheme, Fingerprints: []concordat.Fingerprint{ps[0].Indexed[0].Fingerprint}}
	if a, err := s.Match(t.Context(), q); err != nil || len(a.Matches) != 1 {
		t.Errorf("%v (%v), want one match", a, err)
	}
	v := &s.state.view
	if n := len(v.levels); s.state.waste != 0 || len(v.docs) != 1 || n != 1 || v.levels[0].sentences != maxFresh/8 {
		t.Errorf("%d dead sentences, %d documents and %d levels are left, want 0, 1 and 1", s.state.waste, len(v.docs), n)
	}
}

// TestBigGroups: look-ups among more than 254 fingerprints that share the upper 16 bits of a band find what a comparison with all finds.
func TestBigGroups(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	root := randomFingerprint(r)
	var fps []concordat.Fingerprint
	var occs []occurrence
	for band := range concordat.Bands {
		for range bigGroup + 50 {
			var v [concordat.Bands]uint32
			for i := range v {
				v[i] = r.Uint32N(values)
			}
			v[band] = root.Band(band)&^15 | r.Uint32N(16)
			fps, occs = append(fps, concordat.FingerprintOf(v)), append(occs, occurrence{uint32(len(occs)), 0})
		}
	}
	l := newLevel(fps, occs)
	var all []concordat.Fingerprint
	for _, f := range l.all() {
		all = append(all, f)
	}
	for i := range l.bands {
		if len(l.bands[i].big) == 0 {
			t.Fatalf("band %d has no big group", i)
		}
		for _, nibble := range []int{5 * i, 5*i + 1, 5*i + 4} {
			q := root
			q[nibble/15] ^= 9 << (4 * (nibble % 15))
			for _, p := range benchProbes {
				checkLookup(t, l, all, q, p, concordat.Bits, 0)
			}
		}
	}
}

// TestTableFileKeepsAll: a table file is read back as written, with big groups and without cells, or without big groups and with cells.
func TestTableFileKeepsAll(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 5))
	var key [32]byte
	for _, big := range []bool{false, true} {
		d := &document{number: 1, key: key1(1), sentences: bigGroup + 1, meant: true}
		d.blocks = make([]uint32, blockCount(d.sentences)+1)
		var fps []concordat.Fingerprint
		var occs []occurrence
		for i := range d.sentences {
			f := randomFingerprint(r)
			if big {
				f[0] = f[0]&^0xffff0 | 0x12340
			}
			fps, occs = append(fps, f), append(occs, occurrence{0, uint32(i)})
		}
		l := newLevel(fps, occs)
		if got := len(l.bands[0].big) > 0; got != big {
			t.Fatalf("big group: %v, want %v", got, big)
		}
		var c *cellLevel
		if !big {
			c, d.cellCount = newCellLevel([]termDoc{{7, 0}, {9, 0}}), 2
		}
		var b bytes.Buffer
		if err := writeTable(&b, key, []*document{d}, l, c); err != nil {
			t.Fatal(err)
		}
		docs, level, cells, err := readTable(&b, int64(b.Len()), key)
		if err != nil || len(docs) != 1 || docs[0].cellCount != d.cellCount || (cells == nil) != big {
			t.Fatalf("big group %v: read back %d documents, no cells %v (%v)", big, len(docs), cells == nil, err)
		}
		for e, f := range l.all() {
			if lo, hi := level.bands[0].bucket(f.Band(0)); e < lo || e >= hi {
				t.Fatalf("big group %v: entry %d is not in its bucket [%d, %d)", big, e, lo, hi)
			}
		}
	}
}

// TestDamagedDocumentsRefused: whichever byte of a table's documents is changed or missing, the documents are refused or usable.
func TestDamagedDocumentsRefused(t *testing.T) {
	d := &document{number: 1, key: key1(1), title: "t", sentences: 2, meant: true, spans: []byte{0, 9, 1, 9}}
	var b bytes.Buffer
	if err := writeTable(&b, [32]byte{}, []*document{d}, newLevel(nil, nil), nil); err != nil {
		t.Fatal(err)
	}
	blob := b.Bytes()[tableHead:][:len("123456")+3+len("l1t")+len(d.spans)]
	if _, err := tableDocuments(blob, 1); err != nil {
		t.Fatal(err)
	}
	for at := range blob {
		if _, err := tableDocuments(blob[:at], 1); !errors.Is(err, errStored) {
			t.Errorf("cut at %d: %v, want errStored", at, err)
		}
		for x := range 256 {
			changed := bytes.Clone(blob)
			changed[at] = byte(x)
			docs, err := tableDocuments(changed, 1)
			for i := range docs {
				for ordinal := range uint32(min(docs[i].sentences, 100)) {
					_, _ = docs[i].span(ordinal)
				}
			}
			if err != nil && !errors.Is(err, errStored) {
				t.Errorf("byte %d is %d: %v", at, x, err)
			}
		}
	}
}

// TestDamagedCellsRefused: a table of cells that could not be read safely is refused.
func TestDamagedCellsRefused(t *testing.T) {
	docs := []*document{{cellCount: 2}, {cellCount: 1}}
	for name, c := range map[string]struct {
		ok    bool
		spoil func(*cellLevel) *cellLevel
	}{
		"as written":       {true, func(l *cellLevel) *cellLevel { return l }},
		"missing":          {false, func(*cellLevel) *cellLevel { return nil }},
		"unknown document": {false, func(l *cellLevel) *cellLevel { l.docs[1] = 2; return l }},
		"entry missing":    {false, func(l *cellLevel) *cellLevel { l.docs, l.low = l.docs[:2], l.low[:2]; return l }},
		"late start":       {false, func(l *cellLevel) *cellLevel { l.starts[0] = 1; return l }},
		"early end":        {false, func(l *cellLevel) *cellLevel { l.starts[len(l.starts)-1] = 2; return l }},
		"out of order":     {false, func(l *cellLevel) *cellLevel { l.starts[1] = 9; return l }},
	} {
		l := c.spoil(newCellLevel([]termDoc{{1, 0}, {2, 0}, {3, 1}}))
		if err := l.check(docs); (err == nil) != c.ok || err != nil && !errors.Is(err, errStored) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := (*cellLevel)(nil).check([]*document{{}}); err != nil {
		t.Errorf("documents without cells: %v", err)
	}
}

// TestVerifyReadsTexts: Verify finds a text that cannot be decoded even if its segment's checksum is right.
func TestVerifyReadsTexts(t *testing.T) {
	s := open(t, t.TempDir(), testOptions)
	if err := s.Put(t.Context(), indextest.NewGenerator(1, 3).Profile("l", "d", 3)); err != nil {
		t.Fatal(err)
	}
	if err := s.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	var e entry
	e.reset(textID(99))
	e.store(fieldText, []byte("no zstd frame"))
	batch := bleve.NewBatch()
	batch.Update(&e)
	if err := s.engine.batch(batch); err != nil {
		t.Fatal(err)
	}
	if err := s.Verify(t.Context()); !errors.Is(err, concordat.ErrCorrupt) {
		t.Errorf("got %v, want ErrCorrupt", err)
	}
}

// unread is a segment whose postings of words cannot be read.
type unread struct{ segment.Segment }

type unreadDictionary struct{ segment.TermDictionary }

var errUnread = errors.New("unread")

func (u unread) Dictionary(field string) (segment.TermDictionary, error) {
	d, err := u.Segment.Dictionary(field)
	if field == fieldTerms {
		d = unreadDictionary{d}
	}
	return d, err
}

func (unreadDictionary) PostingsList([]byte, *roaring.Bitmap, segment.PostingsList) (segment.PostingsList, error) {
	return nil, errUnread
}

// TestMergeLosesNoWords: a merge that cannot read a word's texts fails, names its file and leaves none, rather than omitting the word.
func TestMergeLosesNoWords(t *testing.T) {
	for name, p := range map[string]*plugin{"memory": {maxMerge: maxMerge}, "files": {terms: 100}} {
		made, _, err := p.New(testEntries(rand.New(rand.NewPCG(1, 1)), 0, 5, new(counters)))
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		path := filepath.Join(dir, "a.zap")
		_, _, err = p.Merge([]segment.Segment{unread{made}}, []*roaring.Bitmap{nil}, path, nil, nil)
		if !errors.Is(err, errUnread) || errors.Is(err, segment.ErrClosed) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: got %v, want %v with the file's name", name, err, errUnread)
		}
		if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
			t.Errorf("%s: left %v (%v)", name, left, err)
		}
	}
}
