package harvests_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"concordat/internal/webtest"
	"concordat/store"
)

// TestHarvestPages: an administrator enters the address of a repository, sees the harvested and failed records, and requests a run; an
// auditor has read-only access.
func TestHarvestPages(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	ada, una := d.SignedIn(t, "ada", store.RoleAdministrator), d.SignedIn(t, "una", store.RoleAuditor)
	form := url.Values{"url": {"https://repository.example"}, "library": {"theses"}, "every": {"24"}, "withdrawn": {"delete"}}
	if page := ada.Post("/admin/harvest", http.StatusOK, form); !strings.Contains(page, "https://repository.example") ||
		!strings.Contains(page, "waiting for its first run") {
		t.Errorf("after adding:\n%s", page)
	}
	for field, wrong := range map[string]string{"url": "http://10.0.0.1/oai", "library": "nowhere", "every": "often", "set": "a b"} {
		f := url.Values{"url": {"https://other.example"}, "library": {"theses"}, "every": {"24"}, "withdrawn": {"delete"}}
		f.Set(field, wrong)
		if page := ada.Post("/admin/harvest", http.StatusBadRequest, f); !strings.Contains(page, `class="problem"`) {
			t.Errorf("%s %s:\n%s", field, wrong, page)
		}
	}
	if page := ada.Post("/admin/harvest", http.StatusBadRequest, form); !strings.Contains(page, "A source with this name already exists") {
		t.Errorf("twice:\n%s", page)
	}
	folder := url.Values{"url": {"file:///etc"}, "library": {"theses"}, "every": {"0"}}
	if page := ada.Post("/admin/harvest", http.StatusBadRequest, folder); !strings.Contains(page, "concordat harvest add") {
		t.Errorf("a folder:\n%s", page)
	}
	d.AddSource(t, "oslo")
	page := una.Get("/admin/harvest/oslo", http.StatusOK)
	for _, want := range []string{"Archive of Oslo", "On &lt;tides&gt;", `href="https://repository.example/1"`, "it is damaged",
		"under embargo"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	for _, not := range []string{"javascript:", "ZgotmplZ", "Run now"} {
		if strings.Contains(page, not) {
			t.Errorf("%q in\n%s", not, page)
		}
	}
	if page = una.Get("/admin/harvest/oslo?state=failed", http.StatusOK); strings.Contains(page, "tides") || !strings.Contains(page,
		"Damaged") {
		t.Errorf("failed ones:\n%s", page)
	}
	ada.Post("/admin/harvest/oslo", http.StatusOK, url.Values{"action": {"whole"}})
	h, err := d.Store.Harvest.Source(t.Context(), "oslo")
	if err != nil || h.State.Ask != "whole" || time.Since(h.Next) > time.Hour {
		t.Errorf("asked for: %+v, %v", h, err)
	}
	ada.Post("/admin/harvest/oslo", http.StatusBadRequest, url.Values{"action": {"burn"}})
	una.Post("/admin/harvest/oslo", http.StatusForbidden, url.Values{"action": {"remove"}})
	ada.Post("/admin/harvest/oslo", http.StatusOK, url.Values{"action": {"remove"}})
	ada.Get("/admin/harvest/oslo", http.StatusNotFound)
	if n := d.Actions(t); n["harvest_added"] != 1 || n["harvest_asked"] != 1 || n["harvest_source_removed"] != 1 {
		t.Errorf("audit %v", n)
	}
}
