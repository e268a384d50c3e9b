package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestClimbs: a question between sites goes up exactly twice. In the figure of doc/develop.md, an arrow between packages goes up if it
// ends on a higher floor. Only a call through an interface can do that, and two packages are reached this way. Within site/answer, an
// arrow would go up if two files called each other, directly or through others; none do.
func TestClimbs(t *testing.T) {
	const most = 2
	floor := floors(t)
	up := map[string]bool{}
	for _, w := range walks(t) {
		if w.title != "A question between sites" {
			continue
		}
		for _, a := range w.arrows {
			from, to := w.boxes[a.from].pkg, w.boxes[a.to].pkg
			if a.kind != "==>" && floor[to] > floor[from] {
				up[from+" to "+to] = true
			}
		}
	}
	if len(up) == 0 || len(up) > most {
		t.Errorf("the question goes up %d times, want 1 to %d: %v", len(up), most, up)
	}
	for _, begin := range []string{"Answer", "AnswerOutline", "AnswerEdges", "AnswerReveal", "AnswerShip", "AnswerLeads"} {
		if circle := fileCircle(fileCalls(t, "../../site/answer", begin)); circle != nil {
			t.Errorf("site/answer, from %s on: files call each other in a circle: %s", begin, strings.Join(circle, ", "))
		}
	}
}

// fileCalls returns, for each file of a package, the other files whose functions are called on the way from a method.
// It does not read other packages, so it misses calls on values that they return.
func fileCalls(t *testing.T, dir, method string) map[string][]string {
	t.Helper()
	set := token.NewFileSet()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	var files []*ast.File
	for _, p := range paths {
		if strings.HasSuffix(p, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(set, p, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
	check := types.Config{Importer: emptyPackages{}, Error: func(error) {}}
	_, _ = check.Check(dir, set, files, info) // errors of packages that are not read
	bodies := map[types.Object]*ast.FuncDecl{}
	var next []types.Object
	for _, f := range files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				bodies[info.Defs[fn.Name]] = fn
				if fn.Name.Name == method {
					next = append(next, info.Defs[fn.Name])
				}
			}
		}
	}
	if len(next) != 1 {
		t.Fatalf("%s has %d functions %s", dir, len(next), method)
	}
	out, seen := map[string][]string{}, map[types.Object]bool{next[0]: true}
	fileOf := func(n ast.Node) string { return filepath.Base(set.Position(n.Pos()).Filename) }
	for len(next) > 0 {
		from := bodies[next[0]]
		next = next[1:]
		ast.Inspect(from.Body, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok {
				return true
			}
			use := info.Uses[id]
			to := bodies[use]
			if to == nil {
				return true
			}
			if a, b := fileOf(from), fileOf(to); a != b && !slices.Contains(out[a], b) {
				out[a] = append(out[a], b)
			}
			if !seen[use] {
				seen[use], next = true, append(next, use)
			}
			return true
		})
	}
	return out
}

// fileCircle returns files that call each other in a circle, or nil if there are none.
func fileCircle(calls map[string][]string) []string {
	done := map[string]bool{}
	var path []string
	var visit func(file string) []string
	visit = func(file string) []string {
		if i := slices.Index(path, file); i >= 0 {
			return slices.Clone(path[i:])
		}
		if done[file] {
			return nil
		}
		path = append(path, file)
		for _, to := range slices.Sorted(slices.Values(calls[file])) {
			if c := visit(to); c != nil {
				return c
			}
		}
		path, done[file] = path[:len(path)-1], true
		return nil
	}
	for file := range calls {
		if c := visit(file); c != nil {
			return c
		}
	}
	return nil
}

// emptyPackages imports every package as if it declared nothing.
type emptyPackages struct{}

func (emptyPackages) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, path[strings.LastIndex(path, "/")+1:])
	p.MarkComplete()
	return p, nil
}
