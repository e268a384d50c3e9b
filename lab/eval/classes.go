package eval

import (
	"math"
	"strings"

	"concordat/report"
)

// literalness describes how literally a text was copied: the proportion of its words in equal runs, the proportion that the sources also
// contain, and the average number of words per equal run, on a scale that compresses long runs.
func literalness(f *report.Findings) []float64 {
	const longest, usual = 40, 6 // words per run
	text := f.Submission.Text
	equal := make([]bool, len(text))
	words, runs, common := 0.0, 0.0, 0.0
	for _, p := range f.Passages {
		common += p.Similarity * float64(p.Span.Len())
		for _, w := range p.Words {
			runs++
			words += float64(min(len(strings.Fields(w.Span.In(text))), longest))
			for i := w.Span.Start; i < w.Span.End; i++ {
				equal[i] = true
			}
		}
	}
	n := 0.0
	for _, e := range equal {
		if e {
			n++
		}
	}
	all := float64(max(len(text), 1))
	return []float64{n / all, common / all, math.Log(1 + words/max(runs, 1)/usual)}
}

// leftOut returns the proportion of items whose class is recognised. The first class, none, contains items with a covered proportion
// below worthLook. A Gaussian naive Bayes classifier (Mitchell 1997, section 6.9; Clough and Stevenson use naive Bayes too), fitted on
// all other covered items, distinguishes the other classes.
func leftOut(covered []labelled, features [][]float64, classes []int) float64 {
	right := 0
	fitted := make([]int, len(classes)) // classes of the items for fitting; -1 for the others
	for i, c := range classes {
		fitted[i] = c
		if covered[i].value < worthLook {
			fitted[i] = -1
		}
	}
	for i := range features {
		class := 0
		if covered[i].value >= worthLook {
			best := math.Inf(-1)
			for c := 1; c < len(answerClasses); c++ {
				if p := posterior(features, fitted, i, c); p > best {
					best, class = p, c
				}
			}
		}
		if class == classes[i] {
			right++
		}
	}
	return float64(right) / float64(max(len(features), 1))
}

// worthLook is the minimum covered proportion for a report to be worth reading.
const worthLook = 0.1

// posterior returns the logarithm of the posterior of class c for item i, fitted on the others, up to a constant.
func posterior(features [][]float64, classes []int, i, c int) float64 {
	const least = 0.05 // minimum deviation
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
