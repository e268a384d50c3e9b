package align

import (
	"slices"

	"concordat"
)

// Passage is a stretch of A that stands, changed or not, in B.
type Passage struct {
	// A and B are spans of bytes of the original texts, on rune boundaries, from a word to a
	// word with the marks that cling to them.
	A, B concordat.Span
	Kind concordat.Kind
	// Similarity is the share of A's words that B's passage also holds, each counted as often as
	// both have it: 0 to 1.
	Similarity float64
	// Words pairs the equal word runs of both spans, in order of both: what a side-by-side view marks.
	Words []concordat.SpanPair
}

// Options are the parameters of a comparison. The zero value of each means its default, which was
// chosen by cross-validation on thirds of the PAN 2013 training corpus (doc/evaluation-align.md)
// unless another source is named. Lengths are letters and digits; one Han character counts as three.
type Options struct {
	// Background is the number of units of other text that weights assume beside the pair's own: no
	// other word occurs there, and stop words in half of it. Without it the few units of a short text
	// make every word look common. Default 20.
	Background float64
	// Floor is the least cosine and the least Dice measure of two units that is looked at at all,
	// 0 to 1. Default 0.15.
	Floor float64
	// Seed is the score, similarity and support together, above which two units are a seed.
	Seed float64
	// Support is the weight of the neighbours' similarity in a score, SupportFar the factor for those
	// two rows away, SupportOffset what is taken off each first.
	Support, SupportFar, SupportOffset float64
	// SupportBothWays lets neighbours in the contrary order support a seed too.
	SupportBothWays bool
	// Gap is how many units without a seed may lie between two seeds of a passage. Default 3.
	Gap int
	// LeastSeeds is the number of seeds of a passage. Default 2.
	LeastSeeds int
	// Accept is the mean similarity above which a group of seeds is a passage.
	Accept float64
	// Trim is the share of a unit's weight that words matched nowhere better must make up for the
	// unit to lengthen a passage, 0 to 1. Default 0.17.
	Trim float64
	// Evidence is how much two passages must share: as many words, each matched once, as if each
	// occurred in one unit of either text only. Default 11.
	Evidence float64
	// LeastChars is the length of the shortest reworded passage, on either side. Default 125.
	LeastChars int

	// VerbatimWords is the length of an equal run that is evidence by itself when runs replace other
	// passages, DifferWords how many words may differ between two runs of one passage, and
	// VerbatimChars the letters of the longest run from which the pair counts as literally copied.
	VerbatimWords, DifferWords, VerbatimChars int
	// LeastVerbatim is the length in letters of the shortest equal run that is reported for people.
	// Default 40, 14 Han characters.
	LeastVerbatim int
	// VerbatimReplaces reports only the equal runs of a pair that has long ones, as PAN's measure
	// expects, which knows one kind of disguise for each pair. People see both.
	VerbatimReplaces bool

	// SummaryGap and SummaryAccept take the place of Gap and Accept when a passage is looked for
	// that condenses a source at least SummaryRatio times as long.
	SummaryGap                  int
	SummaryAccept, SummaryRatio float64
	// SummaryOutside is the share of such a passage whose counterpart lies outside the best passage
	// of ordinary length, 0 to 1. Default 0.16.
	SummaryOutside float64
	// WholeSource extends the source side of a summary that spans half of the source to all of it,
	// as PAN's annotation has it.
	WholeSource bool
}

func (o Options) filled() Options {
	def := func(v *float64, d float64) {
		if *v == 0 {
			*v = d
		}
	}
	defInt := func(v *int, d int) {
		if *v == 0 {
			*v = d
		}
	}
	def(&o.Background, 20)
	def(&o.Floor, 0.15)
	def(&o.Seed, 0.38)
	def(&o.Support, 0.3)
	def(&o.SupportFar, 0.6)
	def(&o.SupportOffset, 0.1)
	defInt(&o.Gap, 7)
	defInt(&o.LeastSeeds, 2)
	def(&o.Accept, 0.25)
	def(&o.Trim, 0.17)
	def(&o.Evidence, 11)
	def(&o.SummaryOutside, 0.16)
	defInt(&o.LeastChars, 110)
	defInt(&o.VerbatimWords, 40)
	defInt(&o.DifferWords, 3)
	defInt(&o.VerbatimChars, 210)
	defInt(&o.LeastVerbatim, 40)
	defInt(&o.SummaryGap, 80)
	def(&o.SummaryAccept, 0.10)
	def(&o.SummaryRatio, 2.6)
	return o
}

// pairing is one comparison at work.
type pairing struct {
	a, b *Text
	o    *Options
	w    *weights
	best []float32 // scratch of sides
}

// stretch is a passage in words: A's [a0, a1), B's [b0, b1).
type stretch struct {
	a0, a1, b0, b1 int32
	summary        bool
}

// Pair returns the passages of a that stand in b, in order of a; equal input gives equal output.
// a is the text under examination, b the possible source. Time and memory are linear in both.
func Pair(a, b *Text, o Options) []Passage {
	o = o.filled()
	p := &pairing{a: a, b: b, o: &o}
	found := p.stretches()
	out := make([]Passage, 0, len(found))
	for _, s := range found {
		out = append(out, p.passage(s))
	}
	return out
}

func (p *pairing) stretches() []stretch {
	if p.o.VerbatimReplaces {
		if copies := p.longCopies(); copies != nil {
			return copies
		}
		return p.reworded()
	}
	return p.merge(p.copies(), p.reworded())
}

// longCopies returns the long equal runs, if one of them is long enough to settle the pair.
func (p *pairing) longCopies() []stretch {
	var out []stretch
	settled := false
	for _, c := range bridge(p.a.words, runs(p.a.words, p.b.words, int32(p.o.LeastVerbatim)), int32(p.o.DifferWords)) {
		if c.a1-c.a0 < int32(p.o.VerbatimWords) {
			continue
		}
		out = append(out, stretch{c.a0, c.a1, c.b0, c.b1, false})
		settled = settled || c.longest >= int32(p.o.VerbatimChars)
	}
	if !settled {
		return nil
	}
	return out
}

// copies returns the equal runs worth showing.
func (p *pairing) copies() []stretch {
	var out []stretch
	for _, c := range bridge(p.a.words, runs(p.a.words, p.b.words, int32(p.o.LeastVerbatim)), int32(p.o.DifferWords)) {
		out = append(out, stretch{c.a0, c.a1, c.b0, c.b1, false})
	}
	return out
}

// reworded returns the passages that seeds make, in order of A.
func (p *pairing) reworded() []stretch {
	w := p.weigh()
	p.w = &w
	cells := compare(p.a, p.b, p.w, p.o)
	support(cells, p.o)
	seeds := cells[:0]
	for _, c := range cells {
		if float64(c.score) > p.o.Seed {
			seeds = append(seeds, c)
		}
	}
	if len(seeds) < p.o.LeastSeeds {
		return nil
	}
	mean := func(a, b float64) float64 { return (a + b) / 2 }
	cs := p.accepted(slices.Clone(seeds), [2]int32{int32(p.o.Gap), int32(p.o.Gap)}, mean, p.o.Accept, p.o.LeastSeeds)
	kept := cs[:0]
	for _, c := range cs {
		p.trim(&c)
		if float64(c.evidence) > p.o.Evidence {
			kept = append(kept, c)
		}
	}
	return p.withSummaries(seeds, p.disjoint(kept, p.o.LeastSeeds))
}

// withSummaries returns found with those passages replaced that are only a part of a passage whose
// source is much longer than itself.
func (p *pairing) withSummaries(seeds []cell, found []cluster) []stretch {
	larger := func(a, b float64) float64 { return max(a, b) }
	cs := p.accepted(seeds, [2]int32{int32(p.o.Gap), int32(p.o.SummaryGap)}, larger, p.o.SummaryAccept, p.o.LeastSeeds)
	var out []stretch
	for _, c := range p.disjoint(cs, p.o.LeastSeeds) {
		ss := p.inWords([]cluster{c})
		if len(ss) == 0 {
			continue
		}
		s := ss[0]
		na, nb := letters(p.a.words[s.a0:s.a1]), letters(p.b.words[s.b0:s.b1])
		if float64(nb) < p.o.SummaryRatio*float64(na) {
			continue
		}
		_, _, gain := p.coverage(&c)
		if float64(p.worth(gain[0])) < p.o.Evidence || p.outside(&c, found) < p.o.SummaryOutside {
			continue
		}
		s.summary = true
		if p.o.WholeSource && 2*nb >= letters(p.b.words) {
			s.b0, s.b1 = 0, int32(len(p.b.words))
		}
		found = slices.DeleteFunc(found, func(f cluster) bool { return f.a0 < c.a1 && c.a0 < f.a1 })
		out = append(out, s)
	}
	out = append(out, p.inWords(found)...)
	slices.SortFunc(out, func(x, y stretch) int { return int(x.a0 - y.a0) })
	return out
}

// outside returns the share of c, by the best seed of each unit of A, that is not in the one of the
// found passages that holds most of it.
func (p *pairing) outside(c *cluster, found []cluster) float64 {
	best := map[int32]cell{}
	for _, s := range c.seeds {
		if s.score > best[s.row].score {
			best[s.row] = s
		}
	}
	var all, most float64
	in := make([]float64, len(found))
	for _, s := range best {
		v := float64(s.sim) * float64(p.a.units[s.row].chars)
		all += v
		for i, f := range found {
			if s.row >= f.a0 && s.row < f.a1 && s.col >= f.b0 && s.col < f.b1 {
				in[i] += v
				most = max(most, in[i])
			}
		}
	}
	return (all - most) / all
}

// inWords turns clusters into words and drops the short ones.
func (p *pairing) inWords(cs []cluster) []stretch {
	var out []stretch
	for i := range cs {
		c := &cs[i]
		s := stretch{
			a0: p.a.units[c.a0].first, a1: p.a.units[c.a1-1].last,
			b0: p.b.units[c.b0].first, b1: p.b.units[c.b1-1].last,
		}
		least := int32(p.o.LeastChars)
		if letters(p.a.words[s.a0:s.a1]) >= least && letters(p.b.words[s.b0:s.b1]) >= least {
			out = append(out, s)
		}
	}
	return out
}

// merge unites copies and reworded passages that overlap on both sides, and returns all in order of A.
func (p *pairing) merge(copies, reworded []stretch) []stretch {
	all := reworded
	for _, c := range copies {
		united := false
		for i := range reworded {
			r := &reworded[i]
			if c.a0 < r.a1 && r.a0 < c.a1 && c.b0 < r.b1 && r.b0 < c.b1 {
				r.a0, r.a1 = min(r.a0, c.a0), max(r.a1, c.a1)
				r.b0, r.b1 = min(r.b0, c.b0), max(r.b1, c.b1)
				united = true
				break
			}
		}
		if !united {
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(x, y stretch) int { return int(x.a0 - y.a0) })
	return all
}

func (p *pairing) passage(s stretch) Passage {
	a, b := p.a.words[s.a0:s.a1], p.b.words[s.b0:s.b1]
	out := Passage{
		A: p.a.span(s.a0, s.a1),
		B: p.b.span(s.b0, s.b1),
	}
	equal := 0
	for _, r := range diff(a, b) {
		equal += int(r.n)
		out.Words = append(out.Words, concordat.SpanPair{
			Span:   concordat.Span{Start: int(a[r.a].start), End: int(a[r.a+r.n-1].end)},
			Source: concordat.Span{Start: int(b[r.b].start), End: int(b[r.b+r.n-1].end)},
		})
	}
	out.Similarity = shared(a, b)
	ordered := 2 * float64(equal) / float64(len(a)+len(b))
	switch {
	case s.summary:
		out.Kind = concordat.KindSummary
	case ordered >= 0.95:
		out.Kind = concordat.KindVerbatim
	case ordered >= 0.7:
		out.Kind = concordat.KindNear
	default:
		out.Kind = concordat.KindParaphrase
	}
	return out
}

// shared returns the share of a's words that b holds too, with their numbers.
func shared(a, b []token) float64 {
	left := make(map[uint64]int32, len(b))
	for i := range b {
		left[b[i].hash]++
	}
	n := 0
	for i := range a {
		if left[a[i].hash] > 0 {
			left[a[i].hash]--
			n++
		}
	}
	return float64(n) / float64(len(a))
}
