package web_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"testing"
)

// unchanging are the actions that the method Audit may record because they change nothing or were refused.
var unchanging = map[string]bool{"audit_verified": true, "audit_exported": true, "request_read": true, "batch_read": true,
	"report_read": true, "original_read": true, "password_refused": true, "login": true, "lti_launch": true}

// TestAuditedWithTheChange: a crash between a change and its audit entry could lose the entry if it were written afterwards. A change is
// therefore recorded in its own transaction, and the method Audit records only actions that change nothing.
func TestAuditedWithTheChange(t *testing.T) {
	t.Parallel()
	found := 0
	for _, path := range handlerFiles(t) {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) != 4 {
				return true
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); !ok || sel.Sel.Name != "Audit" {
				return true
			}
			found++
			action := ""
			if lit, ok := call.Args[2].(*ast.BasicLit); ok {
				action, _ = strconv.Unquote(lit.Value)
			}
			if !unchanging[action] {
				t.Errorf("%s: %q is noted beside the change, not with it", path, action)
			}
			refused := false
			ast.Inspect(call.Args[3], func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				refused = refused || ok && id.Name == "false"
				return true
			})
			if (action == "login" || action == "lti_launch") && !refused {
				t.Errorf("%s: a session of %q is noted beside the change, not with it", path, action)
			}
			return true
		})
	}
	if found == 0 {
		t.Error("no call of Audit is found")
	}
}
