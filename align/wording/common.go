package wording

import (
	"cmp"
	"maps"
	"slices"

	"concordat"
)

// Absolute is the number of documents above which wording is common however many documents were asked: in laws and web
// pages the few blocks beyond it make most of all duplicate pairs (doc/design.md, detection).
const Absolute = 20

// fewest is the number of documents below which nothing can be called common: three copies of four are copies.
const fewest = 5

// Least returns the number of documents that must hold wording for it to be common among n, those of one call: a fifth
// of them, at least three, at most one more than [Absolute]. A ring of copiers in a call is smaller. 0: among so few
// nothing can be called common.
func Least(n int) int {
	if n < fewest {
		return 0
	}
	return min(max(3, (n+4)/5), Absolute+1)
}

// LeastLong is [Least] for a stretch of MaxWords words or more: a third of the documents. So much wording in a row is a
// copied page more often than a form, and a few drafts or copiers must not hide it.
func LeastLong(n int) int { return max(Least(n), (n+2)/3) }

// MaxWords is the number of words from which a stretch must be held by more documents: see [LeastLong].
const MaxWords = 250

// A stretch of wholeWords or more words that makes wholeShare of a text is that text copied whole, however many hold it:
// no form leaves so little room to answer. In short texts a stretch is long from half of their words on, wholeWords at least.
const (
	wholeWords = 100
	wholeShare = 0.8
)

// longFrom returns the number of words from which a stretch of the text is long, and must be held by more documents.
func (w *Words) longFrom() int { return min(MaxWords, max(wholeWords, w.Len()/2)) }

// Counter counts the texts that hold each gram. Memory is 8 bytes a gram. The zero value counts all grams; a counter of
// one part in several counts those whose hash falls to it, so that a large batch is counted in parts.
type Counter struct {
	Part, Parts int // Parts 0: 1

	only map[uint64]int32 // nil: all grams
	seen []uint64
}

// CounterOf returns a counter of the grams of one text alone, which it has counted once.
func CounterOf(w *Words) *Counter {
	c := &Counter{only: make(map[uint64]int32, len(w.grams))}
	for _, g := range w.grams {
		if g.hash != noGram {
			c.only[g.hash] = 1
		}
	}
	return c
}

// Add counts one text. It is not safe for concurrent use.
func (c *Counter) Add(w *Words) {
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
	own = slices.Compact(own)
	if c.only == nil {
		c.seen = append(c.seen, own...)
		return
	}
	for _, h := range own {
		c.only[h]++
	}
}

// AtLeast notes that at least n texts hold a span of the text w that c counts the grams of, however many were added.
func (c *Counter) AtLeast(w *Words, s concordat.Span, n int) {
	first, last := w.within(s)
	for i := first; i+gramWords <= last; i++ {
		if h := w.grams[i].hash; h != noGram {
			c.only[h] = max(c.only[h], int32(n))
		}
	}
}

// Common returns the grams that at least least texts hold, and at least long if many stand in a row; none for a least
// below 2.
func (c *Counter) Common(least, long int) *Common {
	out := &Common{held: map[uint64]int32{}, long: int32(long)}
	if least < 2 {
		return out
	}
	if c.only != nil {
		for h, n := range c.only {
			if int(n) >= least {
				out.held[h] = n
			}
		}
		return out
	}
	slices.Sort(c.seen)
	for i := 0; i < len(c.seen); {
		j := i + 1
		for j < len(c.seen) && c.seen[j] == c.seen[i] {
			j++
		}
		if j-i >= least {
			out.held[c.seen[i]] = int32(j - i)
		}
		i = j
	}
	return out
}

// Common are grams that many texts hold. A nil Common holds none. It is safe for concurrent use once made.
type Common struct {
	held  map[uint64]int32
	forms map[uint64]struct{} // grams that are common however many texts hold them: see Forms
	long  int32               // texts that must hold a long stretch; 0: any
}

// Join adds the grams of other; of grams of both the larger number stands.
func (c *Common) Join(other *Common) {
	if c.held == nil {
		c.held = make(map[uint64]int32, len(other.held))
	}
	for h, n := range other.held {
		c.held[h] = max(c.held[h], n)
	}
	if c.forms == nil {
		c.forms = other.forms
		return
	}
	maps.Copy(c.forms, other.forms)
}

// Least returns the grams of c that at least least texts hold, and those of forms, long as in [Counter.Common]; none for a
// least below 2.
func (c *Common) Least(least, long int) *Common {
	out := &Common{held: map[uint64]int32{}, forms: c.forms, long: int32(long)}
	if least < 2 {
		return out
	}
	for h, n := range c.held {
		if int(n) >= least || c.isForm(h) {
			out.held[h] = n
		}
	}
	return out
}

func (c *Common) isForm(gram uint64) bool { _, ok := c.forms[gram]; return ok }

// Fewer returns the grams of c that fewer than most texts hold, but for those of forms.
func (c *Common) Fewer(most int) *Common {
	out := &Common{held: map[uint64]int32{}}
	for h, n := range c.held {
		if int(n) < most && !c.isForm(h) {
			out.held[h] = n
		}
	}
	return out
}

// Documents returns the number of texts that hold the gram of a span that fewest hold; 0: none of its grams is of c.
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
	Documents int    // that hold the gram of it that fewest hold
	Gram      uint64 // its first gram, by which the same wording is known in other texts
}

// run is a gram of a text that is common.
type run struct {
	gram
	n    int32
	line bool
}

// In returns the stretches of a text that are made of common grams, in order and disjoint: at least leastWords words,
// with up to maxSlot words filled in between, or a whole line. Of a long one only what enough texts hold is common, and
// what makes nearly all of the text is not.
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
		n := words([][]run{s})
		if c.long == 0 || n < w.longFrom() {
			out = appendStretch(out, w, s)
			continue
		}
		if n >= wholeWords && float64(n) >= wholeShare*float64(w.Len()) {
			continue
		}
		var held, rest []run
		for _, r := range s {
			if r.n >= c.long || c.isForm(r.hash) {
				held = append(held, r)
			} else {
				rest = append(rest, r)
			}
		}
		if words(joined(rest)) < w.longFrom() {
			held = s
		}
		for _, s := range joined(held) {
			out = appendStretch(out, w, s)
		}
	}
	return out
}

// words returns the number of words of stretches.
func words(stretches [][]run) int {
	n := int32(0)
	for _, s := range stretches {
		last := s[0].last
		for _, r := range s[1:] {
			last = max(last, r.last)
		}
		n += last - s[0].first
	}
	return int(n)
}

// joined divides runs where more than maxSlot words lie between two.
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

// First returns the first gram of a span; 0: it has none.
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

// Of returns the grams that stand in a span of a text.
func (w *Words) Of(s concordat.Span) *Common {
	first, last := w.within(s)
	out := &Common{held: map[uint64]int32{}}
	for _, g := range w.grams {
		if g.first >= first && g.last <= last && g.hash != noGram {
			out.held[g.hash] = 1
		}
	}
	return out
}
