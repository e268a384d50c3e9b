package batch

import (
	"testing"

	"concordat"
)

// TestTaskOf: a member's task survives a round trip, and the names are those of batches in the store.
func TestTaskOf(t *testing.T) {
	for round, want := range map[int]concordat.TaskID{0: "b-3", 1: "b-3", 2: "b-3-r2", 12: "b-3-r12"} {
		if got := TaskOf("b", 2, round); got != want {
			t.Errorf("round %d: %s, want %s", round, got, want)
		}
	}
}
