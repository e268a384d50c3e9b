package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"concordat/internal/suite"
)

const sample = `package p

import "errors"

var errNegative = errors.New("negative")

type T struct{ n int }

// Half returns half of n, which must not be negative.
func (t *T) Half(n int) (int, error) {
	if n < 0 || n == 7 {
		return 0, errNegative
	}
	t.n = n
	return n / 2, nil
}

func unused(n int) bool { return n > 3 }
`

const sampleTest = `package p

import "testing"

func TestHalf(t *testing.T) {
	var x T
	if h, err := x.Half(8); h != 4 || err != nil {
		t.Error(h, err)
	}
	if _, err := x.Half(-1); err == nil {
		t.Error("negative")
	}
}
`

func changed(t *testing.T) []Change {
	t.Helper()
	cs, err := changesOf("p/p.go", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	return cs
}

// TestChanges: a file can be changed in its conditions, operators, numbers and statements; each change applies to the bytes that it
// specifies, and no two have the same key.
func TestChanges(t *testing.T) {
	cs := changed(t)
	var got []string
	keys := map[string]bool{}
	for _, c := range cs {
		got = append(got, c.Func+": "+c.From+" -> "+c.To)
		if keys[c.Key()] {
			t.Errorf("two changes have the key %q", c.Key())
		}
		keys[c.Key()] = true
		b, err := c.apply([]byte(sample))
		if err != nil || !strings.Contains(string(b), c.To) || len(b) != len(sample)-len(c.From)+len(c.To) {
			t.Errorf("%s: not applied: %v", c.Key(), err)
		}
		if _, err := c.apply([]byte("package p\n")); err == nil {
			t.Errorf("%s: applied to another file", c.Key())
		}
	}
	for _, want := range []string{
		"T.Half: n < 0 || n == 7 -> false && (n < 0 || n == 7)", "T.Half: n < 0 || n == 7 -> n < 0 && n == 7",
		"T.Half: n < 0 -> n <= 0", "T.Half: n < 0 -> n >= 0", "T.Half: n == 7 -> n != 7", "T.Half: 7 -> 8",
		"T.Half: t.n = n -> {}", "T.Half: n / 2 -> n * 2", "unused: n > 3 -> n >= 3",
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no change %q among\n%s", want, strings.Join(got, "\n"))
		}
	}
}

// TestCases: a case's condition is run whether or not its body is.
func TestCases(t *testing.T) {
	cs, err := changesOf("p/p.go",
		[]byte("package p\n\nfunc f(n int) int {\n\tswitch {\n\tcase n > 3:\n\t\treturn n + 1\n\t}\n\treturn n - 2\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cs {
		if want := strings.Contains(c.From, "n > 3") || c.From == "3"; c.InCase != want {
			t.Errorf("%s: in a case: %v", c.Key(), c.InCase)
		}
	}
}

// TestDraw: the same seed draws the same changes, even if lines were added above them; a different seed draws others.
func TestDraw(t *testing.T) {
	cs := changed(t)
	moved, err := changesOf("p/p.go", []byte(strings.Replace(sample, "type T", "// A line.\n\ntype T", 1)))
	if err != nil {
		t.Fatal(err)
	}
	keys := func(cs []Change) (out []string) {
		for _, c := range cs {
			out = append(out, c.Key())
		}
		return out
	}
	one := keys(draw(cs, 5, 1))
	if len(one) != 5 || !slices.Equal(one, keys(draw(moved, 5, 1))) {
		t.Errorf("the same seed drew\n%v\nand, lines further down,\n%v", one, keys(draw(moved, 5, 1)))
	}
	if slices.Equal(one, keys(draw(cs, 5, 2))) {
		t.Error("two seeds drew the same")
	}
	if n := len(draw(cs, 0, 1)); n != len(cs) {
		t.Errorf("%d of %d drawn without a bound", n, len(cs))
	}
}

// TestKnown: only changes listed with a reason are skipped, and a line without a reason is refused.
func TestKnown(t *testing.T) {
	cs := changed(t)
	path := filepath.Join(t.TempDir(), "list")
	for content, good := range map[string]bool{
		"# a comment\n\n" + cs[3].Key() + "\tno matter\n": true,
		cs[3].Key() + "\t\n":                              false, "a\tb\n": false, cs[3].Key() + "\tx\n" + cs[3].Key() + "\ty\n": false,
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		known, err := readKnown(path)
		if (err == nil) != good {
			t.Errorf("%q: error %v", content, err)
		}
		if !good {
			continue
		}
		left, n := without(cs, known)
		if n != 1 || len(left) != len(cs)-1 || slices.ContainsFunc(left, func(c Change) bool { return c.Key() == cs[3].Key() }) {
			t.Errorf("%d left out, %d left of %d", n, len(left), len(cs))
		}
	}
	if known, err := readKnown(filepath.Join(t.TempDir(), "none")); err != nil || len(known) != 0 {
		t.Errorf("no list: %v, %v", known, err)
	}
}

// TestListHolds: every line of this project's list identifies an existing change.
func TestListHolds(t *testing.T) {
	known, err := readKnown("equivalent.tsv")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	packages := map[string]bool{}
	for key := range known {
		file, _, _ := strings.Cut(key, "\t")
		if pkg := filepath.Dir(file); !packages[pkg] {
			packages[pkg] = true
			cs, err := changes(filepath.Join("..", ".."), pkg)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range cs {
				seen[c.Key()] = true
			}
		}
		if !seen[key] {
			t.Errorf("no such change: take the line out of the list, or mend it\n%s", strings.ReplaceAll(key, "\t", " | "))
		}
	}
}

func TestReadCover(t *testing.T) {
	got, err := readCover("mode: set\nconcordat/p/a.go:3.10,5.2 1 1\nconcordat/p/a.go:7.1,9.2 1 0\n")
	if err != nil || len(got["p/a.go"]) != 1 || got["p/a.go"][0] != (span{3, 5}) {
		t.Errorf("%v, %v", got, err)
	}
	for _, bad := range []string{"x", "a.go:1.2,3.4 1", "m/a.go:x,3.4 1 1"} {
		if _, err := readCover(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

// module creates a module m from files in a new folder and enters it.
func module(t *testing.T, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	files["go.mod"] = "module m\n\ngo 1.26\n"
	for name, content := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
}

// TestRun runs the mutants of a small module and checks which ones die, survive, do not compile or are reached by no test, and that the
// sources are left unchanged.
func TestRun(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: builds a package for each mutant")
	}
	module(t, map[string]string{"p/p.go": sample, "p/p_test.go": sampleTest})
	var out bytes.Buffer
	survived, err := run(context.Background(), options{packages: []string{"p"}, json: true, known: "none"}, &out, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	states := map[string]State{}
	var sum Summary
	for line := range strings.Lines(out.String()) {
		var r Result
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.State == "" {
			if err := json.Unmarshal([]byte(line), &sum); err != nil {
				t.Fatal(err)
			}
			continue
		}
		states[r.From+" -> "+r.To] = r.State
	}
	for change, want := range map[string]State{
		"n < 0 -> n >= 0": Killed, "n / 2 -> n * 2": Killed, "n == 7 -> n != 7": Killed, "n < 0 -> n <= 0": Survived,
		"t.n = n -> {}": Survived, "n > 3 -> n >= 3": Uncovered,
	} {
		if states[change] != want {
			t.Errorf("%s: %q, want %q", change, states[change], want)
		}
	}
	if survived != sum.Survived+sum.Uncovered || sum.Drawn != len(states) || sum.Killed < 3 {
		t.Errorf("%d survived; %+v", survived, sum)
	}
	out.Reset()
	blind, err := run(context.Background(), options{packages: []string{"p"}, known: "none", funcs: "^unused$", blind: true}, &out, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	if blind == 0 || strings.Contains(out.String(), "uncovered") {
		t.Errorf("what is in no test was not run:\n%s", out.String())
	}
	if b, err := os.ReadFile("p/p.go"); err != nil || string(b) != sample {
		t.Errorf("the source has changed (%v)", err)
	}
}

// TestTestsElsewhere: tests in another package count if that package is named.
func TestTestsElsewhere(t *testing.T) {
	suite.Rest(t, "builds a package for each mutant")
	module(t, map[string]string{"p/p.go": "package p\n\nfunc Large(n int) bool { return n > 3 }\n",
		"q/q_test.go": "package q\n\nimport (\n\t\"testing\"\n\n\t\"m/p\"\n)\n\n" +
			"func TestLarge(t *testing.T) {\n\tif p.Large(3) || !p.Large(4) {\n\t\tt.Error(\"large\")\n\t}\n}\n"})
	for tests, all := range map[string]bool{"": true, "q": false} {
		for _, together := range []bool{false, true} {
			var out bytes.Buffer
			o := options{packages: []string{"p"}, tests: tests, known: "none", together: together}
			survived, err := run(context.Background(), o, &out, io.Discard)
			if err != nil || (survived > 0) != all {
				t.Errorf("with the tests of %q %d survived, %v\n%s", tests, survived, err, &out)
			}
		}
	}
}

// TestUsual: a test that -short skips counts if the tests run as in make test.
func TestUsual(t *testing.T) {
	suite.Rest(t, "builds a package for each mutant")
	module(t, map[string]string{"p/p.go": "package p\n\nfunc Large(n int) bool { return n > 3 }\n",
		"p/p_test.go": "package p\n\nimport \"testing\"\n\nfunc TestLarge(t *testing.T) {\n\tif testing.Short() {\n\t\tt.Skip()\n\t}\n" +
			"\tif Large(3) || !Large(4) {\n\t\tt.Error(\"large\")\n\t}\n}\n"})
	for _, usual := range []bool{false, true} {
		for _, together := range []bool{false, true} {
			var out bytes.Buffer
			o := options{packages: []string{"p"}, known: "none", together: together, usual: usual, measured: t.TempDir()}
			survived, err := run(context.Background(), o, &out, io.Discard)
			if err != nil || (survived > 0) == usual {
				t.Errorf("usual %v, together %v: %d survived, %v\n%s", usual, together, survived, err, &out)
			}
		}
	}
}
