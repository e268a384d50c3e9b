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
	"time"

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

// TestCauses: each cause is explained, and faults of the site are distinguished from faults of a file.
func TestCauses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cause store.Cause
		want  string
		fault bool // a fault of the site
	}{
		{store.Cause{Code: "encrypted", Detail: "it wants a password", Advice: "remove the password and submit it again"},
			"The file is encrypted: it wants a password. Remove the password and submit the file again.", false},
		{store.Cause{Code: "no_text_layer", Advice: "run OCR"}, "The pages are images without text. Run character", false},
		{store.Cause{Code: store.CauseLimit, Detail: "unpacked size: 600 MiB",
			Advice: "raise extract.max_unpacked (CONCORDAT_EXTRACT_MAX_UNPACKED) to it"},
			"ask the administrator: raise extract.max_unpacked (CONCORDAT_EXTRACT_MAX_UNPACKED) to it.", false},
		{store.Cause{Code: store.CauseCancelled, Who: "eve"}, "Cancelled by eve.", false},
		{store.Cause{Code: store.CauseDeleted}, "Deleted.", false},
		{(&store.QuotaUsed{Charge: store.Charge{Kind: "documents", Amount: 9, Most: 5}, Left: 5}).Cause(),
			"Quota of documents in 24 hours: this needs 9, but the maximum is 5.", false},
		{(&store.QuotaUsed{Charge: store.Charge{Kind: "bytes", Amount: 2, Most: 5}, Left: 1, Retry: time.Unix(60, 0)}).Cause(),
			"Quota of bytes in 24 hours: 1 of 5 left; try again at 1970-01-01 00:01 UTC.", false},
		{store.Cause{Code: store.CauseSplit, Numbers: []int{3}}, "3 checks", true},
		{store.Cause{Code: store.CauseAdded, Numbers: []int{1, 2, 0, 4}}, "1 new, 2 replaced, 0 unchanged; 4 could not", true},
		{store.Cause{Code: store.CauseUnread, Numbers: []int{1, 6}}, "1 of 6 documents could not be read.", true},
		{store.Cause{Code: store.CauseGivenUp, Numbers: []int{3}}, "abandoned after 3 attempts that ended without a result. The program crashed",
			true},
		{store.Cause{Code: store.CauseFault, Detail: "the program failed"}, "Tell the administrator", true},
		{store.Cause{Code: store.CauseCrashed}, "crashed the program", true},
		{store.Cause{Detail: "something else: happened"}, "something else: happened", true},
		{store.Cause{Code: "of a later version", Detail: "x"}, "of a later version: x", true},
		{store.Cause{Detail: "cancelled by eve"}, "cancelled by eve", true}, // text without a code is never interpreted
	} {
		if got := English.Cause(c.cause); !strings.Contains(got, c.want) {
			t.Errorf("%q: got %q, want %q", c.cause, got, c.want)
		}
		if got := IsSiteFault(c.cause); got != c.fault {
			t.Errorf("%q is a fault of the site: %v", c.cause, got)
		}
	}
	if got := English.Cause(store.Cause{}); got != "" {
		t.Errorf("no cause is %q", got)
	}
	empty := store.Cause{Code: store.CauseEmpty, Detail: "no byte"}
	if got := Language("zh-Hans").Cause(empty); !strings.HasPrefix(got, "文件为空：no byte。请提交") {
		t.Errorf("got %q", got)
	}
}
