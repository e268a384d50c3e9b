package align

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"
	"sort"

	"concordat"
)

// Sketch holds the data that someone with the same key needs to align a document. For each unit (about a sentence), it holds the words
// other than stop words, each as a few bits of a keyed hash. It contains neither the order nor the frequency of the words, nor the words
// themselves; doc/federation.md tabulates what a curious holder of the key can still learn. Never send two sketches of the same text to
// one partner.
type Sketch struct {
	Bits  int // bits per hash, 6 to 16
	Units []SketchUnit
}

// SketchUnit is one unit of a sketch.
type SketchUnit struct {
	Ordinal int            // number among the document's units, from 0; skips ahead at excluded text
	Span    concordat.Span // in the document's text
	Chars   int            // letters and digits; one Han character counts as three
	Words   []uint16       // hashes, ascending, without duplicates
}

// Parameters of a sketch.
const (
	MinSketchBits = 6
	MaxSketchBits = 16
	// With DefaultSketchBits, 10, sketches align as well as full words, although a tenth of all words share a hash
	// (doc/evaluation/align.md).
	DefaultSketchBits = 10

	maxSketchUnits = 1 << 22
	maxSketchChars = 1 << 20
	maxUnitWords   = 1 << 12
	// holeUnits is added to the ordinal at excluded text. It is more units than a passage can bridge.
	holeUnits = 128
)

// Sketch returns the sketch of t with the given number of bits per hash. It fails with concordat.ErrInvalid if the number is out of range
// or t was itself made from a sketch.
func (t *Text) Sketch(key []byte, bits int) (Sketch, error) {
	if bits < MinSketchBits || bits > MaxSketchBits {
		return Sketch{}, fmt.Errorf("cannot sketch with %d-bit hashes; want %d to %d bits: %w", bits, MinSketchBits, MaxSketchBits, concordat.ErrInvalid)
	}
	if t.sketch {
		return Sketch{}, fmt.Errorf("cannot make a sketch from a sketch: %w", concordat.ErrInvalid)
	}
	hash := keyed(key, "concordat/align/sketch/1\x00")
	of := make([]uint16, len(t.terms))
	for r, term := range t.terms {
		of[r] = uint16(hash(term) >> (64 - bits))
	}
	s := Sketch{Bits: bits, Units: make([]SketchUnit, len(t.units))}
	ordinal := 0
	for i, u := range t.units {
		if i > 0 && anyMuted(t.words[t.units[i-1].last:u.first]) {
			ordinal += holeUnits // no passage extends across excluded text
		}
		words := make([]uint16, 0, u.to-u.from)
		for _, e := range t.entries[u.from:u.to] {
			if !t.stops[e.term] {
				words = append(words, of[e.term])
			}
		}
		slices.Sort(words)
		s.Units[i] = SketchUnit{ordinal, concordat.Span{Start: int(u.start), End: int(u.end)}, int(u.chars), slices.Compact(words)}
		ordinal++
	}
	return s, nil
}

// keyed returns a hash function of 64-bit values. The hash is the first eight bytes of HMAC-SHA256.
func keyed(key []byte, label string) func(uint64) uint64 {
	mac := hmac.New(sha256.New, key)
	var sum [sha256.Size]byte
	return func(v uint64) uint64 {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], v)
		mac.Reset()
		mac.Write([]byte(label))
		mac.Write(b[:])
		return binary.BigEndian.Uint64(mac.Sum(sum[:0]))
	}
}

// Near returns the units of s at most around units away from one that overlaps a span. The owner of a document nominated by the spans
// sends these units. spans must be in order.
func (s Sketch) Near(spans []concordat.Span, around int) Sketch {
	out := Sketch{Bits: s.Bits}
	keep := make([]bool, len(s.Units))
	k := 0
	for i, u := range s.Units {
		for k < len(spans) && spans[k].End <= u.Span.Start {
			k++
		}
		if k < len(spans) && spans[k].Overlaps(u.Span) {
			for j := max(0, i-around); j <= min(len(keep)-1, i+around); j++ {
				keep[j] = true
			}
		}
	}
	for i, u := range s.Units {
		if keep[i] {
			out.Units = append(out.Units, u)
		}
	}
	return out
}

// Text returns s as a side of [Pair]. The other side must be a sketch with the same key and number of bits. It fails with
// concordat.ErrInvalid for a sketch that no document can have.
func (s Sketch) Text() (*Text, error) {
	if err := s.validate(); err != nil {
		return nil, err
	}
	t := &Text{sketch: true}
	rank := make([]int32, 1<<s.Bits)
	for _, u := range s.Units {
		for _, w := range u.Words {
			rank[w] = 1
		}
	}
	for w, held := range rank {
		if held == 1 {
			rank[w] = int32(len(t.terms))
			t.terms = append(t.terms, uint64(w))
		}
	}
	t.spread, t.stops = make([]int32, len(t.terms)), make([]bool, len(t.terms))
	next := 0
	for _, u := range s.Units {
		end := int32(u.Span.Start)
		for range min(u.Ordinal-next, holeUnits) {
			n := int32(len(t.entries))
			t.units = append(t.units, unit{from: n, to: n, start: end, end: end})
		}
		next = u.Ordinal + 1
		out := unit{from: int32(len(t.entries)), chars: int32(u.Chars), start: end, end: int32(u.Span.End)}
		for _, w := range u.Words {
			t.entries = append(t.entries, entry{rank[w], 1})
			t.spread[rank[w]]++
		}
		out.to = int32(len(t.entries))
		t.units = append(t.units, out)
	}
	return t, nil
}

func (s Sketch) validate() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("sketch: "+format+": %w", append(args, concordat.ErrInvalid)...)
	}
	if s.Bits < MinSketchBits || s.Bits > MaxSketchBits {
		return fail("hash size of %d bits is out of range", s.Bits)
	}
	if len(s.Units) > maxSketchUnits {
		return fail("too many units: %d", len(s.Units))
	}
	ordinal, end := -1, 0
	for i, u := range s.Units {
		switch {
		case u.Ordinal <= ordinal:
			return fail("unit %d is out of order", i)
		case u.Span.Start < end || u.Span.End < u.Span.Start || u.Span.End > 1<<31-1:
			return fail("unit %d has invalid span %v", i, u.Span)
		case u.Chars < 0 || u.Chars > maxSketchChars:
			return fail("unit %d has an invalid number of letters: %d", i, u.Chars)
		case len(u.Words) > maxUnitWords:
			return fail("unit %d has too many words: %d", i, len(u.Words))
		}
		for k, w := range u.Words {
			if int(w) >= 1<<s.Bits || k > 0 && w <= u.Words[k-1] {
				return fail("words of unit %d are out of order or out of range", i)
			}
		}
		ordinal, end = u.Ordinal, u.Span.End
	}
	return nil
}

// forSketches fills in the only default that differs for sketches. Sketches contain no stop words, which therefore cannot be evidence.
func (o Options) forSketches() Options {
	if o.Evidence == 0 {
		o.Evidence = 8
	}
	return o
}

// rough returns a passage from sketches, which consists of whole units and has no words.
func (p *pairing) rough(f found) Passage {
	out := Passage{
		A: concordat.Span{Start: int(p.a[f.a0].start), End: int(p.a[f.a1-1].end)},
		B: concordat.Span{Start: int(p.b[f.b0].start), End: int(p.b[f.b1-1].end)},
	}
	c := cluster{a0: f.a0, a1: f.a1, b0: f.b0, b1: f.b1}
	from := sort.Search(len(p.cells), func(i int) bool { return p.cells[i].row >= f.a0 })
	for _, s := range p.cells[from:] {
		if s.row >= f.a1 {
			break
		}
		if s.col >= f.b0 && s.col < f.b1 {
			c.seeds = append(c.seeds, s)
		}
	}
	shared, _ := p.coverage(&c)
	total := p.totalA(f.a0, f.a1)
	var got, all float32
	for i, v := range shared {
		got += v
		all += total[i]
	}
	out.Similarity = float64(got / max(all, 1e-6))
	// The order is unknown, so nothing here is called verbatim.
	out.Kind = kind(f.summary, min(out.Similarity, 0.9), 0)
	return out
}

// Literal returns, in order of a, the stretches of units of a and b similar enough to be probable verbatim copies, extended by two units
// at each end; comparing their [Order] is worthwhile. It treats a and b as [Pair] treats sketches. It misses one in a hundred of the
// literal copies in PAN 2013's training corpus (doc/evaluation/align.md).
func Literal(a, b *Text, o Options) []Passage {
	o = o.forSketches().filled()
	return newPairing(a, b, &o).literal(func(c cell) bool { return c.sim >= surelyEqual })
}

// surelyEqual is the minimum similarity of at least one unit in a literal copy, because a site that can produce units this similar to
// those of a text has its words.
const surelyEqual = 0.9

// literal returns the stretches in which all units are similar and at least one is almost certainly identical.
func (p *pairing) literal(same func(cell) bool) []Passage {
	const (
		like   = 0.5 // minimum similarity
		gap    = 2   // in units
		level  = 0.3 // minimum mean of the best similarities
		around = 2   // in units
	)
	var seeds []cell
	for _, c := range p.cells {
		if c.sim >= like {
			seeds = append(seeds, c)
		}
	}
	mean := func(a, b float64) float64 { return (a + b) / 2 }
	var out []Passage
	for _, c := range p.disjoint(p.accepted(seeds, [2]int32{gap, gap}, mean, level)) {
		if !slices.ContainsFunc(c.seeds, same) {
			continue
		}
		out = append(out, p.rough(found{
			a0: max(0, c.a0-around), a1: min(int32(len(p.a)), c.a1+around),
			b0: max(0, c.b0-around), b1: min(int32(len(p.b)), c.b1+around),
		}))
	}
	return out
}

// Order represents the words of a passage in order, each as one byte of a keyed hash. A site sends it to another with the same key to
// learn the exact edges of a literal copy. It reveals more than a [Sketch], but about a passage that the other side probably has.
type Order struct {
	Spans []concordat.Span // spans of the words in the document's text
	Words []byte           // one hash per span
}

// Order returns the words of t within span. It fails with concordat.ErrInvalid if t is a sketch.
func (t *Text) Order(key []byte, span concordat.Span) (Order, error) {
	if t.sketch {
		return Order{}, fmt.Errorf("cannot determine the word order of a sketch: %w", concordat.ErrInvalid)
	}
	hash := keyed(key, "concordat/align/order/1\x00")
	from, _ := slices.BinarySearchFunc(t.words, int32(span.Start), func(w token, at int32) int { return int(w.start - at) })
	var o Order
	for _, w := range t.words[from:] {
		if int(w.end) > span.End {
			break
		}
		o.Spans = append(o.Spans, concordat.Span{Start: int(w.start), End: int(w.end)})
		o.Words = append(o.Words, byte(hash(w.hash)>>56))
	}
	return o, nil
}

// checkWords is the number of words covered by a check.
const checkWords = 8

// Check returns a keyed hash, 1 to 2^31 - 1, of eight consecutive words of t within span, or of all words if there are fewer. Of all such
// runs, it selects the one with the lowest hash, so that overlapping sentences usually have the same check. A site that sends it must
// know the words. It returns 0 if there are no words, or if t is a sketch.
func (t *Text) Check(key []byte, span concordat.Span) int {
	from, _ := slices.BinarySearchFunc(t.words, int32(span.Start), func(w token, at int32) int { return int(w.start - at) })
	to := from
	for to < len(t.words) && int(t.words[to].end) <= span.End {
		to++
	}
	hash := keyed(key, "concordat/align/check/1\x00")
	least := 0
	for i := from; i == from && i < to || i+checkWords <= to; i++ {
		var gram uint64
		for _, w := range t.words[i:min(i+checkWords, to)] {
			gram = gram*gramBase + w.hash
		}
		if h := max(1, int(hash(gram)>>33)); least == 0 || h < least {
			least = h
		}
	}
	return least
}

// Copies returns the literal copies in two orders with the same key, by the same rule and in the same form as [Pair] with
// VerbatimReplaces. It returns none unless at least one is long enough. The spans of a can have any length. It fails with
// concordat.ErrInvalid if an order has different numbers of spans and words.
func Copies(a, b Order, o Options) ([]Passage, error) {
	o = o.filled()
	ta, err := a.tokens()
	if err != nil {
		return nil, err
	}
	tb, err := b.tokens()
	if err != nil {
		return nil, err
	}
	var out []Passage
	for _, s := range settling(bridge(ta, tb, runs(ta, gramsOf(ta), tb, int32(o.LeastVerbatim)), int32(o.DifferWords)), &o) {
		out = append(out, Passage{
			A:          concordat.Span{Start: a.Spans[s.a0].Start, End: a.Spans[s.a1-1].End},
			B:          concordat.Span{Start: b.Spans[s.b0].Start, End: b.Spans[s.b1-1].End},
			Kind:       concordat.KindVerbatim,
			Similarity: 1,
		})
	}
	return out, nil
}

func (o Order) tokens() ([]token, error) {
	if len(o.Spans) != len(o.Words) {
		return nil, fmt.Errorf("word order has %d words but %d spans: %w", len(o.Words), len(o.Spans), concordat.ErrInvalid)
	}
	out := make([]token, len(o.Words))
	for i, w := range o.Words {
		// A span's length in bytes counts as its number of letters. Multiplying spreads the hash over 64 bits, because grams multiply
		// hashes.
		out[i] = token{hash: (uint64(w) + 1) * 0xff51afd7ed558ccd, chars: int32(min(o.Spans[i].Len(), 1<<10))}
	}
	return out, nil
}
