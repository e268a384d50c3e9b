package web_test

import (
	"database/sql"
	"io"
	"maps"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"concordat/internal/suite"
	"concordat/internal/webtest"
	"concordat/store"
)

// badges matches the parts that are missing or added if the store cannot be read: the numbers next to the names of other pages, and the
// schemes entry.
var (
	badges = regexp.MustCompile(`<span class="badge">[0-9]+<span class="hidden">[^<]*</span></span>|\s*<li><a href="/admin/schemes">[^<]*</a></li>`)
	varies = regexp.MustCompile(`nonce-[A-Za-z0-9+/=_-]+|nonce="[^"]*"|[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9:.]+Z?|value="[A-Z0-9]{26}"|[0-9.,]+ (ms|s|MiB|KiB)`)
)

// TestWholePages: each page is shown completely or not at all. If a table of the store cannot be read, every page that needs it reports
// an error; no page silently shows less.
func TestWholePages(t *testing.T) {
	t.Parallel()
	suite.Rest(t, "shows every page again without each table of the store")
	d := webtest.New(t, true)
	d.AddFinished(t, "case-1", "adam", webtest.Thesis(t, 20_000, 10, 3))
	d.AddRequest(t, "one", time.Now().Add(time.Hour))
	adam := d.SignedIn(t, "adam", store.RoleAdministrator)
	adam.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	show := func(path string) (int, string) {
		t.Helper()
		resp, err := adam.Do(adam.Request(http.MethodGet, path, nil))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, varies.ReplaceAllString(badges.ReplaceAllString(string(b), ""), "…")
	}
	ids := map[string]string{"/checks/": "case-1", "/libraries/": "theses", "/requests/": "one", "/documents/": "theses"}
	pages := map[string]string{}
	for _, pattern := range slices.Sorted(maps.Keys(routeDecisions)) {
		if !strings.HasPrefix(pattern, "GET ") || !strings.Contains(routeDecisions[pattern], "a") || strings.Contains(pattern, "events") {
			continue
		}
		id := "none"
		for prefix, one := range ids {
			if strings.HasPrefix(pattern, "GET "+prefix) {
				id = one
			}
		}
		_, path := filled(pattern, id)
		if code, page := show(path); code == http.StatusOK {
			pages[path] = page
		}
	}
	for path, page := range pages {
		if _, again := show(path); again != page {
			delete(pages, path)
		}
	}
	if len(pages) < 25 {
		t.Errorf("only %d pages are compared: %v", len(pages), slices.Sorted(maps.Keys(pages)))
	}
	for _, table := range tables(t, d) {
		d.Without(t, table, func() {
			for path, page := range pages {
				if code, got := show(path); code < 500 && (code != http.StatusOK || got != page) {
					t.Errorf("%s without the table %s: %d, and another page than before", path, table, code)
				}
			}
		})
	}
}

// tables returns the names of the store's tables.
func tables(t *testing.T, d *webtest.Site) (names []string) {
	t.Helper()
	db, err := sql.Open("sqlite3", filepath.Join(d.Dir, "site.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	rows, err := db.QueryContext(t.Context(), "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}
