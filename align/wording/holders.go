package wording

import (
	"cmp"
	"encoding/binary"
	"iter"
	"math/bits"
	"slices"

	"concordat"
)

// maxHolders is the number of texts recorded for a gram. These texts have the lowest numbers. Any further texts are only counted.
const maxHolders = 256

// interval is a run of words found in one other text, with gaps of at most maxSlot other words.
type interval struct {
	first, last int32
	words       int32 // number of equal words
	line        bool  // it contains a whole line
}

// heldGram is a gram of a text that other texts contain.
type heldGram struct {
	gram
	set  int32
	line bool
}

// heldGrams returns, in order, the grams of a text that are in c and outside walls.
func (c *Common) heldGrams(w *Words, walls []concordat.Span) []heldGram {
	var out []heldGram
	wall := 0
	for i, g := range w.grams {
		line := i > len(w.hashes)-gramWords
		if i == max(0, len(w.hashes)-gramWords+1) {
			wall = 0 // whole lines start over at the beginning of the text
		}
		set, ok := c.set[g.hash]
		if !ok {
			continue
		}
		at := w.span(g.first, g.last)
		for wall < len(walls) && walls[wall].End <= at.Start {
			wall++
		}
		if wall < len(walls) && walls[wall].Start < at.End {
			continue
		}
		out = append(out, heldGram{g, set, line})
	}
	slices.SortStableFunc(out, func(x, y heldGram) int { return cmp.Or(int(x.first-y.first), int(y.last-x.last)) })
	return out
}

// heldBy returns, for each other text, the runs of words of w that it also contains, if they have at least leastWords words or are a
// whole line. self is the number of the text itself.
func (c *Common) heldBy(w *Words, self int32, walls []concordat.Span) map[int32][]interval {
	out := map[int32][]interval{}
	for _, g := range c.heldGrams(w, walls) {
		for _, e := range c.texts[g.set] {
			if e == self {
				continue
			}
			is := out[e]
			if n := len(is); n > 0 && g.first <= is[n-1].last+maxSlot {
				x := &is[n-1]
				x.words += max(0, g.last-max(x.last, g.first))
				x.last, x.line = max(x.last, g.last), x.line || g.line
				continue
			}
			out[e] = append(is, interval{g.first, g.last, g.last - g.first, g.line})
		}
	}
	for e, is := range out {
		is = slices.DeleteFunc(is, func(x interval) bool { return !x.line && x.last-x.first < leastWords })
		if out[e] = is; len(is) == 0 {
			delete(out, e)
		}
	}
	return out
}

// apart returns the number of separate places that runs fall into. Two places have at least ownBetween words outside walls between them;
// a question between two answers is not the author's own text.
func (w *Words) apart(is []interval, walls []concordat.Span) int {
	n, last := 0, int32(0)
	for _, x := range is {
		if n == 0 || w.between(last, x.first, walls) >= ownBetween {
			n++
		}
		last = max(last, x.last)
	}
	return n
}

// between returns how many of words [first, last) are outside walls, which must be in text order without overlaps.
func (w *Words) between(first, last int32, walls []concordat.Span) int32 {
	if last <= first {
		return last - first
	}
	n := last - first
	i, _ := slices.BinarySearchFunc(walls, int(w.start[first]), func(s concordat.Span, at int) int { return cmp.Compare(s.End, at+1) })
	for ; i < len(walls) && walls[i].Start < int(w.end[last-1]); i++ {
		from, to := w.within(walls[i])
		n -= max(0, min(to, last)-max(from, first))
	}
	return n
}

// PlacesWith returns the number of places where w shares wording with each other text, omitting numbers below leastPieces.
func (c *Common) PlacesWith(w *Words, self int, walls []concordat.Span) map[int]int {
	out := map[int]int{}
	for e, is := range c.heldBy(w, int32(self), walls) {
		if n := w.apart(is, walls); n >= leastPieces {
			out[int(e)] = n
		}
	}
	return out
}

// textSet is a set of texts, represented by their positions in a list.
type textSet []uint64

func newTextSet(n int) textSet { return make(textSet, (n+63)/64) }

func (s textSet) flip(i int)     { s[i/64] ^= 1 << (i % 64) }
func (s textSet) has(i int) bool { return s[i/64]>>(i%64)&1 == 1 }
func (s textSet) clone() textSet { return slices.Clone(s) }
func (s textSet) count() (n int) {
	for _, x := range s {
		n += bits.OnesCount64(x)
	}
	return n
}

// key returns a string that is equal for two sets over one list only if the sets and marks are equal.
func (s textSet) key(mark bool) string {
	b := make([]byte, 0, 8*len(s)+1)
	for _, x := range s {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	if mark {
		b = append(b, 1)
	}
	return string(b)
}

// all yields the positions in s, in order.
func (s textSet) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for i, x := range s {
			for ; x != 0; x &= x - 1 {
				if !yield(64*i + bits.TrailingZeros64(x)) {
					return
				}
			}
		}
	}
}

// both returns the number of texts in both s and t.
func (s textSet) both(t textSet) (n int) {
	for i := range s {
		n += bits.OnesCount64(s[i] & t[i])
	}
	return n
}

// block is a run of words found in the same other texts.
type block struct {
	first, last int32
	held        textSet
}

// alikeSets is the share of the union of two sets that must be in both for them to count as the same, because one holder in five can have
// altered a word.
const alikeSets = 0.8

func (s *block) same(t *block) bool {
	n := s.held.both(t.held)
	return float64(n) >= alikeSets*float64(s.held.count()+t.held.count()-n)
}

// within reports whether nearly all holders of s also contain t.
func (s *block) within(t *block) bool {
	return float64(s.held.both(t.held)) >= alikeSets*float64(s.held.count())
}

// blocks splits the wording that other texts share with a text wherever the set of these texts changes. It returns the other texts, and
// the blocks in text order without overlaps.
func blocks(by map[int32][]interval) (others []int32, out []block) {
	for e := range by {
		others = append(others, e)
	}
	slices.Sort(others)
	type edge struct {
		at  int32
		who int
	}
	var edges []edge
	for i, e := range others {
		for _, x := range by[e] {
			edges = append(edges, edge{x.first, i}, edge{x.last, i})
		}
	}
	slices.SortFunc(edges, func(x, y edge) int { return cmp.Or(int(x.at-y.at), x.who-y.who) })
	open := newTextSet(len(others))
	n := 0
	for i := 0; i < len(edges); {
		at := edges[i].at
		for ; i < len(edges) && edges[i].at == at; i++ {
			who := edges[i].who
			if open.has(who) {
				n--
			} else {
				n++
			}
			open.flip(who)
		}
		if n > 0 {
			out = append(out, block{at, edges[i].at, open.clone()})
		}
	}
	out = joinBlocks(out)
	for i := range out { // find those that contain most of it
		s := &out[i]
		s.held = newTextSet(len(others))
		for k, e := range others {
			covered := int32(0)
			from, _ := slices.BinarySearchFunc(by[e], s.first, func(x interval, at int32) int { return cmp.Compare(x.last, at+1) })
			for _, x := range by[e][from:] {
				if x.first >= s.last {
					break
				}
				covered += min(x.last, s.last) - max(x.first, s.first)
			}
			if 2*covered >= s.last-s.first {
				s.held.flip(k)
			}
		}
	}
	return others, slices.DeleteFunc(out, func(s block) bool { return s.held.count() == 0 })
}

// joinBlocks joins adjacent blocks with nearly the same holders, and adds each block shorter than leastWords to the more similar
// neighbour.
func joinBlocks(in []block) []block {
	join := func(in []block) []block {
		var out []block
		for _, s := range in {
			if n := len(out); n > 0 && s.first <= out[n-1].last+maxSlot && s.same(&out[n-1]) {
				p := &out[n-1]
				if s.last-s.first > p.last-p.first {
					p.held = s.held
				}
				p.last = s.last
				continue
			}
			out = append(out, s)
		}
		return out
	}
	in = join(in)
	var out []block
	for i, s := range in {
		before := len(out) > 0 && s.first <= out[len(out)-1].last
		behind := i+1 < len(in) && in[i+1].first <= s.last
		if s.last-s.first >= leastWords || !before && !behind {
			out = append(out, s)
			continue
		}
		if behind && (!before || s.held.both(in[i+1].held) > s.held.both(out[len(out)-1].held)) {
			in[i+1].first = s.first
			continue
		}
		out[len(out)-1].last = max(out[len(out)-1].last, s.last)
	}
	return join(out)
}
