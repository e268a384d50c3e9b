package fit

import (
	"cmp"
	"math"
	"slices"
)

// Square returns an n by n matrix of zeros.
func Square(n int) [][]float64 {
	out := make([][]float64, n)
	for i := range out {
		out[i] = make([]float64, n)
	}
	return out
}

// AddOuter adds the lower half of a row's outer product with itself, multiplied by a weight.
func AddOuter(m [][]float64, row []float64, weight float64) {
	for k, x := range row {
		scaled, line := float64(weight*x), m[k]
		for i, y := range row[:k+1] {
			line[i] += float64(scaled * y)
		}
	}
}

// Finish divides a matrix's lower half by n and copies it to the upper half.
func Finish(m [][]float64, n float64) {
	for k, line := range m {
		for i := range line[:k+1] {
			line[i] /= n
			m[i][k] = line[i]
		}
	}
}

// Eigen returns the eigenvalues of a symmetric matrix and its eigenvectors as columns, by cyclic Jacobi rotations (Golub and Van Loan
// 2013, section 8.5.5). It overwrites the matrix.
func Eigen(a [][]float64) (values []float64, vectors [][]float64) {
	n := len(a)
	vectors = Square(n)
	for i := range vectors {
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

// Descending returns the indexes of values in descending order.
func Descending(values []float64) []int {
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[b], values[a]) })
	return order
}

// rotate reduces a[p][q] to zero.
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
