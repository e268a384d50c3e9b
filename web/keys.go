package web

import (
	"context"
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"
)

// Keys tell of the keys by which the site signs what it gives out.
type Keys struct {
	Made        bool      // there are some
	Identity    string    // by which other sites know this one
	Exported    time.Time // when the root key was written elsewhere; zero: never
	WantsExport bool      // people are to be asked for it
}

// leastRootPassphrase is the length of a passphrase for the root key, in characters: the file is kept for years, and who
// finds it can try passphrases for as long.
const leastRootPassphrase = 12

// keysFor returns the keys of the site for somebody who may export them; nil: nothing is shown.
func (w adminPages) keysFor(ctx context.Context) (*Keys, error) {
	if w.o.Admin == nil || w.o.Admin.Keys == nil {
		return nil, nil
	}
	k, err := w.o.Admin.Keys(ctx)
	return &k, err
}

// exportRoot gives the root key under a passphrase as a file.
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
	_, _ = rw.Write(b) // a reader who went away asks again
}

// putOffRoot notes that the root key is not exported now.
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
