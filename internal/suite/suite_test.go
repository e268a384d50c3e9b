package suite

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestRunning: each part runs the tests that it should.
func TestRunning(t *testing.T) {
	for _, c := range []struct {
		value  string
		rounds int
		rest   bool
	}{{"", 3, false}, {"rest", 10, true}, {"all", 10, true}, {"other", 3, false}} {
		t.Run(c.value, func(t *testing.T) {
			t.Setenv(Variable, c.value)
			if got := Rounds(3, 10); got != c.rounds {
				t.Errorf("%d rounds, want %d", got, c.rounds)
			}
			ran := false
			t.Run("rest", func(t *testing.T) {
				Rest(t, "an example")
				ran = true
			})
			if want := c.rest && !testing.Short(); ran != want {
				t.Errorf("a test of the rest ran: %v, want %v", ran, want)
			}
		})
	}
}

// TestFound: make rest runs exactly the tests that call this package, and all of them are found. If the call were in another function, no
// part would run the test.
func TestFound(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "deploy/test.sh", "list")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("deploy/test.sh list: %v", err)
	}
	var want []string
	fset := token.NewFileSet()
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "suite" || d.Name() == ".git" || d.Name() == "testdata") {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(b, []byte(`/internal/suite"`)) && !bytes.Contains(b, []byte(`/internal/scripttest"`)) {
			return err
		}
		f, err := parser.ParseFile(fset, path, b, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			ast.Inspect(decl, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok || !marks(call.Fun) {
					return true
				}
				fn, _ := decl.(*ast.FuncDecl)
				if fn == nil || fn.Recv != nil || !strings.HasPrefix(fn.Name.Name, "Test") || !strings.HasSuffix(path, "_test.go") {
					t.Errorf("%s: a call of this package stands outside of a test", fset.Position(call.Pos()))
					return true
				}
				dir, err := filepath.Rel(root, filepath.Dir(path))
				if err != nil {
					t.Fatal(err)
				}
				want = append(want, "./"+filepath.ToSlash(dir)+" "+fn.Name.Name)
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(want)
	want = slices.Compact(want)
	got := strings.Split(strings.TrimSpace(string(out)), "\n")
	slices.Sort(got)
	if !slices.Equal(got, want) || len(want) == 0 {
		t.Errorf("deploy/test.sh list prints\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// marks reports whether a call assigns its test to make rest.
func marks(fun ast.Expr) bool {
	s, ok := fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && (x.Name == "suite" && (s.Sel.Name == "Rest" || s.Sel.Name == "Rounds") || x.Name == "scripttest" && s.Sel.Name == "Run")
}
