package admin_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"concordat/internal/webtest"
	"concordat/store"
	"concordat/web"
	"concordat/web/pages/admin"
)

// keysOfTests exports a root key and records the passphrase.
type keysOfTests struct {
	under []byte
	notes []store.AuditNote
}

func (k *keysOfTests) Keys(context.Context) (admin.Keys, error) { return admin.Keys{}, nil }

func (k *keysOfTests) LockedRoot(_ context.Context, passphrase []byte, n ...store.AuditNote) ([]byte, error) {
	k.under, k.notes = passphrase, append(k.notes, n...)
	return []byte("the root key, locked"), nil
}

func (k *keysOfTests) PutOffRoot(_ context.Context, n ...store.AuditNote) error {
	k.notes = append(k.notes, n...)
	return nil
}

// TestRootKeyFile: the root key leaves the site only under a passphrase of at least 12 characters that was entered twice, as a file that
// is not cached. The audit records the export, or the decision against it, in the same transaction.
func TestRootKeyFile(t *testing.T) {
	t.Parallel()
	k := &keysOfTests{}
	d := webtest.NewWith(t, true, func(o *web.Options) { o.Keystore = k })
	adam := d.SignedIn(t, "adam", store.RoleAdministrator)
	adam.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for one, two := range map[string]string{"correct horse": "correct horsf", "eleven char": "eleven char", "": "",
		"ééééééééééé": "ééééééééééé"} {
		page := adam.Post("/admin/keys", http.StatusBadRequest, url.Values{"passphrase": {one}, "again": {two}})
		if k.under != nil || len(k.notes) != 0 || strings.Contains(page, "locked") {
			t.Errorf("%q and %q: the key was given", one, two)
		}
	}
	r := adam.Request(http.MethodPost, "/admin/keys", strings.NewReader(url.Values{"passphrase": {"twelve chars"},
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
	if string(k.under) != "twelve chars" || len(k.notes) != 1 || k.notes[0].Actor != "adam" || k.notes[0].Action != "root key exported" {
		t.Errorf("under %q, audited %+v", k.under, k.notes)
	}
	adam.Post("/admin/keys/later", http.StatusSeeOther, nil)
	if len(k.notes) != 2 || k.notes[1].Action != "root key not exported" {
		t.Errorf("audited %+v", k.notes)
	}
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	olga.Post("/admin/keys", http.StatusForbidden, url.Values{"passphrase": {"twelve chars"}, "again": {"twelve chars"}})
	if len(k.notes) != 2 {
		t.Error("an officer was given the root key")
	}
}
