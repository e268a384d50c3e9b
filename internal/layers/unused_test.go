package layers

import (
	"go/ast"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// forOthers are packages whose exported names are for other people's programs, and packages for tests.
var forOthers = []string{"client", "internal/", "report/internal/"}

const (
	ofLibrary = "a library or the standard library calls it"
	ofTests   = "tests of several packages use it"
	ofFormat  = "a value of a format, which others may send"
)

// called are names that the project's code need not mention, with the reason.
var called = map[string]string{
	"AddIDField": ofLibrary, "Analyze": ofLibrary, "AnalyzedLength": ofLibrary, "AnalyzedTokenFrequencies": ofLibrary,
	"ArrayPositions": ofLibrary, "EncodedFieldType": ofLibrary, "HasComposite": ofLibrary, "NumPlainTextBytes": ofLibrary,
	"StoredFieldsBytes": ofLibrary, "VisitComposite": ofLibrary, "VisitFields": ofLibrary, // for bleve's document
	"Connected": ofLibrary, // called by the ZooKeeper client
	"GoString":  ofLibrary, "LogValue": ofLibrary, "MarshalJSON": ofLibrary, "MarshalText": ofLibrary, "ReadFrom": ofLibrary,
	"TransformSchema": ofLibrary, // for huma
	"AppendCardAsk":   ofFormat, "StatePending": ofFormat, "StateRevoked": ofFormat, "TypeBlindEvaluate": ofFormat,
	"TypeBlindEvaluated": ofFormat,
	"HeadSize":           "the length of a format, which federation/wire names",
	"FingerprintOf":      ofTests, "ModEstimates": ofTests, "ParsePending": ofTests, "PlaceAt": ofTests, "ReadTruth": ofTests,
}

var word = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// TestExportedNamesAreUsed: each exported function, method, type, constant and variable is named outside its declaration, in
// code other than tests, including the lab's, or in a template. It compares bare names, so it misses some unused ones but never
// reports one that is used.
func TestExportedNamesAreUsed(t *testing.T) {
	declared, named := map[string][]string{}, map[string]int{}
	for _, f := range sources(t) {
		others := slices.ContainsFunc(forOthers, func(p string) bool { return strings.HasPrefix(f.pkg+"/", p) || f.pkg == p })
		own := map[*ast.Ident]bool{}
		declare := func(id *ast.Ident) {
			own[id] = true
			if id.IsExported() && !others {
				declared[id.Name] = append(declared[id.Name], f.path)
			}
		}
		for _, d := range f.file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				declare(d.Name)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						declare(s.Name)
					case *ast.ValueSpec:
						for _, id := range s.Names {
							declare(id)
						}
					}
				}
			}
		}
		ast.Inspect(f.file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok && !own[id] {
				named[id.Name]++
			}
			return true
		})
	}
	for _, f := range sourcesBelow(t, "../../lab") {
		ast.Inspect(f.file, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				named[id.Name]++
			}
			return true
		})
	}
	for name := range templateWords(t) {
		named[name]++
	}
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		if named[name] == 0 && called[name] == "" {
			t.Errorf("nobody uses %s of %s", name, strings.Join(declared[name], ", "))
		}
	}
	for name := range called {
		if declared[name] == nil || named[name] > 0 {
			t.Errorf("%s needs no exception", name)
		}
	}
}

// templateWords returns the words of all templates of pages and reports.
func templateWords(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".html" && filepath.Ext(path) != ".tmpl" || strings.Contains(path, "testdata") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, w := range word.FindAllString(string(text), -1) {
			out[w] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
