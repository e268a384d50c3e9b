// Package session recognises who sends a request. It begins and ends people's sessions, and checks their passwords while limiting
// guesses. It is independent of the pages. Start with New.
package session

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net/http"
	"time"

	"concordat"
	"concordat/people"
	"concordat/store"
	"concordat/web/limit"
	"concordat/web/pages"
	"concordat/web/passwords"
)

const (
	// FlowTime is the maximum duration of a sign-in at a provider.
	FlowTime = 15 * time.Minute
	// SignTime bounds all requests to a provider during one sign-in.
	SignTime = 20 * time.Second
)

// Options configures the sessions. All fields except Proxies and Secure are required.
type Options struct {
	Store   *store.DB
	People  *people.Registry
	Hashing passwords.Cost // cost of hashing a password; zero means a site's default
	Idle    time.Duration  // an unused session ends after this time
	Proxies limit.Proxies
	Secure  bool // people reach the site over https, and cookies are bound to it
	Now     func() time.Time
}

// Sessions are the sessions of people who have signed in. They are safe for concurrent use.
type Sessions struct {
	Passwords *passwords.Hasher
	o         Options
	throttle  limit.Throttle
}

// New returns the sessions of a site.
func New(o Options) *Sessions {
	return &Sessions{Passwords: passwords.NewHasher(o.Hashing), o: o,
		throttle: limit.Throttle{Limiter: limit.Limiter{Now: o.Now, Window: limit.ThrottleTime}}}
}

// Address returns the client address of a request; see limit.Proxies.
func (s *Sessions) Address(r *http.Request) string { return s.o.Proxies.Address(r) }

// cookie returns the name of the session cookie. Browsers accept names that begin with __Host- only over https and only for this exact
// host.
func (s *Sessions) cookie() string {
	if s.o.Secure {
		return "__Host-session"
	}
	return "session"
}

// HostCookie returns the name of a cookie that is valid only for this host.
func (s *Sessions) HostCookie(name string) string {
	if s.o.Secure {
		return "__Host-" + name
	}
	return name
}

// Visitor returns the signed-in visitor, or concordat.ErrNotFound.
func (s *Sessions) Visitor(r *http.Request) (*pages.Visitor, error) {
	c, err := r.Cookie(s.cookie())
	if err != nil {
		return nil, fmt.Errorf("session: %w", concordat.ErrNotFound)
	}
	t, err := s.o.Store.People.UseSession(r.Context(), c.Value, s.o.Idle)
	if err != nil {
		return nil, err
	}
	a, err := s.o.Store.People.Account(r.Context(), t.Account)
	if err != nil {
		return nil, err
	}
	if a.Disabled {
		return nil, fmt.Errorf("account %s is disabled: %w", a.Name, concordat.ErrNotFound)
	}
	return &pages.Visitor{Account: a, Session: store.SecretID(c.Value), Address: s.Address(r)}, nil
}

// Begin begins a session, ends the browser's former session, and marks the browser as known.
func (s *Sessions) Begin(rw http.ResponseWriter, r *http.Request, account string, notes ...store.AuditNote) error {
	former := ""
	if c, err := r.Cookie(s.cookie()); err == nil {
		former = c.Value
	}
	secret, err := s.o.People.Begin(r.Context(), account, former, r.UserAgent(), notes...)
	if err != nil {
		return err
	}
	http.SetCookie(rw, &http.Cookie{Name: s.cookie(), Value: secret, Path: "/", MaxAge: int(people.SessionTime.Seconds()), HttpOnly: true,
		Secure: s.o.Secure, SameSite: http.SameSiteLaxMode})
	return s.remember(rw, r, account)
}

// End ends the browser's session, if it has one.
func (s *Sessions) End(rw http.ResponseWriter, r *http.Request) error {
	if c, err := r.Cookie(s.cookie()); err == nil {
		if err := s.o.People.End(r.Context(), c.Value); err != nil {
			return err
		}
	}
	http.SetCookie(rw, &http.Cookie{Name: s.cookie(), Path: "/", MaxAge: -1, HttpOnly: true, Secure: s.o.Secure,
		SameSite: http.SameSiteLaxMode})
	return nil
}

// HashText returns the SHA-256 hash of s in hexadecimal digits.
func HashText(s string) string {
	h := sha256.Sum256([]byte(s))
	return hex.EncodeToString(h[:])
}

// EqualText reports whether a and b are equal, in time that depends only on their lengths.
func EqualText(a, b string) bool { return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1 }
