package admin_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"concordat/internal/webtest"
	"concordat/store"
)

// TestAuditPage: entries can be found by person, action and time on successive pages; the chain is verified, and tampering is detected.
func TestAuditPage(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	adam := d.SignedIn(t, "adam", store.RoleAdministrator)
	for i := range 120 {
		who := "ada"
		if i%10 == 0 {
			who = "eve"
		}
		if _, err := d.Store.Audit.AppendAudit(t.Context(), who, "report_read", nil); err != nil {
			t.Fatal(err)
		}
	}
	page := adam.Get("/admin/audit", http.StatusOK)
	if !strings.Contains(page, "Older entries") || strings.Count(page, "<td class=\"action\">Report read</td>") != 100 {
		t.Errorf("%d entries on the page", strings.Count(page, "<td class=\"action\">Report read</td>"))
	}
	if page := adam.Get("/admin/audit?actor=eve&action=report_read", http.StatusOK); strings.Count(page, "<td>eve</td>") != 12 ||
		strings.Contains(page, "<td>ada</td>") {
		t.Error("not the entries of eve")
	}
	if page := adam.Get("/admin/audit?to=2001-01-01", http.StatusOK); !strings.Contains(page, "No entries match") {
		t.Error("entries before there were any")
	}
	adam.Get("/admin/audit?from=yesterday", http.StatusBadRequest)
	if page := adam.Get("/admin/audit?before=21", http.StatusOK); strings.Count(page, "<td class=\"action\">Report read</td>") != 20 {
		t.Error("not the last page")
	}
	if page := adam.Post("/admin/audit", http.StatusOK, nil); !strings.Contains(page,
		"The chain is intact from the first entry to number 120") {
		t.Error("the chain is not followed")
	}
	lines := strings.Split(strings.TrimSpace(adam.Get("/admin/audit/export", http.StatusOK)), "\n")
	if len(lines) != 122 || !json.Valid([]byte(lines[121])) { // including the verification and the export
		t.Errorf("%d lines", len(lines))
	}
	detail := []byte(`{"task": "abc", "kinds": ["x", "y"], "n": 3, "file": "` + strings.Repeat("0123", 16) + `"}`)
	if _, err := d.Store.Audit.AppendAudit(t.Context(), "bob", "report_read", detail); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<a href="/checks/abc"><code>abc</code></a>`, "<code>x, y</code>", "<code>3</code>", ">012301230123…<"} {
		if page := adam.Get("/admin/audit?actor=bob", http.StatusOK); !strings.Contains(page, want) {
			t.Errorf("the page of the audit lacks %s", want)
		}
	}
	receipt := []byte(`{"id": "r1", "documents": null, "asked": "2026-05-31T10:11:12.345678Z", "places": [{"name": "store", "items": 2},
		{"name": "node 2"}], "tasks": [{"task": "t1", "results": 3}], "signature": {"sum": "secret sum"}}`)
	if _, err := d.Store.Audit.AppendAudit(t.Context(), "una", "deleted", receipt); err != nil {
		t.Fatal(err)
	}
	page = adam.Get("/admin/audit?actor=una", http.StatusOK)
	for _, want := range []string{`<a href="/deletions/r1"><code>r1</code></a>`, ">store, node 2</code>", ">t1</code>", ">…</code>",
		"<code>2026-05-31T10:11:12Z</code>"} {
		if !strings.Contains(page, want) {
			t.Errorf("a receipt in the audit lacks %s", want)
		}
	}
	if strings.Contains(page, `<span class="hint">documents</span>`) || strings.Contains(page, ">{") {
		t.Error("a receipt in the audit shows JSON or an empty fact")
	}
}
