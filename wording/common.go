package wording

import (
	"cmp"
	"slices"

	"concordat"
)

// Absolute is the number of documents above which wording is common however many documents were asked: in laws and web
// pages the few blocks beyond it make most of all duplicate pairs (doc/design.md, detection).
const Absolute = 20

// Least returns the number of documents that must hold wording for it to be common among n, those of one call: a fifth
// of them, at least three, at most one more than [Absolute]. A ring of copiers in a call is smaller. 0: among so few
// nothing can be called common.
func Least(n int) int {
	if n < 3 {
		return 0
	}
	return min(max(3, (n+4)/5), Absolute+1)
}

// Counter counts the texts that hold each gram. Memory is 8 bytes a gram. The zero value counts all grams; a counter of
// one part in several counts those whose hash falls to it, so that a large batch is counted in parts.
type Counter struct {
	Part, Parts int // Parts 0: 1

	only  map[uint64]int32 // nil: all grams
	seen  []uint64
	texts int
}

// CounterOf returns a counter of the grams of one text alone, which it has counted once.
func CounterOf(w *Words) *Counter {
	c := &Counter{only: make(map[uint64]int32, len(w.grams)), texts: 1}
	for _, g := range w.grams {
		c.only[g.hash] = 1
	}
	return c
}

// Add counts one text. It is not safe for concurrent use.
func (c *Counter) Add(w *Words) {
	c.texts++
	var own []uint64
	for _, g := range w.grams {
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

// Texts returns the number of texts counted.
func (c *Counter) Texts() int { return c.texts }

// Common returns the grams that at least least texts hold; none for a least below 2.
func (c *Counter) Common(least int) *Common {
	out := &Common{held: map[uint64]int32{}}
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
type Common struct{ held map[uint64]int32 }

// Join adds the grams of other; of grams of both the larger number stands.
func (c *Common) Join(other *Common) {
	for h, n := range other.held {
		c.held[h] = max(c.held[h], n)
	}
}

// Stretch is a stretch of common wording.
type Stretch struct {
	concordat.Span
	Documents int // that hold the gram of it that fewest hold
}

// In returns the stretches of a text that are made of common grams, in order and disjoint: at least leastWords words,
// with up to mostSlot words filled in between, or a whole line.
func (c *Common) In(w *Words) []Stretch {
	if c == nil || len(c.held) == 0 {
		return nil
	}
	type run struct {
		gram
		n    int32
		line bool
	}
	var runs []run
	for i, g := range w.grams {
		n, ok := c.held[g.hash]
		if !ok {
			continue
		}
		runs = append(runs, run{g, n, i > len(w.hashes)-gramWords})
	}
	slices.SortFunc(runs, func(x, y run) int { return cmp.Or(int(x.first-y.first), int(y.last-x.last)) })
	var out []Stretch
	for i := 0; i < len(runs); {
		all := runs[i]
		for i++; i < len(runs) && runs[i].first <= all.last+mostSlot; i++ {
			all.last, all.n, all.line = max(all.last, runs[i].last), min(all.n, runs[i].n), all.line || runs[i].line
		}
		if all.line || all.last-all.first >= leastWords {
			out = append(out, Stretch{w.span(all.first, all.last), int(all.n)})
		}
	}
	return out
}

// Of returns the grams of c that stand in a span of a text.
func (w *Words) Of(s concordat.Span) *Common {
	first, last := w.within(s)
	out := &Common{held: map[uint64]int32{}}
	for _, g := range w.grams {
		if g.first >= first && g.last <= last {
			out.held[g.hash] = 1
		}
	}
	return out
}
