package index

import (
	"bytes"
	"reflect"
	"slices"
	"testing"
	"time"

	"concordat"
	"concordat/internal/indextest"
)

// The decoders read bytes from disk: damaged bytes must cause an error, never a panic, and accepted bytes must be exactly what the
// encoder writes.

func FuzzFingerprints(f *testing.F) {
	g := indextest.NewGenerator(1, 1)
	f.Add([]byte(nil))
	f.Add(appendFingerprints(nil, g.Profile("l", "d", 20).Indexed))
	f.Add(bytes.Repeat([]byte{0xff}, 13))
	f.Add(make([]byte, 14))
	f.Fuzz(func(t *testing.T, b []byte) {
		fps, err := decodeFingerprints(nil, b)
		if err != nil {
			return
		}
		var ss []concordat.Sentence
		for _, p := range fps {
			ss = append(ss, concordat.Sentence{Fingerprint: p})
		}
		if got := appendFingerprints(nil, ss); !bytes.Equal(got, b) {
			t.Errorf("%x decodes and encodes to %x", b, got)
		}
	})
}

func FuzzSpans(f *testing.F) {
	g := indextest.NewGenerator(2, 1)
	f.Add([]byte(nil), 0)
	f.Add(appendSpans(nil, g.Profile("l", "d", 20).Indexed), 20)
	f.Add([]byte{1, 2, 3}, 2)
	f.Add(bytes.Repeat([]byte{0xff}, 12), 1)
	f.Add([]byte{0x80}, 1)
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		if n < 0 || n > maxSentences {
			return
		}
		if err := checkSpans(b, n); err != nil || len(b) == 0 {
			return
		}
		end := 0
		for i := range n {
			s, err := spanAt(b, i)
			if err != nil {
				t.Fatalf("span %d of a checked block: %v", i, err)
			}
			if s.Start < end || s.End < s.Start {
				t.Fatalf("span %d is %v after %d", i, s, end)
			}
			end = s.End
		}
	})
}

func FuzzMeta(f *testing.F) {
	for _, m := range []meta{
		{library: "l", id: "d", title: "A title", added: time.Unix(1, 2).UTC(), sentences: 7, text: true},
		{library: "l", id: "d", added: time.Time{}},
		{library: "l", id: "d", meant: true},
		{library: "l", id: "d", meant: true, cells: appendCells(nil, []concordat.Cell{0, 1, concordat.Cells - 1})},
		{library: "l", id: "d", meant: true, stale: true, cells: appendCells(nil, []concordat.Cell{0, 1, concordat.Cells - 1})},
	} {
		f.Add(appendMeta(nil, &m))
	}
	f.Add([]byte(nil))
	f.Add([]byte{2, 0})
	f.Add([]byte{plainVersion, 1, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := decodeMeta(b)
		if err != nil {
			return
		}
		again, err := decodeMeta(appendMeta(nil, m))
		if err != nil || !reflect.DeepEqual(again, m) {
			t.Errorf("%+v became %+v (%v)", m, again, err)
		}
	})
}

func FuzzText(f *testing.F) {
	f.Add(packText("some text"))
	f.Add(packText(""))
	f.Add([]byte("\x28\xb5\x2f\xfd"))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := unpackText(b)
		if err == nil && len(s) > maxText {
			t.Errorf("%d bytes of text", len(s))
		}
	})
}

func FuzzHeader(f *testing.F) {
	f.Add([]byte(`{"format":1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		// Only a header with a valid checksum is accepted.
		dir := t.TempDir()
		if err := writeBytes(dir, b); err != nil {
			t.Skip(err)
		}
		if h, err := readHeader(dir); err == nil && h.Checksum != h.sum() {
			t.Errorf("accepted %q", b)
		}
	})
}

func TestSpans(t *testing.T) {
	g := indextest.NewGenerator(3, 1)
	for _, n := range []int{1, 2, 20, 64} {
		ss := g.Profile("l", "d", n).Indexed
		b := appendSpans(nil, ss)
		if err := checkSpans(b, n); err != nil {
			t.Fatal(err)
		}
		for i := range ss {
			if got, err := spanAt(b, i); err != nil || got != ss[i].Span {
				t.Errorf("span %d: got %v, %v, want %v", i, got, err, ss[i].Span)
			}
		}
		if _, err := spanAt(b, n); err == nil {
			t.Error("a span after the last")
		}
	}
}

// TestTerm: terms are ordered by value, and a look-up's range contains all terms of a value.
func TestTerm(t *testing.T) {
	var c counters
	const v = 0xabcde
	for want := range uint8(40) {
		k := c.next(2, v)
		if k != min(want, lastK) {
			t.Fatalf("block %d gets occurrence number %d", want, k)
		}
		b := appendTerm(nil, v, k)
		if bytes.Compare(b, appendTerm(nil, v, 0)) < 0 || bytes.Compare(b, appendTerm(nil, v+1, 0)) >= 0 {
			t.Errorf("term %x is outside the range of its value", b)
		}
	}
	if k := c.next(2, v^1); k != 0 {
		t.Errorf("the neighbour starts at %d", k)
	}
	if k := c.next(3, v); k != 0 {
		t.Errorf("another band starts at %d", k)
	}
}

// TestBandReaches compares the definition with every one-nibble change.
func TestBandReaches(t *testing.T) {
	r := []uint32{0}
	for shift := 0; shift < 20; shift += 4 {
		for x := uint32(1); x < 16; x++ {
			r = append(r, x<<shift)
		}
	}
	for x := range uint32(1 << 20) {
		if got, want := bandReaches(concordat.ProbeOne, x), slices.Contains(r, x); got != want {
			t.Fatalf("difference %05x: got %v, want %v", x, got, want)
		}
		if got := bandReaches(concordat.ProbeExact, x); got != (x == 0) {
			t.Fatalf("difference %05x, exact: got %v", x, got)
		}
	}
}
