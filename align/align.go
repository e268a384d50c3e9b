package align

import (
	"slices"

	"concordat"
)

// Passage is a stretch of A that also occurs, changed or unchanged, in B.
type Passage struct {
	// A and B are spans of bytes of the original texts, on rune boundaries, from one word to another, including the punctuation attached to
	// them.
	A, B concordat.Span
	Kind concordat.Kind
	// Similarity is the share of A's words, 0 to 1, that B's passage also holds, each counted as often as it occurs in both.
	Similarity float64
	// Words pairs the equal word runs of both spans, in order of both, for a side-by-side view to mark. A single stop word is not a run.
	Words []concordat.SpanPair
}

// Options are the parameters of a comparison. The zero value of each means its default. The defaults were chosen by cross-validation on
// thirds of the PAN 2013 training corpus unless another source is named; nearby values hardly change the result (doc/evaluation/align.md).
// Lengths are letters and digits, one Han character counting as three. With a value that makes no sense, no passage is found.
type Options struct {
	// Background is the number of units of other text that the weights assume in addition to the pair's own. Half of those units contain
	// stop words, and none contains any other word of the pair. Without it the few units of a short text make every word look common.
	// Default 20.
	Background float64
	// Floor is the least cosine and the least Dice measure, 0 to 1, at which two units are considered at all. Default 0.15.
	Floor float64
	// Seed is the score (similarity plus support) above which two units are a seed. Default 0.38; between fingerprints, whose similarities
	// scatter more, 0.55, and 0.62 if their features overlap, as in Chinese.
	Seed float64
	// Support is the weight of the neighbours' similarity in a score, default 0.4; SupportFar is the factor for those two rows away,
	// default 0.6; SupportOffset is subtracted from each similarity first, default 0.1, 0.2 between fingerprints.
	Support, SupportFar, SupportOffset float64
	// SupportInOrder lets only neighbours in the same order in both texts support a seed.
	SupportInOrder bool
	// Gap is the largest number of units without a seed between two seeds of a passage. Default 5.
	Gap int
	// LeastSeeds is the least number of seeds that make a group a passage. Default 2.
	LeastSeeds int
	// Accept is the mean similarity above which a group of seeds is a passage; below it the group is
	// divided (Sanchez-Perez et al. 2014, section 3.3). Default 0.25.
	Accept float64
	// Trim is the share of a unit's weight, 0 to 1, that must come from words without a better match elsewhere for the unit to lengthen a
	// passage. Default 0.19.
	Trim float64
	// Evidence is how much two passages must share, measured in words that occur in only one unit of each text; each word is matched
	// once. Default 11.5; 8 between sketches, which hold no stop words; and 10 between fingerprints, whose features all count as
	// one.
	Evidence float64
	// EvidencePerLog times the natural logarithm of the number of units is enough if it is less than Evidence, because fewer words
	// agree by chance among few units. Default 2.2.
	EvidencePerLog float64
	// LeastChars is the length of the shortest reworded passage, on either side. Default 90.
	LeastChars int

	// LeastVerbatim is the length of the shortest equal run that is reported for people, with a Han character counting as two. Default 40:
	// one line of a page, chosen with readers in mind.
	LeastVerbatim int
	// DifferWords is the largest number of differing words between two equal runs of one passage. Default 3.
	DifferWords int
	// VerbatimReplaces reports only the equal runs of a pair that has a long one, as PAN's measure expects: it allows one kind of disguise
	// per pair. People see both kinds.
	VerbatimReplaces bool
	// Bridged keeps the units between seeds in passages of sketches and fingerprints, as PAN's measure expects. For people, these passages
	// are cut at units without a counterpart.
	Bridged bool
	// VerbatimWords is the least length in words of the runs that VerbatimReplaces reports, default 40. VerbatimChars is the length in
	// letters that at least one of them must have, default 210, about 250 characters (Sanchez-Perez et al. 2015 use 256).
	VerbatimWords, VerbatimChars int

	// SummaryGap replaces Gap on the source's side, and SummaryAccept replaces Accept, in the search for passages that condense a source at
	// least SummaryRatio times as long. Defaults 80, 0.10 and 2.6.
	SummaryGap                  int
	SummaryAccept, SummaryRatio float64
	// SummaryOutside is the share of such a passage, 0 to 1, whose counterpart lies outside the best passage of ordinary length. Default
	// 0.16.
	SummaryOutside float64
	// WholeSource extends the source side of a summary that spans half of the source to all of it, as in PAN's annotations. For people, the
	// source side stays as found.
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
	def(&o.Support, 0.4)
	def(&o.SupportFar, 0.6)
	def(&o.SupportOffset, 0.1)
	defInt(&o.Gap, 5)
	defInt(&o.LeastSeeds, 2)
	def(&o.Accept, 0.25)
	def(&o.Trim, 0.19)
	def(&o.Evidence, 11.5)
	def(&o.EvidencePerLog, 2.2)
	def(&o.SummaryOutside, 0.16)
	defInt(&o.LeastChars, 90)
	defInt(&o.VerbatimWords, 40)
	defInt(&o.DifferWords, 3)
	defInt(&o.VerbatimChars, 210)
	defInt(&o.LeastVerbatim, 40)
	defInt(&o.SummaryGap, 80)
	def(&o.SummaryAccept, 0.10)
	def(&o.SummaryRatio, 2.6)
	return o
}

// stretch is a passage in words: A's [a0, a1), B's [b0, b1).
type stretch struct {
	a0, a1, b0, b1 int32
	summary        bool
}

// Pair returns the passages of a that occur in b, in order of a; equal input gives equal output. a is the text under examination, b the
// possible source. Time and memory are linear in both lengths.
//
// If one side is a sketch ([Sketch.Text]) the other must be one made with the same key and bits.
// Spans are then those of whole units, Words is nil, Similarity is estimated from the sketches, and
// equal runs are not looked for: see [Literal].
func Pair(a, b *Text, o Options) []Passage {
	if a.sketch || b.sketch {
		o = o.forSketches().filled()
		var out []Passage
		p := newPairing(a, b, &o)
		for _, f := range p.found() {
			out = append(out, p.rough(f))
		}
		return out
	}
	o = o.filled()
	found := stretches(a, b, &o)
	out := make([]Passage, 0, len(found))
	for _, s := range found {
		out = append(out, passage(a, b, s))
	}
	return out
}

func stretches(a, b *Text, o *Options) []stretch {
	copies := bridge(a.words, b.words, runs(a.words, a.grams(), b.words, int32(o.LeastVerbatim)), int32(o.DifferWords))
	if o.VerbatimReplaces {
		if out := settling(copies, o); out != nil {
			return out
		}
		return inWords(a, b, newPairing(a, b, o).reworded())
	}
	p := newPairing(a, b, o)
	return refine(a, b, merge(copies, inWords(a, b, p.reworded())), copies, p)
}

// settling returns the long copies, if one of them is long enough to settle the pair.
func settling(copies []copied, o *Options) []stretch {
	var out []stretch
	settled := false
	for _, c := range copies {
		if c.a1-c.a0 < int32(o.VerbatimWords) {
			continue
		}
		out = append(out, stretch{c.a0, c.a1, c.b0, c.b1, false})
		settled = settled || c.longest >= int32(o.VerbatimChars)
	}
	if !settled {
		return nil
	}
	return out
}

func inWords(a, b *Text, found []found) []stretch {
	out := make([]stretch, 0, len(found))
	for _, f := range found {
		out = append(out, stretch{
			a.units[f.a0].first, a.units[f.a1-1].last, b.units[f.b0].first, b.units[f.b1-1].last, f.summary,
		})
	}
	return out
}

// merge unites each copy with the reworded passage it overlaps on both sides, if there is one, and
// returns all in order of A.
func merge(copies []copied, reworded []stretch) []stretch {
	all := slices.Clone(reworded)
	k := 0
	for _, c := range copies {
		// Both lists are in order of A and the passages of one are disjoint there.
		for k < len(reworded) && reworded[k].a1 <= c.a0 {
			k++
		}
		united := false
		for i := k; i < len(reworded) && reworded[i].a0 < c.a1 && !united; i++ {
			if r := &all[i]; !r.summary && c.b0 < r.b1 && r.b0 < c.b1 {
				r.a0, r.a1 = min(r.a0, c.a0), max(r.a1, c.a1)
				r.b0, r.b1 = min(r.b0, c.b0), max(r.b1, c.b1)
				united = true
			}
		}
		if !united {
			all = append(all, stretch{c.a0, c.a1, c.b0, c.b1, false})
		}
	}
	slices.SortStableFunc(all, func(x, y stretch) int { return int(x.a0 - y.a0) })
	return all
}

func passage(ta, tb *Text, s stretch) Passage {
	a, b := ta.words[s.a0:s.a1], tb.words[s.b0:s.b1]
	out := Passage{A: ta.span(s.a0, s.a1), B: tb.span(s.b0, s.b1)}
	equalA, equalB := 0.0, 0.0
	for _, m := range matches(ta, tb, s) {
		equalA += float64(m.a1 - m.a0)
		equalB += float64(m.b1 - m.b0)
		if m.a1-m.a0 == 1 && ta.words[m.a0].flags&(stopWord|gramWord) != 0 {
			continue // equal by chance, more often than not
		}
		out.Words = append(out.Words, concordat.SpanPair{
			Span:   concordat.Span{Start: int(ta.words[m.a0].start), End: int(ta.words[m.a1-1].end)},
			Source: concordat.Span{Start: int(tb.words[m.b0].start), End: int(tb.words[m.b1-1].end)},
		})
	}
	out.Similarity = max(shared(a, b), equalA/float64(len(a)))
	out.Kind = kind(s.summary, equalA/float64(len(a)), (equalA+equalB)/float64(len(a)+len(b)))
	return out
}

// kind returns the kind of a passage from the share of A's words that occur in B in the same order, and from the same measure over both
// sides (Dice), which a longer B lowers.
func kind(summary bool, ordered, both float64) concordat.Kind {
	switch {
	case summary:
		return concordat.KindSummary
	case ordered >= 0.95 && both >= 0.9:
		return concordat.KindVerbatim
	case ordered >= 0.75:
		return concordat.KindNear
	}
	return concordat.KindParaphrase
}

// shared returns the share of a's words that b holds too, counting repetitions.
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
