package web

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"concordat"
	"concordat/people"
	"concordat/store"
	"concordat/web/bounds"
	"concordat/web/limit"
	"concordat/web/message"
	"concordat/web/pages/accounts"
	"concordat/web/pages/intake"
	"concordat/web/review"
)

// refusal is the answer to an error, the same for pages and the API.
type refusal struct {
	is     func(error) bool
	status int
	kind   string // kind of the API's problem, which is the stable end of its type
	key    string // message key of the page
}

// refusals lists the errors that callers can act on. The first match applies, so an error that wraps another comes before it.
var refusals = []refusal{
	{wraps(ErrNoToken), http.StatusUnauthorized, "token", "error.signed"},
	{wraps(ErrMethod), http.StatusMethodNotAllowed, "method", "error.absent"},
	{is[*http.MaxBytesError], http.StatusRequestEntityTooLarge, "large", "error.large"},
	{intake.TooLarge, http.StatusRequestEntityTooLarge, "large", "error.large"},
	{is[*store.QuotaUsed], http.StatusTooManyRequests, "quota", "error.quota"},
	{is[*people.TooManyOpen], http.StatusTooManyRequests, "too_many", "error.open"},
	{is[*limit.TooMany], http.StatusTooManyRequests, "too_many", "error.often"},
	{wraps(bounds.ErrSlow), http.StatusRequestTimeout, "slow", "wrong.form"},
	{wraps(review.ErrNotShown), http.StatusForbidden, "refused", "error.notshown"},
	{wraps(accounts.ErrLink), http.StatusNotFound, "not_found", "error.link"},
	{wraps(errSignedOut), http.StatusForbidden, "refused", "error.signed"},
	{wraps(concordat.ErrNotFound), http.StatusNotFound, "not_found", "error.absent"},
	{wraps(concordat.ErrRefused), http.StatusForbidden, "refused", "error.refused"},
	{wraps(concordat.ErrDiskFull), http.StatusInsufficientStorage, "disk_full", "error.full"},
	{wraps(ErrRevision), http.StatusPreconditionFailed, "changed", "error.changed"},
	{wraps(concordat.ErrChanged), http.StatusConflict, "changed", "error.changed"},
	{wraps(ErrCondition), http.StatusPreconditionRequired, "condition", "error.changed"},
	{wraps(concordat.ErrExists), http.StatusConflict, "exists", "error.exists"},
	{wraps(intake.ErrKey), http.StatusUnprocessableEntity, "idempotency_key", "error.invalid"},
	{wraps(concordat.ErrInvalid), http.StatusBadRequest, "invalid", "error.invalid"},
	{is[*limit.Busy], http.StatusServiceUnavailable, "unavailable", "login.busy"},
	{wraps(concordat.ErrUnavailable), http.StatusServiceUnavailable, "unavailable", "error.busy"},
}

// ourFault is the answer to all other errors.
var ourFault = refusal{nil, http.StatusInternalServerError, kindFault, "error.fault"}

// kindFault is the kind of ourFault; callers learn nothing more.
const kindFault = "fault"

func wraps(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func is[T error](err error) bool {
	var t T
	return errors.As(err, &t)
}

// refusalOf returns the answer to err.
func refusalOf(err error) refusal {
	for _, r := range refusals {
		if r.is(err) {
			return r
		}
	}
	return ourFault
}

// ErrMethod means that the path is known but does not allow this method.
var ErrMethod = errors.New("this path does not support the method; the Allow header lists the methods that it supports")

var ErrNoToken = errors.New("no valid token in Authorization: Bearer TOKEN")

var (
	// ErrRevision means that the object to change has changed since the caller read it.
	ErrRevision  = fmt.Errorf("%w; fetch the current version", concordat.ErrChanged)
	ErrCondition = errors.New("the request needs an If-Match header with the ETag of the resource that it changes")
)

// ProblemOf describes an error in the form of RFC 9457, according to refusals. Types are stable.
func ProblemOf(err error) *huma.ErrorModel {
	of := refusalOf(err)
	m := &huma.ErrorModel{Type: bounds.ProblemPrefix + of.kind, Title: http.StatusText(of.status), Status: of.status}
	switch {
	case errors.Is(err, store.ErrNoAnswer):
		m.Detail = store.ErrNoAnswer.Error()
	case of.kind != kindFault:
		m.Detail = err.Error()
	}
	return bounds.Brief(m)
}

// Limits converts an error about a limit to status 429 with a time to retry. It returns nil for other errors.
func Limits(l message.Language, now time.Time, err error) (key, detail string, retry time.Duration, ok bool) {
	var many *limit.TooMany
	var open *people.TooManyOpen
	var used *store.QuotaUsed
	switch {
	case errors.As(err, &used):
		retry = time.Hour
		if !used.Retry.IsZero() {
			retry = used.Retry.Sub(now)
		}
		return "error.quota", l.Cause(used.Cause()), retry, true
	case errors.As(err, &open) && open.Public:
		return "error.crowd", "", open.Retry, true
	case errors.As(err, &open):
		return "error.open", "", open.Retry, true
	case errors.As(err, &many):
		return many.Key, "", many.Retry, true
	}
	return "", "", 0, false
}
