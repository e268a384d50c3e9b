package accounts_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"concordat"
	"concordat/internal/webtest"
	"concordat/web/pages/accounts"
)

// TestWayOfProvider: an address from a provider leads only to public hosts, unless the issuer itself has answered from the site's
// network; the issuer's own host can be anywhere.
func TestWayOfProvider(t *testing.T) {
	t.Parallel()
	asked := map[string]int{}
	serve := func(name string) string {
		s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked[name]++ }))
		webtest.After(t, s.Close)
		return s.URL
	}
	issuer, inner := serve("issuer"), serve("inner")
	get := func(w *accounts.Way, url string) error {
		c := w.Client()
		defer c.CloseIdleConnections()
		resp, err := c.Get(url)
		if err == nil {
			err = resp.Body.Close()
		}
		return err
	}
	outside := accounts.NewWay("https://login.example.edu")
	if err := get(outside, inner); !errors.Is(err, concordat.ErrRefused) {
		t.Errorf("a host inside, named by a provider outside: %v", err)
	}
	outside.Proven() // it answered from outside
	if err := get(outside, inner); !errors.Is(err, concordat.ErrRefused) || asked["inner"] != 0 {
		t.Errorf("the same after discovery: %v, asked %v", err, asked)
	}
	inside := accounts.NewWay(issuer)
	if err := get(inside, inner); !errors.Is(err, concordat.ErrRefused) {
		t.Errorf("before the issuer has answered: %v", err)
	}
	if err := get(inside, issuer); err != nil {
		t.Errorf("the issuer: %v", err)
	}
	inside.Proven()
	if err := get(inside, inner); err != nil || asked["inner"] != 1 {
		t.Errorf("a host inside, named by a provider inside: %v", err)
	}
}
