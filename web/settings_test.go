package web_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"concordat"
	"concordat/store"
	"concordat/web"
	"concordat/web/pages/admin"
	"concordat/web/pages/settings"
)

// settable is a process whose settings the pages can change.
type settable struct {
	db     *store.DB
	mu     sync.Mutex
	values map[string]string
}

func (s *settable) use(o *web.Options) {
	o.Title = func() string { return s.value("site.title") }
	s.db, o.Settings = o.Store, s
}

// Settings implements settings.Control.
func (s *settable) Settings() []settings.Setting {
	return []settings.Setting{
		{Key: "site.title", Value: s.value("site.title"), Origin: "default", Live: true, Changeable: true},
		{Key: "check.short", Value: s.value("check.short"), Origin: "default", Live: true, Changeable: true,
			Words: []string{"true", "false"}},
		{Key: "check.threshold", Value: s.value("check.threshold"), Origin: "default", Live: true, Changeable: true},
		{Key: "report.common_above", Value: s.value("report.common_above"), Origin: "default", Live: true, Changeable: true},
		{Key: "report.exclude_kinds", Value: s.value("report.exclude_kinds"), Origin: "default", Live: true, Changeable: true},
		{Key: "meaning.leads", Value: s.value("meaning.leads"), Origin: "default", Live: true, Changeable: true,
			Words: []string{"off", "on"}},
		{Key: "log.level", Value: s.value("log.level"), Origin: "default", Live: true, Changeable: true,
			Words: []string{"debug", "info", "warn", "error"}},
		{Key: "serve.listen", Value: "127.0.0.1:8420", Origin: "--listen"}}
}

// Set implements settings.Control.
func (s *settable) Set(ctx context.Context, values []settings.Setting, notes ...store.AuditNote) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range values {
		if v.Value == "nonsense" {
			return fmt.Errorf("%w: %s: want something else", concordat.ErrInvalid, v.Key)
		}
		s.values[v.Key] = v.Value
	}
	return s.db.Audit.Notes(ctx, notes...)
}

func (s *settable) value(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.values[key]
}

// TestFirstPageNamesTheSite: the first page asks for the site's title, which appears on the next page and in the audit.
func TestFirstPageNamesTheSite(t *testing.T) {
	t.Parallel()
	s := &settable{values: map[string]string{"site.title": ""}}
	d := newTestSiteOf(t, true, s.use)
	link, err := d.web.FirstLink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := d.person(t)
	if page := c.get(link, http.StatusOK); !strings.Contains(page, `name="site"`) {
		t.Error("the first page does not ask for the title of the site")
	}
	key := strings.TrimPrefix(link, "/first?key=")
	f := url.Values{"key": {key}, "name": {"ada"}, "title": {"Ada"}, "site": {"Office of the North"},
		"password": {"short"}, "again": {"short"}}
	if page := c.post("/first", http.StatusBadRequest, f); !strings.Contains(page, `value="Office of the North"`) {
		t.Error("what was typed is gone after a bad password")
	}
	f.Set("password", "a good long secret")
	f.Set("again", "a good long secret")
	if page := c.post("/first", http.StatusOK, f); !strings.Contains(page, "Office of the North") {
		t.Error("the page after it has another title")
	}
	entries, err := d.store.Audit.SearchAudit(t.Context(), store.AuditFilter{Action: "settings_changed"}, 0, 10)
	if err != nil || len(entries) != 1 || entries[0].Actor != "ada" {
		t.Errorf("the audit has %v, %v", entries, err)
	}
}

// TestSettingsAreChanged: an administrator changes a setting, which leaves an audit entry; faults are shown next to the form, and
// changes that others made in the meantime stay.
func TestSettingsAreChanged(t *testing.T) {
	t.Parallel()
	s := &settable{values: map[string]string{"site.title": "North", "check.short": "false"}}
	d := newTestSiteOf(t, true, s.use)
	ada, audrey := d.signedIn(t, "ada", store.RoleAdministrator), d.signedIn(t, "audrey", store.RoleAuditor)
	if page := audrey.get("/admin/settings", http.StatusOK); strings.Contains(page, `name="value:`) {
		t.Error("an auditor is shown a form")
	}
	f := url.Values{"was:site.title": {"North"}, "value:site.title": {"South"}, "was:check.short": {"false"}, "value:check.short": {"false"}}
	s.values["check.short"] = "true" // someone else
	if page := ada.post("/admin/settings", http.StatusOK, f); !strings.Contains(page, "in force now") || s.value("site.title") != "South" {
		t.Errorf("the title is %q", s.value("site.title"))
	}
	// What was saved is said where it was saved: the browser goes back there.
	for from, to := range map[string]string{"site": "group-site", "": "all-keys", "nothing\" onclick=": "all-keys"} {
		f.Set("group", from)
		page := ada.post("/admin/settings", http.StatusOK, f)
		_, after, _ := strings.Cut(page, `id="`+to+`"`)
		own, _, _ := strings.Cut(after, "</section>")
		if strings.Count(page, "in force now") != 1 || !strings.Contains(own, "in force now") {
			t.Errorf("saved from %q, it is not said in %s", from, to)
		}
	}
	if s.value("check.short") != "true" {
		t.Error("a setting that the form did not change was put back")
	}
	entries, err := d.store.Audit.SearchAudit(t.Context(), store.AuditFilter{Action: "settings_changed"}, 0, 10)
	if err != nil || len(entries) != 1 || !strings.Contains(string(entries[0].Detail), "South") {
		t.Error("the audit has", entries, err)
	}
	f.Set("was:site.title", "South")
	f.Set("value:site.title", "nonsense")
	if page := ada.post("/admin/settings", http.StatusBadRequest, f); !strings.Contains(page, "want something else") ||
		!strings.Contains(page, `value="nonsense"`) {
		t.Error("a bad value is not said, or not shown again")
	}
	ada.post("/admin/settings", http.StatusBadRequest, url.Values{"value:serve.listen": {":1"}})
	if s.value("serve.listen") != "" {
		t.Error("a setting of the start was changed")
	}
}

// TestSettingsInWords: the page shows settings in groups, shares as percentages, and yes and no as boxes; a form's change reaches the
// configuration in its own terms; keys without a description are listed under all keys.
func TestSettingsInWords(t *testing.T) {
	t.Parallel()
	s := &settable{values: map[string]string{"site.title": "North", "check.threshold": "0.3", "check.short": "true",
		"report.common_above": "20", "report.exclude_kinds": "near", "meaning.leads": "off", "log.level": "info"}}
	d := newTestSiteOf(t, true, s.use)
	ada := d.signedIn(t, "ada", store.RoleAdministrator)
	page := ada.get("/admin/settings", http.StatusOK)
	ada.wants(page, "Rewritten and translated text", `name="percent:check.threshold" type="number" min="0" max="100" step="any" value="30"`,
		"deserves a close read", "Count common wording", "Ignore these kinds", `id="all-keys"`, `name="value:log.level"`)
	words, keys, _ := strings.Cut(page, `id="all-keys"`)
	if strings.Contains(words, "<code>") || strings.Contains(words, ">true<") {
		t.Error("the groups show keys or values as the configuration has them")
	}
	ada.wants(keys, "check.threshold", "0.3", "serve.listen")
	for _, c := range []struct {
		key  string
		form url.Values
		want string
	}{
		{"check.threshold", url.Values{"was:check.threshold": {"0.3"}, "percent:check.threshold": {"12.5"}}, "0.125"},
		{"check.threshold", url.Values{"was:check.threshold": {"0.125"}, "percent:check.threshold": {"7"}}, "0.07"},
		{"check.short", url.Values{"was:check.short": {"true"}, "box:check.short": {"1"}}, "false"},
		{"check.short", url.Values{"was:check.short": {"false"}}, "false"}, // no box: a different group was sent
		{"check.short", url.Values{"was:check.short": {"false"}, "box:check.short": {"1"}, "on:check.short": {"on"}}, "true"},
		{"meaning.leads", url.Values{"was:meaning.leads": {"off"}, "box:meaning.leads": {"1"}, "on:meaning.leads": {"on"}}, "on"},
		{"report.common_above", url.Values{"was:report.common_above": {"20"}, "number:report.common_above": {"20"},
			"never:report.common_above": {"on"}}, "-1"},
		{"report.common_above", url.Values{"was:report.common_above": {"-1"}, "number:report.common_above": {""}}, "0"},
		{"report.exclude_kinds", url.Values{"was:report.exclude_kinds": {"near"}, "list:report.exclude_kinds": {"1"},
			"item:report.exclude_kinds": {"near", "summary"}}, "near, summary"},
		{"report.exclude_kinds", url.Values{"was:report.exclude_kinds": {"near, summary"}, "list:report.exclude_kinds": {"1"}}, ""},
	} {
		ada.post("/admin/settings", http.StatusOK, c.form)
		if got := s.value(c.key); got != c.want {
			t.Errorf("%v makes %s %q, want %q", c.form, c.key, got, c.want)
		}
	}
	for _, wrong := range []string{"150", "-1", "many", ""} {
		f := url.Values{"was:check.threshold": {"0.07"}, "percent:check.threshold": {wrong}}
		ada.wants(ada.post("/admin/settings", http.StatusBadRequest, f), "is not a percentage")
	}
	if got := s.value("check.threshold"); got != "0.07" {
		t.Error("a bad percentage made it", got)
	}
}

// TestIdlePlaces: the menu offers the cluster and the schemes only if there are several machines or schemes; the pages exist regardless.
func TestIdlePlaces(t *testing.T) {
	t.Parallel()
	alone := newTestSiteOf(t, true, func(o *web.Options) { o.Nodes = nil })
	several := newTestSiteOf(t, true, func(o *web.Options) {
		o.Nodes = nodesOfTests(func() (admin.Cluster, error) { return admin.Cluster{}, nil })
	})
	for _, d := range []*testSite{alone, several} {
		ada := d.signedIn(t, "ada", store.RoleAdministrator)
		page := ada.get("/admin", http.StatusOK)
		if got := strings.Contains(page, `href="/admin/cluster"`); got != (d == several) {
			t.Errorf("the menu has the cluster: %t", got)
		}
		if strings.Contains(page, `href="/admin/schemes"`) {
			t.Error("the menu has the schemes of a site with one")
		}
		ada.wants(ada.get("/admin/cluster", http.StatusOK), `href="/admin/cluster" aria-current="page"`)
	}
	if err := several.store.Answers.SeeEpoch(t.Context(), concordat.Epoch{Federation: "north", Number: 1}, "natural@other"); err != nil {
		t.Fatal(err)
	}
	adam := several.signedIn(t, "adam", store.RoleAdministrator)
	adam.wants(adam.get("/admin", http.StatusOK), `href="/admin/schemes"`)
}
