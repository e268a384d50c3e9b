package cases_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"concordat/internal/webtest"
	"concordat/store"
)

// TestSharedCasePages: an officer sees the partner's view of a case, answers, and decides; the API offers the same.
func TestSharedCasePages(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	if page := olga.Get("/cases", http.StatusOK); !strings.Contains(page, "No shared cases here") {
		t.Errorf("no cases:\n%s", page)
	}
	id := d.AddCase(t)
	path := "/cases/" + id.String()
	if page := olga.Get("/cases", http.StatusOK); !strings.Contains(page, path) || !strings.Contains(page, "South &lt;Site&gt;") ||
		!strings.Contains(page, "On &lt;folios&gt;") {
		t.Errorf("list:\n%s", page)
	}
	page := olga.Get(path, http.StatusOK)
	for _, want := range []string{"two &lt;chapters&gt;", "dean@south.example", "No position stated yet.", "fingerprints of its document"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	olga.Post(path, http.StatusBadRequest, url.Values{"state": {"guilty"}})
	page = olga.Post(path, http.StatusOK, url.Values{"state": {"confirmed"}, "words": {"we agree"}, "contact": {"olga@here.example"}})
	if !strings.Contains(page, "we agree") || strings.Contains(page, "No position stated yet.") {
		t.Errorf("confirmed:\n%s", page)
	}
	out, err := d.Store.Partners.Outbox(t.Context(), 0)
	if err != nil || len(out) != 1 || out[0].Partner != "SOUTH" || out[0].Notice.Case == nil ||
		out[0].Notice.Case.Contact != "olga@here.example" || out[0].Notice.Answer != nil {
		t.Fatalf("outbox %+v, %v", out, err)
	}
	if page = olga.Get("/cases", http.StatusOK); strings.Contains(page, path) {
		t.Errorf("it is settled:\n%s", page)
	}
	if page = olga.Get("/cases?all=yes", http.StatusOK); !strings.Contains(page, path) {
		t.Errorf("with those settled:\n%s", page)
	}
	page = olga.Post(path, http.StatusOK, url.Values{"decision": {"rejected"}})
	if !strings.Contains(page, "Rejected") || strings.Contains(page, `id="decide"`) || !strings.Contains(page, `href="/deletions"`) {
		t.Errorf("decided:\n%s", page)
	}
	if open, err := d.Store.Retention.OpenErasures(t.Context()); err != nil || len(open) != 1 {
		t.Errorf("deletions %+v, %v", open, err)
	}
	for _, no := range []string{"/cases/" + strings.Repeat("9", 32), "/cases/x"} {
		olga.Get(no, http.StatusNotFound)
	}
	d.SignedIn(t, "sue", store.RoleSubmitter).Get(path, http.StatusForbidden)
	if n := d.Actions(t); n["case_moved"] != 2 {
		t.Errorf("audit %v", n)
	}
}
