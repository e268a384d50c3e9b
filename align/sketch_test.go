package align

import (
	"errors"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/cespare/xxhash/v2"

	"concordat"
)

var key = []byte("a key of the federation")

func sketchOf(t *testing.T, text string, bits int) Sketch {
	t.Helper()
	s, err := Prepare(text).Sketch(key, bits)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func textOf(t *testing.T, s Sketch) *Text {
	t.Helper()
	out, err := s.Text()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSketchesAlign(t *testing.T) {
	a := before + `For a long time the motion of tides was held to be the work of the moon alone. Careful
records kept at Brest for over a century show that wind and air pressure shift the height of one tide
by half a metre. The harbour engineers compared their tables with the records and found the largest
errors in winter, when deep depressions pass from the west. So a table ignoring the weather is correct
on average, and wrong when it matters.` + behind
	b := other + "\n\n" + essay
	for _, bits := range []int{8, 10, 16} {
		p := only(t, Pair(textOf(t, sketchOf(t, a, bits)), textOf(t, sketchOf(t, b, bits)), Options{}))
		if got := p.A.In(a); !strings.HasPrefix(got, "For a long time") || !strings.HasSuffix(got, "when it matters.") {
			t.Errorf("%d bits: A is %q", bits, got)
		}
		if got := p.B.In(b); got != essay {
			t.Errorf("%d bits: B is %q", bits, got)
		}
		if p.Similarity <= 0 || p.Similarity > 1 || p.Kind == concordat.KindVerbatim || p.Words != nil {
			t.Errorf("%d bits: got %+v", bits, p)
		}
	}
}

func TestSketchOfAnotherKey(t *testing.T) {
	a := textOf(t, sketchOf(t, essay, DefaultSketchBits))
	s, err := Prepare(essay).Sketch([]byte("another key"), DefaultSketchBits)
	if err != nil {
		t.Fatal(err)
	}
	if got := Pair(a, textOf(t, s), Options{}); len(got) != 0 {
		t.Errorf("got %+v, want nothing", got)
	}
}

func TestSketchTellsNoStopWords(t *testing.T) {
	s := sketchOf(t, "It was in the and of a or but is are. This that these those have had been.", 16)
	for _, u := range s.Units {
		if len(u.Words) > 0 {
			t.Errorf("unit %v has words %v, want none", u.Span, u.Words)
		}
	}
}

func TestNearKeepsPlaces(t *testing.T) {
	text := strings.Repeat(other+" ", 3) + essay + strings.Repeat(" "+other, 3)
	whole := sketchOf(t, text, DefaultSketchBits)
	at := strings.Index(text, "wind and pressure")
	s := whole.Near([]concordat.Span{{Start: at, End: at + 20}}, 2)
	if len(s.Units) < 3 || len(s.Units) > 5 {
		t.Fatalf("got %d units of %d, want the hit and two on either side", len(s.Units), len(whole.Units))
	}
	for _, u := range s.Units {
		if !reflect.DeepEqual(u, whole.Units[u.Ordinal]) {
			t.Errorf("unit %d differs from the whole sketch's", u.Ordinal)
		}
	}
	p := only(t, Pair(textOf(t, sketchOf(t, essay, DefaultSketchBits)), textOf(t, s), Options{}))
	if !strings.Contains(p.B.In(text), "wind and pressure") {
		t.Errorf("B is %q", p.B.In(text))
	}
}

func TestSketchRefused(t *testing.T) {
	good := SketchUnit{Span: concordat.Span{Start: 0, End: 9}, Chars: 9, Words: []uint16{1, 5}}
	with := func(f func(*Sketch)) Sketch {
		s := Sketch{Bits: 8, Units: []SketchUnit{good, {Ordinal: 1, Span: concordat.Span{Start: 9, End: 20}, Chars: 4}}}
		s.Units[0].Words = slices.Clone(good.Words)
		f(&s)
		return s
	}
	if _, err := with(func(*Sketch) {}).Text(); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]Sketch{
		"bits":          with(func(s *Sketch) { s.Bits = 17 }),
		"ordinal":       with(func(s *Sketch) { s.Units[1].Ordinal = 0 }),
		"negative":      with(func(s *Sketch) { s.Units[0].Ordinal = -1 }),
		"overlap":       with(func(s *Sketch) { s.Units[1].Span.Start = 8 }),
		"backwards":     with(func(s *Sketch) { s.Units[1].Span.End = 8 }),
		"letters":       with(func(s *Sketch) { s.Units[0].Chars = -1 }),
		"word range":    with(func(s *Sketch) { s.Units[0].Words[1] = 256 }),
		"word order":    with(func(s *Sketch) { s.Units[0].Words[1] = 0 }),
		"repeated word": with(func(s *Sketch) { s.Units[0].Words[1] = 1 }),
	} {
		if _, err := s.Text(); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%s: got %v, want ErrInvalid", name, err)
		}
	}
	if _, err := Prepare(essay).Sketch(key, 5); !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("5 bits: got %v, want ErrInvalid", err)
	}
	if _, err := textOf(t, sketchOf(t, essay, 8)).Sketch(key, 8); !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("sketch of a sketch: got %v, want ErrInvalid", err)
	}
}

func TestLiteralThenOrder(t *testing.T) {
	a, b := before+essay+behind, other+"\n\n"+essay+"\n\n"+other
	ta, tb := Prepare(a), Prepare(b)
	p := only(t, Literal(textOf(t, sketchOf(t, a, 10)), textOf(t, sketchOf(t, b, 10)), Options{}))
	if !strings.Contains(p.A.In(a), essay) || !strings.Contains(p.B.In(b), essay) {
		t.Fatalf("got %q and %q, want both to hold the essay", p.A.In(a), p.B.In(b))
	}
	x, err := ta.Order(key, p.A)
	if err != nil {
		t.Fatal(err)
	}
	y, err := tb.Order(key, p.B)
	if err != nil {
		t.Fatal(err)
	}
	ps, err := Copies(x, y, Options{})
	if err != nil {
		t.Fatal(err)
	}
	c := only(t, ps)
	if got, want := c.A.In(a), strings.TrimSuffix(essay, "."); got != want || c.B.In(b) != want {
		t.Errorf("got %q and %q, want the essay", got, c.B.In(b))
	}
	if _, err := Copies(Order{Words: []byte{1}}, y, Options{}); !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("got %v, want ErrInvalid", err)
	}
}

func FuzzSketch(f *testing.F) {
	f.Add([]byte{10, 3, 0, 9, 5, 7, 9, 20, 4, 1})
	f.Add([]byte{255, 255, 255, 255, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		next := func() int {
			if len(b) == 0 {
				return 0
			}
			v := int(int8(b[0]))
			b = b[1:]
			return v
		}
		s := Sketch{Bits: next()}
		ordinal := -1
		for len(b) > 0 {
			ordinal += next()
			u := SketchUnit{Ordinal: ordinal, Span: concordat.Span{Start: next(), End: next()}, Chars: next()}
			for range max(next(), 0) % 8 {
				u.Words = append(u.Words, uint16(next()))
			}
			s.Units = append(s.Units, u)
		}
		text, err := s.Text()
		if err != nil {
			return
		}
		Pair(text, text, Options{})
		Literal(text, text, Options{})
	})
}

// printsOf makes fingerprints that agree in as many hashes as their sentences share words. Each nibble comes from the smallest of the
// words' hashes under one seed.
func printsOf(text string) []Print {
	t := Prepare(text)
	var out []Print
	for _, u := range t.units {
		set := map[uint64]bool{}
		for _, w := range t.words[u.first:u.last] {
			if w.flags&stopWord == 0 {
				set[w.hash] = true
			}
		}
		var f [2]uint64
		for n := range uint64(printHashes) {
			least := ^uint64(0)
			for h := range set {
				x := xxhash.Sum64(append([]byte{byte(n)}, byte(h), byte(h>>8), byte(h>>16), byte(h>>24), byte(h>>32)))
				least = min(least, x)
			}
			f[n/15] |= least & 15 << (n % 15 * 4)
		}
		out = append(out, Print{
			Span:  concordat.Span{Start: int(u.start), End: int(u.end)},
			Chars: int(u.chars), Features: len(set), Fingerprint: f,
			Check: t.Check(key, concordat.Span{Start: int(u.start), End: int(u.end)}),
		})
	}
	return out
}

func TestPrintsAlign(t *testing.T) {
	a, b := before+essay+behind, other+"\n\n"+essay+"\n\n"+other
	for name, ps := range map[string][]Passage{
		"pair":    PairPrints(printsOf(a), printsOf(b), Options{}),
		"literal": LiteralPrints(printsOf(a), printsOf(b), Options{}),
	} {
		p := only(t, ps)
		if !strings.Contains(p.A.In(a), essay) || !strings.Contains(p.B.In(b), essay) {
			t.Errorf("%s: got %q and %q, want both to hold the essay", name, p.A.In(a), p.B.In(b))
		}
	}
	if ps := PairPrints(printsOf(other), printsOf(essay), Options{}); len(ps) != 0 {
		t.Errorf("unrelated: got %+v", ps)
	}
	if ps := PairPrints(nil, printsOf(essay), Options{}); len(ps) != 0 {
		t.Errorf("empty: got %+v", ps)
	}
}

// TestPrintsOfLargeDocuments: in documents too large for a complete comparison, bands find what a complete comparison would find.
func TestPrintsOfLargeDocuments(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	random := func(n int) []Print {
		out := make([]Print, n)
		for i := range out {
			out[i] = Print{
				Span: concordat.Span{Start: i * 100, End: i*100 + 99}, Chars: 80, Features: 10,
				Fingerprint: concordat.FingerprintFromHalves(r.Uint64(), r.Uint64()),
			}
		}
		return out
	}
	a, b := random(5000), random(4000)
	for i := range 20 {
		a[1000+i].Fingerprint = b[3000+i].Fingerprint
	}
	p := only(t, PairPrints(a, b, Options{}))
	// A sentence next to the passage can agree with its neighbour by chance.
	for _, x := range []struct{ got, least, most concordat.Span }{
		{p.A, concordat.Span{Start: 100000, End: 101999}, concordat.Span{Start: 99800, End: 102199}},
		{p.B, concordat.Span{Start: 300000, End: 301999}, concordat.Span{Start: 299800, End: 302199}},
	} {
		if x.got.Start > x.least.Start || x.got.End < x.least.End || x.got.Start < x.most.Start || x.got.End > x.most.End {
			t.Errorf("got %v, want %v to %v", x.got, x.least, x.most)
		}
	}
}
