package passwords

import (
	"testing"
)

// TestHashingAtOnce: passwords are hashed one at a time if one hash uses all processors, and never more at a time than the memory allows.
func TestHashingAtOnce(t *testing.T) {
	for processors, want := range map[int]int{1: 1, 2: 1, 4: 1, 7: 1, 8: 2, 64: 2} {
		if got := hashingAtOnce(processors); got != want {
			t.Errorf("%d processors: %d, want %d", processors, got, want)
		}
	}
}
