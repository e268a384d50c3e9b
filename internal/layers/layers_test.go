package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"golang.org/x/mod/modfile"
)

// allowed lists, for each package, the project packages that it may import besides its own internal packages.
var allowed = map[string][]string{
	"":                {},
	"segment/spaced":  {},
	"segment":         {"segment/spaced", "segment/runetab"},
	"segment/runetab": {},
	"extract":         {"", "segment/spaced"},

	"align/wording/stock": {""},

	"minhash":            {""},
	"simhash":            {""},
	"meaning":            {""},
	"meaning/fit":        {"", "meaning"},
	"index/encoded":      {"", "index", "meaning"},
	"meaning/remote":     {},
	"meaning/managed":    {"meaning/remote"},
	"index":              {""},
	"index/internal/fst": {},
	"store":              {"", "store/engine"},
	"store/engine":       {""},
	"instance/config":    {"", "crypto", "meaning/remote", "report", "report/language"},
	"instance/backup":    {"", "crypto"},
	"report":             {"", "report/language"},
	"report/language":    {},
	"report/html":        {"", "report"},
	"report/pdf":         {"", "report"},
	"align":              {"", "segment"},
	"profile":            {"", "segment", "minhash", "simhash", "meaning"},
	"extract/sandbox":    {"", "extract"},
	"cluster":            {"", "index", "cluster/coord", "cluster/local", "cluster/replica", "cluster/wal"},
	"cluster/coord":      {""},
	"cluster/local":      {"", "cluster/coord"},
	"cluster/wal":        {""},
	"cluster/zk":         {"", "cluster/coord"},
	"cluster/replica":    {"cluster/coord", "cluster/wal"},
	"screen":             {"", "segment", "minhash", "simhash"},
	"screen/stage":       {"minhash", "screen", "segment"},
	"federation":         {"", "crypto", "federation/wire", "webhook/outbound"},
	"federation/wire":    {""},
	"people":             {"", "store"},
	"web": {"", "harvest/fetch", "people", "report", "report/html", "site", "site/answer", "site/ask", "site/batch", "site/retain", "store",
		"web/bounds", "web/limit", "web/message", "web/pages", "web/pages/accounts", "web/pages/admin", "web/pages/alerts",
		"web/pages/batches", "web/pages/cases", "web/pages/checks", "web/pages/deletions", "web/pages/harvests", "web/pages/hooks",
		"web/pages/intake", "web/pages/libraries", "web/pages/partners", "web/pages/reports", "web/pages/requests", "web/pages/settings",
		"web/pages/shares", "web/passwords", "web/progress", "web/review", "web/session", "web/static"},
	"web/review":   {"", "report", "site", "site/batch", "store", "web/message", "web/pages", "web/pages/deletions", "web/pages/libraries"},
	"web/progress": {"", "site", "store", "web/limit", "web/message", "web/pages"},
	"web/session":  {"", "people", "store", "web/limit", "web/pages", "web/passwords"},
	"web/pages":    {"", "report", "store", "web/message"},
	"web/pages/accounts": {"", "people", "site/retain", "store", "view", "web/limit", "web/message", "web/pages", "web/pages/settings",
		"web/passwords", "web/session", "webhook/outbound"},
	"web/pages/admin":    {"", "site", "site/answer", "store", "web/message", "web/pages"},
	"web/pages/alerts":   {"", "site", "site/ask", "store", "view", "web/message", "web/pages"},
	"web/pages/requests": {"", "report", "site", "site/answer", "site/ask", "store", "web/message", "web/pages", "web/review"},
	"web/pages/reports": {"", "report", "report/html", "report/pdf", "site", "store", "web/bounds", "web/message", "web/pages",
		"web/pages/alerts", "web/pages/batches", "web/pages/checks", "web/pages/requests", "web/progress", "web/review", "web/static"},
	"web/pages/batches": {"", "report", "report/html", "screen", "site", "site/batch", "store", "web/message", "web/pages",
		"web/pages/deletions", "web/progress", "web/review"},
	"web/pages/checks": {"", "site", "store", "view", "web/message", "web/pages", "web/pages/admin", "web/pages/deletions",
		"web/pages/settings", "web/progress", "web/review"},
	"web/pages/settings": {"", "report", "store", "view", "web/message", "web/pages"},
	"web/pages/cases":    {"", "site", "site/retain", "store", "view", "web/message", "web/pages"},
	"web/pages/harvests": {"", "harvest", "harvest/fetch", "store", "view", "web/message", "web/pages"},
	"web/pages/libraries": {"", "people", "site", "site/retain", "store", "view", "web/message", "web/pages", "web/pages/deletions",
		"web/pages/shares", "web/progress"},
	"web/pages/intake": {"", "people", "report", "site", "site/batch", "site/retain", "store", "web/limit", "web/message", "web/pages",
		"web/pages/batches", "web/pages/checks", "web/pages/deletions", "web/pages/libraries", "web/pages/settings", "web/review"},
	"web/pages/hooks":     {"", "store", "web/pages", "webhook"},
	"web/pages/deletions": {"", "site/retain", "store", "web/pages"},
	"web/pages/partners":  {"", "site/ask", "store", "web/message", "web/pages", "web/pages/shares"},
	"web/pages/shares":    {"", "site/answer", "store", "web/message", "web/pages"},
	"web/api": {"", "harvest", "people", "report", "site", "site/ask", "site/batch", "site/answer", "site/retain", "store", "view", "web",
		"web/bounds",
		"web/limit",
		"web/inbox", "web/message", "web/pages", "web/pages/accounts", "web/pages/admin", "web/pages/cases", "web/pages/checks",
		"web/pages/harvests", "web/pages/intake", "web/pages/requests", "web/pages/settings", "web/platforms", "web/progress", "web/review",
		"webhook"},
	"web/inbox": {"", "harvest", "harvest/fetch", "harvest/landing", "harvest/oai", "site", "site/compare", "store", "web",
		"web/message", "web/pages"},
	"web/platforms": {"", "report", "site", "site/compare", "store", "web", "web/lti", "web/message", "web/pages",
		"web/pages/reports", "web/session"},
	"web/bounds":       {""},
	"web/limit":        {""},
	"web/static":       {},
	"web/passwords":    {"", "people", "web/limit"},
	"web/message":      {"", "people", "report", "report/language", "site/batch", "store"},
	"webhook":          {"", "webhook/outbound", "store"},
	"client":           {"", "report"},
	"webhook/outbound": {},
	"web/lti":          {"", "webhook/outbound"},
	"site":             {"", "profile", "segment", "align", "report", "site/compare", "store", "screen"},
	"site/compare":     {"", "align", "profile", "report", "align/wording", "align/wording/stock", "meaning", "segment"},
	"site/ask":         {"", "align", "crypto", "meaning", "profile", "report", "site", "site/compare", "store", "align/wording"},
	"site/answer":      {"", "align", "crypto", "align/wording", "meaning", "profile", "report", "site", "site/compare", "store"},
	"site/batch":       {"", "align", "meaning", "report", "screen", "segment", "site", "site/compare", "store", "align/wording"},
	"site/retain":      {"", "report", "site", "site/answer", "site/batch", "store"},
	"align/wording":    {"", "segment"},
	"crypto":           {},
	"crypto/keyfile":   {"crypto"},
	"crypto/cms":       {},
	// The running site.
	"instance": {"", "instance/backup", "index/encoded", "meaning", "meaning/fit", "meaning/managed", "meaning/remote", "site/compare",
		"cluster", "cluster/coord", "cluster/local", "cluster/zk", "instance/config", "crypto",
		"crypto/keyfile",
		"extract", "extract/sandbox", "index", "web/lti", "profile", "report", "report/language", "segment", "site", "store",
		"site/answer", "site/ask", "site/compare", "site/retain"},
	"instance/signing": {"", "instance/config", "crypto", "crypto/cms", "instance", "report", "report/pdf", "store"},
	"partners": {"", "crypto", "crypto/keyfile", "federation", "federation/wire", "index", "instance", "profile", "report", "site", "store",
		"site/answer", "site/ask", "site/compare"},
	"harvest": {"", "harvest/fetch", "harvest/landing", "harvest/oai", "harvest/sitemap", "harvest/xmltree", "site", "site/compare",
		"store"},
	"harvest/fetch":   {"", "webhook/outbound"},
	"harvest/landing": {""},
	"harvest/oai":     {"", "harvest/fetch", "harvest/xmltree", "store"},
	"harvest/sitemap": {"harvest/xmltree"},
	"harvest/xmltree": {},
	"daemon": {"", "demo",
		"harvest", "harvest/fetch", "cluster", "cluster/coord", "cluster/replica", "cluster/zk", "instance/config", "crypto",
		"extract", "extract/sandbox", "federation", "instance", "instance/signing", "meaning/managed", "partners", "people", "report",
		"report/pdf", "site", "site/batch",
		"site/compare", "site/retain", "store", "view", "web", "web/api", "web/inbox", "web/pages", "web/pages/accounts", "web/pages/admin",
		"web/pages/intake", "web/pages/partners", "web/pages/reports", "web/pages/settings", "web/platforms", "web/review", "webhook"},
	// Packages shared by commands. cmd/cli may import from the product only what flags and exit codes need.
	"view":                {"", "site/batch", "store"},
	"cmd/cli":             {"", "cluster", "crypto", "instance", "instance/signing", "partners", "site/compare", "store"},
	"cmd/parallel":        {"screen"},
	"cmd/tables":          {"", "extract", "site"},
	"cmd/demo-repository": {"demo/repository"},
	"demo/repository":     {},
	"cmd/concordat/clustering": {"", "cluster", "cluster/coord", "cluster/local", "cluster/zk", "cmd/cli", "instance/config",
		"crypto",
		"crypto/keyfile", "daemon", "instance", "store", "web/pages/admin"},
	"cmd/concordat/backups": {"", "cmd/cli", "cmd/concordat/clustering", "crypto", "crypto/keyfile", "instance", "instance/backup",
		"instance/config", "store"},
	"cmd/concordat/reindexing": {"", "cluster", "cluster/coord", "cluster/zk", "cmd/cli", "cmd/concordat/clustering", "cmd/parallel", "index",
		"instance", "store"},
	"cmd/concordat/rechecking": {"", "cmd/cli", "instance", "site/batch", "store", "view"},
	"cmd/concordat/harvesting": {"", "cmd/cli", "daemon", "harvest", "instance", "store", "view"},
	"cmd/concordat/deleting":   {"", "cmd/cli", "instance", "instance/signing", "report", "site/retain", "store", "view"},
	"cmd/concordat/federating": {"", "cmd/cli", "crypto", "federation", "instance", "partners", "report", "site", "site/ask", "store",
		"view"},
	"cmd/concordat/sharing":  {"", "cmd/cli", "instance", "partners", "report", "site", "site/ask", "store", "view"},
	"cmd/concordat/alerting": {"", "cmd/cli", "instance", "partners", "report", "site", "site/retain", "store", "view"},
	"cmd/concordat/auditing": {"", "cmd/cli", "crypto", "instance", "store", "view"},
	"cmd/concordat/keys":     {"cmd/cli", "cmd/tables", "crypto", "crypto/keyfile", "instance", "partners"},
	"cmd/concordat/signin":   {"", "cmd/cli", "instance/config", "instance", "web/lti", "store", "view", "web/platforms"},
	"cmd/concordat/screening": {"", "cluster", "cmd/cli", "cmd/parallel", "instance", "minhash", "partners", "report",
		"screen", "screen/stage", "segment", "simhash", "site", "site/ask"},
	// cmd/concordat/program joins everything.
}

// outside lists modules that only some packages may import.
var outside = map[string][]string{
	"github.com/blevesearch/bleve":    {"index"},
	"github.com/go-zookeeper/zk":      {"cluster/zk"},
	"github.com/mattn/go-sqlite3":     {"store/engine"},
	"github.com/jackc/pgx":            {"store/engine", "internal/storetest"},
	"github.com/yanyiwu/gojieba":      {"segment"},
	"github.com/klippa-app/go-pdfium": {"extract"},
	"github.com/tetratelabs/wazero":   {"extract", "extract/sandbox"},
	"net/http": {"demo/repository",
		"web", "web/api", "web/inbox", "web/platforms", "web/bounds", "web/limit", "web/message", "web/pages",
		"web/pages/accounts", "web/pages/admin", "web/pages/alerts", "web/pages/batches", "web/pages/cases", "web/pages/checks",
		"web/pages/deletions", "web/pages/harvests", "web/pages/hooks", "web/pages/intake", "web/pages/libraries", "web/pages/partners",
		"web/pages/reports", "web/pages/requests", "web/pages/settings", "web/pages/shares", "web/progress", "web/session", "web/static",
		"federation", "cluster",
		"cluster/local", "web/lti", "internal/ltitest", "internal/webtest", "cmd/concordat/program", "cmd/concordat/clustering", "webhook",
		"client", "daemon", "harvest", "harvest/fetch", "instance", "meaning/remote"},
	"github.com/coreos/go-oidc":  {"web/pages/accounts"},
	"golang.org/x/oauth2":        {"web/pages/accounts"},
	"github.com/go-jose/go-jose": {"web/lti", "internal/ltitest"},
	"golang.org/x/crypto":        {"crypto", "web/passwords"},
	"filippo.io/age":             {"crypto"},
	"github.com/spf13/cobra": {"cmd/concordat/program", "cmd/cli",
		"cmd/concordat/alerting", "cmd/concordat/auditing", "cmd/concordat/backups", "cmd/concordat/clustering",
		"cmd/concordat/deleting", "cmd/concordat/federating", "cmd/concordat/harvesting", "cmd/concordat/keys",
		"cmd/concordat/rechecking", "cmd/concordat/reindexing", "cmd/concordat/screening", "cmd/concordat/sharing",
		"cmd/concordat/signin"},
	"github.com/danielgtaylor/huma/v2":  {"web", "web/api", "web/bounds"},
	"codeberg.org/go-pdf/fpdf":          {"report/pdf"},
	"github.com/smallstep/pkcs7":        {"crypto/cms"},
	"github.com/schollz/progressbar/v3": {"cmd/cli"},
	"github.com/prometheus":             {"daemon"},
}

// pure packages read no files, clock or network and start no goroutines. Each exception lists the file and the reason.
var pure = []string{"", "segment/spaced", "segment", "index/internal/fst", "minhash", "simhash", "meaning", "profile", "align",
	"align/wording", "screen", "screen/stage",
	"report", "report/html", "report/language", "report/pdf", "extract", "federation/wire", "crypto", "cluster/replica",
	"webhook/outbound", "harvest/landing", "harvest/sitemap", "harvest/xmltree"}

var impure = map[string]string{
	"segment/chinese.go": "os", // the segmenter needs its dictionaries as files, here in memory
}

// modulePath returns the module's path from go.mod.
var modulePath = sync.OnceValues(func() (string, error) {
	text, err := os.ReadFile("../../go.mod")
	return modfile.ModulePath(text), err
})

// ownPackage returns the folder of a package in this module.
func ownPackage(t *testing.T, imported string) (folder string, ok bool) {
	t.Helper()
	path, err := modulePath()
	if err != nil || path == "" {
		t.Fatalf("go.mod names no module: %v", err)
	}
	folder, ok = strings.CutPrefix(imported, path)
	if ok = ok && (folder == "" || folder[0] == '/'); !ok {
		return "", false
	}
	return strings.TrimPrefix(folder, "/"), true
}

func TestImports(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range sources(t) {
		pkg := f.pkg
		seen[pkg] = true
		for _, imp := range f.imports {
			own, isOwn := ownPackage(t, imp)
			if isOwn {
				rule, ruled := allowed[pkg]
				within := strings.HasPrefix(own, pkg+"/internal/")
				if ruled && !within && !slices.Contains(rule, own) {
					t.Errorf("%s imports concordat/%s, which %q may not", f.path, own, pkg)
				}
				if strings.HasPrefix(own, "cmd/") && !strings.HasPrefix(pkg, "cmd/") {
					t.Errorf("%s imports a command", f.path)
				}
				if strings.HasPrefix(own, "internal/") && !strings.HasPrefix(pkg, "internal/") {
					t.Errorf("%s imports %s, which is for tests", f.path, own)
				}
			}
			for module, users := range outside {
				if (imp == module || strings.HasPrefix(imp, module+"/")) && !slices.Contains(users, pkg) {
					t.Errorf("%s imports %s, which only %v may", f.path, imp, users)
				}
			}
			if pkg == "" && !isOwn && strings.Contains(imp, ".") {
				t.Errorf("%s: the root package imports the standard library only, not %s", f.path, imp)
			}
		}
	}
	for pkg := range allowed {
		if !seen[pkg] {
			t.Errorf("the table names %q, which is no package", pkg)
		}
	}
}

func TestPurity(t *testing.T) {
	forbidden := []string{"os", "net", "net/http", "log", "log/slog", "io/fs", "path/filepath", "math/rand", "math/rand/v2", "hash/maphash",
		"syscall"}
	for _, f := range sources(t) {
		if !slices.Contains(pure, f.pkg) {
			continue
		}
		for _, imp := range f.imports {
			if slices.Contains(forbidden, imp) && impure[f.path] != imp {
				t.Errorf("%s is pure and imports %s", f.path, imp)
			}
		}
		ast.Inspect(f.file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				t.Errorf("%s is pure and starts a goroutine", f.path)
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "time" && (n.Sel.Name == "Now" || n.Sel.Name == "Sleep" ||
					n.Sel.Name == "Since") {
					t.Errorf("%s is pure and asks the clock", f.path)
				}
			}
			return true
		})
	}
}

type source struct {
	path, pkg string
	imports   []string
	file      *ast.File
}

// ignored reports whether the build excludes the file.
func ignored(f *ast.File) bool {
	for _, g := range f.Comments {
		for _, c := range g.List {
			if c.Pos() < f.Package && c.Text == "//go:build ignore" {
				return true
			}
		}
	}
	return false
}

// sources returns every non-test Go file of the product.
func sources(t *testing.T) []source {
	t.Helper()
	return sourcesBelow(t, "../..")
}

// sourcesBelow returns every non-test Go file of the module below the folder.
func sourcesBelow(t *testing.T, folder string) []source {
	t.Helper()
	root, err := filepath.Abs(folder)
	if err != nil {
		t.Fatal(err)
	}
	var out []source
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || name == "testdata") {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); path != root && err == nil {
				return filepath.SkipDir // a separate module
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		if ignored(file) {
			return nil // a generator, not part of the package
		}
		s := source{path: filepath.ToSlash(rel), pkg: filepath.ToSlash(filepath.Dir(rel)), file: file}
		if s.pkg == "." {
			s.pkg = ""
		}
		for _, i := range file.Imports {
			p, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, p)
		}
		out = append(out, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}
