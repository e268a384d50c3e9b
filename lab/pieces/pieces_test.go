package pieces

import (
	"math"
	"math/rand/v2"
	"testing"

	"concordat/meaning/fit"
)

// TestEigen: eigenvectors have length 1 and reproduce the matrix.
func TestEigen(t *testing.T) {
	want := [][]float64{{4, 1, 0.5}, {1, 3, -1}, {0.5, -1, 2}}
	a := [][]float64{{4, 1, 0.5}, {1, 3, -1}, {0.5, -1, 2}}
	values, v := fit.Eigen(a)
	for i := range want {
		for k := range want {
			got := 0.0
			for e, x := range values {
				got += v[i][e] * x * v[k][e]
			}
			if math.Abs(got-want[i][k]) > 1e-9 {
				t.Errorf("[%d][%d]: got %v, want %v", i, k, got, want[i][k])
			}
		}
	}
}

func TestHalf(t *testing.T) {
	for h, want := range map[uint16]float64{0x3c00: 1, 0xc000: -2, 0x3555: 0.333251953125, 0x0001: 5.960464477539063e-08} {
		if got := half(h); got != want {
			t.Errorf("%04x: got %v, want %v", h, got, want)
		}
	}
}

// TestDiscriminant: of two directions with equal total variance, the one that varies less within places comes first, and within places,
// every axis varies equally.
func TestDiscriminant(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	within, all := fit.Square(3), fit.Square(3)
	for range 2000 {
		a, b, c := r.NormFloat64(), 0.3*r.NormFloat64(), 2*r.NormFloat64()
		fit.AddOuter(within, []float64{a, b, c}, 1)
		fit.AddOuter(all, []float64{a + r.NormFloat64(), b + r.NormFloat64(), c + 0.1*r.NormFloat64()}, 1)
	}
	fit.Finish(within, 2000)
	fit.Finish(all, 2000)
	ridged, trace := fit.Square(3), within[0][0]+within[1][1]+within[2][2]
	for i := range ridged {
		copy(ridged[i], within[i])
		ridged[i][i] += ridge * trace / 3
	}
	axes := discriminant(within, all)
	if x := math.Abs(axes[1][0]); x < 2*math.Abs(axes[0][0]) || x < 2*math.Abs(axes[2][0]) {
		t.Errorf("the first axis is %v %v %v", axes[0][0], axes[1][0], axes[2][0])
	}
	spread := product(transposed(axes), product(ridged, axes))
	for i := range spread {
		for k, x := range spread[i] {
			if want := map[bool]float64{true: 1}[i == k]; math.Abs(x-want) > 1e-6 {
				t.Errorf("within places axes %d and %d have covariance %v", i, k, x)
			}
		}
	}
}
