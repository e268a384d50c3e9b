package message

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"concordat/store"
)

// actionAt maps the functions that write to the audit to the position of the action among their arguments.
var actionAt = map[string][]int{"Audit": {2, 1}, "Note": {2, 0}, "AppendAudit": {2}, "Change": {2}, "change": {2}, "audit": {2},
	"note": {3}, "noteCase": {5}, "enqueue": {5}, "alarm": {2}, "newEpoch": {5}}

// actions returns the actions that the program writes to the audit as literals.
func actions(t *testing.T) map[string]bool {
	out := map[string]bool{}
	action := regexp.MustCompile(`^[a-z]+([ _][a-z]+)*$`)
	root := os.DirFS("../..")
	for _, folder := range []string{"web", "people", "partners", "site", "instance", "cmd/concordat", "daemon"} {
		err := fs.WalkDir(root, folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			src, err := fs.ReadFile(root, path)
			if err != nil {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, src, 0)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				fun, ok := call.Fun.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				for _, at := range actionAt[fun.Sel.Name] {
					if at >= len(call.Args) {
						continue
					}
					if lit, ok := call.Args[at].(*ast.BasicLit); ok {
						if s, err := strconv.Unquote(lit.Value); err == nil && action.MatchString(s) {
							out[s] = true
							break
						}
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestActionsAreTranslated: the audit page has a translation of every action that the program writes to the audit.
func TestActionsAreTranslated(t *testing.T) {
	all := actions(t)
	if len(all) < 80 {
		t.Errorf("%d actions found: there are more", len(all))
	}
	for _, kind := range []store.ReviewKind{store.ReviewComment, store.ReviewVerdict, store.ReviewSignOff, store.ReviewAssign,
		store.ReviewDue} {
		all["review_"+string(kind)] = true
	}
	for _, change := range []store.AlertChange{store.AlertRead, store.AlertHandle, store.AlertReopen} {
		all["alert_"+string(change)] = true
	}
	for _, l := range Languages() {
		for a := range all {
			if l.Action(a) == a {
				t.Errorf("%s has no words for %q", l, a)
			}
		}
	}
	if got := English.Action("of another version"); got != "of another version" {
		t.Errorf("an action without words becomes %q", got)
	}
}
