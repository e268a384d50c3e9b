package layers

import (
	"go/ast"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// maxRuleFiles is the maximum number of Go files and templates that may name one rule: its row in the table, and where it is applied.
const maxRuleFiles = 4

// TestRuleFiles: a rule for what counts is declared in one file, and no command, page, API or configuration names it. A file names
// it by its field, its name in JSON, its flag or its label.
func TestRuleFiles(t *testing.T) {
	all := sources(t)
	fields := map[string][]string{} // names of each rule, by field of report.Rules
	for _, f := range all {
		if f.path != "report/rules.go" {
			continue
		}
		ast.Inspect(f.file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok || spec.Name.Name != "Rules" {
				return true
			}
			for _, field := range spec.Type.(*ast.StructType).Fields.List {
				raw, err := strconv.Unquote(field.Tag.Value)
				if err != nil {
					t.Fatal(err)
				}
				if tag := reflect.StructTag(raw); tag.Get("flag") != "" {
					name, _, _ := strings.Cut(tag.Get("json"), ",")
					fields[field.Names[0].Name] = []string{name, tag.Get("flag"), tag.Get("label"), "--" + tag.Get("flag"), "report." + name}
				}
			}
			return false
		})
	}
	if len(fields) < 11 {
		t.Fatalf("%d rules were found", len(fields))
	}
	files := map[string][]string{}
	note := func(field, path string) {
		if !slices.Contains(files[field], path) {
			files[field] = append(files[field], path)
		}
	}
	for _, f := range all {
		if strings.HasPrefix(f.pkg, "internal/") {
			continue // for tests
		}
		ast.Inspect(f.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				if fields[n.Name] != nil {
					note(n.Name, f.path)
				}
			case *ast.BasicLit:
				text, err := strconv.Unquote(n.Value)
				for field, texts := range fields {
					if err == nil && slices.Contains(texts, text) {
						note(field, f.path)
					}
				}
			}
			return true
		})
	}
	templates, err := filepath.Glob("../../web/templates/*.html")
	if err != nil || len(templates) < 20 {
		t.Fatalf("%d templates (%v)", len(templates), err)
	}
	for _, path := range templates {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for field, texts := range fields {
			if strings.Contains(string(text), field) || strings.Contains(string(text), texts[2]) {
				note(field, path)
			}
		}
	}
	for field, named := range files {
		if len(named) > maxRuleFiles {
			t.Errorf("%s is named in %d files, at most %d: %s", field, len(named), maxRuleFiles, strings.Join(named, ", "))
		}
	}
}
