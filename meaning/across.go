package meaning

import (
	"iter"
	"sync"
)

// acrossLanguages is the measure for the table between two languages, chosen on development data (doc/evaluation/meaning.md).
var acrossLanguages = measure{prior: 0.1, seed: 0.1, extend: 0.02, counts: 0.04, rivals: 1,
	curve: func(c *Calibration) *Curve { return &c.Across }}

// foreign reports whether a source is in a different language from the submission.
func (c *Comparison) foreign(d int) bool {
	a, b := c.submission, c.sources[d]
	return a.wide != b.wide || a.Language != b.Language && a.Language != "" && b.Language != ""
}

// tableVectors returns the table's vectors of all sentences in the form used for an encoder's vectors. They are always centred on the
// fixed centre of their language, because a mean of the compared documents would reflect their subjects and, in a large library, not the
// source's (doc/evaluation/meaning.md).
func (c *Comparison) tableVectors() *verification {
	x := newVerification(c)
	for i, v := range c.submission.directions() {
		x.here[i] = v
	}
	for d, s := range c.sources {
		for j, v := range s.directions() {
			x.order[d], x.rows[d] = append(x.order[d], j), append(x.rows[d], v)
		}
	}
	for k, v := range sampleDirections() {
		language := sampleSet[k].Language
		x.samples[language] = append(x.samples[language], v)
	}
	return x
}

// directions yields the directions of the prose sentences.
func (t *Text) directions() iter.Seq2[int32, []float32] {
	return func(yield func(int32, []float32) bool) {
		for i := range t.sentences {
			if t.prose[i] {
				if v := centredByDefault(&t.sentences[i].Mean, t.chinese[i], t.Language); !yield(int32(i), v[:]) {
					return
				}
			}
		}
	}
}

// centredByDefault returns Cells.Direction with the embedded cells; if these are broken, it subtracts no centre.
func centredByDefault(mean *Vector, wide bool, language string) Vector {
	c, err := DefaultCells()
	if err != nil {
		return Centred(mean, &Vector{})
	}
	return c.Direction(mean, wide, language)
}

// sampleMeans returns the means of the samples in the embedded table, or zeros without the table.
var sampleMeans = sync.OnceValue(func() []Vector {
	out := make([]Vector, len(sampleSet))
	t, err := Default()
	if err != nil {
		return out
	}
	var x Sentence
	for k, s := range sampleSet {
		NewEncoder(t).Encode(s.Text, &x)
		out[k] = x.Mean
	}
	return out
})

// sampleDirections returns the directions of the samples.
var sampleDirections = sync.OnceValue(func() [][]float32 {
	out := make([][]float32, len(sampleSet))
	for k, mean := range sampleMeans() {
		v := centredByDefault(&mean, Wide(sampleSet[k].Text), sampleSet[k].Language)
		out[k] = v[:]
	}
	return out
})
