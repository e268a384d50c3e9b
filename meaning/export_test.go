package meaning

import (
	"crypto/sha256"
	"math"
)

// seal appends a digest to the body of a table.
func seal(body []byte) []byte {
	sum := sha256.Sum256(body)
	return append(append([]byte{}, body...), sum[:]...)
}

// Background returns the background of a source's sentence as computed by Leads and by a comparison with every sentence.
func Background(submission *Text, sources []*Text, d, j int) (got, want float32) {
	c := Compare(submission, sources)
	var best []float32
	for k, other := range sources {
		if k == d || c.best[k] == nil {
			continue
		}
		most := float32(0)
		for m, s := range other.sentences {
			if shared := Shared(sources[d].sentences[j].Pieces, s.Pieces); other.prose[m] && shared >= leastShared {
				most = max(most, joined(shared, Dot(&c.across[d][j], &c.across[k][m])))
			}
		}
		best = append(best, most)
	}
	return c.there(d, int32(j), float32(math.Inf(1))), background(best)
}

// background returns the mean of the greatest numbers in best, which holds one per other document.
func background(best []float32) float32 {
	h := newHighest()
	for _, s := range best {
		h.add(s)
	}
	return h.mean()
}
