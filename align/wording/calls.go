package wording

import (
	"cmp"
	"slices"
)

// In a library of several calls the form of each is held by fewer documents than [Least] asks of all. The documents of one
// call are known by the form itself: they share several short paragraphs to the letter, in different places, and have their
// own text between. A ring of copiers shares a block.
const (
	leastPieces = 3   // places at which two documents of a call share paragraphs
	ownBetween  = 20  // words of own text between two places
	mostPiece   = 60  // words of such a paragraph
	mostPlace   = 100 // words of paragraphs in a row: more is a copied page
)

// piece is a paragraph of a few words, by the hash of all of them.
type piece struct {
	hash        uint64
	first, last int32
}

// Calls finds the forms that the documents of a call hold among those of others. It is told every text, in any order. The
// zero value is ready; it is not safe for concurrent use.
type Calls struct {
	texts [][]piece
}

// Add notes the paragraphs of a text.
func (c *Calls) Add(w *Words) { c.texts = append(c.texts, w.pieces) }

// Pieces are paragraphs of forms, by their words. Nil: none.
type Pieces map[uint64]struct{}

// Forms returns the paragraphs that at least two thirds of the documents of a call of five or more hold. Those that most
// texts or more hold are no business of it: they are common already.
func (c *Calls) Forms(most int) Pieces {
	holders := map[uint64][]int32{}
	for i, pieces := range c.texts {
		for _, p := range pieces {
			if hs := holders[p.hash]; len(hs) == 0 || hs[len(hs)-1] != int32(i) {
				holders[p.hash] = append(hs, int32(i))
			}
		}
	}
	for h, hs := range holders {
		if len(hs) < 2 || len(hs) >= most {
			delete(holders, h)
		}
	}
	if len(holders) == 0 {
		return nil
	}
	out := Pieces{}
	for i := range c.texts {
		c.formsOf(int32(i), holders, out)
	}
	return out
}

// formsOf adds the paragraphs of one text that the documents of its call hold.
func (c *Calls) formsOf(i int32, holders map[uint64][]int32, out Pieces) {
	shared := map[int32]int{}
	for _, p := range c.texts[i] {
		for _, j := range holders[p.hash] {
			shared[j]++
		}
	}
	call := map[int32]struct{}{i: {}}
	for j, n := range shared {
		if j != i && n >= leastPieces && c.apart(i, j) && c.apart(j, i) {
			call[j] = struct{}{}
		}
	}
	if len(call) < fewest {
		return
	}
	for _, place := range places(c.texts[i], func(p piece) bool {
		n := 0
		for _, j := range holders[p.hash] {
			if _, ok := call[j]; ok {
				n++
			}
		}
		return 3*n >= 2*len(call)
	}) {
		if place[len(place)-1].last-place[0].first <= mostPlace {
			for _, p := range place {
				out[p.hash] = struct{}{}
			}
		}
	}
}

// apart reports whether a text shares paragraphs with another at several places, with text of its own between.
func (c *Calls) apart(i, j int32) bool {
	other := make(map[uint64]struct{}, len(c.texts[j]))
	for _, p := range c.texts[j] {
		other[p.hash] = struct{}{}
	}
	return len(places(c.texts[i], func(p piece) bool { _, ok := other[p.hash]; return ok })) >= leastPieces
}

// places divides those of the paragraphs that are wanted where own text stands between them.
func places(pieces []piece, wanted func(piece) bool) [][]piece {
	var out [][]piece
	for _, p := range pieces {
		if !wanted(p) {
			continue
		}
		if n := len(out); n > 0 {
			if last := out[n-1][len(out[n-1])-1]; p.first-last.last < ownBetween {
				out[n-1] = append(out[n-1], p)
				continue
			}
		}
		out = append(out, []piece{p})
	}
	return out
}

// Forms notes the grams of a text's paragraphs that are of forms: they are common, however many texts hold them.
func (c *Common) Forms(w *Words, forms Pieces) {
	for _, p := range w.pieces {
		if _, ok := forms[p.hash]; !ok {
			continue
		}
		for _, g := range w.grams {
			if g.first >= p.first && g.last <= p.last && g.hash != noGram && c.held[g.hash] > 0 {
				if c.forms == nil {
					c.forms = map[uint64]struct{}{}
				}
				c.forms[g.hash] = struct{}{}
			}
		}
	}
}

// paragraphs notes the short lines and paragraphs of a text as pieces. ends are the words behind which a line ends, empty
// those behind which an empty line follows; a text whose paragraphs are wrapped has both.
func (w *Words) paragraphs(ends, empty []int32) {
	add := func(bounds []int32) {
		from := int32(0)
		for _, to := range append(bounds, int32(len(w.hashes))) {
			if n := to - from; n >= leastWords && n <= mostPiece {
				w.pieces = append(w.pieces, piece{w.hashOf(int(from), int(to)), from, to})
			}
			from = to
		}
	}
	add(slices.Clone(ends))
	if len(empty) < len(ends) {
		add(slices.Clone(empty))
	}
	slices.SortFunc(w.pieces, func(x, y piece) int { return cmp.Or(int(x.first-y.first), int(y.last-x.last)) })
	w.pieces = slices.Compact(w.pieces)
}
