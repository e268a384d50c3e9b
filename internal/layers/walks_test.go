package layers

import (
	"go/ast"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A walk is a figure in doc/develop.md whose boxes are functions, as FOLDER.NAME, and whose arrows show how one reaches the next: --> by
// a call within the package or to an imported one, -.-> through an interface, ==> by a message between machines.
type walk struct {
	title  string
	boxes  map[string]box
	arrows []arrow
}

type box struct{ pkg, name string }

type arrow struct{ from, kind, to string }

var (
	boxForm   = regexp.MustCompile(`^\s*([a-z]+[0-9]*)\["([^"]+)"\]\s*$`)
	arrowForm = regexp.MustCompile(`^\s*([a-z]+[0-9]*) (-->|-\.->|==>)(?:\|[^|]*\|)? ([a-z]+[0-9]*)\s*$`)
	pathForm  = regexp.MustCompile(`^([a-z][a-z/-]*)\.([A-Za-z]\w*)$`)
)

// walks reads the figures in doc/develop.md under a heading "A ...".
func walks(t *testing.T) (out []*walk) {
	t.Helper()
	text, err := os.ReadFile("../../doc/develop.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(text), "\n## ")[1:] {
		title, rest, _ := strings.Cut(part, "\n")
		if !strings.HasPrefix(title, "A ") || !strings.Contains(rest, "```mermaid\n") {
			continue
		}
		_, figure, _ := strings.Cut(rest, "```mermaid\n")
		figure, _, _ = strings.Cut(figure, "```")
		w := &walk{title: title, boxes: map[string]box{}}
		for line := range strings.Lines(figure) {
			switch line = strings.TrimRight(line, "\n"); {
			case strings.HasPrefix(line, "flowchart "):
			case boxForm.MatchString(line):
				m := boxForm.FindStringSubmatch(line)
				path, _, _ := strings.Cut(m[2], "<br/>")
				p := pathForm.FindStringSubmatch(path)
				if p == nil {
					t.Errorf("%s: box %q names no function", title, m[2])
					continue
				}
				w.boxes[m[1]] = box{p[1], p[2]}
			case arrowForm.MatchString(line):
				m := arrowForm.FindStringSubmatch(line)
				w.arrows = append(w.arrows, arrow{m[1], m[2], m[3]})
			default:
				t.Errorf("%s: line %q is neither a box nor an arrow", title, line)
			}
		}
		out = append(out, w)
	}
	return out
}

// bodies are the functions of a package by name; methods of the same name on several types are together.
type bodies map[string][]*ast.FuncDecl

// reaches reports whether the function names the other one, in its own body or in the body of a function that it reaches within the
// package.
func (b bodies) reaches(from, to string) bool {
	seen, next := map[string]bool{from: true}, []string{from}
	for len(next) > 0 {
		name := next[0]
		next = next[1:]
		for _, f := range b[name] {
			found := false
			ast.Inspect(f, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				if !ok || id == f.Name {
					return true
				}
				found = found || id.Name == to
				if b[id.Name] != nil && !seen[id.Name] {
					seen[id.Name] = true
					next = append(next, id.Name)
				}
				return true
			})
			if found {
				return true
			}
		}
	}
	return false
}

// TestWalks: the functions in the walks in doc/develop.md exist, and each reaches the next as its arrow shows.
func TestWalks(t *testing.T) {
	functions, imports := map[string]bodies{}, map[string][]string{}
	for _, f := range sources(t) {
		for _, imp := range f.imports {
			if own, ok := ownPackage(t, imp); ok {
				imports[f.pkg] = append(imports[f.pkg], own)
			}
		}
		if functions[f.pkg] == nil {
			functions[f.pkg] = bodies{}
		}
		for _, d := range f.file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
				functions[f.pkg][fn.Name.Name] = append(functions[f.pkg][fn.Name.Name], fn)
			}
		}
	}
	all := walks(t)
	if len(all) != 4 {
		t.Errorf("%d walks, want a document, a check, a question, a write", len(all))
	}
	for _, w := range all {
		for _, b := range w.boxes {
			if functions[b.pkg][b.name] == nil {
				t.Errorf("%s: %s has no function %s", w.title, b.pkg, b.name)
			}
		}
		for _, a := range w.arrows {
			from, to := w.boxes[a.from], w.boxes[a.to]
			switch {
			case from.pkg == "" || to.pkg == "":
				t.Errorf("%s: an arrow from %s to %s, one of which is no box", w.title, a.from, a.to)
			case a.kind == "==>":
			case a.kind == "-->" && from.pkg != to.pkg && !slices.Contains(imports[from.pkg], to.pkg):
				t.Errorf("%s: %s does not import %s", w.title, from.pkg, to.pkg)
			case a.kind == "-.->" && slices.Contains(imports[from.pkg], to.pkg):
				t.Errorf("%s: %s imports %s, so the arrow to it is -->", w.title, from.pkg, to.pkg)
			case !functions[from.pkg].reaches(from.name, to.name):
				t.Errorf("%s: %s.%s does not reach %s.%s", w.title, from.pkg, from.name, to.pkg, to.name)
			}
		}
	}
}
