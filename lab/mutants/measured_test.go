package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const thrice = `package p

func Thrice(n int) int {
	if n > 100 {
		return 300
	}
	return n * 3
}

func Large(n int) bool { return n > 3 }
`

// Each of these tests records that it was run without a change; TestThrice fails if a certain file exists.
const thriceTest = `package p

import (
	"os"
	"testing"
)

func note(t *testing.T) {
	f, err := os.OpenFile(os.Getenv("RUNS"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("MUTANT") == "" {
		_, _ = f.WriteString(t.Name() + " ")
	}
	_ = f.Close()
}

func TestThrice(t *testing.T) {
	note(t)
	if _, err := os.Stat(os.Getenv("RUNS") + ".broken"); err == nil || Thrice(2) != 6 || Thrice(99) != 297 || Thrice(101) != 300 {
		t.Error(Thrice(2))
	}
}

func TestLarge(t *testing.T) {
	note(t)
	if Large(3) || !Large(4) {
		t.Error("large")
	}
}
`

// TestMeasuredOnce: the time and coverage of tests are measured once, for any draw, and again if the sources, the tests or their testdata
// change. An interrupted run is continued, and a test that has begun to fail by itself kills no mutant.
func TestMeasuredOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: builds a package for each run")
	}
	module(t, map[string]string{"p/p.go": thrice, "p/p_test.go": thriceTest})
	cache := filepath.Join(t.TempDir(), "measured")
	runs := filepath.Join(t.TempDir(), "runs")
	t.Setenv("RUNS", runs)
	write := func(path, content string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// draw returns the tests run without a change, in order, the number of surviving mutants, and the output.
	draw := func(o options) (string, int, string, error) {
		t.Helper()
		write(runs, "")
		o.packages, o.known, o.together, o.measured, o.limit = []string{"p"}, "none", true, cache, time.Minute
		var out, log bytes.Buffer
		survived, err := run(t.Context(), o, &out, &log)
		b, readErr := os.ReadFile(runs)
		if readErr != nil {
			t.Fatal(readErr)
		}
		return strings.TrimSpace(string(b)), survived, out.String() + log.String(), err
	}
	file := func() string {
		t.Helper()
		paths, err := filepath.Glob(filepath.Join(cache, "*.jsonl"))
		if err != nil || len(paths) == 0 {
			t.Fatal(paths, err)
		}
		return paths[0]
	}
	const both = "TestThrice TestLarge"
	if got, _, out, err := draw(options{n: 2, seed: 1, only: "Larg"}); got != "TestLarge" || err != nil {
		t.Fatalf("at first %q were run, %v\n%s", got, err, out)
	}
	if got, _, out, err := draw(options{n: 2, seed: 1}); !strings.HasPrefix(got, "TestThrice") || err != nil {
		t.Fatalf("beside the test that was measured %q were run, %v\n%s", got, err, out)
	}
	got, survived, out, err := draw(options{n: 0})
	if survived != 1 || err != nil { // n > 100 -> n >= 100
		t.Fatalf("%d survived, %v\n%s", survived, err, out)
	}
	if strings.Count(got, "Test") > 2 || !strings.Contains(out, "running 0 tests of p one by one; 2 other tests were measured") {
		t.Errorf("all was known, and %q were run\n%s", got, out)
	}

	b, err := os.ReadFile(file())
	if err != nil {
		t.Fatal(err)
	}
	write(file(), string(b[:len(b)-9]))
	if got, _, out, err := draw(options{n: 1}); !strings.HasPrefix(got, "TestThrice") || err != nil {
		t.Errorf("behind a line that was cut short %q were run, %v\n%s", got, err, out)
	}

	write(runs+".broken", "")
	if _, _, out, err := draw(options{n: 0, funcs: "Thrice"}); err == nil || !strings.Contains(out, "2 other tests were measured") ||
		!strings.Contains(err.Error(), "TestThrice fails even without a change") {
		t.Errorf("a test that has come to fail killed mutants: %v\n%s", err, out)
	}
	if err := os.Remove(runs + ".broken"); err != nil {
		t.Fatal(err)
	}

	for path, content := range map[string]string{"p/testdata/x": "1", "p/p_test.go": thriceTest + "\nvar Another = 1\n", "p/p.go": thrice +
		"\nfunc Other(n int) bool { return n > 4 }\n"} {
		write(path, content)
		if got, _, out, err := draw(options{n: 1, funcs: "Large"}); !strings.HasPrefix(got, both) || err != nil {
			t.Errorf("with another %s %q were run, %v\n%s", path, got, err, out)
		}
	}
	if got, _, _, err := draw(options{n: 1, tests: "p=Thr", only: "none"}); got != "" || err != nil {
		t.Errorf("with an expression for the package %q were run, %v", got, err)
	}
	if _, _, _, err := draw(options{n: 1, tests: "q=["}); err == nil {
		t.Error("tests of no package were run")
	}
}

// TestMeasuredIsForgotten: only measurements that no run has used for two weeks are deleted.
func TestMeasuredIsForgotten(t *testing.T) {
	cache := t.TempDir()
	for name, age := range map[string]time.Duration{
		"old.jsonl": keepMeasured + time.Hour, "new.jsonl": keepMeasured - time.Hour, "old.txt": 2 * keepMeasured,
	} {
		path := filepath.Join(cache, name)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		at := time.Now().Add(-age)
		if err := os.Chtimes(path, at, at); err != nil {
			t.Fatal(err)
		}
	}
	if err := forget(cache, time.Now().Add(-keepMeasured)); err != nil {
		t.Fatal(err)
	}
	left, err := filepath.Glob(filepath.Join(cache, "*"))
	if err != nil || len(left) != 2 || filepath.Base(left[0]) != "new.jsonl" {
		t.Errorf("left: %v, %v", left, err)
	}
}
