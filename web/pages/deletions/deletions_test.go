package deletions_test

import (
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"concordat/internal/webtest"
	"concordat/store"
)

// TestDelete: an officer deletes a check on its page and an administrator deletes a document; only people entitled to a receipt can read
// it.
func TestDelete(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	olga, adam := d.SignedIn(t, "olga", store.RoleOfficer), d.SignedIn(t, "adam", store.RoleAdministrator)
	id := d.CheckedBy(t, olga, "essay", webtest.Folios)
	page := "/checks/" + string(id)
	if text := olga.Get(page, http.StatusOK); !strings.Contains(text, page+"/delete") {
		t.Error("no way to delete")
	}
	olga.Post(page+"/delete", http.StatusBadRequest, nil) // the reason is missing
	olga.Post(page+"/delete", http.StatusOK, url.Values{"reason": {"it is over"}})
	olga.Get(page, http.StatusNotFound)
	adam.Post("/deletions", http.StatusNotFound, url.Values{"library": {"theses"}, "document": {"none"}, "reason": {"x"}})
	text := adam.Post("/deletions", http.StatusOK, url.Values{"library": {"theses"}, "document": {"folios.txt"},
		"reason": {"the author <b>asks</b>"}})
	receipts := regexp.MustCompile(`/deletions/([a-z2-7]+)"`).FindAllStringSubmatch(text, -1)
	if len(receipts) != 2 || strings.Contains(text, "<b>asks") || !strings.Contains(text, "bytes removed from disk") {
		t.Fatalf("deletions:\n%s", text)
	}
	axel := d.SignedIn(t, "axel", store.RoleAuditor)
	if r := axel.Get("/deletions/"+receipts[0][1], http.StatusOK); !strings.Contains(r, `"library":"theses"`) ||
		strings.Contains(r, "folios.txt") {
		t.Errorf("receipt %s", r)
	}
	axel.Get("/deletions/none", http.StatusNotFound)

	id = d.CheckedBy(t, olga, "another", webtest.Folios)
	var out struct {
		ID, State string
		Receipt   struct{ Done time.Time }
	}
	call := func(p *webtest.Program, fields string, want int) {
		t.Helper()
		p.Call(http.MethodPost, "/api/v1/deletions", want, &out, func(r *http.Request) {
			r.Body = io.NopCloser(strings.NewReader(fields))
			r.ContentLength = int64(len(fields))
			r.Header.Set("Content-Type", "application/json")
		})
	}
	call(olga.Program("read"), `{"reason":"x","tasks":["`+string(id)+`"]}`, http.StatusForbidden)
	eraser := olga.Program("erase")
	call(eraser, `{"reason":"x","library":"theses","documents":["folios.txt"]}`, http.StatusForbidden) // this requires an administrator
	call(eraser, `{"reason":"x","tasks":["`+string(id)+`"]}`, http.StatusOK)
	if out.State != "done" || out.Receipt.Done.IsZero() {
		t.Errorf("answer %+v", out)
	}
	call(eraser, `{"reason":"x","tasks":["`+string(id)+`"]}`, http.StatusNotFound)
}
