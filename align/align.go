package align

import (
	"slices"

	"concordat"
)

// Passage is a stretch of A that also occurs, changed or unchanged, in B.
type Passage struct {
	// A and B are byte spans in the original texts, on rune boundaries. They start and end with whole words, including attached
	// punctuation.
	A, B concordat.Span
	Kind concordat.Kind
	// Similarity is the share of A's words, 0 to 1, that also occur in B's passage, counting repetitions.
	Similarity float64
	// Words pairs the runs of equal words in both spans, in the order of both, for highlighting side by side. A single stop word does not
	// form a run.
	Words []concordat.SpanPair
}

// Options are the parameters of a comparison. A zero value selects the default. Unless noted otherwise, defaults were chosen by
// cross-validation on thirds of the PAN 2013 training corpus; nearby values hardly change the result (doc/evaluation/align.md). Lengths
// are in letters and digits; one Han character counts as three. With an invalid value, no passage is found.
type Options struct {
	// Background is the number of units of other text assumed by the weights, in addition to the pair's own. Half of those units contain
	// stop words, and none contains any other word in the pair. Without it, every word of a short text would look common, because it has
	// few units. The default is 20.
	Background float64
	// Floor is the minimum cosine, and the minimum Dice measure, 0 to 1, for considering two units at all. The default is 0.15.
	Floor float64
	// Seed is the score (similarity plus support) above which two units form a seed. The default is 0.38; for fingerprints, whose
	// similarities vary more, it is 0.55, or 0.62 if their features overlap, as in Chinese.
	Seed float64
	// Support is the weight in a score of the neighbours' similarity; the default is 0.4. SupportFar is the factor for neighbours two
	// rows away; the default is 0.6. SupportOffset is first subtracted from each similarity; the default is 0.1, or 0.2 for fingerprints.
	Support, SupportFar, SupportOffset float64
	// SupportInOrder restricts support to neighbours in the same order in both texts.
	SupportInOrder bool
	// Gap is the maximum number of units without a seed between two seeds of a passage. The default is 5.
	Gap int
	// LeastSeeds is the minimum number of seeds in a passage. The default is 2.
	LeastSeeds int
	// Accept is the mean similarity above which a group of seeds becomes a passage; any other group is split (Sanchez-Perez et al. 2014,
	// section 3.3). The default is 0.25.
	Accept float64
	// Trim is the share of a unit's weight, 0 to 1, that must come from words without a better match elsewhere for the unit to extend a
	// passage. The default is 0.19.
	Trim float64
	// Evidence is how much two passages must share, measured in words that occur in only one unit of each text; each word matches once.
	// The default is 11.5; it is 8 for sketches, which contain no stop words, and 10 for fingerprints, whose features all count as one.
	Evidence float64
	// EvidencePerLog times the natural logarithm of the number of units suffices if it is less than Evidence, because fewer words agree
	// by chance among few units. The default is 2.2.
	EvidencePerLog float64
	// LeastChars is the minimum length of a reworded passage on either side. The default is 90.
	LeastChars int

	// LeastVerbatim is the minimum length of an equal run reported to people; here a Han character counts as two. The default is 40,
	// about one line of a page, chosen with readers in mind.
	LeastVerbatim int
	// DifferWords is the maximum number of differing words between two equal runs of a passage. The default is 3.
	DifferWords int
	// If a pair has a long equal run, VerbatimReplaces reports only its equal runs, as PAN's measure expects, because it allows one kind
	// of disguise per pair. Reports for people show both kinds.
	VerbatimReplaces bool
	// Bridged keeps units between the seeds in passages of sketches and fingerprints, as PAN's measure expects. For people, such passages
	// are cut at units without a counterpart.
	Bridged bool
	// VerbatimWords is the minimum length, in words, of the runs reported by VerbatimReplaces; the default is 40. VerbatimChars is the
	// length in letters that at least one of them must reach; the default is 210, about 250 characters (Sanchez-Perez et al. 2015 use
	// 256).
	VerbatimWords, VerbatimChars int

	// SummaryGap replaces Gap on the source's side, and SummaryAccept replaces Accept, when searching for passages that condense a source
	// at least SummaryRatio times as long. The defaults are 80, 0.10 and 2.6.
	SummaryGap                  int
	SummaryAccept, SummaryRatio float64
	// SummaryOutside is the minimum share of such a passage, 0 to 1, with a counterpart outside the best passage of ordinary length. The
	// default is 0.16.
	SummaryOutside float64
	// WholeSource extends the source side of a summary to the entire source if it spans half of it, as in PAN's annotations. For people,
	// the source side is left as found.
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

// stretch is a passage in words: [a0, a1) of A and [b0, b1) of B.
type stretch struct {
	a0, a1, b0, b1 int32
	summary        bool
}

// Pair returns the passages of a that occur in b, in order of a; equal input gives equal output. a is the text under examination, and b
// is the possible source. Time and memory are linear in both lengths.
//
// If one side is a sketch ([Sketch.Text]), the other must be one with the same key and number of bits. In that case, spans cover whole
// units, Words is nil, Similarity is estimated from the sketches, and there is no search for equal runs; see [Literal].
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

// settling returns the long copies if one of them is long enough to settle the pair.
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

// merge joins each copy with a reworded passage that it overlaps on both sides, if there is one, and returns all passages in order of A.
func merge(copies []copied, reworded []stretch) []stretch {
	all := slices.Clone(reworded)
	k := 0
	for _, c := range copies {
		// Both lists are in order of A, without overlaps within a list.
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
			continue // more likely equal by chance than not
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

// kind returns the kind of a passage from the share of A's words that occur in B in the same order, and the same measure over both sides
// (Dice), which decreases as B gets longer.
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

// shared returns the share of a's words that also occur in b, counting repetitions.
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
