package wording

import (
	"cmp"
	"slices"
)

// In a library of several calls the form of each is held by fewer documents than [Least] asks of all. The documents of one
// call are known by the form itself: they share several short paragraphs to the letter, in different places, and have their
// own text between. A ring of copiers shares a block.
//
// A form that is one block, for example a declaration, is known by more documents: each has it as a paragraph that is no more
// than half of its text. That is a fifth of a call of forty, and more than a ring; those who copy from one source that many
// know take other parts of it, and put their own words in between.
const (
	leastPieces = 3   // places at which two documents of a call share paragraphs
	ownBetween  = 20  // words of own text between two places
	maxPiece    = 60  // words of such a paragraph
	maxBlock    = 150 // words of a paragraph that is a form by itself: half a page
	leastBlock  = 8   // documents that have it as a paragraph of their own
	maxPlace    = 100 // words of paragraphs in a row: more is a copied page
)

// piece is a paragraph of a few words, by the hash of all of them, or of those at an edge: where a slot is filled in, the
// rest of the paragraph is the form's.
type piece struct {
	hash        uint64
	first, last int32 // of the whole paragraph
}

// edgeWords is the number of words at an edge of a paragraph by which it is known, of twice as many at least.
const edgeWords = 6

// Calls finds the forms that the documents of a call hold among those of others. It receives every text, in any order.
// The zero value is ready; it is not safe for concurrent use.
type Calls struct {
	texts  [][]piece // paragraphs of maxPiece words or fewer
	blocks [][]piece // of maxBlock words or fewer, and no more than half of the text
}

// Add notes the paragraphs of a text.
func (c *Calls) Add(w *Words) {
	var short, blocks []piece
	for _, p := range w.pieces {
		n := int(p.last - p.first)
		if n <= maxPiece {
			short = append(short, p)
		}
		if 2*n <= w.Len() {
			blocks = append(blocks, p)
		}
	}
	c.texts, c.blocks = append(c.texts, short), append(c.blocks, blocks)
}

// Pieces are paragraphs of forms, by their words. Nil: none.
type Pieces map[uint64]formPiece

// formPiece says which grams of a paragraph are the form's.
type formPiece struct {
	least int32 // texts that hold such a gram
	most  bool  // most of the paragraph must be of such grams, as only one edge of it is known
}

// Forms returns the paragraphs that at least two thirds of the documents of a call of five or more hold, and those that
// leastBlock documents hold. Those that most texts or more hold are no business of it: they are common already.
func (c *Calls) Forms(most int) Pieces {
	out := Pieces{}
	c.addBlocks(most, out)
	holders := holdersOf(c.texts)
	for h, hs := range holders {
		if len(hs) < 2 || len(hs) >= most {
			delete(holders, h)
		}
	}
	if len(holders) == 0 {
		return out
	}
	for i := range c.texts {
		c.formsOf(int32(i), holders, out)
	}
	return out
}

// holdersOf returns the texts that hold each piece, in order.
func holdersOf(texts [][]piece) map[uint64][]int32 {
	out := map[uint64][]int32{}
	for i, pieces := range texts {
		for _, p := range pieces {
			if hs := out[p.hash]; len(hs) == 0 || hs[len(hs)-1] != int32(i) {
				out[p.hash] = append(hs, int32(i))
			}
		}
	}
	return out
}

// addBlocks adds the paragraphs that leastBlock documents hold, or an edge of them: where a slot is near the other, as in
// "I, ..., declare", most of the paragraph has to be held too.
func (c *Calls) addBlocks(most int, out Pieces) {
	if most <= leastBlock {
		return
	}
	holders := holdersOf(c.blocks)
	for _, pieces := range c.blocks {
		for i := 0; i < len(pieces); {
			from, held := i, 0
			for ; i < len(pieces) && pieces[i].first == pieces[from].first && pieces[i].last == pieces[from].last; i++ {
				if len(holders[pieces[i].hash]) >= leastBlock {
					held++
				}
			}
			for _, p := range pieces[from:i] {
				if len(holders[p.hash]) < leastBlock {
					continue
				}
				if f, ok := out[p.hash]; !ok || f.most {
					out[p.hash] = formPiece{leastBlock, held < min(2, i-from)}
				}
			}
		}
	}
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
	within := func(p piece) int {
		n := 0
		for _, j := range holders[p.hash] {
			if _, ok := call[j]; ok {
				n++
			}
		}
		return n
	}
	for _, place := range places(c.texts[i], func(p piece) bool { return 3*within(p) >= 2*len(call) }) {
		if place[len(place)-1].last-place[0].first <= maxPlace {
			for _, p := range place {
				if f, ok := out[p.hash]; !ok || f.most || int32(within(p)) < f.least {
					out[p.hash] = formPiece{least: int32(within(p))}
				}
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
		f, ok := forms[p.hash]
		if !ok {
			continue
		}
		var grams []gram
		end, words := p.first, int32(0)
		for _, g := range w.grams {
			if g.first >= p.first && g.last <= p.last && g.hash != noGram && c.held[g.hash] >= f.least {
				grams = append(grams, g)
				words += max(0, g.last-max(end, g.first))
				end = max(end, g.last)
			}
		}
		if f.most && 3*words < 2*(p.last-p.first) {
			continue
		}
		for _, g := range grams {
			if c.forms == nil {
				c.forms = map[uint64]struct{}{}
			}
			c.forms[g.hash] = struct{}{}
		}
	}
}

// paragraphs notes the short lines and paragraphs of a text as pieces. ends are the words behind which a line ends, empty
// those behind which an empty line follows; a text whose paragraphs are wrapped has both.
func (w *Words) paragraphs(ends, empty []int32) {
	add := func(bounds []int32) {
		from := int32(0)
		for _, to := range append(bounds, int32(len(w.hashes))) {
			if n := to - from; n >= leastWords && n <= maxBlock {
				w.pieces = append(w.pieces, piece{w.hashOf(int(from), int(to)), from, to})
				if n >= 2*edgeWords {
					// The complement keeps a beginning from being taken for the same words at an end.
					w.pieces = append(w.pieces, piece{^w.hashOf(int(from), int(from+edgeWords)), from, to},
						piece{w.hashOf(int(to-edgeWords), int(to)), from, to})
				}
			}
			from = to
		}
	}
	add(slices.Clone(ends))
	if len(empty) < len(ends) {
		add(slices.Clone(empty))
	}
	slices.SortFunc(w.pieces, func(x, y piece) int {
		return cmp.Or(int(x.first-y.first), int(y.last-x.last), cmp.Compare(x.hash, y.hash))
	})
	w.pieces = slices.Compact(w.pieces)
}
