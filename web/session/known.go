package session

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"concordat"
	"concordat/store"
)

// knownTime is how long a browser remains known after a sign-in.
const knownTime = 90 * 24 * time.Hour

// knownCookie returns the name of the cookie that marks a browser from which someone has signed in. The cookie itself signs no one in. A
// password from a known browser is tried before strangers' passwords, and strangers who guess passwords cannot lock the account for this
// browser (OWASP, "Slow Down Online Guessing Attacks with Device Cookies").
func (s *Sessions) knownCookie() string {
	if s.o.Secure {
		return "__Host-known"
	}
	return "known"
}

// knownMark computes a MAC of an account and a time. Its key depends on the account's password, so the mark becomes invalid when the
// password changes. The key is derived from the salted hash of the password, which does not otherwise leave the store, so the mark does
// not help anyone guess the password.
func knownMark(a *store.Account, until int64) string {
	key := sha256.Sum256([]byte("concordat known browser 1\x00" + a.Password))
	mac := hmac.New(sha256.New, key[:])
	mac.Write([]byte(strconv.FormatInt(until, 36) + "\x00" + a.Name))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

// remember marks the browser as known to an account that has a password.
func (s *Sessions) remember(rw http.ResponseWriter, r *http.Request, account string) error {
	a, err := s.o.Store.People.Account(r.Context(), account)
	if err != nil || a.Password == "" {
		return err
	}
	until := s.o.Now().Add(knownTime).Unix()
	http.SetCookie(rw, &http.Cookie{Name: s.knownCookie(), Value: strconv.FormatInt(until, 36) + "." + knownMark(&a, until), Path: "/",
		MaxAge: int(knownTime.Seconds()), HttpOnly: true, Secure: s.o.Secure, SameSite: http.SameSiteLaxMode})
	return nil
}

// knownAs returns the mark that identifies the browser to the account, or "" if there is none.
func (s *Sessions) knownAs(ctx context.Context, r *http.Request, account string) (string, error) {
	c, err := r.Cookie(s.knownCookie())
	if err != nil {
		return "", nil // the account has no password
	}
	at, mark, ok := strings.Cut(c.Value, ".")
	until, err := strconv.ParseInt(at, 36, 64)
	if !ok || err != nil || until < s.o.Now().Unix() {
		return "", nil
	}
	a, err := s.o.Store.People.Account(ctx, account)
	if errors.Is(err, concordat.ErrNotFound) {
		return "", nil
	}
	if err != nil || a.Password == "" || !hmac.Equal([]byte(mark), []byte(knownMark(&a, until))) {
		return "", err
	}
	return mark, nil
}
