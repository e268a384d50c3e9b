package layers

import (
	"bytes"
	"go/ast"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const (
	maxReached   = 60  // maximum number of methods callable on one value, including methods of embedded types
	maxInterface = 8   // maximum number of methods of an interface, including embedded ones
	leastTested  = 0.1 // minimum ratio of lines of tests and scripts to code lines in a folder with at least largeFolder lines
	largeFolder  = 1000
)

// TestReach: no value is a hub. Each value and each interface has few enough methods to know them all.
func TestReach(t *testing.T) {
	types := typesOf(sources(t))
	check := func(name, what string, n, most int) {
		if n > most {
			t.Errorf("%s: %d methods %s, at most %d", name, n, what, most)
		}
	}
	for name, d := range types {
		if strings.HasPrefix(name, "internal/") {
			continue // tests share this whole site in one value
		}
		methods := map[string]bool{}
		d.collect(types, methods, map[string]bool{})
		if d.isInterface {
			check(name, "in an interface", len(methods), maxInterface)
		} else {
			check(name, "can be called on one value", len(methods), maxReached)
		}
	}
}

// declared is a type with its methods and embedded types, each as FOLDER.NAME.
type declared struct {
	isInterface bool
	methods     []string
	embeds      []string
}

// collect adds the names of all methods callable on a value of the type.
func (d *declared) collect(types map[string]*declared, methods, seen map[string]bool) {
	for _, m := range d.methods {
		methods[m] = true
	}
	for _, e := range d.embeds {
		if of := types[e]; of != nil && !seen[e] {
			seen[e] = true
			of.collect(types, methods, seen)
		}
	}
}

// typesOf returns the product's types by FOLDER.NAME.
func typesOf(all []source) map[string]*declared {
	out := map[string]*declared{}
	of := func(name string) *declared {
		if out[name] == nil {
			out[name] = &declared{}
		}
		return out[name]
	}
	for _, f := range all {
		named := func(x ast.Expr) string {
			if star, ok := x.(*ast.StarExpr); ok {
				x = star.X
			}
			switch x := x.(type) {
			case *ast.Ident:
				return f.pkg + "." + x.Name
			case *ast.SelectorExpr:
				if pkg, ok := x.X.(*ast.Ident); ok {
					for _, i := range f.imports {
						if folder, own := strings.CutPrefix(i, "concordat/"); own && filepath.Base(folder) == pkg.Name {
							return folder + "." + x.Sel.Name
						}
					}
				}
			}
			return ""
		}
		for _, d := range f.file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil {
				d := of(f.pkg + "." + receiver(fn.Recv.List[0].Type))
				d.methods = append(d.methods, fn.Name.Name)
			}
			gen, ok := d.(*ast.GenDecl)
			if !ok {
				continue
			}
			for _, spec := range gen.Specs {
				ts, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				d := of(f.pkg + "." + ts.Name.Name)
				var fields []*ast.Field
				switch x := ts.Type.(type) {
				case *ast.StructType:
					fields = x.Fields.List
				case *ast.InterfaceType:
					d.isInterface, fields = true, x.Methods.List
				}
				for _, field := range fields {
					if len(field.Names) == 0 {
						d.embeds = append(d.embeds, named(field.Type))
					} else if d.isInterface {
						for _, n := range field.Names {
							d.methods = append(d.methods, n.Name)
						}
					}
				}
			}
		}
	}
	return out
}

// TestTestsBesideCode: a large folder has its own tests.
func TestTestsBesideCode(t *testing.T) {
	length := func(path string) int {
		text, err := os.ReadFile(filepath.Join("../..", path))
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(path, ".txtar") {
			text, _, _ = bytes.Cut(text, []byte("\n-- ")) // a script's files are not tests
		}
		return bytes.Count(text, []byte{'\n'})
	}
	lines := map[string]int{}
	for _, f := range sources(t) {
		lines[f.pkg] += length(f.path)
	}
	for _, f := range sourcesBelow(t, "../../lab") {
		lines[path.Join("lab", f.pkg)] += length("lab/" + f.path)
	}
	for pkg, n := range lines {
		tests := 0
		for _, pattern := range []string{"*_test.go", "testdata/script/*.txtar"} {
			files, err := filepath.Glob(filepath.Join("../..", pkg, pattern))
			if err != nil {
				t.Fatal(err)
			}
			for _, file := range files {
				tests += length(strings.TrimPrefix(filepath.ToSlash(file), "../../"))
			}
		}
		forTests := strings.HasPrefix(pkg, "internal/")
		if n >= largeFolder && float64(tests) < leastTested*float64(n) && !forTests {
			t.Errorf("%s: %d lines, %d of tests beside them, want %.0f", pkg, n, tests, leastTested*float64(n))
		}
	}
}

// TestFolders: each top-level folder describes its contents.
func TestFolders(t *testing.T) {
	top := map[string]bool{}
	for _, f := range sources(t) {
		if first, _, _ := strings.Cut(f.pkg, "/"); first != "" {
			top[first] = true
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

// goFile matches the name of a Go file.
var goFile = regexp.MustCompile(`\b[a-z_]+\.go\b`)

// receiver returns the type name of a method's receiver.
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
