package fit

import (
	"math"

	"concordat/meaning"
)

// Sample is a sentence from which cells are learned.
type Sample struct {
	Mean meaning.Vector
	Wide bool // whether it is in Chinese characters
}

// learnRounds is how often learning moves the points of cells to the mean of their nearest samples.
const learnRounds = 20

// Cells returns encoded cells learned from samples, with a notice of their origin. The same samples in the same order yield the same
// bytes.
func Cells(samples []Sample, notice string) []byte {
	p := &meaning.CellParts{Notice: notice}
	var counts [2]float64
	var sums [2][meaning.Dimensions]float64
	for _, s := range samples {
		w := 0
		if s.Wide {
			w = 1
		}
		counts[w]++
		for i, x := range s.Mean {
			sums[w][i] += float64(x)
		}
	}
	for w := range sums {
		for i, x := range sums[w] {
			p.Centres[w][i] = float32(x / max(counts[w], 1))
		}
	}
	c := meaning.CellsOf(p, "")
	directions := make([]meaning.Vector, len(samples))
	for i := range samples {
		directions[i] = c.Direction(&samples[i].Mean, samples[i].Wide, "")
	}
	learnAxes(p, directions)
	c = meaning.CellsOf(p, "")
	points := make([]meaning.Point, len(directions))
	for i := range directions {
		points[i] = c.Point(&directions[i])
	}
	for band := range p.Words {
		turned := make([]meaning.Point, len(points))
		for i := range points {
			turned[i] = c.Rotated(&points[i], band)
		}
		for part := range p.Words[band] {
			learnWords(p.Words[band][part][:], turned, part)
		}
	}
	return meaning.EncodeCells(p)
}

// learnAxes sets the axes to the principal axes of the directions, half whitened.
func learnAxes(p *meaning.CellParts, directions []meaning.Vector) {
	covariance := Square(meaning.Dimensions)
	row := make([]float64, meaning.Dimensions)
	for _, v := range directions {
		for i, x := range v {
			row[i] = float64(x)
		}
		AddOuter(covariance, row, 1)
	}
	Finish(covariance, float64(len(directions)))
	values, axes := Eigen(covariance)
	order := Descending(values)
	for d := range p.Axes {
		for i := range p.Axes[d] {
			p.Axes[d][i] = float32(axes[i][order[d]] / math.Pow(values[order[d]], 0.25))
		}
	}
}

// learnWords sets words to cluster centres of the given part of the points in turned (Lloyd's algorithm, starting from evenly spaced
// samples).
func learnWords[Word ~[16]float32](words []Word, turned []meaning.Point, part int) {
	size := len(words[0])
	for w := range words {
		copy(words[w][:], turned[w*len(turned)/len(words)][part*size:])
	}
	for range learnRounds {
		sums, counts := make([][16]float64, len(words)), make([]float64, len(words))
		for i := range turned {
			x := (*[16]float32)(turned[i][part*size:])
			best, least := 0, float32(math.Inf(1))
			for w := range words {
				sum := float32(0)
				for k := range x {
					d := x[k] - words[w][k]
					sum += float32(d * d)
				}
				if sum < least {
					best, least = w, sum
				}
			}
			counts[best]++
			for k := range x {
				sums[best][k] += float64(x[k])
			}
		}
		for w := range words {
			for k := range words[w] {
				if counts[w] > 0 {
					words[w][k] = float32(sums[w][k] / counts[w])
				}
			}
		}
	}
}
