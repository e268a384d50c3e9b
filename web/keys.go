package web

import (
	"context"
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"
)

// Keys describes the keys with which the site signs what it publishes.
type Keys struct {
	Made        bool      // the site has keys
	Identity    string    // identity under which other sites know this one
	Exported    time.Time // when the root key was written elsewhere; zero: never
	WantsExport bool      // people are asked to export the root key
}

// leastRootPassphrase is the minimum length of a passphrase for the root key, in characters. The file is kept for years, and anyone who
// finds it can try passphrases for as long.
const leastRootPassphrase = 12

// keysFor returns the site's keys for a visitor who may export them; or nil if nothing is shown.
func (w adminPages) keysFor(ctx context.Context) (*Keys, error) {
	if w.o.Admin == nil || w.o.Admin.Keys == nil {
		return nil, nil
	}
	k, err := w.o.Admin.Keys(ctx)
	return &k, err
}

// exportRoot sends the root key as a file, encrypted with a passphrase.
func (w adminPages) exportRoot(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	if w.o.Admin == nil || w.o.Admin.LockedRoot == nil {
		w.Fail(rw, r, v, errNoAdmin)
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
	b, err := w.o.Admin.LockedRoot(r.Context(), []byte(one), v.Note("root key exported", map[string]any{"kept": true}))
	if err != nil {
		w.Fail(rw, r, v, fmt.Errorf("root key: %w", err))
		return
	}
	rw.Header().Set("Content-Type", "application/octet-stream")
	rw.Header().Set("Cache-Control", "no-store")
	rw.Header().Set("Content-Disposition", `attachment; filename="concordat-root.key"`)
	_, _ = rw.Write(b) // a disconnected visitor can repeat the request
}

// putOffRoot records that the root key is not exported now.
func (w adminPages) putOffRoot(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	err := errNoAdmin
	if w.o.Admin != nil && w.o.Admin.PutOffRoot != nil {
		err = w.o.Admin.PutOffRoot(r.Context(), v.Note("root key not exported", nil))
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, "/admin", http.StatusSeeOther)
}
