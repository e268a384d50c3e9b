package index

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/RoaringBitmap/roaring/v2"
	bleve "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"
	"github.com/google/go-cmp/cmp"

	"concordat"
)

// testEntries creates n blocks and, for every third, a text. A third of all sentences are copies of seven, so terms with thousands of
// blocks occur.
func testEntries(r *rand.Rand, first, n int, c *counters) []bleve.Document {
	var heavy [7]concordat.Fingerprint
	h := rand.New(rand.NewPCG(7, 7))
	for i := range heavy {
		heavy[i] = randomFingerprint(h)
	}
	var out []bleve.Document
	for i := first; i < first+n; i++ {
		e := new(entry)
		e.reset(blockID(uint32(i), 0))
		var ss []concordat.Sentence
		for range r.IntN(4) {
			f := randomFingerprint(r)
			if r.IntN(3) == 0 {
				f = heavy[r.IntN(2)*r.IntN(len(heavy))] // the first in more than half of the cases
			}
			ss = append(ss, concordat.Sentence{Fingerprint: f})
		}
		e.store(fieldDocument, []byte(fmt.Sprintf("document %d", i)))
		e.store(fieldFingerprints, appendFingerprints(nil, ss))
		e.addBands(ss, c)
		out = append(out, e)
		if i%3 == 0 {
			e := new(entry)
			e.reset(textID(uint32(i)))
			e.store(fieldText, []byte(strings.Repeat("text ", r.IntN(100))))
			e.words, e.length = testWords(r), 1+r.IntN(maxLengthCode)
			out = append(out, e)
		}
	}
	return out
}

// testWords creates terms, one of which is in every text.
func testWords(r *rand.Rand) []concordat.TermCount {
	out := []concordat.TermCount{{Term: 5, Count: 1 + r.IntN(200)}}
	for t := concordat.Term(6 + r.IntN(1<<28)); len(out) < 6; t += 1 + concordat.Term(r.IntN(9))*concordat.Term(r.IntN(1<<26)) {
		out = append(out, concordat.TermCount{Term: t, Count: 1 + r.IntN(2)})
	}
	return out
}

// dump describes the contents of a segment in a form that does not depend on document numbers and, unless exact, not on occurrence
// numbers or deleted documents.
func dump(t *testing.T, s segment.Segment, dead *roaring.Bitmap, exact bool) []string {
	t.Helper()
	var out []string
	ids := make([]string, s.Count())
	for n := range ids {
		line := ""
		err := s.VisitStoredFields(uint64(n), func(name string, typ byte, value []byte, pos []uint64) bool {
			if name == "_id" {
				ids[n] = string(value)
			}
			line += fmt.Sprintf(" %s %c %q %v", name, typ, value, pos)
			return true
		})
		if err != nil {
			t.Fatal(err)
		}
		if dead == nil || !dead.Contains(uint32(n)) {
			out = append(out, line)
		}
	}
	for _, field := range s.Fields() {
		d, err := s.Dictionary(field)
		if err != nil {
			t.Fatal(err)
		}
		it := d.AutomatonIterator(nil, nil, nil)
		for {
			e, err := it.Next()
			if err != nil {
				t.Fatal(err)
			}
			if e == nil {
				break
			}
			term := e.Term
			if !exact && field != "_id" && field != fieldTerms {
				term = term[:2] + string(term[2]&0xf0)
			}
			p, err := d.PostingsList([]byte(e.Term), dead, nil)
			if err != nil {
				t.Fatal(err)
			}
			for i := p.Iterator(true, true, true, nil); ; {
				q, err := i.Next()
				if err != nil {
					t.Fatal(err)
				}
				if q == nil {
					break
				}
				out = append(out, fmt.Sprintf("%s %x %x %d %v %d", field, term, ids[q.Number()], q.Frequency(), q.Norm(), len(q.Locations())))
			}
		}
	}
	slices.Sort(out)
	return out
}

// TestSegment compares our segments with the segments that zap creates from the same documents, and merges of both kinds by both
// programs.
func TestSegment(t *testing.T) {
	sizes := []int{1, 2, 17, 5000}
	if testing.Short() {
		sizes[3] = 700
	}
	for _, n := range sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			r := rand.New(rand.NewPCG(uint64(n), 1))
			c := new(counters)
			made := compareSegments(t, testEntries(r, 0, n, c), testEntries(r, n, n, c))
			if most := maxPostings(t, made); n == 5000 && most <= 1024 {
				t.Errorf("at most %d postings of a term; more than 1024 make a second chunk", most)
			}
		})
	}
}

// FuzzSegment is TestSegment for any seed, number of documents and deletions.
func FuzzSegment(f *testing.F) {
	f.Add(uint64(1), uint64(1), uint8(0), uint8(3))
	f.Add(uint64(2), uint64(9), uint8(40), uint8(0))
	f.Fuzz(func(t *testing.T, seed, more uint64, a, b uint8) {
		r := rand.New(rand.NewPCG(seed, more))
		c := new(counters)
		compareSegments(t, testEntries(r, 0, 1+int(a), c), testEntries(r, 1000, 1+int(b), c))
	})
}

// compareSegments creates two segments of documents, merges them without a tenth of the first, and returns our segment for a.
func compareSegments(t *testing.T, a, b []bleve.Document) segment.Segment {
	t.Helper()
	ours := plugin{maxMerge: maxMerge}
	var stock zap.ZapPlugin
	var made [2][2]segment.Segment // by writer, then segment
	for i, docs := range [][]bleve.Document{a, b} {
		x, _, err := ours.New(docs)
		if err != nil {
			t.Fatal(err)
		}
		y, _, err := stock.New(docs)
		if err != nil {
			t.Fatal(err)
		}
		if zaps, own := dump(t, y, nil, true), dump(t, x, nil, true); !slices.Equal(zaps, own) {
			t.Fatalf("new segment (-zap +ours):\n%s", cmp.Diff(zaps, own))
		}
		made[0][i], made[1][i] = x, y
	}
	drops := []*roaring.Bitmap{roaring.New(), nil}
	for i := range len(a) / 10 {
		drops[0].Add(uint32(i * 7 % len(a)))
	}
	want := append(dump(t, made[1][0], drops[0], false), dump(t, made[1][1], nil, false)...)
	slices.Sort(want)
	want = slices.Compact(want)
	for by, p := range map[string]interface {
		Merge([]segment.Segment, []*roaring.Bitmap, string, chan struct{}, segment.StatsReporter) ([][]uint64, uint64, error)
		Open(string) (segment.Segment, error)
	}{"ours": &ours, "ours, by way of files": &plugin{terms: 100_000}, "zap": &stock} {
		for i, of := range []string{"ours", "zap"} {
			path := filepath.Join(t.TempDir(), "merged.zap")
			numbers, _, err := p.Merge(unwrap(made[i][:]), drops, path, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			s, err := p.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			if got := slices.Compact(dump(t, s, nil, false)); !slices.Equal(want, got) {
				t.Errorf("merged by %s, of segments by %s (-want +got):\n%s", by, of, cmp.Diff(want, got))
			}
			checkNumbers(t, made[i][:], drops, numbers, s)
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	return made[0][0]
}

// checkNumbers checks the new document numbers that a merge reports.
func checkNumbers(t *testing.T, from []segment.Segment, drops []*roaring.Bitmap, numbers [][]uint64, to segment.Segment) {
	t.Helper()
	for i, s := range from {
		for n, m := range numbers[i] {
			if dead := drops[i] != nil && drops[i].Contains(uint32(n)); dead != (m == dropped) {
				t.Fatalf("segment %d document %d: dead is %v, number %d", i, n, dead, m)
			} else if dead {
				continue
			}
			a, err := s.DocID(uint64(n))
			if err != nil {
				t.Fatal(err)
			}
			b, err := to.DocID(m)
			if err != nil || string(a) != string(b) {
				t.Fatalf("segment %d document %d: %x became %x (%v)", i, n, a, b, err)
			}
		}
	}
}

// maxPostings returns the length of the longest posting list.
func maxPostings(t *testing.T, s segment.Segment) (most uint64) {
	t.Helper()
	for _, name := range append(bandFields[:], fieldTerms) {
		d, err := s.Dictionary(name)
		if err != nil {
			t.Fatal(err)
		}
		it := d.AutomatonIterator(nil, nil, nil)
		e, err := it.Next()
		for ; e != nil && err == nil; e, err = it.Next() {
			// Do not use e.Count: zap returns 1 for every term after a document's first.
			p, err := d.PostingsList([]byte(e.Term), nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			most = max(most, p.Count())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return most
}

// TestNumber compares occurrence numbers with the numbers that a shard's counters assign block by block.
func TestNumber(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 1))
	c := new(counters)
	var w segmentWriter
	var want [concordat.Bands][]termDoc
	for doc := range uint32(200) {
		var ss []concordat.Sentence
		var fps []concordat.Fingerprint
		for range r.IntN(longBlockSentences + 1) {
			var f [concordat.Bands]uint32
			for i := range f {
				f[i] = r.Uint32N(40) // repeats within a block, and more than lastK blocks per value
			}
			fps = append(fps, concordat.FingerprintOf(f))
			ss = append(ss, concordat.Sentence{Fingerprint: fps[len(fps)-1]})
		}
		e := new(entry)
		e.reset(blockID(doc, 0))
		e.addBands(ss, c)
		if err := w.addFingerprints(fps); err != nil {
			t.Fatal(err)
		}
		w.ids = append(w.ids, e.id)
		for band := range want {
			for b := e.bandTerms(band); len(b) > 0; b = b[termBytes:] {
				want[band] = append(want[band], termDoc{uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2]), doc})
			}
		}
	}
	for band := range want {
		want := sortTerms(want[band], make([]termDoc, len(want[band])), 8*termBytes)
		got := number(sortTerms(w.terms[band], make([]termDoc, len(w.terms[band])), 8*termBytes))
		if !slices.Equal(got, want) {
			t.Fatalf("band %d: %d terms, want %d, or others", band, len(got), len(want))
		}
	}
}
