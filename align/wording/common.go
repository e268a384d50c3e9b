package wording

import (
	"cmp"
	"encoding/binary"
	"maps"
	"slices"

	"github.com/cespare/xxhash/v2"

	"concordat"
)

// Absolute is the number of documents above which wording is common, however many were compared, because in laws and web pages the few
// blocks above it produce most duplicate pairs (doc/design.md, detection).
const Absolute = 20

// fewest is the number of documents below which nothing is common, because three copies among four documents are copies.
const fewest = 5

// Least returns the number of documents at which wording is common among the n documents of one call. It is a fifth of them, at least
// three, and at most one more than [Absolute]. A ring of copiers in one call is smaller. It returns 0 if n is too small for anything to
// be common.
func Least(n int) int {
	if n < fewest {
		return 0
	}
	return min(max(3, (n+4)/5), Absolute+1)
}

// Counter records which texts contain each gram. It takes 16 bytes per gram. The zero value records all grams; a counter for one of
// several parts records only grams with hashes in that part, so that a large batch can be counted in parts.
type Counter struct {
	Part, Parts int // 0 Parts means 1

	only map[uint64][]int32 // nil for all grams
	more map[uint64]int32   // minimum number of texts that contain a gram of only, including those recorded
	seen []seenGram
}

type seenGram struct {
	hash uint64
	text int32
}

// CounterOf returns a counter for the grams of one text only, already recorded as text 0.
func CounterOf(w *Words) *Counter {
	c := &Counter{only: make(map[uint64][]int32, len(w.grams)), more: map[uint64]int32{}}
	for _, g := range w.grams {
		if g.hash != noGram {
			c.only[g.hash] = []int32{0}
		}
	}
	return c
}

// Add records a text under its number, which must not be used twice. It is not safe for concurrent use.
func (c *Counter) Add(text int, w *Words) {
	var own []uint64
	for _, g := range w.grams {
		if g.hash == noGram {
			continue
		}
		if c.only != nil {
			if _, ok := c.only[g.hash]; !ok {
				continue
			}
		} else if c.Parts > 1 && int(g.hash%uint64(c.Parts)) != c.Part {
			continue
		}
		own = append(own, g.hash)
	}
	slices.Sort(own)
	for _, h := range slices.Compact(own) {
		if c.only == nil {
			c.seen = append(c.seen, seenGram{h, int32(text)})
		} else {
			c.only[h] = append(c.only[h], int32(text))
		}
	}
}

// AtLeast records that at least n texts contain a span of w, regardless of how many were added. w must be the text whose grams c counts.
func (c *Counter) AtLeast(w *Words, s concordat.Span, n int) {
	first, last := w.within(s)
	for i := first; i+gramWords <= last; i++ {
		if h := w.grams[i].hash; h != noGram {
			c.more[h] = max(c.more[h], int32(n))
		}
	}
}

// Common returns the grams found in at least least texts, or none if least is below 2.
func (c *Counter) Common(least int) *Common {
	out := &Common{held: map[uint64]int32{}, set: map[uint64]int32{}}
	if least < 2 {
		return out
	}
	known := map[uint64][]int32{} // sets by the hash of their texts
	if c.only != nil {
		for h, texts := range c.only {
			if n := max(len(texts), int(c.more[h])); n >= least {
				slices.Sort(texts)
				out.add(h, n, texts, known)
			}
		}
		return out
	}
	slices.SortFunc(c.seen, func(x, y seenGram) int { return cmp.Or(cmp.Compare(x.hash, y.hash), cmp.Compare(x.text, y.text)) })
	var texts []int32
	for i := 0; i < len(c.seen); {
		texts = texts[:0]
		h := c.seen[i].hash
		for ; i < len(c.seen) && c.seen[i].hash == h; i++ {
			texts = append(texts, c.seen[i].text)
		}
		if len(texts) >= least {
			out.add(h, len(texts), texts, known)
		}
	}
	return out
}

// add records that n texts contain a gram, and which ones, in order; known contains the sets already in c.
func (c *Common) add(gram uint64, n int, texts []int32, known map[uint64][]int32) {
	texts = texts[:min(len(texts), maxHolders)]
	c.held[gram] = int32(n)
	h := hashTexts(texts)
	for _, i := range known[h] {
		if slices.Equal(c.texts[i], texts) {
			c.set[gram] = i
			return
		}
	}
	i := int32(len(c.texts))
	c.texts, known[h] = append(c.texts, slices.Clone(texts)), append(known[h], i)
	c.set[gram] = i
}

func hashTexts(texts []int32) uint64 {
	b := make([]byte, 0, 4*len(texts))
	for _, t := range texts {
		b = binary.LittleEndian.AppendUint32(b, uint32(t))
	}
	return xxhash.Sum64(b)
}

// Common is a set of grams found in many texts. A nil Common is empty. It is safe for concurrent use once complete.
type Common struct {
	held  map[uint64]int32 // number of texts that contain a gram
	set   map[uint64]int32 // which texts, as an index into texts
	texts [][]int32        // first maxHolders texts, in order
}

// Join adds the grams of other, a different part of the same texts that has no gram in common with c.
func (c *Common) Join(other *Common) {
	if c.held == nil {
		*c = *other
		return
	}
	maps.Copy(c.held, other.held)
	for h, i := range other.set {
		c.set[h] = i + int32(len(c.texts))
	}
	c.texts = append(c.texts, other.texts...)
}

// Documents returns the number of texts that contain the rarest gram of a span, or 0 if c has none of its grams.
func (c *Common) Documents(w *Words, s concordat.Span) int {
	least := int32(0)
	first, last := w.within(s)
	for i := first; i+gramWords <= last; i++ {
		if n := c.held[w.grams[i].hash]; n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return int(least)
}

// Stretch is a stretch of common wording.
type Stretch struct {
	concordat.Span
	Documents int    // number that contain its rarest gram
	Gram      uint64 // first gram, which identifies the same wording in other texts
}

// run is a common gram of a text.
type run struct {
	gram
	n    int32
	line bool
}

// In returns the stretches of a text that consist of common grams, in text order without overlaps. Each has at least leastWords words
// with gaps of at most maxSlot other words, or is a whole line.
func (c *Common) In(w *Words) []Stretch {
	if c == nil || len(c.held) == 0 {
		return nil
	}
	var runs []run
	for i, g := range w.grams {
		if n, ok := c.held[g.hash]; ok {
			runs = append(runs, run{g, n, i > len(w.hashes)-gramWords})
		}
	}
	slices.SortFunc(runs, func(x, y run) int { return cmp.Or(int(x.first-y.first), int(y.last-x.last)) })
	var out []Stretch
	for _, s := range joined(runs) {
		out = appendStretch(out, w, s)
	}
	return out
}

// joined splits runs into groups wherever more than maxSlot words separate two of them.
func joined(runs []run) [][]run {
	var out [][]run
	for i := 0; i < len(runs); {
		from, last := i, runs[i].last
		for i++; i < len(runs) && runs[i].first <= last+maxSlot; i++ {
			last = max(last, runs[i].last)
		}
		out = append(out, runs[from:i])
	}
	return out
}

func appendStretch(out []Stretch, w *Words, runs []run) []Stretch {
	all := runs[0]
	for _, r := range runs[1:] {
		all.last, all.n, all.line = max(all.last, r.last), min(all.n, r.n), all.line || r.line
	}
	if !all.line && all.last-all.first < leastWords {
		return out
	}
	span := w.span(all.first, all.last)
	return append(out, Stretch{span, int(all.n), w.First(span)})
}

// First returns the first gram of a span, or 0 if it has none.
func (w *Words) First(s concordat.Span) uint64 {
	first, last := w.within(s)
	switch {
	case first+gramWords <= last:
		return w.grams[first].hash
	case first < last:
		return ^w.hashOf(int(first), int(last))
	}
	return 0
}

// Of returns the grams inside some spans of a text, as if only text 0 contained them.
func (w *Words) Of(spans ...concordat.Span) *Common {
	out := &Common{held: map[uint64]int32{}, set: map[uint64]int32{}, texts: [][]int32{{0}}}
	runs := max(0, len(w.hashes)-gramWords+1) // followed by the grams of lines
	for _, s := range spans {
		first, last := w.within(s)
		for _, grams := range [][]gram{w.grams[:runs], w.grams[runs:]} {
			i, _ := slices.BinarySearchFunc(grams, first, func(g gram, at int32) int { return cmp.Compare(g.first, at) })
			for ; i < len(grams) && grams[i].first < last; i++ {
				if g := grams[i]; g.last <= last && g.hash != noGram {
					out.held[g.hash], out.set[g.hash] = 1, 0
				}
			}
		}
	}
	return out
}
