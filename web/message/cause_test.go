package message

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"concordat/store"
)

// details returns package extract's literal messages about files, with numbered placeholders in place of their verbs.
func details(t *testing.T) (out []string) {
	files, err := filepath.Glob("../../extract/*.go")
	more, err2 := filepath.Glob("../../extract/sandbox/*.go")
	if err != nil || err2 != nil || len(files) == 0 || len(more) == 0 {
		t.Fatal(err, err2, len(files), len(more))
	}
	verb := regexp.MustCompile(`%d`)
	text := func(e ast.Expr) string { // from a literal, or from a format that takes only numbers
		if call, ok := e.(*ast.CallExpr); ok && len(call.Args) > 0 {
			e = call.Args[0]
		}
		lit, ok := e.(*ast.BasicLit)
		if !ok {
			return ""
		}
		s, err := strconv.Unquote(lit.Value)
		if s = verb.ReplaceAllString(s, "7"); err != nil || strings.Contains(s, "%") {
			return ""
		}
		return s
	}
	for _, name := range append(files, more...) {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				kind := ""
				switch of := n.Type.(type) {
				case *ast.Ident:
					kind = of.Name
				case *ast.SelectorExpr:
					kind = of.Sel.Name
				}
				for _, e := range n.Elts {
					if kv, ok := e.(*ast.KeyValueExpr); ok && kind == "Error" && kv.Key.(*ast.Ident).Name == "Detail" {
						out = append(out, text(kv.Value))
					}
				}
			case *ast.CallExpr:
				name := ""
				switch of := n.Fun.(type) {
				case *ast.Ident:
					name = of.Name
				case *ast.SelectorExpr:
					name = of.Sel.Name
				}
				if (name == "limitError" || name == "LimitError") && len(n.Args) == 3 && text(n.Args[0]) != "" && text(n.Args[2]) != "" {
					out = append(out, text(n.Args[0])+": "+text(n.Args[2]))
				}
			}
			return true
		})
	}
	return out
}

// TestDetailsAreTranslated: each message about an unreadable file is translated into every language, with its placeholders in place.
func TestDetailsAreTranslated(t *testing.T) {
	all := details(t)
	n := 0
	for _, l := range Languages()[1:] {
		for _, d := range all {
			if d == "" {
				continue
			}
			n++
			if l.detail(d) == d {
				t.Errorf("%s has no words for %q", l, d)
			}
		}
	}
	if n < 100 {
		t.Errorf("%d details: more are in package extract", n)
	}
	cause := store.Cause{Code: "limit", Detail: "archive entries: found 12, limit 10 in total"}
	if got, want := Language("de").Cause(cause), "Einträge des Archivs: hier 12, Grenze insgesamt 10"; !strings.Contains(got, want) {
		t.Errorf("%q, want %q in it", got, want)
	}
	if got := Language("de").detail("zip: odd header"); got != "zip: odd header" {
		t.Errorf("words of others become %q", got)
	}
}
