package index

import (
	"errors"
	"math"
	"testing"

	bleve "github.com/blevesearch/bleve_index_api"

	"concordat"
	"concordat/internal/indextest"
)

// TestBounds: values that do not fit into 32 bits are refused.
func TestBounds(t *testing.T) {
	for _, n := range []int{-1, math.MaxUint32 + 1, math.MaxInt} {
		o := testOptions
		o.BandCap = n
		if _, err := Open(t.TempDir(), o); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("band cap %d: %v, want ErrInvalid", n, err)
		}
	}
	s := open(t, t.TempDir(), testOptions)
	s.state.numbers.next = math.MaxUint32 - 1
	g := indextest.NewGenerator(1, 1)
	if err := s.Put(t.Context(), g.Profile("l", "last", 1)); err != nil {
		t.Errorf("the last number: %v", err)
	}
	if err := s.Put(t.Context(), g.Profile("l", "one more", 1)); !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("a document of the number that Purge uses: %v, want ErrInvalid", err)
	}
}

// TestForeignEntry: MatchStored refuses a band entry that is not a block, and does not corrupt zap's buffers. If two nested visits got
// the same buffer, they would see each other's fields.
func TestForeignEntry(t *testing.T) {
	s := open(t, t.TempDir(), testOptions)
	g := indextest.NewGenerator(1, 1)
	p := g.Profile("l", "d", 3)
	if err := s.Put(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	var e entry
	e.reset("foreign")
	e.store(fieldFingerprints, appendFingerprints(nil, p.Indexed))
	e.addBands(p.Indexed, new(counters))
	batch := bleve.NewBatch()
	batch.Update(&e)
	if err := s.engine.batch(batch); err != nil {
		t.Fatal(err)
	}
	q := &concordat.Query{Scheme: indextest.Scheme, MaxDistance: 1}
	for _, sentence := range p.Indexed {
		q.Fingerprints = append(q.Fingerprints, sentence.Fingerprint)
	}
	if _, err := s.MatchStored(t.Context(), q); !errors.Is(err, errStored) {
		t.Errorf("got %v, want errStored", err)
	}
	snapshot, err := s.engine.snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer snapshot.Close()
	for _, seg := range snapshot.Segments() {
		for n := range seg.Count() {
			alone, beside := 0, 0
			err := errors.Join(
				seg.VisitDocument(n, func(string, byte, []byte, []uint64) bool { alone++; return true }),
				seg.VisitDocument(n, func(string, byte, []byte, []uint64) bool {
					beside++
					return seg.VisitDocument(n, func(string, byte, []byte, []uint64) bool { return true }) == nil
				}))
			if err != nil || alone != beside {
				t.Errorf("document %d: %d fields alone, %d beside another visit (%v)", n, alone, beside, err)
			}
		}
	}
}
