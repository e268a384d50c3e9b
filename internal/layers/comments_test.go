package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// padded are phrases in a comment that hide its noun, each with a remedy.
var padded = map[*regexp.Regexp]string{
	regexp.MustCompile(`\b[Ii]s what\b`):      "name the thing: \"X is the Y of Z\"",
	regexp.MustCompile(`\b[Aa]re what\b`):     "name the things: \"X are the Y of Z\"",
	regexp.MustCompile(`\b(was|were) what\b`): "name the thing",
}

// TestComments: comments name things by nouns.
func TestComments(t *testing.T) {
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name := d.Name(); strings.HasPrefix(name, ".") && name != ".." || name == "testdata" || name == "build" {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, c := range file.Comments {
			for _, found := range paddedIn(c) {
				t.Errorf("%s: a comment says %s", set.Position(c.Pos()), found)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// paddedIn returns the padded phrases of a comment, each with its remedy.
func paddedIn(c *ast.CommentGroup) (out []string) {
	prose := strings.Join(strings.Fields(c.Text()), " ") // a phrase may span two lines
	for pattern, cure := range padded {
		if phrase := pattern.FindString(prose); phrase != "" {
			out = append(out, "\""+phrase+"\": "+cure)
		}
	}
	return out
}

var (
	fileName  = regexp.MustCompile(`[\w/-]+\.(go|md|sh)\b`)
	beginning = regexp.MustCompile(`\b(Open|Start from)\s`)
)

// TestFirstFiles: each top-level folder with Go code has a doc.go that says where to begin, and files named in package comments exist.
func TestFirstFiles(t *testing.T) {
	begins := map[string]bool{}
	for _, f := range sources(t) {
		if f.pkg != "" {
			top, _, _ := strings.Cut(f.pkg, "/")
			if _, seen := begins[top]; !seen {
				begins[top] = false
			}
		}
		if f.file.Doc == nil {
			continue
		}
		text := f.file.Doc.Text()
		if f.path == f.pkg+"/doc.go" && beginning.MatchString(text) {
			begins[f.pkg] = true
		}
		for _, name := range fileName.FindAllString(text, -1) {
			_, inFolder := os.Stat(filepath.Join("../..", f.pkg, name))
			_, fromRoot := os.Stat(filepath.Join("../..", name))
			if inFolder != nil && fromRoot != nil {
				t.Errorf("%s: the package comment names %s, which is not there", f.path, name)
			}
		}
	}
	for folder, ok := range begins {
		if !ok && !strings.Contains(folder, "/") {
			t.Errorf("%s has no doc.go that says where to begin", folder)
		}
	}
}

func TestPaddedComments(t *testing.T) {
	for text, want := range map[string]int{
		"// Target is what a deletion takes.":       1,
		"// Parts are\n// what a table is made of.": 1,
		"// It says what a deletion takes.":         0,
		"// Target is the documents of a deletion.": 0,
	} {
		var c ast.CommentGroup
		for line := range strings.Lines(text) {
			c.List = append(c.List, &ast.Comment{Text: strings.TrimRight(line, "\n")})
		}
		if got := paddedIn(&c); len(got) != want {
			t.Errorf("%q: %q, want %d", text, got, want)
		}
	}
}
