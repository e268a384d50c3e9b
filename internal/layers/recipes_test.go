package layers

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// recipes are the headings that CONTRIBUTING.md has a recipe for.
var recipes = []string{
	"A file format", "A border rule", "A column of a batch table", "A federation message", "A page", "A rule of what counts", "A language",
}

var quotedPath = regexp.MustCompile("`([a-z][A-Za-z0-9_.-]*/[A-Za-z0-9_./-]*)`")

// TestRecipes checks that each recipe of CONTRIBUTING.md is there and that every file and folder it names exists.
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
	for _, heading := range recipes {
		paths := quotedPath.FindAllStringSubmatch(bodies[heading], -1)
		if len(paths) < 2 {
			t.Errorf("recipe %q names %d files, want at least 2", heading, len(paths))
		}
		for _, m := range paths {
			if _, err := os.Stat(filepath.Join(root, m[1])); err != nil {
				t.Errorf("recipe %q: %v", heading, err)
			}
		}
	}
}
