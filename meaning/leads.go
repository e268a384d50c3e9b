package meaning

import (
	"cmp"
	"math"
	"slices"

	"concordat"
)

// Lead is a passage of a submission that seems to restate a passage of a source.
type Lead struct {
	Span, Source concordat.Span
	Score        float64 // sum of the margins by which it stands out, 0 or more
	Sentences    int     // number of sentences on the side with fewer
	Across       bool    // whether the passages are in different languages
	Pairs        []Pair  // by position in the submission
	// Many means that three or more sources contain something similar to most of its sentences, which are therefore common.
	Many bool

	by *measure
}

// Pair pairs a sentence of the submission with one of the source.
type Pair struct {
	Span, Source concordat.Span
	Similarity   float64 // 0 to 1
}

// These constants define how margins are computed and joined (Artetxe and Schwenk 2019, section 3.1, with differences instead of ratios).
// The values were chosen on development data (doc/evaluation/meaning.md).
const (
	sharedPart  = 0.7  // weight of words in a similarity within one language; the table has the rest
	leastShared = 0.08 // minimum share of words for further comparison of two sentences
	gapHere     = 2    // maximum number of sentences between two pairs of a lead
	gapThere    = 3
	neighbours  = 4 // number of other documents whose nearness forms a sentence's background
	// prior is the assumed nearness of an unrelated document, used in place of missing ones.
	prior = 0.12
	// rivals is the number of other sentences of the same two texts that also count as a sentence's background. Two texts on one question
	// are similar throughout, whereas reworded text resembles its source sentence by sentence.
	rivals = 2
	// many is the number of sources with a similar sentence at which a sentence is common.
	many = 3
)

// measure defines how margins of one kind of vectors are joined into passages.
type measure struct {
	prior  float32 // minimum background of a sentence
	seed   float32 // minimum margin of a pair from which a passage grows
	extend float32 // minimum margin of a passage's other pairs
	counts float64 // amount subtracted from each margin before it counts
	rivals float32 // fraction of the usual similarity within the same two texts that counts as background
	// least holds the minimum scores for a lead to be worth reading, by the number of sentences on the side with fewer: 1, 2, 3, and 4 or
	// more. If they are zero, the likelihood decides.
	least [4]float64
	curve func(*Calibration) *Curve // likelihood curve; nil if not measured
}

// byTable is the measure for words and the table.
var byTable = measure{seed: 0.12, extend: 0.04, counts: 0.08, rivals: 1, curve: func(c *Calibration) *Curve { return &c.Within }}

// Leads returns the leads from the submission to each of the sources, best first; it uses words and the table within one language, and
// the table alone between two languages. The sources form each other's background, so if several are equally near, none of them stands
// out.
func (c *Comparison) Leads() [][]Lead {
	out := make([][]Lead, len(c.sources))
	var x *verification
	for d := range c.sources {
		if !c.foreign(d) {
			out[d] = c.passages(d, c.margins(d), &byTable, c.joinedAt)
			continue
		}
		if x == nil {
			x = c.tableVectors()
		}
		out[d] = c.passages(d, x.margins(d, &acrossLanguages), &acrossLanguages, x.similarity)
	}
	markCommon(out)
	return out
}

// Comparison holds the similarities between a submission and its sources. Only one goroutine may use it.
type Comparison struct {
	submission *Text
	sources    []*Text
	vectors    []Vector        // the submission's sentences, centred
	postings   [][]posted      // for each piece, the submission's sentences that contain it
	at         map[int32]int32 // index of each piece in postings
	centre     Vector
	directions map[int32][]float32 // directions of the submission's sentences, centred by script; nil until needed
	near       [][]similar         // for each source, pairs that share words, by the source's sentence and then the submission's
	best       [][]float32         // for each source, the greatest similarity with each sentence of the submission
	across     [][]Vector          // for each source, the centred vectors of its sentences; nil until needed
	sums       []float32
	nearest    []nearestSources // for each sentence of the submission, the nearest sources; nil until needed
	// hold sets the following fields when they are first needed.
	held   map[int32][]holder // for each piece, the sentences of sources that contain it
	most   []float32          // one per source; scratch memory of there
	places []place            // sentences by the number in a holder
	shared []float32          // by the same number; 0 between calls
	met    []int32
}

type (
	// place is a sentence of a source.
	place struct{ source, sentence int32 }
	// holder identifies a sentence with a piece by its number in places.
	holder struct {
		at     int32
		weight float32
	}
)

type posted struct {
	sentence int32
	weight   float32
}

// similar is a pair of sentences.
type similar struct {
	here, there int32
	similarity  float32
}

// Compare compares a submission with its sources, sentence by sentence.
func Compare(submission *Text, sources []*Text) *Comparison {
	n := len(submission.Spans)
	c := &Comparison{submission: submission, sources: sources, at: map[int32]int32{}, sums: make([]float32, n),
		near: make([][]similar, len(sources)), best: make([][]float32, len(sources)), across: make([][]Vector, len(sources))}
	c.centre = centreOf(append([]*Text{submission}, sources...), submission.wide)
	c.vectors = make([]Vector, n)
	for i := range submission.sentences {
		if !submission.prose[i] {
			continue
		}
		s := &submission.sentences[i]
		c.vectors[i] = Centred(&s.Mean, &c.centre)
		for _, p := range s.Pieces {
			at, ok := c.at[p.Piece]
			if !ok {
				at = int32(len(c.postings))
				c.at[p.Piece] = at
				c.postings = append(c.postings, nil)
			}
			c.postings[at] = append(c.postings[at], posted{int32(i), p.Weight})
		}
	}
	for d := range sources {
		if sources[d].wide == submission.wide {
			c.compare(d)
		}
	}
	return c
}

// centreOf returns the mean of the texts' sentences in one script.
func centreOf(texts []*Text, wide bool) Vector {
	var sum Vector
	n := float32(0)
	for _, t := range texts {
		if t.wide != wide {
			continue
		}
		for i := range t.sentences {
			if t.prose[i] {
				n++
				for k, x := range t.sentences[i].Mean {
					sum[k] += x
				}
			}
		}
	}
	for k := range sum {
		sum[k] /= max(n, 1)
	}
	return sum
}

// compare finds a source's pairs that share words.
func (c *Comparison) compare(d int) {
	source := c.sources[d]
	c.best[d] = make([]float32, len(c.submission.Spans))
	c.across[d] = make([]Vector, len(source.Spans))
	for j := range source.sentences {
		if !source.prose[j] {
			continue
		}
		s := &source.sentences[j]
		c.across[d][j] = Centred(&s.Mean, &c.centre)
		for _, p := range s.Pieces {
			at, ok := c.at[p.Piece]
			if !ok {
				continue
			}
			for _, x := range c.postings[at] {
				c.sums[x.sentence] += x.weight * p.Weight
			}
		}
		for i, shared := range c.sums {
			if shared < leastShared {
				continue
			}
			s := joined(shared, Dot(&c.vectors[i], &c.across[d][j]))
			c.near[d] = append(c.near[d], similar{int32(i), int32(j), s})
			c.best[d][i] = max(c.best[d][i], s)
		}
		clear(c.sums)
	}
}

func joined(shared, cosine float32) float32 {
	return sharedPart*shared + (1-sharedPart)*max(0, cosine)
}

// margins returns a source's pairs with a margin of extend or more.
func (c *Comparison) margins(d int) []similar {
	rivalsHere, rivalsThere := rivalsOf(c.near[d])
	var likely []similar
	var backHere []float32        // for the pairs in likely
	enough := map[int32]float32{} // for each source sentence, the background above which none of its pairs stands out
	for _, p := range c.near[d] {
		if p.similarity < prior+byTable.extend {
			continue
		}
		h := max(c.here(p.here, d), rivalsHere[p.here].mean())
		// The other background is at least the one within the same two texts, and takes longer to compute.
		if p.similarity-(h+max(prior, rivalsThere[p.there].mean()))/2 < byTable.extend {
			continue
		}
		likely, backHere = append(likely, p), append(backHere, h)
		enough[p.there] = max(enough[p.there], 2*(p.similarity-byTable.extend)-h)
	}
	backThere := map[int32]float32{}
	var out []similar
	for n, p := range likely {
		t, ok := backThere[p.there]
		if !ok {
			t = max(c.there(d, p.there, enough[p.there]), rivalsThere[p.there].mean())
			backThere[p.there] = t
		}
		if m := p.similarity - (backHere[n]+t)/2; m >= byTable.extend {
			out = append(out, similar{p.here, p.there, m})
		}
	}
	return out
}

// nearest holds a sentence's greatest similarities within two texts, descending.
type nearest [1 + rivals]float32

func (n nearest) with(s float32) nearest {
	for k := range n {
		if s > n[k] {
			s, n[k] = n[k], s
		}
	}
	return n
}

// mean returns the mean of all but the greatest.
func (n nearest) mean() float32 {
	sum := float32(0)
	for _, s := range n[1:] {
		sum += s
	}
	return sum / rivals
}

// rivalsOf returns the nearest of each sentence in either text.
func rivalsOf(pairs []similar) (here, there map[int32]nearest) {
	here, there = map[int32]nearest{}, map[int32]nearest{}
	for _, p := range pairs {
		here[p.here], there[p.there] = here[p.here].with(p.similarity), there[p.there].with(p.similarity)
	}
	return here, there
}

// passages returns the leads to a source, formed from pairs that stand out. similarity returns the similarity, 0 to 1, of a sentence of
// the submission and one of the source.
func (c *Comparison) passages(d int, pairs []similar, by *measure, similarity func(d int, here, there int32) float32) []Lead {
	slices.SortFunc(pairs, func(a, b similar) int {
		return cmp.Or(cmp.Compare(b.similarity, a.similarity), cmp.Compare(a.here, b.here), cmp.Compare(a.there, b.there))
	})
	taken := make([]bool, len(pairs))
	var out []Lead
	for first, p := range pairs {
		if taken[first] || p.similarity < by.seed {
			continue
		}
		taken[first] = true
		group := []int{first}
		for at := 0; at < len(group); at++ {
			x := pairs[group[at]]
			for k, y := range pairs {
				if !taken[k] && abs(x.here-y.here) <= gapHere && abs(x.there-y.there) <= gapThere {
					taken[k] = true
					group = append(group, k)
				}
			}
		}
		if l, ok := c.lead(d, pairs, group, by, similarity); ok {
			out = append(out, l)
		}
	}
	slices.SortStableFunc(out, func(a, b Lead) int { return cmp.Compare(b.Score, a.Score) })
	return out
}

func abs(x int32) int32 { return max(x, -x) }

// lead forms a lead from a group of pairs. A single sentence on each side is not a group.
func (c *Comparison) lead(d int, pairs []similar, group []int, by *measure,
	similarity func(d int, here, there int32) float32) (Lead, bool) {
	rows, columns := map[int32]similar{}, map[int32]float32{}
	for _, k := range group {
		p := pairs[k]
		if p.similarity > rows[p.here].similarity {
			rows[p.here] = p
		}
		columns[p.there] = max(columns[p.there], p.similarity)
	}
	if len(rows) < 2 && len(columns) < 2 {
		return Lead{}, false
	}
	l := Lead{Source: concordat.Span{Start: math.MaxInt}, by: by}
	across, down := 0.0, 0.0
	for _, m := range columns {
		down += max(0, float64(m)-by.counts)
	}
	source := c.sources[d]
	for i, p := range rows {
		across += max(0, float64(p.similarity)-by.counts)
		l.Pairs = append(l.Pairs, Pair{c.submission.Spans[i], source.Spans[p.there], min(1, float64(similarity(d, i, p.there)))})
	}
	for j := range columns {
		l.Source.Start, l.Source.End = min(l.Source.Start, source.Spans[j].Start), max(l.Source.End, source.Spans[j].End)
	}
	slices.SortFunc(l.Pairs, func(a, b Pair) int { return cmp.Compare(a.Span.Start, b.Span.Start) })
	l.Span = concordat.Span{Start: l.Pairs[0].Span.Start, End: l.Pairs[len(l.Pairs)-1].Span.End}
	l.Score, l.Sentences, l.Across = min(across, down), min(len(rows), len(columns)), c.foreign(d)
	return l, true
}

// joinedAt returns the similarity of two sentences by words and the table.
func (c *Comparison) joinedAt(d int, here, there int32) float32 {
	shared := Shared(c.submission.sentences[here].Pieces, c.sources[d].sentences[there].Pieces)
	return joined(shared, Dot(&c.vectors[here], &c.across[d][there]))
}

// markCommon marks leads if many sources have sentences similar to most of their sentences.
func markCommon(leads [][]Lead) {
	held := map[int]int{} // keyed by the start of a sentence
	for _, ls := range leads {
		here := map[int]bool{}
		for _, l := range ls {
			for _, p := range l.Pairs {
				here[p.Span.Start] = true
			}
		}
		for at := range here {
			held[at]++
		}
	}
	for d := range leads {
		for k := range leads[d] {
			l := &leads[d][k]
			common := 0
			for _, p := range l.Pairs {
				if held[p.Span.Start] >= many {
					common++
				}
			}
			l.Many = 2*common > len(l.Pairs)
		}
	}
}
