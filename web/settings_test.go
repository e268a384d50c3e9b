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
)

// settable is a process whose settings pages change.
type settable struct {
	mu     sync.Mutex
	values map[string]string
}

func (s *settable) use(o *web.Options) {
	o.Title = func() string { return s.value("site.title") }
	o.Admin.Settings = func() []web.Setting {
		return []web.Setting{
			{Key: "site.title", Value: s.value("site.title"), Origin: "default", Live: true, Changeable: true},
			{Key: "check.short", Value: s.value("check.short"), Origin: "default", Live: true, Changeable: true,
				Words: []string{"true", "false"}},
			{Key: "serve.listen", Value: "127.0.0.1:8420", Origin: "--listen"}}
	}
	db := o.Store
	o.Admin.Set = func(ctx context.Context, values []web.Setting, notes ...store.AuditNote) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, v := range values {
			if v.Value == "nonsense" {
				return fmt.Errorf("%w: %s: want something else", concordat.ErrInvalid, v.Key)
			}
			s.values[v.Key] = v.Value
		}
		return db.Audit.Notes(ctx, notes...)
	}
}

func (s *settable) value(key string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.values[key]
}

// TestFirstPageNamesTheSite: the first page asks for the title, which stands on the next page and in the audit.
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

// TestSettingsAreChanged: an administrator changes a setting, with an entry of the audit; what is wrong is said beside the
// form, and what somebody else changed meanwhile stays.
func TestSettingsAreChanged(t *testing.T) {
	t.Parallel()
	s := &settable{values: map[string]string{"site.title": "North", "check.short": "false"}}
	d := newTestSiteOf(t, true, s.use)
	ada, audrey := d.signedIn(t, "ada", store.RoleAdministrator), d.signedIn(t, "audrey", store.RoleAuditor)
	if page := audrey.get("/admin/settings", http.StatusOK); strings.Contains(page, `name="value:`) {
		t.Error("an auditor is shown a form")
	}
	f := url.Values{"was:site.title": {"North"}, "value:site.title": {"South"}, "was:check.short": {"false"}, "value:check.short": {"false"}}
	s.values["check.short"] = "true" // somebody else
	if page := ada.post("/admin/settings", http.StatusOK, f); !strings.Contains(page, "in force now") || s.value("site.title") != "South" {
		t.Errorf("the title is %q", s.value("site.title"))
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
