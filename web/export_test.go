package web

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"time"

	"concordat/report/language"
	"concordat/store"
	"concordat/web/bounds"
	"concordat/web/limit"
)

// HasMessage reports whether there is a text of that key.
func HasMessage(key string) bool { return language.English.Say(key) != key }

// AccountName is the name of the account of a person whom a provider calls by the claim.
func AccountName(claim string) string { return accountName(claim, &identity{}) }

// Access is who may open which page.
type Access struct {
	Pattern string
	Roles   []store.Role
}

// Access returns the pages that want a role.
func (w *Web) Access() (out []Access) {
	for _, a := range w.access {
		out = append(out, Access{a.pattern, a.roles})
	}
	return out
}

// Forget empties what is kept of reports.
func (w *Web) Forget() {
	w.cache.mu.Lock()
	defer w.cache.mu.Unlock()
	w.cache.entries, w.cache.bytes = nil, 0
}

// BoundReportCache sets how many bytes of findings are kept, about.
func (w *Web) BoundReportCache(bytes int) {
	w.cache.mu.Lock()
	defer w.cache.mu.Unlock()
	w.cache.most = bytes
}

// Shelved returns how many bytes are kept.
func (w *Web) Shelved() int {
	w.cache.mu.Lock()
	defer w.cache.mu.Unlock()
	sum := 0
	for _, b := range w.cache.entries {
		sum += b.bytes
	}
	if sum != w.cache.bytes {
		return -sum - w.cache.bytes // the sum went wrong
	}
	return sum
}

// JoinLink creates a link for choosing a password and returns its path.
func (w *Web) JoinLink(ctx context.Context, name string) (string, error) {
	_, link, err := w.People.NewLink(ctx, "test", name)
	return JoinPath(link), err
}

// LockAccount uses up the wrong passwords of an account, from as many addresses as that takes.
func (w *Web) LockAccount(name string) {
	for i := 0; ; i++ {
		try, wait := w.throttle.Begin(name, "address "+strconv.Itoa(i))
		if wait > 0 {
			return
		}
		try.Failed()
	}
}

// Waiting returns how many wait for their password to be tried.
func (w *Web) Waiting() int { return w.hashing.Waiters() }

// SetRequestTime sets how long a request may take to come.
func (w *Web) SetRequestTime(d time.Duration) { w.requestTime = d }

// Connections returns how many connections a listener of Web.Listener counts.
func Connections(l net.Listener) (known, strange int) { return l.(*limit.Listener).Counts() }

// Way is way, for tests.
type Way struct{ w *way }

// NewWay returns how connections of a provider with this issuer are made.
func NewWay(issuer string) *Way { return &Way{newWay(issuer)} }

// Client returns a client that goes this way.
func (w *Way) Client() *http.Client { return &http.Client{Transport: w.w.transport()} }

// Proven notes that the issuer has answered.
func (w *Way) Proven() { w.w.proven() }

// StatusOf returns the statuses with which a page and the API answer an error, the type of the API's problem, and the page.
func (w *Web) StatusOf(err error) (page, api int, kind, text string) {
	rec := httptest.NewRecorder()
	w.Fail(rec, httptest.NewRequest(http.MethodGet, "/", nil), nil, err)
	m := ProblemOf(err)
	return rec.Code, m.Status, strings.TrimPrefix(m.Type, bounds.ProblemPrefix), rec.Body.String()
}

// Refusals are errors of each row of the table of refusals that callers have to tell apart.
func Refusals() []error {
	return []error{ErrNoToken, &http.MaxBytesError{}, &store.QuotaUsed{}, &limit.TooMany{Key: "error.often", Retry: time.Second},
		bounds.ErrSlow, ErrNotShown, errLink, errSignedOut, ErrRevision, ErrCondition, errKey, &limit.Busy{Retry: time.Second}}
}

// OriginalOf is originalOf.
var OriginalOf = originalOf
