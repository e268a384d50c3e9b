package web

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

// TestCasePath: the address of a list contains exactly the active filters.
func TestCasePath(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]caseFilter{
		"/checks": {View: "all"}, "/checks?view=failed": {View: "failed"}, "/checks?q=a+b": {View: "all", Query: "a b"},
		"/checks?mine=yes&view=new":       {View: "new", Mine: true},
		"/checks?in=b&least=5&sort=share": {View: "all", In: "b", Least: 5, Order: "share"},
	} {
		if got := f.Path(0); got != want {
			t.Errorf("%+v: %q, want %q", f, got, want)
		}
	}
	if got := (caseFilter{View: "all"}).Path(7); got != "/checks?from=7" {
		t.Errorf("got %q", got)
	}
}
