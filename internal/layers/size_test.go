package layers

import (
	"bytes"
	"go/ast"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	maxFiles   = 50  // of a folder, tests apart
	maxMethods = 120 // declared on one type
	maxLines   = 500 // of a file that is no test
)

// flat are the folders that may hold more files. Each file of extract is one format.
var flat = map[string]bool{"extract": true}

// TestSize: no folder, no file and no type is so large that nobody finds a thing in it, and each folder at the top says what is in
// it.
func TestSize(t *testing.T) {
	files, top := map[string]int{}, map[string]bool{}
	methods := map[[2]string]int{} // by package and type
	for _, f := range sources(t) {
		files[f.pkg]++
		if text, err := os.ReadFile(filepath.Join("../..", f.path)); err != nil || bytes.Count(text, []byte{'\n'}) > maxLines {
			t.Errorf("%s has %d lines, at most %d (%v)", f.path, bytes.Count(text, []byte{'\n'}), maxLines, err)
		}
		if first, _, _ := strings.Cut(f.pkg, "/"); first != "" {
			top[first] = true
		}
		for _, d := range f.file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				methods[[2]string{f.pkg, receiver(fn.Recv.List[0].Type)}]++
			}
		}
	}
	for pkg, n := range files {
		if n > maxFiles && !flat[pkg] {
			t.Errorf("folder %q has %d files, at most %d", pkg, n, maxFiles)
		}
	}
	for of, n := range methods {
		if n > maxMethods {
			t.Errorf("type %s of %q has %d methods, at most %d", of[1], of[0], n, maxMethods)
		}
	}
	for dir := range top {
		said, err := os.ReadFile(filepath.Join("../..", dir, "doc.go"))
		if err != nil {
			t.Errorf("folder %s does not say what is in it: %v", dir, err)
		}
		for _, name := range goFile.FindAllString(string(said), -1) {
			if inFolder, err := filepath.Glob(filepath.Join("../..", dir, "*", name)); err == nil && len(inFolder) > 0 {
				continue
			}
			if _, err := os.Stat(filepath.Join("../..", dir, name)); err != nil {
				t.Errorf("%s/doc.go names a file that is not there: %v", dir, err)
			}
		}
	}
}

// goFile is the name of a file of Go.
var goFile = regexp.MustCompile(`\b[a-z_]+\.go\b`)

// receiver returns the name of the type of a method.
func receiver(x ast.Expr) string {
	switch x := x.(type) {
	case *ast.StarExpr:
		return receiver(x.X)
	case *ast.IndexExpr:
		return receiver(x.X)
	case *ast.IndexListExpr:
		return receiver(x.X)
	case *ast.Ident:
		return x.Name
	}
	return ""
}
