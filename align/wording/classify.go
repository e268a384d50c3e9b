package wording

import (
	"context"
	"math"
	"slices"

	"concordat"
)

// What the classifier goes by; doc/design.md (shared wording) has the measurements.
const (
	// LongWords is the number of words in a row from which wording counts or is to be decided, however it reads: no phrase
	// and no number of holders explains a paragraph.
	LongWords = 60
	// lookWords is the number of words up to which wording that reads like a form's is one: two or three lines.
	lookWords = 40
	// rowGap is the number of words that may stand between two parts of a row: a phrase put in front of each sentence.
	rowGap = 8
	// nearWords is how far from long wording that counts a line is part of it, however it reads.
	nearWords = 30

	leastPieces = 3  // places at which documents that answer one form share its wording; two alone in short paragraphs
	manyPieces  = 5  // from which a form has long paragraphs too
	ownBetween  = 20 // words of own text between two places
	pieceWords  = 60 // of the longest paragraph of a form that few hold
	meanWords   = 30 // of the paragraphs of a form that two hold, at most

	// A stretch of wholeWords or more words that makes wholeShare of a text is that text copied whole, however many hold it:
	// no form leaves so little room to answer.
	wholeWords = 100
	wholeShare = 0.8
	// blockHolders is the number of documents from which a paragraph of its own is common in a large library if it is short, and to
	// be decided if it is long: ten applications may end in the declaration of their call.
	blockHolders = 8
)

// Class is a stretch of a text that others hold too, as the classifier sees it.
type Class struct {
	Stretch
	// Kind says as what it does not count: concordat.KindForm or KindCommon; concordat.KindUndecided: a person must
	// decide whether it does. Empty: it counts, if what is compared bears it out.
	Kind  concordat.Kind
	Why   Why     // of a form: what it reads like; empty: it is known by where it stands
	Words int     // in a row, with what stands around it
	Texts []int32 // others that hold it, in order
}

// Scope holds the documents that could hold the wording of a text, as far as the classifier knows them.
type Scope struct {
	Held *Common // which of them hold each gram
	Of   int     // their number, that of the text itself among them
	// Quoted are grams that at least two of them attribute to someone else, with the place: both quote it. Nil:
	// none.
	Quoted *Common
	// Alike reports whether two of them are mostly one another: they count as one holder. Nil: none are.
	Alike func(a, b int) bool
	// Places returns at how many places a document shares wording with another, as [Common.PlacesWith] has it in its
	// order. Nil: unknown, and wording is recognised as a form's by the text alone.
	Places func(of, with int) int
}

// Classify returns the class of each stretch of a text that others of the scope hold, in order and disjoint, outside of
// walls, which are in order and disjoint: what is explained already. It is the one place that decides what shared wording
// counts, does not count, or is to be decided. self is the number of the text among those of the scope. It fails only when ctx
// ends, with its cause.
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
	order := make([]int, len(c.blocks)) // those that most hold first: a copied block does not end in the form around it
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

// ctxEvery is the number of blocks, lines or the like after which the end of a context is noticed.
const ctxEvery = 256

// classifier classes the blocks of one text.
type classifier struct {
	*Scope
	self    int
	w       *Words
	walls   []concordat.Span
	by      map[int32][]interval
	others  []int32
	blocks  []block
	of      [][]int32 // blocks that each of others holds, in order
	classes []Class
	shared  map[string]piecesOf
	apart   map[int32]bool // texts that share wording with the text at leastPieces places of both, or do not
	same    map[int32]bool // texts that are mostly the text itself, or are not
}

// class returns the class of a block before anything was decided.
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

// holders returns how many hold a class, documents that are mostly one another counted as one.
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

// decide classes a block by who holds it, how long it is and how it is shared.
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

// Widely returns how words in a row that many texts of a scope contain are classed if nothing else is known about them: common if
// they are few, to be decided if they are many, empty if they count.
func Widely(words, holders, of int) concordat.Kind {
	switch least := Least(of); {
	case holders > Absolute && words < LongWords, least > 0 && holders >= least && words < LongWords:
		return concordat.KindCommon
	case words >= LongWords && holders > 2 && (5*holders > of && of > 0 || holders > Absolute):
		return concordat.KindUndecided
	}
	return ""
}

// isCommon reports whether so many hold a short stretch that it says nothing.
func (c *classifier) isCommon(s *block, holders int) bool {
	return Widely(0, holders, c.Of) != "" || holders >= blockHolders && (c.w.beginsLine(s.first) || c.w.endsLine(s.last))
}

// isOpen reports whether so many hold a long stretch that it may be the form of a call among others, or a habit, as well as a
// copy: a fifth of the scope, or several that hold it as paragraphs of their own.
func (c *classifier) isOpen(s *block, holders int) bool {
	return Widely(LongWords, holders, c.Of) != "" || holders >= blockHolders && c.w.nearLine(s.first) && c.w.nearLine(s.last)
}

// ownLines reports whether a block is whole lines.
func (c *classifier) ownLines(s *block) bool { return c.w.beginsLine(s.first) && c.w.endsLine(s.last) }

// row returns the words in a row around a block that all who hold it hold, but for what does not count already.
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

// isForm reports whether a block is a piece of a form: those who hold it share several pieces at different places, and
// each has text of its own between. A ring of copiers shares a block.
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

// pieces returns at how many places a text has what the holders of a block hold, or exactly they, and the most and the mean words
// of a paragraph there. A block that less than half of the holders of others have is no piece of their form: a copied answer.
func (c *classifier) pieces(s *block, exactly bool) piecesOf {
	key := s.held.key(exactly)
	out, ok := c.shared[key]
	if !ok {
		out.n, out.longest, out.mean = c.countPieces(s, exactly)
		c.shared[key] = out
	}
	return out
}

// piecesOf holds the answer of pieces for the holders of a block.
type piecesOf struct {
	n, longest int
	mean       float64
}

func (c *classifier) countPieces(s *block, exactly bool) (n, longest int, mean float64) {
	last, words, paragraphs := int32(0), 0, 0
	apart := true // own text precedes it: what the same holders have next to it is not own text
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

// blocksOf returns the blocks that each of n others holds, in order.
func blocksOf(bs []block, n int) [][]int32 {
	out := make([][]int32, n)
	for i := range bs {
		for k := range bs[i].held.all() {
			out[k] = append(out[k], int32(i))
		}
	}
	return out
}

// around returns, in order, the blocks that nearly all holders of s may hold, and some others: those of the holders that hold fewest, of
// which at least one holds any block that nearly all hold.
func (c *classifier) around(s *block) []int32 {
	holders := slices.Collect(s.held.all())
	slices.SortFunc(holders, func(x, y int) int { return len(c.of[x]) - len(c.of[y]) })
	missing := len(holders) - int(math.Ceil(alikeSets*float64(len(holders)))) // holders that such a block may lack
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

// sharedApart reports whether the text and at least half of others share wording at leastPieces places of both.
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

// known returns what of has for a text, or notes and returns what find says.
func known(of map[int32]bool, text int32, find func() bool) bool {
	v, ok := of[text]
	if !ok {
		v = find()
		of[text] = v
	}
	return v
}

// look classes short stretches that read like a form's, unless they are part of a longer stretch that counts.
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

// besideLong reports whether long wording that counts stands close by, held by one who holds the block too.
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

// beginsLine reports whether a line begins at a word, or up to maxSlot words before.
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

// nearLine reports whether a line begins or ends within leastWords words of a place between two words, before it or after it: a few
// words that fewer hold join a block at its edge.
func (w *Words) nearLine(at int32) bool {
	if at <= leastWords || int32(len(w.hashes))-at <= leastWords {
		return true
	}
	i, _ := slices.BinarySearch(w.ends, at-leastWords)
	return i < len(w.ends) && w.ends[i] <= at+leastWords
}

// paragraphsIn returns of how many paragraphs words [first, last) are, and the most words of them in one.
func (w *Words) paragraphsIn(first, last int32) (n, longest int) {
	i, _ := slices.BinarySearch(w.paragraphs, first+1)
	for n = 1; i < len(w.paragraphs) && w.paragraphs[i] < last; n++ {
		longest, first = max(longest, int(w.paragraphs[i]-first)), w.paragraphs[i]
		i++
	}
	return n, max(longest, int(last-first))
}

// sketchSize is the number of grams used to compare two texts as wholes.
const sketchSize = 128

// Sketch returns those of the grams of a text whose hashes are least, without what nearly all of a scope hold: the smaller
// the hash, the more it is chance which are taken (Broder 1997, section 2). held may be nil.
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

// mostlyAlike is the resemblance from which two texts are one text twice: a draft, a resubmission, a second copy. Each of two texts of
// one length holds three quarters of the other then.
const mostlyAlike = 0.6

// MostlyAlike reports whether two texts are mostly one another, by their sketches.
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
