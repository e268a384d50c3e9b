package meaning

import (
	"errors"
	"math/rand/v2"
	"testing"

	"concordat"
)

// TestPack: packed directions are preserved approximately, and other text is refused.
func TestPack(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	d := make(Directions, 50)
	for i := range d {
		var v Vector
		for k := range v {
			v[k] = float32(rng.NormFloat64())
		}
		d[i] = Centred(&v, &Vector{})
	}
	d[3] = Vector{}
	text := d.Pack()
	if len(text) != 50*Dimensions {
		t.Fatalf("%d letters", len(text))
	}
	got, err := UnpackDirections(text)
	if err != nil {
		t.Fatal(err)
	}
	for i := range d {
		want := float32(0.98)
		if i == 3 {
			want = 0
		}
		if near := Dot(&d[i], &got[i]); near < want {
			t.Errorf("direction %d: cosine %v with what was packed", i, near)
		}
	}
	for _, bad := range []string{text[1:], "z" + text[1:], "`" + text[1:]} {
		if _, err := UnpackDirections(bad); !errors.Is(err, concordat.ErrCorrupt) {
			t.Errorf("%.3q of %d: %v, want concordat.ErrCorrupt", bad, len(bad), err)
		}
	}
}

// TestDecodeSpace: a damaged space is refused.
func TestDecodeSpace(t *testing.T) {
	axes := make([][]float32, Dimensions)
	for i := range axes {
		axes[i] = make([]float32, 130)
		axes[i][i] = 1
	}
	b := EncodeSpace(axes, make([]Vector, 2), embeddedCells)
	s, err := DecodeSpace(b)
	if err != nil {
		t.Fatal(err)
	}
	v := make([]float32, 130)
	v[5] = 2
	if got := s.Reduce(v); got[5] != 2 || got[4] != 0 || !s.Takes(v) || s.Takes(v[:129]) {
		t.Errorf("reduced to %v", got[:6])
	}
	for at := 0; at < len(b); at += 997 {
		bad := append([]byte(nil), b...)
		bad[at] ^= 1
		if _, err := DecodeSpace(bad); err == nil {
			t.Errorf("a changed byte at %d is accepted", at)
		}
	}
	for _, n := range []int{0, 11, 44, len(b) - 1} {
		if _, err := DecodeSpace(b[:n]); err == nil {
			t.Errorf("%d bytes are accepted", n)
		}
	}
}

// TestAddNearby: the first places of all sources come before the second place of any, and the limit is respected.
func TestAddNearby(t *testing.T) {
	text := func(n int) *Text {
		out := &Text{Spans: make([]concordat.Span, n), prose: make([]bool, n)}
		for i := range out.prose {
			out.prose[i] = true
		}
		return out
	}
	c := &Comparison{submission: text(100), sources: []*Text{text(50), text(50), text(50)}}
	here, there := map[int]bool{}, []map[int]bool{{}, {}, {}}
	nearby := [][]Nearby{{{10, 10}, {10, 30}}, nil, {{10, 0}}}
	n := c.addNearby(nearby, here, there, 16)
	got := [5]int{n, len(here), len(there[0]), len(there[1]), len(there[2])}
	if want := [5]int{17, 9, 5, 0, 3}; got != want {
		t.Errorf("sentences in all, here and in each source: %v, want %v", got, want)
	}
}
