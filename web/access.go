package web

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"concordat"
	"concordat/store"
	"concordat/web/limit"
	"concordat/web/pages/intake"
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
				intake.SignInFirst(rw, r, w.o.MaxUpload)
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
