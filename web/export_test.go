package web

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"concordat/report/language"
	"concordat/store"
	"concordat/web/bounds"
	"concordat/web/limit"
	"concordat/web/pages/accounts"
	"concordat/web/pages/intake"
	"concordat/web/review"
)

// HasMessage reports whether a message with this key exists.
func HasMessage(key string) bool { return language.English.Say(key) != key }

// Access is a page with the roles that may open it.
type Access struct {
	Pattern string
	Roles   []store.Role
}

// Access returns the pages that require a role.
func (w *Web) Access() (out []Access) {
	for _, a := range w.access {
		out = append(out, Access{a.pattern, a.roles})
	}
	return out
}

// SetRequestTime sets the time limit for receiving a request.
func (w *Web) SetRequestTime(d time.Duration) { w.requestTime = d }

// Connections returns the numbers of connections that a listener from Web.Listener counts.
func Connections(l net.Listener) (known, strange int) { return l.(*limit.Listener).Counts() }

// StatusOf returns the answers to an error: the status of the page, the status from the API, the type of the API's problem, and the page.
func (w *Web) StatusOf(err error) (page, api int, kind, text string) {
	rec := httptest.NewRecorder()
	w.Fail(rec, httptest.NewRequest(http.MethodGet, "/", nil), nil, err)
	m := ProblemOf(err)
	return rec.Code, m.Status, strings.TrimPrefix(m.Type, bounds.ProblemPrefix), rec.Body.String()
}

// Refusals returns an error for each row of the table of refusals that callers must distinguish.
func Refusals() []error {
	return []error{ErrNoToken, &http.MaxBytesError{}, &store.QuotaUsed{}, &limit.TooMany{Key: "error.often", Retry: time.Second},
		bounds.ErrSlow, review.ErrNotShown, accounts.ErrLink, errSignedOut, ErrRevision, ErrCondition,
		intake.ErrKey, &limit.Busy{Retry: time.Second}}
}
