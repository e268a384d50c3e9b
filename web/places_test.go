package web_test

import (
	"html"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"

	"concordat"
	"concordat/internal/webtest"
	"concordat/report"
	"concordat/report/language"
	"concordat/store"
	"concordat/web"
	"concordat/web/pages/admin"
)

// TestPlaces: the navigation shows the current place, on pages below it too; the administration menu appears only on administration pages
// and contains only pages that the role may open.
func TestPlaces(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	ada, adi, sue := d.SignedIn(t, "ada", store.RoleAdministrator), d.SignedIn(t, "adi", store.RoleAuditor),
		d.SignedIn(t, "sue", store.RoleSubmitter)
	for _, x := range []struct {
		p           *webtest.Person
		path        string
		has, hasNot []string
	}{
		{ada, "/checks", []string{`href="/checks" aria-current="page"`, `href="/admin">`}, []string{`href="/people"`, `class="sub"`}},
		{ada, "/checks/new", []string{`href="/checks/new" aria-current="page"`, `href="/checks">`}, nil},
		{ada, "/libraries/theses", []string{`href="/libraries" aria-current="true"`, "<title>All &lt;theses&gt; – Library – "}, nil},
		{ada, "/rechecks", []string{`href="/batches" aria-current="true"`}, nil},
		{ada, "/people", []string{`href="/admin" aria-current="true"`, `href="/people" aria-current="page"`, `href="/deletions">`,
			`href="/admin">`}, nil},
		{ada, "/admin", []string{`href="/admin" aria-current="page"`, `href="/admin/audit">`}, nil},
		{adi, "/deletions", []string{`href="/deletions" aria-current="page"`, `href="/admin/audit">`},
			[]string{`href="/people"`, `href="/checks/new"`}},
		{sue, "/checks", []string{`href="/batches">`}, []string{`href="/admin"`, `href="/requests"`}},
	} {
		page := x.p.Get(x.path, 200)
		x.p.Wants(page, x.has...)
		for _, no := range x.hasNot {
			if strings.Contains(page, no) {
				t.Errorf("%s shows %s", x.path, no)
			}
		}
	}
}

var (
	messageKey = regexp.MustCompile(`"([a-z]+(?:\.[a-z0-9_]+)*)"`)
	keyBegins  = regexp.MustCompile(`"([a-z]+(?:\.[a-z]+)*\.)(?:%[sv]"|"\s*\+)`)
	className  = regexp.MustCompile(`\.(-?[a-zA-Z][\w-]*)`)
)

// sources returns the text of all non-test files of the package, excluding the definitions of message keys.
func sources(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(".", func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "testdata") ||
			strings.HasSuffix(path, ".css") {
			return err
		}
		b, err := os.ReadFile(path)
		all.Write(append(b, '\n'))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all.String()
}

// TestNoDeadMessages: every message is used somewhere, by its whole key or by its prefix.
func TestNoDeadMessages(t *testing.T) {
	t.Parallel()
	text := sources(t)
	used, begins := map[string]bool{}, map[string]bool{}
	for _, m := range messageKey.FindAllStringSubmatch(text, -1) {
		used[m[1]] = true
	}
	for _, m := range keyBegins.FindAllStringSubmatch(text, -1) {
		begins[m[1]] = true
	}
	for _, r := range report.RuleTable() {
		used[r.Label], used[r.NeverLabel] = true, true
	}
	begins["flag."] = true // reports use these, by the code of a flag
	for _, k := range language.Keys() {
		whole := used[k]
		for i := range k {
			whole = whole || k[i] == '.' && begins[k[:i+1]]
		}
		if !whole {
			t.Errorf("nobody says %s", k)
		}
	}
}

// TestNoDeadStyles: every class in the style sheet is used, on these pages or in parts of a report.
func TestNoDeadStyles(t *testing.T) {
	t.Parallel()
	text := sources(t)
	b, err := os.ReadFile("static/style.css")
	if err != nil {
		t.Fatal(err)
	}
	parts, err := filepath.Glob("../report/html/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parts {
		if more, err := os.ReadFile(p); err == nil && !strings.HasSuffix(p, ".css") {
			text += string(more)
		}
	}
	states := map[string]bool{}
	for _, s := range []string{"queued", "running", "done", "partial", "failed", "pending", "granted", "refused", "expired", "withdrawn",
		"asked", "answered", "silent", "stage-new", "stage-review", "stage-decided", "stage-signed"} {
		states[s] = true // composed from values
	}
	rules := regexp.MustCompile(`\{[^{}]*\}|/\*[^*]*\*/`).ReplaceAllString(string(b), " ")
	for _, m := range className.FindAllStringSubmatch(rules, -1) {
		if c := m[1]; !states[c] && !hasWord(text, c) {
			t.Errorf("no page has the class %s", c)
		}
	}
}

// hasWord reports whether a text contains a word between word boundaries, like \b in a pattern.
func hasWord(text, word string) bool {
	within := func(at int) bool {
		return at >= 0 && at < len(text) && (text[at] == '_' || unicode.IsLetter(rune(text[at])) || unicode.IsDigit(rune(text[at])))
	}
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		if at := from + i; !within(at-1) && !within(at+len(word)) {
			return true
		}
		from += i + 1
	}
}

// TestChecksAlone: additions to libraries are not listed among the checks.
func TestChecksAlone(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	olga.Upload(200, nil, "essay.txt", "one")
	err := d.Store.Checks.CreateTask(t.Context(), store.Task{Task: concordat.Task{ID: "added", State: concordat.TaskQueued, Title: "shelf.txt",
		Made: time.Now()},
		Owner: "olga", Batch: "library theses", Request: []byte(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	olga.Wants(olga.Get("/libraries/theses/additions", 200), "shelf.txt")
	olga.Wants(olga.Get("/libraries/theses", 200), "1 yet to be read")
	page := olga.Get("/checks", 200)
	olga.Wants(page, "essay.txt")
	if strings.Contains(page, "shelf.txt") {
		t.Error("the checks hold what a library takes in")
	}
}

// TestLongNames: a name that no account can have is rejected and not stored anywhere.
func TestLongNames(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	p := d.Visitor(t)
	p.Post("/login", 403, url.Values{"name": {strings.Repeat("n", 1<<20)}, "password": {"a good long secret"}})
	entries, err := d.Store.Audit.Audit(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if len(e.Actor) > 1<<10 {
			t.Errorf("the audit keeps a name of %d bytes", len(e.Actor))
		}
	}
}

// TestDeadEnds: a user who comes too late is told so, and what to do.
func TestDeadEnds(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	p := d.Visitor(t)
	p.Wants(p.Post("/libraries", 403, url.Values{"name": {"plays"}}), "no longer signed in")
	p.Wants(p.Get("/join?key=none", 404), "has been used or has expired")
	p.Wants(p.Post("/first", 404, url.Values{"key": {"none"}, "name": {"ada"}, "password": {"a good long secret"},
		"again": {"a good long secret"}}), "has been used or has expired")
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	olga.Wants(olga.Post("/account/webhooks", 400, url.Values{"url": {"ftp://example.org"}}), "to change your input; it is still there")
}

// TestStatic: a browser that has a file asks whether it has changed; folders are not listed.
func TestStatic(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	p := d.Visitor(t)
	resp, err := p.Do(p.Request(http.MethodGet, "/static/style.css", nil))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	tag := resp.Header.Get("ETag")
	if resp.StatusCode != http.StatusOK || tag == "" || resp.Header.Get("Content-Type") != "text/css; charset=utf-8" {
		t.Fatalf("%s, tag %s, %v", resp.Status, tag, resp.Header)
	}
	again := p.Request(http.MethodGet, "/static/style.css", nil)
	again.Header.Set("If-None-Match", tag)
	p.Send(again, http.StatusNotModified)
	for _, path := range []string{"/static/none.js", "/static/", "/static/..%2fweb.go"} {
		p.Get(path, http.StatusNotFound)
	}
	if robots := p.Get("/robots.txt", http.StatusOK); robots != "User-agent: *\nDisallow: /\n" {
		t.Errorf("robots.txt is %q", robots)
	}
	// Pages refer to a file by its digest. Under that name it is cached permanently and compressed; under the name of another version it
	// is served but not cached.
	_, named, _ := strings.Cut(p.Get("/login", http.StatusOK), `href="/static/style.`)
	digest, _, _ := strings.Cut(named, ".css")
	for _, one := range []struct{ name, kept string }{{digest, "public, max-age=31536000, immutable"}, {"0000000000000000", "no-cache"}} {
		r := p.Request(http.MethodGet, "/static/style."+one.name+".css", nil)
		r.Header.Set("Accept-Encoding", "br, gzip")
		resp, err := p.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || resp.Header.Get("Cache-Control") != one.kept ||
			resp.Header.Get("Content-Encoding") != "gzip" || len(body) < 2 || body[0] != 0x1f || body[1] != 0x8b {
			t.Errorf("%s: %s, %v, %v", one.name, resp.Status, resp.Header, err)
		}
	}
	for _, refused := range []string{"", "br", "gzip;q=0"} {
		r := p.Request(http.MethodGet, "/static/style.css", nil)
		r.Header.Set("Accept-Encoding", refused)
		if resp, err := p.Do(r); err != nil || resp.Header.Get("Content-Encoding") != "" {
			t.Errorf("who takes %q gets %v, %v", refused, resp.Header, err)
		}
	}
}

// TestOtherLanguage: switching the language shows the same page with the same query.
func TestOtherLanguage(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	p := d.Visitor(t)
	link, err := d.Web.Accounts.FirstLink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	page := p.Get(link, 200)
	next := html.UnescapeString(regexp.MustCompile(`name="next" value="([^"]*)"`).FindStringSubmatch(page)[1])
	p.Wants(p.Post("/language", 200, url.Values{"language": {"zh-Hans"}, "next": {next}}), "首位管理员", `name="key" value="`)
}

// TestHugeTitles: names and titles are bounded, and a form shows rejected values again.
func TestHugeTitles(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	ada := d.SignedIn(t, "ada", store.RoleAdministrator)
	huge := strings.Repeat("n", 1<<20)
	ada.Post("/libraries", 400, url.Values{"name": {"plays"}, "title": {huge}})
	ada.Post("/libraries/theses", 400, url.Values{"action": {"policy"}, "title": {huge}})
	ada.Post("/people", 400, url.Values{"name": {"bo"}, "title": {huge}, "role": {"officer"}})
	ada.Wants(ada.Post("/people", 409, url.Values{"name": {"ada"}, "title": {"Ada <2>"}, "role": {"auditor"}}), `value="Ada &lt;2&gt;"`,
		`<option value="auditor" selected>`)
	ada.Wants(ada.Post("/people", 200, url.Values{"name": {"a/b c"}, "role": {"officer"}}), `action="/people/a%2Fb%20c"`)
	ada.Wants(ada.Post("/people/a%2Fb%20c", 200, url.Values{"action": {"disable"}}), "disabled")
}

// TestIdlePlaces: the menu contains the cluster and schemes pages only if there are several machines or schemes; the pages always exist.
func TestIdlePlaces(t *testing.T) {
	t.Parallel()
	alone := webtest.NewWith(t, true, func(o *web.Options) { o.Nodes = nil })
	several := webtest.NewWith(t, true, func(o *web.Options) {
		o.Nodes = webtest.Nodes(func() (admin.Cluster, error) { return admin.Cluster{}, nil })
	})
	for _, d := range []*webtest.Site{alone, several} {
		ada := d.SignedIn(t, "ada", store.RoleAdministrator)
		page := ada.Get("/admin", http.StatusOK)
		if got := strings.Contains(page, `href="/admin/cluster"`); got != (d == several) {
			t.Errorf("the menu has the cluster: %t", got)
		}
		if strings.Contains(page, `href="/admin/schemes"`) {
			t.Error("the menu has the schemes of a site with one")
		}
		ada.Wants(ada.Get("/admin/cluster", http.StatusOK), `href="/admin/cluster" aria-current="page"`)
	}
	if err := several.Store.Answers.SeeEpoch(t.Context(), concordat.Epoch{Federation: "north", Number: 1}, "natural@other"); err != nil {
		t.Fatal(err)
	}
	adam := several.SignedIn(t, "adam", store.RoleAdministrator)
	adam.Wants(adam.Get("/admin", http.StatusOK), `href="/admin/schemes"`)
}
