package web_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	cssComments  = regexp.MustCompile(`(?s)/\*.*?\*/`)
	cssSelectors = regexp.MustCompile(`([^{}]+)\{`)
	cssNames     = regexp.MustCompile(`[.#][A-Za-z][\w-]*`)
	markedUp     = regexp.MustCompile(`class="([^"]*)"`)
	templated    = regexp.MustCompile(`\{\{.*?\}\}`)
	oneClass     = regexp.MustCompile(`[A-Za-z][\w-]*`)
)

// selectorsOf returns the selectors of a style sheet, each member of a list separately; a list within brackets is not split.
func selectorsOf(t *testing.T, path string) (all []string) {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range cssSelectors.FindAllStringSubmatch(cssComments.ReplaceAllString(string(b), ""), -1) {
		depth := 0
		for _, s := range strings.FieldsFunc(m[1], func(r rune) bool {
			depth += strings.Count(string(r), "(") - strings.Count(string(r), ")")
			return r == ',' && depth == 0
		}) {
			if s = strings.TrimSpace(s); s != "" && !strings.HasPrefix(s, "@") {
				all = append(all, s)
			}
		}
	}
	return all
}

// TestStylesDoNotMeet: the pages and the report parts that they show have separate style sheets, which are loaded together. No rule for
// the pages uses only classes of the parts, and no page template uses a class that the parts style.
func TestStylesDoNotMeet(t *testing.T) {
	t.Parallel()
	// All but the last contain parts of a report. The last styles lists in the parts and buttons on the pages.
	shared := []string{"body", "map", "ranked", "key", "k-lead", "plain"}
	parts := map[string]bool{}
	for _, s := range selectorsOf(t, filepath.Join("..", "report", "html", "parts.css")) {
		for _, name := range cssNames.FindAllString(s, -1) {
			parts[name] = true
		}
	}
	for _, s := range selectorsOf(t, filepath.Join("static", "style.css")) {
		names := cssNames.FindAllString(s, -1)
		if len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return !parts[name] || name == ".plain" }) {
			t.Errorf("the rule %q of the pages has only classes of the parts of a report", s)
		}
	}
	used := map[string]string{}
	for _, pattern := range []string{"templates/*.html", "templates/parts/*.html"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range markedUp.FindAllStringSubmatch(string(b), -1) {
				for _, class := range oneClass.FindAllString(templated.ReplaceAllString(m[1], " "), -1) {
					used[class] = f
				}
			}
		}
	}
	for _, class := range slices.Sorted(maps.Keys(used)) {
		if parts["."+class] && !slices.Contains(shared, class) {
			t.Errorf("%s has the class %s, which parts of a report have", used[class], class)
		}
	}
	if len(used) < 50 || len(parts) < 50 {
		t.Errorf("read %d classes of templates and %d of parts", len(used), len(parts))
	}
}
