package federation

import (
	"context"
	"errors"
	"fmt"

	"concordat"
)

// Kind is the way a partner failed to answer.
type Kind string

// The kinds of failure.
const (
	KindDown     Kind = "down"     // the connection could not be made, or broke
	KindSilent   Kind = "silent"   // no timely answer
	KindStranger Kind = "stranger" // another site answered, with a key that is not on the partner's card
	KindRejected Kind = "rejected" // the partner does not accept messages from this site, without giving a reason
	KindGarbage  Kind = "garbage"  // the answer breaks the protocol, or answers a different question
)

// Error is the failure of one partner. It wraps concordat.ErrUnavailable and the cause, and also concordat.ErrInvalid if the kind is
// KindGarbage. A well-formed refusal is not an Error but a *concordat.Refusal.
type Error struct {
	Site concordat.SiteID
	Kind Kind
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("site %s is %s: %v", e.Site, e.Kind, e.Err) }

func (e *Error) Unwrap() []error {
	if e.Kind == KindGarbage {
		return []error{concordat.ErrUnavailable, concordat.ErrInvalid, e.Err}
	}
	return []error{concordat.ErrUnavailable, e.Err}
}

// failure converts err, from a call to site, to the error for the caller. A refusal, an Error, and the end of the caller's own ctx are
// returned unchanged; a deadline becomes KindSilent, and anything else becomes the given kind.
func failure(ctx context.Context, site concordat.SiteID, kind Kind, err error) error {
	var known *Error
	var refusal *concordat.Refusal
	switch {
	case err == nil || errors.As(err, &known) || errors.As(err, &refusal):
		return err
	case errors.Is(ctx.Err(), context.Canceled):
		return fmt.Errorf("ask site %s: %w", site, context.Canceled)
	case ctx.Err() != nil || isTimeout(err):
		kind = KindSilent
	}
	return &Error{Site: site, Kind: kind, Err: err}
}

func isTimeout(err error) bool {
	var t interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &t) && t.Timeout()
}
