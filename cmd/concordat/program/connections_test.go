//go:build linux

package program

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"concordat/internal/suite"
	"concordat/store"
)

// slowConnections is the number of connections that TestSlowConnections opens. For a larger test, set CONCORDAT_SLOW_CONNECTIONS and
// CONCORDAT_DESCRIPTORS.
const (
	slowConnections = 1500
	fewDescriptors  = 1024 // the default of common systems
)

func numberFrom(t *testing.T, name string, otherwise int) int {
	t.Helper()
	s := os.Getenv(name)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestSlowConnections: if there are more connections than the process has descriptors, each with an unfinished request, then pages,
// sign-in and adding documents still work, from the same address and from others.
func TestSlowConnections(t *testing.T) {
	suite.Rest(t, "hundreds of connections")
	n, limit := numberFrom(t, "CONCORDAT_SLOW_CONNECTIONS", slowConnections), numberFrom(t, "CONCORDAT_DESCRIPTORS", fewDescriptors)
	var own syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &own); err != nil || own.Cur < uint64(n)+200 {
		t.Skipf("the test itself may have %d descriptors, and needs %d (%v)", own.Cur, n+200, err)
	}
	s := (&servedSite{t: t, data: newSite(t), descriptors: limit}).serve()
	join := "a-link-of-a-test"
	now := time.Now()
	if err := errors.Join(
		s.db.People.CreateAccount(t.Context(), store.Account{Name: "zoe", Role: store.RoleOfficer, Created: now}),
		s.db.People.PutToken(t.Context(), join, store.Token{Purpose: store.PurposeJoin, Account: "zoe", Made: now, Expires: now.Add(time.Hour)}),
		s.db.People.PutToken(t.Context(), "adds-documents", store.Token{Purpose: store.PurposeAPI, Account: "ada", Name: "add",
			Scopes: []string{"documents"}, Made: now, Expires: now.Add(time.Hour)})); err != nil {
		t.Fatal(err)
	}
	secret := "a heron stands in the reeds"
	s.form(t, "127.0.0.1", "/join", url.Values{"key": {join}, "password": {secret}, "again": {secret}})
	from := func(i int) string { return fmt.Sprintf("127.0.%d.%d", i%4, 2+i%3) } // twelve addresses
	for i := range n {
		c := dialFrom(t, from(i), s.address)
		t.Cleanup(func() { _ = c.Close() }) // the server may already have closed it
		// The server can close the connection in favour of another before everything is written.
		_, _ = io.WriteString(c,
			"POST /login HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 4000000\r\n\r\nn")
	}
	for _, address := range []string{from(0), "127.0.9.9"} {
		if code := s.form(t, address, "/login", url.Values{"name": {"zoe"}, "password": {secret}}); code != http.StatusOK {
			t.Errorf("signing in from %s: %d", address, code)
		}
		body, kind := submission(t, "paper-"+address+".txt", prose(2000))
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.address+"/api/v1/libraries/l/documents",
			bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", kind)
		r.Header.Set("Authorization", "Bearer adds-documents")
		resp, err := clientFrom(t, address).Do(r)
		if err != nil {
			t.Errorf("adding from %s: %v", address, err)
			continue
		}
		answer, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK || !strings.Contains(string(answer), `"outcome":"added"`) &&
			!strings.Contains(string(answer), `"outcome": "added"`) {
			t.Errorf("adding from %s: %d %s", address, resp.StatusCode, answer)
		}
	}
}

// TestHealthHeaders: the monitoring pages have the same headers as other pages.
func TestHealthHeaders(t *testing.T) {
	s := serveSite(t, newSite(t))
	for _, path := range []string{"/login", "/healthz", "/readyz"} {
		resp, err := http.Get("http://" + s.address + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		for _, name := range []string{"Content-Security-Policy", "X-Content-Type-Options", "Referrer-Policy", "Cross-Origin-Opener-Policy",
			"Cache-Control"} {
			if resp.StatusCode != http.StatusOK || resp.Header.Get(name) == "" {
				t.Errorf("%s: %s without %s", path, resp.Status, name)
			}
		}
	}
}

// form sends a form from an address and returns the status of the resulting page.
func (s *servedSite) form(t *testing.T, address, path string, f url.Values) int {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := clientFrom(t, address)
	c.Jar = jar
	resp, err := c.PostForm("http://"+s.address+path, f)
	if err != nil {
		t.Errorf("%s from %s: %v", path, address, err)
		return 0
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

func clientFrom(t *testing.T, address string) *http.Client {
	tr := &http.Transport{DialContext: (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}).DialContext}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Timeout: time.Minute}
}

func dialFrom(t *testing.T, address, to string) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}).DialContext(t.Context(), "tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
