package wording

import (
	"context"
	"math"
	"slices"

	"concordat"
)

// Parameters of the classifier; for the measurements, see doc/design.md (shared wording).
const (
	// LongWords is the number of consecutive words at which wording counts or is undecided regardless of how it reads, because neither a
	// phrase nor a number of holders explains a whole paragraph.
	LongWords = 60
	// lookWords is the maximum length in words of wording that is form wording because it resembles one, which is two or three lines.
	lookWords = 40
	// rowGap is the maximum number of words between two parts of a row, for example of a phrase inserted before each sentence.
	rowGap = 8
	// nearWords is the distance within which a line belongs to long, counting wording, however the line reads.
	nearWords = 30

	leastPieces = 3  // minimum places where answers to one form share wording; for two documents, in short paragraphs
	manyPieces  = 5  // number of places at which a form can also have long paragraphs
	ownBetween  = 20 // words of the author's own text required between two places
	pieceWords  = 60 // maximum words in the longest paragraph of a form with few holders
	meanWords   = 30 // maximum mean words per paragraph of a form with two holders

	// A stretch of at least wholeWords words that makes up wholeShare of a text means that the whole text was copied, whatever the number
	// of holders, because no form leaves so little space for answers.
	wholeWords = 100
	wholeShare = 0.8
	// blockHolders is the number of documents at which a separate paragraph in a large library is common if short, and undecided if long,
	// because ten applications can end with the declaration required by their call.
	blockHolders = 8
)

// Class is a stretch of a text that other texts also contain, with the classifier's decision.
type Class struct {
	Stretch
	// Kind is concordat.KindForm or KindCommon if the stretch does not count, concordat.KindUndecided if a person must decide whether it
	// counts, and empty if it counts, subject to the comparison.
	Kind  concordat.Kind
	Why   Why     // part of a form that it resembles; empty if recognised by position
	Words int     // total in its row, including adjacent stretches
	Texts []int32 // other texts that contain it, in order
}

// Scope holds the documents that could contain the wording of a text, as far as the classifier knows them.
type Scope struct {
	Held *Common // which of them contain each gram
	Of   int     // number of documents, including the text itself
	// Quoted holds the grams of passages that at least two of them quote, each attributing the passage to someone else. Nil means none.
	Quoted *Common
	// Alike reports whether two of them are mostly identical, so that they count as one holder. If nil, no two are.
	Alike func(a, b int) bool
	// Places returns the number of places where a document shares wording with another, as counted by [Common.PlacesWith] in the first
	// document's order. If nil, the number is unknown, and form wording is recognised from the text alone.
	Places func(of, with int) int
}

// Classify returns the class of each stretch of a text that others in the scope contain, in text order without overlaps, outside walls.
// walls are the stretches already explained, in text order without overlaps. It is the only place that decides whether shared wording
// counts, does not count, or is undecided. self is the number of the text within the scope. It fails only if ctx ends, with its cause.
func (s *Scope) Classify(ctx context.Context, self int, w *Words, r *Reader, walls []concordat.Span) ([]Class, error) {
	by := s.Held.heldBy(w, int32(self), walls)
	if len(by) == 0 {
		return nil, nil
	}
	c := classifier{Scope: s, self: self, w: w, walls: walls, by: by, shared: map[string]piecesOf{}, apart: map[int32]bool{},
		same: map[int32]bool{}}
	c.others, c.blocks = blocks(by)
	c.of = blocksOf(c.blocks, len(c.others))
	c.classes = make([]Class, len(c.blocks))
	order := make([]int, len(c.blocks)) // most holders first, so that a copied block is not mistaken for part of the form around it
	for i := range order {
		order[i] = i
		c.classes[i] = c.class(&c.blocks[i])
	}
	slices.SortStableFunc(order, func(i, j int) int { return c.blocks[j].held.count() - c.blocks[i].held.count() })
	for n, i := range order {
		if n%ctxEvery == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		c.decide(i)
	}
	if r != nil {
		if err := c.look(ctx, r); err != nil {
			return nil, err
		}
	}
	return c.classes, nil
}

// ctxEvery is the number of blocks, lines or other items between checks of the context.
const ctxEvery = 256

// classifier classifies the blocks of one text.
type classifier struct {
	*Scope
	self    int
	w       *Words
	walls   []concordat.Span
	by      map[int32][]interval
	others  []int32
	blocks  []block
	of      [][]int32 // blocks contained in each of others, in order
	classes []Class
	shared  map[string]piecesOf
	apart   map[int32]bool // whether a text and this one share wording in at least leastPieces places of both
	same    map[int32]bool // whether a text is mostly identical to this one
}

// class returns the class of a block with no decision made.
func (c *classifier) class(s *block) Class {
	out := Class{Stretch: Stretch{Span: c.w.span(s.first, s.last)}}
	for k, e := range c.others {
		if s.held.has(k) {
			out.Texts = append(out.Texts, e)
		}
	}
	out.Documents = max(len(out.Texts)+1, c.Held.Documents(c.w, out.Span))
	out.Gram = c.w.First(out.Span)
	return out
}

// holders returns the number of documents that contain the stretch of a class, counting mostly identical ones once.
func (c *classifier) holders(x *Class) int {
	if c.Alike == nil || len(x.Texts) > maxHolders/4 {
		return x.Documents
	}
	firsts := []int{c.self}
	for _, e := range x.Texts {
		if !slices.ContainsFunc(firsts, func(f int) bool { return c.Alike(f, int(e)) }) {
			firsts = append(firsts, int(e))
		}
	}
	return len(firsts) + x.Documents - len(x.Texts) - 1
}

// decide classifies a block by its holders, its length and the way it is shared.
func (c *classifier) decide(i int) {
	s, x := &c.blocks[i], &c.classes[i]
	x.Words = c.row(i)
	holders := c.holders(x)
	switch {
	case x.Words >= wholeWords && float64(x.Words) >= wholeShare*float64(c.w.Len()):
	case c.isForm(i, holders):
		x.Kind = concordat.KindForm
	case x.Words < LongWords && c.isCommon(s, holders):
		x.Kind = concordat.KindCommon
	case x.Words >= LongWords && c.isOpen(s, holders):
		x.Kind = concordat.KindUndecided
	}
}

// Widely returns the kind of a run of words that many texts in a scope contain, if nothing else is known about it. The kind is
// common for few words, undecided for many, and empty if they count.
func Widely(words, holders, of int) concordat.Kind {
	switch least := Least(of); {
	case holders > Absolute && words < LongWords, least > 0 && holders >= least && words < LongWords:
		return concordat.KindCommon
	case words >= LongWords && holders > 2 && (5*holders > of && of > 0 || holders > Absolute):
		return concordat.KindUndecided
	}
	return ""
}

// isCommon reports whether a short stretch has so many holders that it proves nothing.
func (c *classifier) isCommon(s *block, holders int) bool {
	return Widely(0, holders, c.Of) != "" || holders >= blockHolders && (c.w.beginsLine(s.first) || c.w.endsLine(s.last))
}

// isOpen reports whether a long stretch has so many holders that, although possibly copied, it could be a call's form or a habit. This
// requires a fifth of the scope, or several documents that contain it as a separate paragraph.
func (c *classifier) isOpen(s *block, holders int) bool {
	return Widely(LongWords, holders, c.Of) != "" || holders >= blockHolders && c.w.nearLine(s.first) && c.w.nearLine(s.last)
}

// ownLines reports whether a block consists of whole lines.
func (c *classifier) ownLines(s *block) bool { return c.w.beginsLine(s.first) && c.w.endsLine(s.last) }

// row returns the number of consecutive words around a block that all its holders contain, excluding those already known not to count.
func (c *classifier) row(i int) int {
	s := &c.blocks[i]
	n := s.last - s.first
	end := s.first
	for k := i - 1; k >= 0 && c.joins(k, s) && end-c.blocks[k].last <= rowGap; k-- {
		n, end = n+c.blocks[k].last-c.blocks[k].first, c.blocks[k].first
	}
	end = s.last
	for k := i + 1; k < len(c.blocks) && c.joins(k, s) && c.blocks[k].first-end <= rowGap; k++ {
		n, end = n+c.blocks[k].last-c.blocks[k].first, c.blocks[k].last
	}
	return int(n)
}

func (c *classifier) joins(k int, s *block) bool {
	return c.classes[k].Kind == "" && s.within(&c.blocks[k])
}

// isForm reports whether a block is part of a form, that is, whether its holders share several pieces in different places, with their own
// text in between. A ring of copiers, by contrast, shares one block.
func (c *classifier) isForm(i, holders int) bool {
	s, x := &c.blocks[i], &c.classes[i]
	all := c.pieces(s, x.Words >= LongWords)
	pieces, longest, mean := all.n, all.longest, all.mean
	if pieces < leastPieces || !c.sharedApart(x.Texts) {
		return false
	}
	if holders < 3 {
		return longest <= pieceWords && mean <= meanWords && c.ownLines(s)
	}
	return x.Words < LongWords || 2*holders > c.Of || pieces >= manyPieces && longest <= pieceWords
}

// pieces returns the number of places where the text contains wording shared by the holders of a block (by no others if exactly is set),
// and the maximum and mean number of words per paragraph there. A block with fewer than half the holders of another is a copied answer
// rather than part of their form.
func (c *classifier) pieces(s *block, exactly bool) piecesOf {
	key := s.held.key(exactly)
	out, ok := c.shared[key]
	if !ok {
		out.n, out.longest, out.mean = c.countPieces(s, exactly)
		c.shared[key] = out
	}
	return out
}

// piecesOf holds the result of pieces for the holders of a block.
type piecesOf struct {
	n, longest int
	mean       float64
}

func (c *classifier) countPieces(s *block, exactly bool) (n, longest int, mean float64) {
	last, words, paragraphs := int32(0), 0, 0
	apart := true // preceded by own text, which excludes adjacent text shared by the same holders
	for _, k := range c.around(s) {
		t := &c.blocks[k]
		if !s.within(t) {
			continue
		}
		apart = apart || c.w.between(last, t.first, c.walls) >= ownBetween
		last = t.last
		if exactly && !t.same(s) || !exactly && 2*(s.held.count()+1) < t.held.count()+1 {
			continue
		}
		if apart {
			n, apart = n+1, false
		}
		some, most := c.w.paragraphsIn(t.first, t.last)
		words, paragraphs, longest = words+int(t.last-t.first), paragraphs+some, max(longest, most)
	}
	return n, longest, float64(words) / float64(max(1, paragraphs))
}

// blocksOf returns the blocks contained in each of n others, in order.
func blocksOf(bs []block, n int) [][]int32 {
	out := make([][]int32, n)
	for i := range bs {
		for k := range bs[i].held.all() {
			out[k] = append(out[k], int32(i))
		}
	}
	return out
}

// around returns, in order, a set of blocks that includes all blocks that nearly all holders of s could contain. It takes the blocks of
// the few holders with the fewest blocks, because at least one of these has any block that nearly all holders have.
func (c *classifier) around(s *block) []int32 {
	holders := slices.Collect(s.held.all())
	slices.SortFunc(holders, func(x, y int) int { return len(c.of[x]) - len(c.of[y]) })
	missing := len(holders) - int(math.Ceil(alikeSets*float64(len(holders)))) // number of holders that can lack such a block
	if missing == 0 {
		return c.of[holders[0]]
	}
	held := make([]bool, len(c.blocks))
	for _, k := range holders[:missing+1] {
		for _, i := range c.of[k] {
			held[i] = true
		}
	}
	var out []int32
	for i, is := range held {
		if is {
			out = append(out, int32(i))
		}
	}
	return out
}

// sharedApart reports whether the text and at least half of others share wording in at least leastPieces places of both.
func (c *classifier) sharedApart(others []int32) bool {
	n, of := 0, 0
	for _, e := range others {
		if known(c.same, e, func() bool { return c.Alike != nil && c.Alike(c.self, int(e)) }) {
			continue
		}
		of++
		if known(c.apart, e, func() bool {
			return c.w.apart(c.by[e], c.walls) >= leastPieces && (c.Places == nil || c.Places(int(e), c.self) >= leastPieces)
		}) {
			n++
		}
	}
	return n > 0 && 2*n >= of
}

// known returns the value of of for a text, or calls find and caches its result.
func known(of map[int32]bool, text int32, find func() bool) bool {
	v, ok := of[text]
	if !ok {
		v = find()
		of[text] = v
	}
	return v
}

// look classifies short stretches that resemble a form, unless they belong to a longer, counting stretch.
func (c *classifier) look(ctx context.Context, r *Reader) error {
	var shared []Stretch
	for _, x := range c.classes {
		if x.Kind == "" {
			shared = append(shared, x.Stretch)
		}
	}
	clauses := ClausesAreForms(c.w, shared)
	for i := range c.classes {
		if i%ctxEvery == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		x := &c.classes[i]
		if x.Kind != "" || x.Words > lookWords || c.besideLong(i) {
			continue
		}
		why, ok, err := r.ReadsLikeForm(ctx, x.Span)
		if err != nil {
			return err
		}
		if ok && (clauses || why != WhyClause) {
			x.Kind, x.Why, x.Span = concordat.KindForm, why, r.trim(x.Span)
		}
	}
	return nil
}

// besideLong reports whether a holder of the block also contains long, counting wording nearby.
func (c *classifier) besideLong(i int) bool {
	s := &c.blocks[i]
	long := func(k int) bool {
		return c.classes[k].Kind == "" && c.classes[k].Words >= LongWords && c.blocks[k].held.both(s.held) > 0
	}
	for k := i; k >= 0 && s.first-c.blocks[k].last < nearWords; k-- {
		if long(k) {
			return true
		}
	}
	for k := i + 1; k < len(c.blocks) && c.blocks[k].first-s.last < nearWords; k++ {
		if long(k) {
			return true
		}
	}
	return false
}

// beginsLine reports whether a line begins at a word, or up to maxSlot words earlier.
func (w *Words) beginsLine(first int32) bool {
	i, _ := slices.BinarySearch(w.ends, first+1)
	at := int32(0)
	if i > 0 {
		at = w.ends[i-1]
	}
	return first-at <= maxSlot
}

// endsLine reports whether a line ends after word last-1, or up to maxSlot words later.
func (w *Words) endsLine(last int32) bool {
	i, _ := slices.BinarySearch(w.ends, last)
	at := int32(len(w.hashes))
	if i < len(w.ends) {
		at = w.ends[i]
	}
	return at-last <= maxSlot
}

// nearLine reports whether a line begins or ends within leastWords words of a position, because a few words with fewer holders can have
// joined a block at its edge.
func (w *Words) nearLine(at int32) bool {
	if at <= leastWords || int32(len(w.hashes))-at <= leastWords {
		return true
	}
	i, _ := slices.BinarySearch(w.ends, at-leastWords)
	return i < len(w.ends) && w.ends[i] <= at+leastWords
}

// paragraphsIn returns the number of paragraphs that words [first, last) span, and the maximum number of these words in one.
func (w *Words) paragraphsIn(first, last int32) (n, longest int) {
	i, _ := slices.BinarySearch(w.paragraphs, first+1)
	for n = 1; i < len(w.paragraphs) && w.paragraphs[i] < last; n++ {
		longest, first = max(longest, int(w.paragraphs[i]-first)), w.paragraphs[i]
		i++
	}
	return n, max(longest, int(last-first))
}

// sketchSize is the number of grams used for comparing whole texts.
const sketchSize = 128

// Sketch returns the grams with the lowest hashes in a text, excluding grams found in nearly all texts of a scope. Taking the lowest
// hashes amounts to random sampling (Broder 1997, section 2). held can be nil.
func (w *Words) Sketch(held *Common, of int) []uint64 {
	own := make([]uint64, 0, len(w.hashes))
	for i := 0; i+gramWords <= len(w.hashes); i++ {
		h := w.grams[i].hash
		if h == noGram || held != nil && of > 2 && 4*int(held.held[h]) >= 3*of {
			continue
		}
		own = append(own, h)
	}
	slices.Sort(own)
	own = slices.Compact(own)
	return slices.Clone(own[:min(len(own), sketchSize)])
}

// mostlyAlike is the resemblance at which two texts are versions of one, for example a draft, a resubmission or a second copy. Two such
// texts of equal length each contain three quarters of the other.
const mostlyAlike = 0.6

// MostlyAlike reports whether two texts are mostly identical, judging by their sketches.
func MostlyAlike(a, b []uint64) bool {
	if len(a) == 0 || len(b) == 0 {
		return false
	}
	both, all := 0, 0
	for i, j := 0, 0; all < sketchSize && (i < len(a) || j < len(b)); all++ {
		switch {
		case j == len(b) || i < len(a) && a[i] < b[j]:
			i++
		case i == len(a) || b[j] < a[i]:
			j++
		default:
			i, j, both = i+1, j+1, both+1
		}
	}
	return float64(both) >= mostlyAlike*float64(all)
}
