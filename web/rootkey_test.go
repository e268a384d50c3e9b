package web_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"concordat/store"
	"concordat/web"
)

// TestRootKeyFile: the root key leaves the site only under a passphrase of at least 12 characters that was entered twice, as
// a file that no cache keeps; the audit records, with the change, the export or the decision against it.
func TestRootKeyFile(t *testing.T) {
	t.Parallel()
	var under []byte
	var notes []store.AuditNote
	d := newTestSiteOf(t, true, func(o *web.Options) {
		a := *o.Admin
		a.LockedRoot = func(_ context.Context, passphrase []byte, n ...store.AuditNote) ([]byte, error) {
			under, notes = passphrase, append(notes, n...)
			return []byte("the root key, locked"), nil
		}
		a.PutOffRoot = func(_ context.Context, n ...store.AuditNote) error { notes = append(notes, n...); return nil }
		o.Admin = &a
	})
	adam := d.signedIn(t, "adam", store.RoleAdministrator)
	adam.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for one, two := range map[string]string{"correct horse": "correct horsf", "eleven char": "eleven char", "": "",
		"ééééééééééé": "ééééééééééé"} {
		page := adam.post("/admin/keys", http.StatusBadRequest, url.Values{"passphrase": {one}, "again": {two}})
		if under != nil || len(notes) != 0 || strings.Contains(page, "locked") {
			t.Errorf("%q and %q: the key was given", one, two)
		}
	}
	r := adam.request(http.MethodPost, "/admin/keys", strings.NewReader(url.Values{"passphrase": {"twelve chars"},
		"again": {"twelve chars"}}.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	resp, err := adam.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Cache-Control") != "no-store" ||
		!strings.HasPrefix(resp.Header.Get("Content-Disposition"), "attachment") {
		t.Errorf("%s with %v", resp.Status, resp.Header)
	}
	if string(under) != "twelve chars" || len(notes) != 1 || notes[0].Actor != "adam" || notes[0].Action != "root key exported" {
		t.Errorf("under %q, audited %+v", under, notes)
	}
	adam.post("/admin/keys/later", http.StatusSeeOther, nil)
	if len(notes) != 2 || notes[1].Action != "root key not exported" {
		t.Errorf("audited %+v", notes)
	}
	olga := d.signedIn(t, "olga", store.RoleOfficer)
	olga.post("/admin/keys", http.StatusForbidden, url.Values{"passphrase": {"twelve chars"}, "again": {"twelve chars"}})
	if len(notes) != 2 {
		t.Error("an officer was given the root key")
	}
}

// TestBatchBarred: a site that keeps nothing of submissions accepts no batch.
func TestBatchBarred(t *testing.T) {
	t.Parallel()
	text := strings.Repeat(folios+" ", 3)
	d := newTestSiteOf(t, true, func(o *web.Options) { o.Policy.NoStore = true })
	d.signedIn(t, "olga", store.RoleOfficer).handBatch(http.StatusForbidden, nil, "a.txt", text, "b.txt", text)
	all, err := d.store.Batches.Batches(t.Context(), nil, 0, 0)
	if err != nil || len(all) != 0 {
		t.Errorf("%d batches, %v", len(all), err)
	}
}
