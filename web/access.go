package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"concordat"
	"concordat/store"
	"concordat/web/limit"
	"concordat/web/message"
)

// errSignedOut rejects a form from a visitor who is not signed in or whose session has ended.
var errSignedOut = fmt.Errorf("no one is signed in: %w", concordat.ErrRefused)

// as returns a page handler for signed-in people with one of the roles.
func (w *Web) as(roles []store.Role, page func(http.ResponseWriter, *http.Request, *Visitor)) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		v, err := w.Sessions.Visitor(r)
		switch {
		case errors.Is(err, concordat.ErrNotFound):
			switch {
			case r.Method == http.MethodGet:
			case strings.Contains(r.Header.Get("Accept"), "application/json"):
				w.signInFirst(rw, r)
				return
			default:
				w.Fail(rw, r, nil, errSignedOut)
				return
			}
			http.Redirect(rw, r, "/login?next="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
		case err != nil:
			w.Fail(rw, r, nil, err)
		case !slices.Contains(roles, v.Role):
			w.Fail(rw, r, v, fmt.Errorf("access to %s as %s: %w", r.URL.Path, v.Role, concordat.ErrRefused))
		default:
			limit.Known(rw, r)
			page(rw, r, v)
		}
	}
}

// signInFirst tells a page's script that the session has ended and where to sign in again.
func (w *Web) signInFirst(rw http.ResponseWriter, r *http.Request) {
	_, _ = io.CopyN(io.Discard, r.Body, w.o.MaxUpload) // a browser reads the answer only after it has sent everything
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(http.StatusUnauthorized)
	_ = json.NewEncoder(rw).Encode(handed{Problem: message.LanguageOf(r).Say("new.ended"), SignIn: "/login?next=/checks"})
}
