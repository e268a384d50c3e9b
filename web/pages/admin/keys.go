package admin

import (
	"context"
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"

	"concordat/store"
	"concordat/web/pages"
)

// Keys describes the keys that sign the site's publications.
type Keys struct {
	Made        bool      // the site has keys
	Identity    string    // identity under which other sites know this one
	Exported    time.Time // when the root key was exported; zero if never
	WantsExport bool      // people are reminded to export the root key
}

// Keystore contains the site's signing keys. It is safe for concurrent use.
type Keystore interface {
	Keys(ctx context.Context) (Keys, error)
	// LockedRoot returns the root key, encrypted with a passphrase; the keystore keeps its own copy.
	LockedRoot(ctx context.Context, passphrase []byte, notes ...store.AuditNote) ([]byte, error)
	// PutOffRoot records that no one should be reminded of the root key again.
	PutOffRoot(ctx context.Context, notes ...store.AuditNote) error
}

// leastRootPassphrase is the minimum length of a passphrase for the root key, in characters. The file is kept for years, and anyone who
// finds it has as long to guess the passphrase.
const leastRootPassphrase = 12

// keysFor returns the site's keys for a visitor who may export them, or nil if nothing is shown.
func (w Admin) keysFor(ctx context.Context) (*Keys, error) {
	if w.o.Keystore == nil {
		return nil, nil
	}
	k, err := w.o.Keystore.Keys(ctx)
	return &k, err
}

// exportRoot sends the root key as a file, encrypted with a passphrase.
func (w Admin) exportRoot(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	if w.o.Keystore == nil {
		w.frame.Fail(rw, r, v, pages.ErrNoProcess)
		return
	}
	one, two := r.PostFormValue("passphrase"), r.PostFormValue("again")
	switch {
	case one != two:
		w.showHealth(rw, r, v, http.StatusBadRequest, "keys.differ")
		return
	case utf8.RuneCountInString(one) < leastRootPassphrase:
		w.showHealth(rw, r, v, http.StatusBadRequest, "keys.short")
		return
	}
	b, err := w.o.Keystore.LockedRoot(r.Context(), []byte(one), v.Note("root key exported", map[string]any{"kept": true}))
	if err != nil {
		w.frame.Fail(rw, r, v, fmt.Errorf("root key: %w", err))
		return
	}
	rw.Header().Set("Content-Type", "application/octet-stream")
	rw.Header().Set("Cache-Control", "no-store")
	rw.Header().Set("Content-Disposition", `attachment; filename="concordat-root.key"`)
	_, _ = rw.Write(b) // a disconnected visitor can repeat the request
}

// putOffRoot records that the visitor does not want to export the root key.
func (w Admin) putOffRoot(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	err := pages.ErrNoProcess
	if w.o.Keystore != nil {
		err = w.o.Keystore.PutOffRoot(r.Context(), v.Note("root key not exported", nil))
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, "/admin", http.StatusSeeOther)
}
