package meaning

import (
	"maps"
	"slices"
)

// byEncoder is the measure for an encoder's vectors within one language.
var byEncoder = measure{seed: 0.14, extend: 0.08, counts: 0.12, rivals: 1, least: [4]float64{0.3, 0.21, 0.15, 0.15}}

// encoderRivalsAcross is how much the other sentences of the same two texts count as background between two languages.
const encoderRivalsAcross = 0.8

// ownCentre is the number of sentences in a language without samples at which their own mean becomes their centre.
const ownCentre = 24

// Vectors are an encoder's vectors of length 1, all with the same number of dimensions.
type Vectors struct {
	Here    [][]float32   // for Places.Here
	There   [][][]float32 // for Places.There
	Samples [][]float32   // for Samples
	Model   string        // name of the encoder's model
}

// verification compares vectors of an encoder, centred by language.
type verification struct {
	c       *Comparison
	here    map[int32][]float32
	samples map[string][][]float32
	order   [][]int32                           // for each source, its sentences in ascending order
	rows    [][][]float32                       // vectors of these sentences
	nearest map[string]map[int32]nearestSources // for each language and each sentence of the submission
}

// Verified returns the leads found with an encoder's vectors of places, by source, best first. It compares sentences in two languages
// like sentences in one, by subtracting a sentence's usual similarity to other documents in the other language.
func (c *Comparison) Verified(p Places, v Vectors) [][]Lead {
	within := byEncoder
	if Calibrated().Encoder.Measured(v.Model) {
		within.curve = encoderCurve
	}
	across := within
	across.rivals = encoderRivalsAcross
	x := c.centred(p, v)
	out := make([][]Lead, len(c.sources))
	for d := range c.sources {
		by := &within
		if c.foreign(d) {
			by = &across
		}
		out[d] = c.passages(d, x.margins(d, by), by, x.similarity)
	}
	markCommon(out)
	return out
}

func newVerification(c *Comparison) *verification {
	return &verification{c: c, here: map[int32][]float32{}, samples: map[string][][]float32{}, order: make([][]int32, len(c.sources)),
		rows: make([][][]float32, len(c.sources)), nearest: map[string]map[int32]nearestSources{}}
}

// centred subtracts from each vector the mean of the vectors in its language, over samples and places together.
func (c *Comparison) centred(p Places, v Vectors) *verification {
	byLanguage := map[string][][]float32{}
	for k, s := range sampleSet {
		byLanguage[s.Language] = append(byLanguage[s.Language], v.Samples[k])
	}
	byLanguage[c.submission.Language] = append(byLanguage[c.submission.Language], v.Here...)
	var all [][]float32
	for d := range p.There {
		l := c.sources[d].Language
		byLanguage[l] = append(byLanguage[l], v.There[d]...)
	}
	for _, l := range slices.Sorted(maps.Keys(byLanguage)) { // in order, so that rounding is always the same
		all = append(all, byLanguage[l]...)
	}
	general := meanOf(all)
	centres := map[string][]float32{}
	for l, vs := range byLanguage {
		centres[l] = general
		if len(vs) >= ownCentre {
			centres[l] = meanOf(vs)
		}
	}
	x := newVerification(c)
	for k, i := range p.Here {
		x.here[int32(i)] = without(v.Here[k], centres[c.submission.Language])
	}
	for d := range p.There {
		for k, j := range p.There[d] {
			x.order[d] = append(x.order[d], int32(j))
			x.rows[d] = append(x.rows[d], without(v.There[d][k], centres[c.sources[d].Language]))
		}
	}
	for k, s := range sampleSet {
		x.samples[s.Language] = append(x.samples[s.Language], without(v.Samples[k], centres[s.Language]))
	}
	return x
}

// similarity returns the similarity of two sentences, or 0 if either has no vector.
func (x *verification) similarity(d int, here, there int32) float32 {
	return dot(x.here[here], x.vector(d, there))
}

// vector returns the vector of a sentence of a source, or nil if it has none.
func (x *verification) vector(d int, there int32) []float32 {
	k, ok := slices.BinarySearch(x.order[d], there)
	if !ok {
		return nil
	}
	return x.rows[d][k]
}

// usual returns how near a sentence usually is to other documents in a language, which is the mean over the nearest of them, with each
// sample counting as a document. A result above enough need not be exact; usual returns as soon as the result is known to exceed enough.
func (x *verification) usual(v []float32, language string, but int, enough float32) float32 {
	var best nearestSources
	for _, w := range x.samples[language] {
		best.add(nearSource{-1, dot(v, w)})
	}
	for k := range x.rows {
		if k == but || !x.in(k, language) {
			continue
		}
		best.add(nearSource{k, x.most(v, k)})
		if m := best.mean(but); best.full() && m > enough { // from here on it can only grow
			return m
		}
	}
	return best.mean(but)
}

// usualHere returns usual for a sentence of the submission, which is needed once per source. If a language has few sources, those in all
// other languages than the submission's also count, because nothing else would show how near an unrelated source is.
func (x *verification) usualHere(i int32, language string, but int) float32 {
	of := x.nearest[language]
	if of == nil {
		of = map[int32]nearestSources{}
		x.nearest[language] = of
	}
	best, ok := of[i]
	if !ok {
		for _, w := range x.samples[language] {
			best.add(nearSource{-1, dot(x.here[i], w)})
		}
		few := x.few(language)
		for k := range x.rows {
			if x.in(k, language) || few && x.c.foreign(k) && len(x.rows[k]) > 0 {
				best.add(nearSource{k, x.most(x.here[i], k)})
			}
		}
		of[i] = best
	}
	return best.mean(but)
}

// few reports whether a language has so few samples and sources that the mean over the nearest of all but one is not full.
func (x *verification) few(language string) bool {
	n := len(x.samples[language]) - 1
	for k := range x.rows {
		if x.in(k, language) {
			n++
		}
	}
	return n < neighbours
}

// in reports whether a source is in a language and has sentences to compare.
func (x *verification) in(k int, language string) bool {
	return x.c.sources[k].Language == language && len(x.rows[k]) > 0
}

// most returns the similarity of a source's nearest sentence.
func (x *verification) most(v []float32, k int) float32 {
	most := float32(-1)
	for _, w := range x.rows[k] {
		most = max(most, dot(v, w))
	}
	return most
}

// margins returns a source's pairs that stand out.
func (x *verification) margins(d int, by *measure) []similar {
	var near, likely, out []similar
	for i, v := range x.here {
		for k, j := range x.order[d] {
			if s := dot(v, x.rows[d][k]); s >= by.prior+by.extend {
				near = append(near, similar{i, j, s})
			}
		}
	}
	rivalsHere, rivalsThere := rivalsOf(near)
	here, there := map[int32]float32{}, map[int32]float32{}
	enough := map[int32]float32{} // for each source sentence, the background above which none of its pairs stands out
	for _, p := range near {
		h, ok := here[p.here]
		if !ok {
			h = max(by.prior, x.usualHere(p.here, x.c.sources[d].Language, d), by.rivals*rivalsHere[p.here].mean())
			here[p.here] = h
		}
		if p.similarity-(h+max(by.prior, by.rivals*rivalsThere[p.there].mean()))/2 < by.extend {
			continue // regardless of the other background
		}
		likely = append(likely, p)
		enough[p.there] = max(enough[p.there], 2*(p.similarity-by.extend)-h+slack)
	}
	for _, p := range likely {
		t, ok := there[p.there]
		if !ok {
			t = max(by.prior, x.usual(x.vector(d, p.there), x.c.submission.Language, d, enough[p.there]),
				by.rivals*rivalsThere[p.there].mean())
			there[p.there] = t
		}
		if m := p.similarity - (here[p.here]+t)/2; m >= by.extend {
			out = append(out, similar{p.here, p.there, m})
		}
	}
	return out
}

// slack is the maximum rounding error of a bound.
const slack = 1e-5

func dot(a, b []float32) float32 {
	if len(a) != len(b) {
		return 0
	}
	sum := float32(0)
	for i, x := range a {
		sum += x * b[i]
	}
	return sum
}

func meanOf(vs [][]float32) []float32 {
	if len(vs) == 0 {
		return nil
	}
	sum := make([]float32, len(vs[0]))
	for _, v := range vs {
		for i, x := range v {
			sum[i] += x
		}
	}
	for i := range sum {
		sum[i] /= float32(len(vs))
	}
	return sum
}

// without returns v minus a centre, scaled to length 1, or zero if nothing remains.
func without(v, centre []float32) []float32 {
	out := make([]float32, len(v))
	sum := float32(0)
	for i, x := range v {
		out[i] = x - centre[i]
		sum += out[i] * out[i]
	}
	if sum > 1e-12 {
		by := 1 / sqrt(sum)
		for i := range out {
			out[i] *= by
		}
	}
	return out
}
