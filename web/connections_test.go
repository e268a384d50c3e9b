//go:build linux

package web_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"concordat/internal/webtest"
	"concordat/people"
	"concordat/store"
	"concordat/web"
)

// boundSite returns a site with the pages' real server and listener, limited to most connections and the given time for a request.
func boundSite(t *testing.T, most int, request time.Duration) (d *webtest.Site, l net.Listener) {
	t.Helper()
	d = webtest.New(t, true)
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	d.Web.SetRequestTime(request)
	l = d.Web.Listener(inner, most)
	h := d.Web.Server(d.Web)
	done := make(chan error, 1)
	go func() { done <- h.Serve(l) }()
	webtest.After(t, func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	d.URL = "http://" + inner.Addr().String()
	return d, l
}

// from returns a client that uses an address of the loopback network and at most one connection.
func from(t *testing.T, address string, jar http.CookieJar) *http.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	tr := &http.Transport{DialContext: dialer.DialContext, MaxConnsPerHost: 1}
	webtest.After(t, tr.CloseIdleConnections)
	return &http.Client{Transport: tr, Jar: jar, Timeout: 2 * time.Minute}
}

// slow opens a connection whose request never ends.
func slow(t *testing.T, d *webtest.Site, address string) net.Conn {
	t.Helper()
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	c, err := dialer.DialContext(t.Context(), "tcp", strings.TrimPrefix(d.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	webtest.After(t, func() { _ = c.Close() }) // perhaps already closed by the other side
	// The connection may be closed in favour of another before everything is written.
	_, _ = io.WriteString(c,
		"POST /login HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 4000000\r\n\r\nn")
	return c
}

// TestConnections: connections are limited in total and per address; newcomers are admitted, and known users stay connected.
func TestConnections(t *testing.T) {
	t.Parallel()
	const most = 40
	d, l := boundSite(t, most, time.Hour)
	known := d.SignedIn(t, "olga", store.RoleOfficer)
	olga := from(t, "127.0.0.1", known.Jar)
	look := func(c *http.Client, path string, want int) (reused bool) {
		t.Helper()
		ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(i httptrace.GotConnInfo) { reused = i.Reused }})
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, d.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body) // so that the connection can be reused
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, resp.StatusCode, want)
		}
		return reused
	}
	look(olga, "/checks", http.StatusOK)
	held := func(what string, bound int) {
		t.Helper()
		if k, s := web.Connections(l); k != 1 || s > bound || k+s > most {
			t.Errorf("%s: %d known and %d strange, want 1 and at most %d", what, k, s, bound)
		}
		look(from(t, "127.0.0.9", nil), "/login", http.StatusOK) // a new visitor
		if !look(olga, "/checks", http.StatusOK) {
			t.Errorf("%s: the connection of somebody known was closed", what)
		}
	}
	for range 200 {
		slow(t, d, "127.0.0.2")
	}
	look(from(t, "127.0.0.2", nil), "/login", http.StatusOK) // from the same address
	held("one address", most/4)
	for i := range 200 {
		slow(t, d, fmt.Sprint("127.0.1.", 1+i%50))
	}
	held("fifty addresses", most)
	// Known users with many connections make room too. They keep at most half of all connections while strangers arrive.
	for i := range 2 * most {
		look(from(t, fmt.Sprint("127.0.2.", 1+i%50), known.Jar), "/checks", http.StatusOK)
	}
	if k, s := web.Connections(l); k+s > most || s < most/2-1 {
		t.Errorf("members: %d known and %d strange of %d", k, s, most)
	}
	look(from(t, "127.0.0.9", nil), "/login", http.StatusOK)
}

// TestSlowRequests: an incomplete request is abandoned, a known user may send files slowly, and an answer may take a long time.
func TestSlowRequests(t *testing.T) {
	t.Parallel()
	const limit = 2 * time.Second // long enough for a complete request on a busy machine
	d, _ := boundSite(t, 40, limit)
	c := slow(t, d, "127.0.0.1")
	if err := c.SetReadDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a slow stranger is still there: %v", err)
	}
	// If a program's JSON body remains incomplete, the answer is a problem.
	p := d.SignedIn(t, "olga", store.RoleOfficer)
	token := p.Program(people.Scopes...).Token
	resp := half(t, d, "POST /api/v1/tokens HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer "+token+"\r\nContent-Type: application/json\r\nContent-Length: 400\r\n\r\n{")
	if resp.StatusCode != http.StatusRequestTimeout {
		t.Errorf("half a body of JSON: %s", resp.Status)
	}
	// This file takes three times as long as the time limit for a request.
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	f, err := m.CreateFormFile("file", "essay.txt")
	if err == nil {
		_, err = io.WriteString(f, strings.Repeat(webtest.Folios, 30))
	}
	if err := errors.Join(err, m.Close()); err != nil {
		t.Fatal(err)
	}
	r := p.Request(http.MethodPost, "/checks", &paced{&b, 3 * limit})
	r.Header.Set("Content-Type", m.FormDataContentType())
	p.Send(r, http.StatusOK)
}

// paced is a reader that takes the given total time in ten steps.
type paced struct {
	b    *bytes.Buffer
	took time.Duration
}

func (p *paced) Read(b []byte) (int, error) {
	time.Sleep(p.took / 10)
	return p.b.Read(b[:min(len(b), 500)])
}

// half sends an incomplete request and returns the answer.
func half(t *testing.T, d *webtest.Site, request string) *http.Response {
	t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(d.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	webtest.After(t, func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp
}

// TestLongAnswers: the time limit applies only to the request. An answer that takes longer is not truncated, with or without a body.
func TestLongAnswers(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	const limit = 2 * time.Second // long enough for the request on a busy machine
	d.Web.SetRequestTime(limit)
	h := d.Web.Server(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		select {
		case <-r.Context().Done():
			http.Error(rw, "the caller seems to have gone", http.StatusInternalServerError)
		case <-time.After(2 * limit):
		}
	}))
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- h.Serve(l) }()
	webtest.After(t, func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		<-done
	})
	at := "http://" + l.Addr().String() + "/"
	for what, ask := range map[string]func() (*http.Response, error){
		"without a body": func() (*http.Response, error) { return http.Get(at) },
		"with a body":    func() (*http.Response, error) { return http.PostForm(at, url.Values{"a": {"b"}}) },
	} {
		resp, err := ask()
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %s", what, resp.Status)
		}
	}
}
