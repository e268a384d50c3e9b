package index

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blevesearch/vellum"

	"concordat"
	"concordat/internal/cputime"
)

// TestDictWriter compares dictionaries with those of vellum's builder, byte by byte unless nodes of one
// term occur: with values of which no two are equal no others are equal, so that vellum has none to share.
func TestDictWriter(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	var d dictWriter
	for _, length := range []int{1, termBytes, wordBytes} {
		for _, n := range []int{0, 1, 2, 3, 62, 63, 64, 255, 256, 257, 40_000} {
			for _, narrow := range []bool{true, false} {
				terms := randomTerms(r, length, n, narrow)
				values := make([]uint64, len(terms))
				for i := range values {
					values[i] = r.Uint64() >> r.IntN(30)
				}
				checkDict(t, &d, fmt.Sprintf("%d terms of %d bytes", len(terms), length), length, terms, values, !lonely(terms))
			}
		}
	}
	// With equal values vellum may share nodes; what is read must be equal all the same.
	terms := randomTerms(r, termBytes, 3000, true)
	values := make([]uint64, len(terms))
	for i := range values {
		values[i] = uint64(i % 2)
	}
	checkDict(t, &d, "equal values", termBytes, terms, values, false)
	if wide, narrow := len(writeDict(&d, false, termBytes, terms, values)), len(writeDict(&d, true, termBytes, terms, values)); narrow > wide-len(terms) {
		t.Errorf("%d terms take %d bytes without the addresses of their ends, %d with them", len(terms), narrow, wide)
	}
}

// lonely reports whether some term shares its first bytes, all but the last, with no other.
func lonely(terms [][]byte) bool {
	for i, term := range terms {
		head := term[:len(term)-1]
		if (i == 0 || !bytes.HasPrefix(terms[i-1], head)) && (i == len(terms)-1 || !bytes.HasPrefix(terms[i+1], head)) {
			return true
		}
	}
	return false
}

// randomTerms returns up to n sorted terms; narrow ones share their first bytes.
func randomTerms(r *rand.Rand, length, n int, narrow bool) [][]byte {
	var out [][]byte
	for range n {
		term := make([]byte, length)
		for i := range term {
			term[i] = byte(r.UintN(256))
			if narrow && i < length-1 {
				term[i] = "te\x00\xff"[r.IntN(4)]
			}
		}
		out = append(out, term)
	}
	slices.SortFunc(out, bytes.Compare)
	return slices.CompactFunc(out, bytes.Equal)
}

// writeDict returns a dictionary, valid until the next.
func writeDict(d *dictWriter, narrow bool, length int, terms [][]byte, values []uint64) []byte {
	d.reset(narrow)
	for i, term := range terms {
		d.add(term, values[i])
	}
	return d.bytes(length)
}

func checkDict(t *testing.T, d *dictWriter, name string, length int, terms [][]byte, values []uint64, exact bool) {
	t.Helper()
	var want bytes.Buffer
	b, err := vellum.New(&want, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, term := range terms {
		if err := b.Insert(term, values[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	got := writeDict(d, false, length, terms, values)
	if exact && !bytes.Equal(got, want.Bytes()) {
		t.Fatalf("%s: %d bytes differ from vellum's %d", name, len(got), want.Len())
	}
	if len(got) > want.Len()*11/10+64 {
		t.Errorf("%s: %d bytes, vellum's have %d", name, len(got), want.Len())
	}
	readDict(t, name, got, terms, values)
	readDict(t, name+", narrow", writeDict(d, true, length, terms, values), terms, values)
}

// readDict reads a dictionary with vellum, in order, by term, and by range.
func readDict(t *testing.T, name string, dict []byte, terms [][]byte, values []uint64) {
	t.Helper()
	fst, err := vellum.Load(dict)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	it, err := fst.Iterator(nil, nil)
	for i, term := range terms {
		if err != nil {
			t.Fatalf("%s: term %d: %v", name, i, err)
		}
		if k, v := it.Current(); !bytes.Equal(k, term) || v != values[i] {
			t.Fatalf("%s: term %x has %d, want %x with %d", name, k, v, term, values[i])
		}
		if v, ok, err := fst.Get(term); err != nil || !ok || v != values[i] {
			t.Fatalf("%s: %x: %d, %v, %v, want %d", name, term, v, ok, err, values[i])
		}
		err = it.Next()
	}
	if !errors.Is(err, vellum.ErrIteratorDone) || fst.Len() != len(terms) {
		t.Fatalf("%s: %d terms, then %v; want %d", name, fst.Len(), err, len(terms))
	}
	if len(terms) == 0 {
		return
	}
	from := len(terms) / 3
	part, err := fst.Iterator(terms[from], nil)
	if err != nil {
		t.Fatalf("%s: from %x: %v", name, terms[from], err)
	}
	if k, v := part.Current(); !bytes.Equal(k, terms[from]) || v != values[from] {
		t.Fatalf("%s: from %x: %x with %d", name, terms[from], k, v)
	}
}

// TestNumber compares occurrence numbers with those that a shard's counters give block by block.
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
				f[i] = r.Uint32N(40) // repeats in a block, and more than lastK blocks of a value
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

// BenchmarkDict compares the writing of a million band terms with vellum's builder.
func BenchmarkDict(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	ts := make([]termDoc, 1_000_000)
	for i := range ts {
		ts[i] = termDoc{r.Uint32N(1<<20) << 4, uint32(i / 20)}
	}
	ts = number(sortTerms(ts, make([]termDoc, len(ts)), 8*termBytes))
	key := func(t termDoc) []byte { return []byte{byte(t.term >> 16), byte(t.term >> 8), byte(t.term)} }
	b.Run("by=own", func(b *testing.B) {
		var d dictWriter
		start := cputime.Used()
		for b.Loop() {
			d.reset(true)
			for _, t := range ts {
				k := key(t)
				d.add(k, 1<<63|uint64(t.doc))
			}
			b.SetBytes(int64(len(d.bytes(termBytes))))
		}
		cputime.Report(b, start, b.N*len(ts), "term")
	})
	b.Run("by=vellum", func(b *testing.B) {
		start := cputime.Used()
		for b.Loop() {
			var out bytes.Buffer
			v, err := vellum.New(&out, dictOptions)
			if err != nil {
				b.Fatal(err)
			}
			for _, t := range ts {
				if err := v.Insert(key(t), 1<<63|uint64(t.doc)); err != nil && !errors.Is(err, vellum.ErrOutOfOrder) {
					b.Fatal(err)
				}
			}
			if err := v.Close(); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(out.Len()))
		}
		cputime.Report(b, start, b.N*len(ts), "term")
	})
}
