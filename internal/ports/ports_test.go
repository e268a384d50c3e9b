package ports

import (
	"slices"
	"testing"
)

// TestFree: ports that are taken are not provided again until they are returned, even if nothing listens there.
func TestFree(t *testing.T) {
	seen := map[int]bool{}
	for range 30 {
		for i, p := range Free(t, 9) {
			if seen[p] || p <= first || p >= end {
				t.Errorf("port %d, the %d. of a block, is given twice or out of bounds", p, i+1)
			}
			seen[p] = true
			l, err := listen(p)
			if err != nil {
				t.Fatal(err)
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	a, release, err := Take(1)
	if err != nil {
		t.Fatal(err)
	}
	release()
	b, release, err := Take(1)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if !slices.Equal(a, b) {
		t.Logf("%v was given back, and taken by somebody else before %v", a, b)
	}
	if _, _, err := Take(block); err == nil {
		t.Error("a block is given with its guard")
	}
}
