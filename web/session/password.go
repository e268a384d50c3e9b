package session

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"concordat"
	"concordat/web/limit"
	"concordat/web/passwords"
)

// CountFailure counts a wrong password for a name that no account has.
func (s *Sessions) CountFailure(r *http.Request) {
	if try, wait := s.throttle.Begin("", s.Address(r)); wait == 0 {
		try.Failed()
	}
}

// TryPassword reports whether the password is correct for the account, and counts the try if it is not. It fails with a *limit.TooMany
// error if too many passwords were wrong, and with a *limit.Busy error if too many are being tried.
func (s *Sessions) TryPassword(r *http.Request, name, password string) (bool, error) {
	mark, err := s.knownAs(r.Context(), r, name)
	if err != nil {
		return false, err
	}
	var try *limit.Attempt
	var wait time.Duration
	if mark == "" {
		try, wait = s.throttle.Begin(name, s.Address(r))
	} else {
		try, wait = s.throttle.BeginKnown(name, mark)
	}
	switch {
	case wait > limit.Soon:
		return false, &limit.TooMany{Key: "login.wait", Retry: wait}
	case wait > 0:
		return false, &limit.Busy{Retry: wait}
	}
	ok, err := s.authentic(r.Context(), try.Rank, name, password)
	switch {
	case err != nil:
		try.Undone()
	case ok:
		try.Right()
	default:
		try.Failed()
	}
	return ok, err
}

// authentic reports whether the password is correct for the account. It takes the same time for an unknown name.
func (s *Sessions) authentic(ctx context.Context, rank int, name, password string) (bool, error) {
	a, err := s.o.Store.People.Account(ctx, name)
	if err != nil && !errors.Is(err, concordat.ErrNotFound) {
		return false, err
	}
	if len(password) > passwords.MaxBytes {
		return false, nil
	}
	ok, err2 := s.Passwords.Verify(ctx, rank, cmp.Or(a.Password, s.Passwords.Nobody()), password)
	return ok && err == nil && !a.Disabled && a.Password != "", err2
}
