package layers

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// recipes are the headings in CONTRIBUTING.md with a recipe below them, and the maximum number of files and folders, including documents,
// that each may name. Lower a number when an extension needs fewer.
var recipes = map[string]int{
	"A file format":             6,
	"A border rule":             3,
	"A column of a batch table": 3,
	"A federation message":      8,
	"A page":                    8,
	"A rule of what counts":     6,
	"A language":                2,
}

var quotedPath = regexp.MustCompile("`([a-z][A-Za-z0-9_.-]*/[A-Za-z0-9_./-]*)`")

// TestRecipes: each recipe is in CONTRIBUTING.md, and every file and folder that it names exists.
func TestRecipes(t *testing.T) {
	root := filepath.Join("..", "..")
	text, err := os.ReadFile(filepath.Join(root, "CONTRIBUTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	bodies := map[string]string{}
	for _, part := range strings.Split(string(text), "\n### ")[1:] {
		heading, body, _ := strings.Cut(part, "\n")
		bodies[heading] = body
	}
	for heading, most := range recipes {
		paths := quotedPath.FindAllStringSubmatch(bodies[heading], -1)
		if len(paths) < 2 {
			t.Errorf("recipe %q names %d files, want at least 2", heading, len(paths))
		}
		files := map[string]bool{}
		for _, m := range paths {
			files[m[1]] = true
		}
		if len(files) > most {
			t.Errorf("recipe %q names %d files, at most %d", heading, len(files), most)
		}
		for _, m := range paths {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("recipe %q: %v", heading, err)
			}
		}
	}
}
