package main

import (
	"os/exec"
	"testing"
	"time"
)

// TestCost measures a process that outlives the one that started it.
func TestCost(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh in PATH")
	}
	if err := adopt(); err != nil {
		t.Fatal(err)
	}
	const busy = "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"
	own, passed, err := cost(t.TempDir(), shell, "-c", busy)
	if err != nil || !passed {
		t.Fatalf("passed %v, error %v", passed, err)
	}
	left, passed, err := cost(t.TempDir(), shell, "-c", "sh -c '"+busy+"' & exit 3")
	if err != nil || passed {
		t.Errorf("exit status 3: passed %v, error %v", passed, err)
	}
	if left < own/4 || own < time.Millisecond {
		t.Errorf("a process that is left uses %v, the same work in the first one %v", left, own)
	}
}
