package meaning

import "sync"

// acrossLanguages is the measure of the table between two languages, chosen on development data (doc/evaluation/meaning.md).
var acrossLanguages = measure{prior: 0.1, seed: 0.1, extend: 0.04, counts: 0.06, rivals: 1,
	curve: func(c *Calibration) *Curve { return &c.Across }}

// foreign reports whether a source is in another language than the submission.
func (c *Comparison) foreign(d int) bool {
	a, b := c.submission, c.sources[d]
	return a.wide != b.wide || a.Language != b.Language && a.Language != "" && b.Language != ""
}

// tableVectors returns what the table says of all sentences, as an encoder would be asked about them.
func (c *Comparison) tableVectors() *verification {
	p, v := Places{There: make([][]int, len(c.sources))}, Vectors{There: make([][][]float32, len(c.sources)), Samples: sampleMeans()}
	p.Here, v.Here = c.submission.means()
	for d, s := range c.sources {
		p.There[d], v.There[d] = s.means()
	}
	return c.centred(p, v)
}

// means returns the sentences of prose with their means.
func (t *Text) means() (at []int, means [][]float32) {
	for i := range t.sentences {
		if t.prose[i] {
			at, means = append(at, i), append(means, t.sentences[i].Mean[:])
		}
	}
	return at, means
}

// sampleMeans are the means of the samples by the embedded table; zeros without one.
var sampleMeans = sync.OnceValue(func() [][]float32 {
	out := make([][]float32, len(sampleSet))
	t, err := Default()
	for k, s := range sampleSet {
		var x Sentence
		if err == nil {
			NewEncoder(t).Encode(s.Text, &x)
		}
		out[k] = x.Mean[:]
	}
	return out
})
