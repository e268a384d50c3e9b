package eval

import (
	"math"

	"concordat"
	"concordat/report"
)

// literalness describes how a text was taken over: the covered share, the share in equal runs of words
// long enough to be copied, the share in any equal runs, and how long those are.
func literalness(f *report.Findings) []float64 {
	const long = 40 // bytes: about seven words
	covered := make([]byte, len(f.Submission.Text))
	mark := func(s concordat.Span, as byte) {
		for i := max(s.Start, 0); i < min(s.End, len(covered)); i++ {
			covered[i] = max(covered[i], as)
		}
	}
	longest := 0
	for _, p := range f.Passages {
		mark(p.Span, 1)
		for _, w := range p.Words {
			mark(w.Span, 2)
			if w.Span.Len() >= long {
				mark(w.Span, 3)
			}
			longest = max(longest, w.Span.Len())
		}
	}
	var n [4]float64
	for _, c := range covered {
		n[c]++
	}
	all := float64(max(len(covered), 1))
	return []float64{(n[1] + n[2] + n[3]) / all, n[3] / all, (n[2] + n[3]) / all, math.Log(1 + float64(longest))}
}

// leftOut returns the share of items whose class a Gaussian naive Bayes classifier names that was fitted on all others
// (Mitchell 1997, section 6.9), which is what Clough and Stevenson used.
func leftOut(features [][]float64, classes []int) float64 {
	right := 0
	for i := range features {
		best, class := math.Inf(-1), -1
		for c := range answerClasses {
			if p := posterior(features, classes, i, c); p > best {
				best, class = p, c
			}
		}
		if class == classes[i] {
			right++
		}
	}
	return float64(right) / float64(max(len(features), 1))
}

// posterior returns the logarithm of the posterior of class c for item i, fitted on the others, up to a constant.
func posterior(features [][]float64, classes []int, i, c int) float64 {
	const least = 0.05 // deviation
	n := 0.0
	for j := range classes {
		if j != i && classes[j] == c {
			n++
		}
	}
	if n == 0 {
		return math.Inf(-1)
	}
	p := math.Log(n)
	for k, x := range features[i] {
		mean, square := 0.0, 0.0
		for j := range classes {
			if j != i && classes[j] == c {
				mean += features[j][k] / n
				square += features[j][k] * features[j][k] / n
			}
		}
		dev := math.Sqrt(max(square-mean*mean, 0)) + least
		p -= math.Log(dev) + (x-mean)*(x-mean)/(2*dev*dev)
	}
	return p
}
