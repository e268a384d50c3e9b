package batch

import (
	"testing"

	"concordat"
)

// TestTaskOf: the names of a member's tasks are the ones that the store uses in each round.
func TestTaskOf(t *testing.T) {
	for round, want := range map[int]concordat.TaskID{0: "b-3", 1: "b-3", 2: "b-3-r2", 12: "b-3-r12"} {
		if got := TaskOf("b", 2, round); got != want {
			t.Errorf("round %d: %s, want %s", round, got, want)
		}
	}
}
