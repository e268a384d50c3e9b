package batches

import (
	"errors"
	"testing"

	"concordat"
)

// TestPairOf: addresses number the members of a pair from 1, and the two numbers must differ.
func TestPairOf(t *testing.T) {
	t.Parallel()
	for path, want := range map[[2]string][2]int{{"1", "2"}: {0, 1}, {"2", "1"}: {1, 0}, {"1", "400"}: {0, 399}} {
		if x, y, err := pairOf(path[0], path[1]); err != nil || x != want[0] || y != want[1] {
			t.Errorf("%v: %d and %d, %v, want %v", path, x, y, err, want)
		}
	}
	for _, path := range [][2]string{{"0", "1"}, {"1", "0"}, {"1", "1"}, {"-1", "2"}, {"", "2"}, {"1", "x"}} {
		if x, y, err := pairOf(path[0], path[1]); !errors.Is(err, concordat.ErrNotFound) {
			t.Errorf("%v: %d and %d, %v", path, x, y, err)
		}
	}
}
