package admin_test

import (
	"net/http"
	"strings"
	"testing"

	"concordat/internal/webtest"
	"concordat/store"
)

// TestAdministration: administrators and auditors can read every page, no one else can, and no secret is shown.
func TestAdministration(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	if err := d.Store.Partners.AddPartner(t.Context(), store.Partner{Site: "SOUTH", Serial: 1, Card: []byte("card"),
		Words: "six words"}); err != nil {
		t.Fatal(err)
	}
	if err := d.Store.Asks.Show(t.Context(), store.Showing{Partner: "SOUTH", Hash: strings.Repeat("a", 64), Form: store.FormMatches,
		Library: "theses", Document: "folios.txt", Sentences: 4}); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{store.AlarmProbing, store.AlarmAuditStopped, store.AlarmAuditContradicts, store.AlarmFalse,
		store.AlarmFlooding, store.AlarmOneDocument, store.AlarmEpoch, store.AlarmLibrary} {
		if _, err := d.Store.Partners.RaiseAlarm(t.Context(), store.PartnerAlarm{Partner: "SOUTH", Kind: kind, Library: "theses"}); err != nil {
			t.Fatal(err)
		}
	}
	adam, axel := d.SignedIn(t, "adam", store.RoleAdministrator), d.SignedIn(t, "axel", store.RoleAuditor)
	sue, olga := d.SignedIn(t, "sue", store.RoleSubmitter), d.SignedIn(t, "olga", store.RoleOfficer)
	for path, wants := range map[string][]string{
		"/admin":          {"Needs attention", "3 MiB left", "Check queue"},
		"/admin/tasks":    {"No tasks match"},
		"/admin/storage":  {"5.0 GiB of 9.0 GiB", "3.0 MiB", "17 B", "/srv/site"},
		"/admin/schemes":  {"natural@0123456789abcdef", "1 of 2 documents", "health"},
		"/admin/settings": {"--listen", "site.yaml:3", "set but not shown"},
		"/admin/partners": {"South &lt;Site&gt;", "Compare the six words"},
		"/admin/partners/SOUTH": {"six words", "which sentences match", "folios.txt", "No library at this site is open to this partner",
			"suspiciously many variants of the same sentences", "its audit log was rewritten", "no longer shared", "an impossible answer",
			"more messages than this site can handle", "keep finding the same document", "began an epoch too soon", "peer revoke"},
		"/admin/audit": {"The latest entry is number"},
	} {
		for _, p := range []*webtest.Person{adam, axel} {
			page := p.Get(path, http.StatusOK)
			for _, want := range wants {
				if !strings.Contains(page, want) {
					t.Errorf("%s does not say %q", path, want)
				}
			}
			if strings.Contains(page, "hunter2") {
				t.Errorf("%s shows a secret", path)
			}
		}
		sue.Get(path, http.StatusForbidden)
		olga.Get(path, http.StatusForbidden)
	}
	// Findings are described in the language of the page, and in English to programs.
	for language, want := range map[string]string{"en": "6 documents; the catalogue has 7", "de": "6 Dokumente, im Katalog stehen 7",
		"zh-CN": "6 份文档，文档目录中有 7 份"} {
		r := adam.Request(http.MethodGet, "/admin", nil)
		r.Header.Set("Accept-Language", language)
		if page := adam.Send(r, http.StatusOK); !strings.Contains(page, want) {
			t.Errorf("in %s the page does not say %q", language, want)
		}
	}
	german := adam.Request(http.MethodGet, "/admin/storage", nil)
	german.Header.Set("Accept-Language", "de")
	if page := adam.Send(german, http.StatusOK); !strings.Contains(page, "5,0 GiB von 9,0 GiB") {
		t.Error("in German a size has no decimal comma")
	}
	var health struct{ Parts []struct{ Detail string } }
	adam.Program("read").Call(http.MethodGet, "/api/v1/admin/health", http.StatusOK, &health)
	if len(health.Parts) < 3 || health.Parts[2].Detail != "6 documents; the catalogue has 7" {
		t.Errorf("programs are told %+v", health)
	}
	adam.Get("/admin/partners/NONE", http.StatusNotFound)
	if strings.Contains(axel.Get("/admin/tasks", http.StatusOK), "<button class=\"plain\" name=\"action\"") {
		t.Error("an auditor is offered to change tasks")
	}
}
