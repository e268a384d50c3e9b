package layers

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// floors reads each package's floor from the figure in doc/develop.md; the lowest is 1.
func floors(t *testing.T) map[string]int {
	t.Helper()
	text, err := os.ReadFile("../../doc/develop.md")
	if err != nil {
		t.Fatal(err)
	}
	_, figure, _ := strings.Cut(string(text), "```mermaid\n")
	figure, _, _ = strings.Cut(figure, "```")
	floor := regexp.MustCompile(`^\s*subgraph F([0-9]+)\[`)
	room := regexp.MustCompile(`^\s*[a-z]+[0-9]+\["([^"]+)"\]`)
	out := map[string]int{}
	at := 0
	for line := range strings.Lines(figure) {
		if m := floor.FindStringSubmatch(line); m != nil {
			if at, err = strconv.Atoi(m[1]); err != nil {
				t.Fatal(err)
			}
		} else if m := room.FindStringSubmatch(line); m != nil {
			pkg := strings.TrimPrefix(m[1], "concordat")
			if _, twice := out[pkg]; twice || at == 0 {
				t.Errorf("the figure has %q twice, or on no floor", m[1])
			}
			out[pkg] = at
		}
	}
	return out
}

// TestFloors: every package is on a floor of the figure in doc/develop.md, and imports none from a floor above.
func TestFloors(t *testing.T) {
	floor := floors(t)
	seen := map[string]bool{}
	for _, f := range sources(t) {
		if f.pkg == "internal" || strings.HasPrefix(f.pkg, "internal/") || strings.HasPrefix(f.pkg, "report/internal/") {
			continue // for tests
		}
		seen[f.pkg] = true
		if floor[f.pkg] == 0 {
			t.Errorf("doc/develop.md has no floor for %q", f.pkg)
			continue
		}
		for _, imp := range f.imports {
			if own, ok := ownPackage(t, imp); ok && floor[own] > floor[f.pkg] {
				t.Errorf("%s imports %q from a floor above", f.path, own)
			}
		}
	}
	for pkg := range floor {
		if !seen[pkg] {
			t.Errorf("doc/develop.md names %q, which is no package", pkg)
		}
	}
}
