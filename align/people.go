package align

import (
	"cmp"
	"math"
	"slices"
)

// To a reader, a passage claims that all of it was copied. The units used for finding passages are coarser, because they join a heading
// to the sentence below it, and join two copied sentences across whatever lies between them. For people, a passage is therefore cut into
// stretches that carry evidence throughout. Both sides are aligned word by word, and the highest-scoring local alignments are kept (Smith
// and Waterman 1981). A word's score is the logarithm of a likelihood ratio, reuse against chance, so that text without counterparts
// lowers the total. The minimum score follows from the number of places where a stretch could arise by chance (Karlin and Altschul 1990).
// PAN's measure counts units and does not need this.

const (
	// maxBare is the maximum number of consecutive words without a counterpart on either side of a passage. Forty Chinese characters say
	// as much as 25 English words.
	maxBare     = 25.0
	hanBare     = maxBare / 40
	maxOwn      = 12  // the same in content words on the examined side
	maxWider    = 3.0 // maximum length of the source's side relative to the other
	leastDense  = 0.4 // minimum share of words with a counterpart
	copiedWords = 8   // minimum consecutive equal words that make each side of a gap a literal copy
	copiedOwn   = 4   // minimum content words in such a gap for it to be the writer's own text

	// summaryShare is the minimum share of a summary's words in its pieces. If at least mostlyCopied of them are in runs of copiedRun
	// words, the pieces are ordinary passages instead.
	summaryShare = 0.4
	mostlyCopied = 0.5
	copiedRun    = 3
)

// Probabilities for the likelihood ratios. In paraphrases (from PAN 2013 and Clough and Stevenson 2011), about half of the words in
// reused text have an equal counterpart in order, and more do right after an equal word. The alignment finds a counterpart by chance if
// the word is frequent enough within its reach.
const (
	alignedReused = 0.5
	nextReused    = 0.7
	reach         = 10.0  // number of source words that an alignment can choose from
	background    = 600.0 // words of other text assumed in frequencies
	maxGain       = 4.0   // maximum for one word, because even a word that occurs nowhere else could be a name
	bareContent   = -0.75 // a content word without a counterpart
	bareStop      = -0.4
	bareSource    = -0.3 // a word on the source's side without a counterpart
	// leastOdds is the log odds that a stretch must reach, plus the logarithm of the number of places in the pair.
	leastOdds = 5.0
	// rewordedOdds and summaryOdds are the minimum scores of a piece of a reworded passage, or of a summary, that was accepted as a
	// whole.
	rewordedOdds = 9.0
	summaryOdds  = 8.0
	maxNeeded    = 18.0
	// maxFall is how far the score can fall within a stretch before it rises again. The writer's own sentence between two reworded ones
	// lowers it further, even if its common words have chance counterparts (doc/evaluation/align.md).
	maxFall = 12.0
	// weakerSeed is the minimum score of two units, and weakerOdds is the minimum score of a stretch of such units, in a pair that
	// already shares a passage.
	weakerSeed = 0.28
	weakerOdds = 9.0
)

// evidence weighs the equal words in one pair of texts.
type evidence struct {
	a, b *Text
	// stemsA and stemsB are the stems of the words in both texts; rewording preserves stems.
	stemsA, stemsB []token
	countA, countB map[uint64]int32 // occurrences of each stem in either text
	words          float64          // number of words in both texts and the background
	needed         float64          // minimum score of a stretch
	least          int32            // minimum letters in a stretch, half a line
	again          int              // remaining comparisons of text left unpaired by the first one
}

// maxAgain is the maximum number of comparisons of leftovers per pair, which keeps the cost linear.
const maxAgain = 64

func newEvidence(a, b *Text, o *Options) *evidence {
	e := &evidence{a: a, b: b, stemsB: b.byStems(), least: int32(o.LeastVerbatim) / 2, again: maxAgain}
	e.stemsA, e.countA = a.stems()
	e.countB = countsOf(e.stemsB)
	e.words = float64(len(a.words)+len(b.words)) + background
	places := math.Log(float64(len(a.words)+1)) + math.Log(float64(len(b.words)+1))
	e.needed = min(places+leastOdds, maxNeeded)
	return e
}

// count returns the number of occurrences of a stem in both texts together.
func (e *evidence) count(stem uint64) int32 { return e.countA[stem] + e.countB[stem] }

// countsOf returns the number of occurrences of each word.
func countsOf(words []token) map[uint64]int32 {
	out := make(map[uint64]int32, len(words))
	for i := range words {
		out[words[i].hash]++
	}
	return out
}

// byStems returns the words with their stems' hashes.
func (t *Text) byStems() []token {
	out := slices.Clone(t.words)
	for i, r := range t.ranks {
		if r != mutedTerm && out[i].flags&gramWord == 0 {
			out[i].hash = t.terms[r]
		}
	}
	return out
}

// refine reduces the passages of a pair, in order of A, to the parts to show to people. copies are the literal copies, in order of A; an
// alignment of long passages can miss some of them.
func refine(a, b *Text, all []stretch, copies []copied, p *pairing) []stretch {
	if len(all) == 0 {
		return nil
	}
	e := newEvidence(a, b, p.o)
	var out []stretch
	for _, s := range all {
		if s.summary {
			out = append(out, e.condensed(s)...)
		} else {
			out = append(out, e.stretches(s, rewordedOdds)...)
		}
	}
	out = append(out, e.missed(out, copies)...)
	if len(out) > 0 {
		out = append(out, e.weaker(out, p.cells)...)
	}
	return distinct(out)
}

// weaker returns, for a pair that already shares a passage, stretches of units not similar enough to form a passage on their own. If one
// sentence was reworded, others probably were too. A word can have only one counterpart.
func (e *evidence) weaker(found []stretch, cells []cell) []stretch {
	heldA := held(e.a, found, func(s stretch) (from, to int32) { return s.a0, s.a1 })
	heldB := held(e.b, found, func(s stretch) (from, to int32) { return s.b0, s.b1 })
	var out []stretch
	for i := 0; i < len(cells); {
		best := cells[i]
		for ; i < len(cells) && cells[i].row == best.row; i++ {
			if cells[i].score > best.score {
				best = cells[i]
			}
		}
		u := e.a.units[best.row]
		if best.score < weakerSeed || slices.Contains(heldA[u.first:u.last], true) {
			continue
		}
		from, to := e.b.units[max(0, best.col-1)], e.b.units[min(int(best.col)+1, len(e.b.units)-1)]
		for _, s := range e.stretches(stretch{u.first, u.last, from.first, to.last, false}, weakerOdds) {
			if !slices.Contains(heldB[s.b0:s.b1], true) {
				out = append(out, s)
			}
		}
	}
	return out
}

// held reports, for each word on one side, whether some stretch contains it.
func held(t *Text, found []stretch, side func(stretch) (from, to int32)) []bool {
	out := make([]bool, len(t.words))
	for _, s := range found {
		for from, to := side(s); from < to; from++ {
			out[from] = true
		}
	}
	return out
}

// missed returns the copies that lie less than half inside a stretch of found.
func (e *evidence) missed(found []stretch, copies []copied) []stretch {
	held := held(e.a, found, func(s stretch) (from, to int32) { return s.a0, s.a1 })
	var out []stretch
	for _, c := range copies {
		n := int32(0)
		for i := c.a0; i < c.a1; i++ {
			if held[i] {
				n++
			}
		}
		if 2*n < c.a1-c.a0 {
			out = append(out, e.local(stretch{c.a0, c.a1, c.b0, c.b1, false}, e.needed)...)
		}
	}
	return out
}

// condensed returns the pieces of a summary, each with the source text it condenses, or nil if too little of the summary has a
// counterpart.
func (e *evidence) condensed(s stretch) []stretch {
	literal := int32(0)
	for _, r := range diff(e.stemsA[s.a0:s.a1], e.stemsB[s.b0:s.b1]) {
		if r.n >= copiedRun && !anyMuted(e.a.words[s.a0+r.a:s.a0+r.a+r.n]) {
			literal += r.n
		}
	}
	n := 0.0
	for _, w := range e.a.words[s.a0:s.a1] {
		if w.hash != mutedHash {
			n++
		}
	}
	if float64(literal) >= mostlyCopied*n {
		return e.stretches(s, rewordedOdds)
	}
	pieces := e.stretches(s, summaryOdds)
	held := int32(0)
	for i := range pieces {
		pieces[i].summary = true
		held += pieces[i].a1 - pieces[i].a0
	}
	if float64(held) < summaryShare*n {
		return nil
	}
	return pieces
}

// stretches returns the local alignments within s that reach the needed score, in order of A without overlaps there. Text omitted from an
// in-order alignment, for example swapped sentences, is aligned separately.
func (e *evidence) stretches(s stretch, needed float64) []stretch {
	var out []stretch
	for from := s.a0; from < s.a1; from++ {
		to := from
		for ; to < s.a1 && e.a.words[to].hash != mutedHash; to++ {
		}
		if from == to {
			continue
		}
		section := stretch{a0: from, a1: to, b0: s.b0, b1: s.b1}
		found := e.local(section, needed)
		out = append(out, found...)
		at := section.a0
		for _, f := range append(found, stretch{a0: section.a1}) {
			rest := stretch{a0: at, a1: f.a0, b0: s.b0, b1: s.b1}
			if len(found) > 0 && e.again > 0 && rest.a1-rest.a0 > copiedWords {
				e.again--
				out = append(out, e.local(rest, needed)...)
			}
			at = max(at, f.a1)
		}
		from = to
	}
	slices.SortFunc(out, func(x, y stretch) int { return int(x.a0 - y.a0) })
	return out
}

// local aligns both sides of s in order and returns the highest-scoring stretches.
func (e *evidence) local(s stretch, needed float64) []stretch {
	var steps []step
	a, b := s.a0, s.b0
	for _, r := range diff(e.stemsA[s.a0:s.a1], e.stemsB[s.b0:s.b1]) {
		r.a, r.b = r.a+s.a0, r.b+s.b0
		if r.n == 1 && e.a.words[r.a].flags&(stopWord|gramWord) != 0 {
			continue // more likely equal by chance than not
		}
		steps = append(steps, step{run: r, gain: e.gain(r), loss: e.loss(a, r.a, b, r.b), own: content(e.a.words[a:r.a]),
			bareA: bare(e.a.words[a:r.a]), bareB: bare(e.b.words[b:r.b]), breaks: anyMuted(e.b.words[b:r.b])})
		a, b = r.a+r.n, r.b+r.n
	}
	apart(steps)
	var out []stretch
	for from, to := 0, 0; from < len(steps); from = to {
		for to = from + 1; to < len(steps) && !steps[to].breaks; to++ {
		}
		for _, m := range maximal(steps[from:to]) {
			out = e.divided(out, s, steps[from+m.from:from+m.to], m.score, needed)
		}
	}
	return out
}

// divided appends a highest-scoring stretch to out, leaving out the writer's own text between two parts of it. A part of a maximal
// stretch scores at least as much as any adjacent fall (Ruzzo and Tompa 1999), so both sides of a fall deeper than maxFall are evidence
// on their own.
func (e *evidence) divided(out []stretch, whole stretch, steps []step, score, needed float64) []stretch {
	from, to, fall := deepest(steps)
	if score < needed || fall > -maxFall {
		return e.keep(out, whole, steps, score, needed)
	}
	for _, side := range [][]step{steps[:from], steps[to:]} {
		for _, m := range maximal(side) {
			out = e.divided(out, whole, side[m.from:m.to], m.score, needed)
		}
	}
	return out
}

// deepest returns the lowest-scoring fall within steps, from the gap before steps[from] to the gap before steps[to]. Without a fall, the
// score is 0.
func deepest(steps []step) (from, to int, fall float64) {
	sum, start := 0.0, 0
	for i := 1; i < len(steps); i++ {
		if sum >= 0 {
			sum, start = 0, i
		}
		sum += steps[i].loss
		if sum < fall {
			from, to, fall = start, i, sum
		}
		sum += steps[i].gain
	}
	return from, to, fall
}

// step is a run of equal words with the gap before it.
type step struct {
	run
	gain, loss   float64 // of the run and of the gap
	bareA, bareB float64 // length of the gap in words
	own          int     // content words of A in the gap
	breaks       bool    // the gap ends a stretch
}

// apart marks the gaps that end a stretch. These are gaps that are too long, and gaps with the writer's own words between two literal
// copies, where a word shared with the source is coincidence.
func apart(steps []step) {
	literal := -1 // end of the last run of copiedWords
	own, net := 0, 0.0
	for i := range steps {
		s := &steps[i]
		s.breaks = s.breaks || s.bareA > maxBare || s.bareB > maxBare || s.own > maxOwn
		own, net = own+s.own, net+s.loss
		if s.n < copiedWords {
			net += s.gain
			continue
		}
		if literal >= 0 && own >= copiedOwn && net < 0 {
			steps[literal+1].breaks, s.breaks = true, true
		}
		literal, own, net = i, 0, 0
	}
}

// keep appends the stretch made of steps to out if it is enough evidence, as two parts if the source's side is too wide.
func (e *evidence) keep(out []stretch, whole stretch, steps []step, score, needed float64) []stretch {
	first, last := steps[0], steps[len(steps)-1]
	s := stretch{a0: first.a, a1: last.a + last.n, b0: first.b, b1: last.b + last.n}
	if score < needed || letters(e.a.words[s.a0:s.a1]) < e.least || !e.dense(s, steps) {
		return out
	}
	if bare(e.b.words[s.b0:s.b1]) > maxWider*bare(e.a.words[s.a0:s.a1]) {
		widest := 1
		for i := range steps[1:] {
			if steps[i+1].bareB > steps[widest].bareB {
				widest = i + 1
			}
		}
		for _, half := range [][]step{steps[:widest], steps[widest:]} {
			for _, m := range maximal(half) {
				out = e.keep(out, whole, half[m.from:m.to], m.score, needed)
			}
		}
		return out
	}
	return append(out, soften(e.a, whole, s))
}

// dense reports whether enough words of a stretch have a counterpart for displaying it as one passage. Set phrases, for example those
// that outline a paper, agree only in a few fixed words.
func (e *evidence) dense(s stretch, steps []step) bool {
	n := int32(0)
	for _, r := range steps {
		n += r.n
	}
	return float64(n) >= leastDense*float64(s.a1-s.a0)
}

// gain returns the score of a run. Its first words could have matched anywhere within reach, but the following ones only at that place.
func (e *evidence) gain(r run) float64 {
	sum := 0.0
	for i := range r.n {
		f := float64(e.count(e.stemsA[r.a+i].hash)) / e.words
		if i == 0 {
			sum += math.Log(alignedReused / min(reach*f, alignedReused))
			continue
		}
		sum += min(math.Log(nextReused/min(f, nextReused)), maxGain)
	}
	return sum
}

// loss returns the score of a gap.
func (e *evidence) loss(a0, a1, b0, b1 int32) float64 {
	own := content(e.a.words[a0:a1])
	return bareContent*float64(own) + bareStop*float64(int(a1-a0)-own) + bareSource*float64(b1-b0)
}

// content returns the number of words other than stop words.
func content(words []token) int {
	n := 0
	for i := range words {
		if words[i].flags&stopWord == 0 {
			n++
		}
	}
	return n
}

// bare returns the length of a gap in words, or in characters for Chinese and other scripts without spaces.
func bare(words []token) float64 {
	n := 0.0
	for i := range words {
		switch w := &words[i]; {
		case w.flags&hanWord != 0:
			n += hanBare * float64(w.chars) / hanWeight
		case w.flags&gramWord != 0:
			n += hanBare
		default:
			n++
		}
	}
	return n
}

// part is a part of a list of steps, with its score.
type part struct {
	from, to int
	score    float64
}

// maximal returns the maximal parts of steps, first the highest-scoring ones and then the maximal parts of the rest. No part would score
// higher if it were longer or shorter (Ruzzo and Tompa 1999). The loss of the first step belongs to no part. Time is linear for
// human-written texts.
func maximal(steps []step) []part {
	type open struct {
		part
		before, after float64 // total of everything before it, and total up to its end
	}
	var list []open
	sum := 0.0
	for i := range steps {
		if i > 0 {
			sum += steps[i].loss
		}
		if steps[i].gain <= 0 {
			sum += steps[i].gain
			continue
		}
		x := open{part{from: i, to: i + 1}, sum, sum + steps[i].gain}
		sum = x.after
		for {
			j := len(list) - 1
			for j >= 0 && list[j].before >= x.before {
				j--
			}
			if j < 0 || list[j].after >= x.after {
				break
			}
			x.from, x.before = list[j].from, list[j].before
			list = list[:j]
		}
		list = append(list, x)
	}
	out := make([]part, len(list))
	for i, x := range list {
		out[i] = part{x.from, x.to, x.after - x.before}
	}
	return out
}

// softEdge is the number of content words at which the edge of a sentence counts as the writer's own text.
const softEdge = 3

// soften extends a stretch to the edge of the whole if fewer than softEdge content words lie in between, too few to be the writer's own
// text.
func soften(a *Text, whole, s stretch) stretch {
	if content(a.words[whole.a0:s.a0]) < softEdge {
		s.a0 = whole.a0
	}
	if content(a.words[s.a1:whole.a1]) < softEdge {
		s.a1 = whole.a1
	}
	return s
}

// distinct drops passages contained in another one on both sides. all must be in order of A.
func distinct(all []stretch) []stretch {
	slices.SortStableFunc(all, func(x, y stretch) int { return cmp.Or(int(x.a0-y.a0), int(y.a1-x.a1)) })
	out := all[:0]
	for _, s := range all {
		within := false
		for i := len(out) - 1; i >= 0 && i >= len(out)-nearby && !within; i-- {
			o := out[i]
			within = o.a1 >= s.a1 && o.b0 <= s.b0 && o.b1 >= s.b1 && !o.summary
		}
		if !within {
			out = append(out, s)
		}
	}
	return out
}

// nearby is the number of earlier passages to examine for each passage.
const nearby = 16
