package fst

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/blevesearch/vellum"

	"concordat/internal/cputime"
)

// TestWriter compares dictionaries with vellum's. The bytes must be equal unless some term shares its first bytes with no other. With
// distinct values, only the nodes of such terms can be equal, and vellum shares equal nodes.
func TestWriter(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 2))
	var d Writer
	for _, length := range []int{1, 3, Longest} {
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
	// With equal values, vellum can share nodes, but readers must return the same.
	terms := randomTerms(r, 3, 3000, true)
	values := make([]uint64, len(terms))
	for i := range values {
		values[i] = uint64(i % 2)
	}
	checkDict(t, &d, "equal values", 3, terms, values, false)
	if wide, narrow := len(writeDict(&d, false, 3, terms, values)), len(writeDict(&d, true, 3, terms, values)); narrow > wide-len(terms) {
		t.Errorf("%d terms take %d bytes without the addresses of their ends, %d with them", len(terms), narrow, wide)
	}
}

// lonely reports whether some term shares all but its last byte with no other.
func lonely(terms [][]byte) bool {
	for i, term := range terms {
		head := term[:len(term)-1]
		if (i == 0 || !bytes.HasPrefix(terms[i-1], head)) && (i == len(terms)-1 || !bytes.HasPrefix(terms[i+1], head)) {
			return true
		}
	}
	return false
}

// randomTerms returns up to n sorted terms; narrow ones have the same first bytes.
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

// writeDict returns a dictionary, valid until the next call.
func writeDict(d *Writer, narrow bool, length int, terms [][]byte, values []uint64) []byte {
	d.Reset(narrow)
	for i, term := range terms {
		d.Add(term, values[i])
	}
	return d.Bytes(length)
}

func checkDict(t *testing.T, d *Writer, name string, length int, terms [][]byte, values []uint64, exact bool) {
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

// readDict reads a dictionary with vellum: in order, by term, and by range.
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

// FuzzWriter: vellum reads back any terms and values.
func FuzzWriter(f *testing.F) {
	f.Add([]byte("teapot"), uint8(2), uint64(1<<63))
	f.Add(bytes.Repeat([]byte{0, 255, 7, 's'}, 300), uint8(1), uint64(0))
	f.Add([]byte("aaabaacaadzzz"), uint8(3), uint64(300))
	f.Fuzz(func(t *testing.T, b []byte, length uint8, value uint64) {
		var terms [][]byte
		for term := range slices.Chunk(b, 1+int(length)%Longest) {
			if len(term) == 1+int(length)%Longest {
				terms = append(terms, term)
			}
		}
		slices.SortFunc(terms, bytes.Compare)
		terms = slices.CompactFunc(terms, bytes.Equal)
		values := make([]uint64, len(terms))
		for i := range values {
			values[i] = value * uint64(i/2) // some are equal
		}
		var w Writer
		for _, narrow := range []bool{false, true} {
			readDict(t, fmt.Sprint("narrow: ", narrow), writeDict(&w, narrow, 1+int(length)%Longest, terms, values), terms, values)
		}
	})
}

// BenchmarkWriter compares writing a million three-byte terms with vellum's builder.
func BenchmarkWriter(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 1))
	terms := randomTerms(r, 3, 1_000_000, false)
	b.Run("by=own", func(b *testing.B) {
		var d Writer
		start := cputime.Used()
		for b.Loop() {
			d.Reset(true)
			for i, t := range terms {
				d.Add(t, 1<<63|uint64(i))
			}
			b.SetBytes(int64(len(d.Bytes(3))))
		}
		cputime.Report(b, start, b.N*len(terms), "term")
	})
	b.Run("by=vellum", func(b *testing.B) {
		start := cputime.Used()
		for b.Loop() {
			var out bytes.Buffer
			v, err := vellum.New(&out, &vellum.BuilderOpts{Encoder: 1, RegistryTableSize: 64, RegistryMRUSize: 2})
			if err != nil {
				b.Fatal(err)
			}
			for i, t := range terms {
				if err := v.Insert(t, 1<<63|uint64(i)); err != nil {
					b.Fatal(err)
				}
			}
			if err := v.Close(); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(out.Len()))
		}
		cputime.Report(b, start, b.N*len(terms), "term")
	})
}
