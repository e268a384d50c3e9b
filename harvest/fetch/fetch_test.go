package fetch_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/harvest/fetch"
)

var start = time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)

// client returns a client that may read from this machine, and a record of its pauses.
func client(pause time.Duration) (*fetch.Client, *[]time.Duration) {
	now, slept := start, []time.Duration{}
	return fetch.New(fetch.Options{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Pause: pause, Agent: "concordat/1.0 (test)",
		Now: func() time.Time { return now }, Sleep: func(ctx context.Context, d time.Duration) error {
			now, slept = now.Add(d), append(slept, d)
			return ctx.Err()
		}}), &slept
}

func serve(t *testing.T, pages map[string]http.HandlerFunc) *httptest.Server {
	s := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if p := pages[r.URL.Path]; p != nil {
			p(rw, r)
			return
		}
		http.NotFound(rw, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func says(text string) http.HandlerFunc {
	return func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, text) }
}

func get(t *testing.T, c *fetch.Client, at string, w fetch.Want) (string, error) {
	t.Helper()
	if w.Most == 0 {
		w.Most = 100
	}
	r, err := c.Open(t.Context(), at, w)
	if err != nil {
		return "", err
	}
	b, err := io.ReadAll(r.Body)
	return string(b), errors.Join(err, r.Body.Close())
}

// TestPrivate: nothing is read from a network that is not allowed, whatever the address.
func TestPrivate(t *testing.T) {
	inside := serve(t, map[string]http.HandlerFunc{"/": says("secret"), "/robots.txt": says("")})
	port := inside.URL[strings.LastIndex(inside.URL, ":"):]
	closed := fetch.New(fetch.Options{Agent: "concordat/1.0"})
	for _, at := range []string{inside.URL, "http://localhost" + port, "http://[::1]" + port, "http://2130706433" + port} {
		if text, err := get(t, closed, at, fetch.Want{}); err == nil {
			t.Errorf("%s gave %q", at, text)
		}
	}
	open, _ := client(0)
	leads := serve(t, map[string]http.HandlerFunc{"/robots.txt": says(""), "/": func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, "http://10.1.2.3/", http.StatusFound)
	}, "/file": func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Location", "file:///etc/passwd")
		rw.WriteHeader(http.StatusFound)
	}})
	for _, at := range []string{leads.URL + "/", leads.URL + "/file"} {
		if _, err := get(t, open, at, fetch.Want{}); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%s: %v", at, err)
		}
	}
}

// TestBounds: a body ends at the caller's limit, whether or not its length was stated.
func TestBounds(t *testing.T) {
	s := serve(t, map[string]http.HandlerFunc{"/told": says(strings.Repeat("x", 101)), "/fits": says(strings.Repeat("x", 100)),
		"/untold": func(rw http.ResponseWriter, _ *http.Request) {
			for range 101 {
				_, _ = io.WriteString(rw, "x")
				_ = http.NewResponseController(rw).Flush()
			}
		}, "/loop": func(rw http.ResponseWriter, r *http.Request) { http.Redirect(rw, r, "/loop", http.StatusFound) }})
	c, _ := client(0)
	for path, want := range map[string]error{"/told": fetch.ErrLarge, "/untold": fetch.ErrLarge, "/fits": nil} {
		if _, err := get(t, c, s.URL+path, fetch.Want{}); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", path, err, want)
		}
	}
	if _, err := get(t, c, s.URL+"/loop", fetch.Want{}); err == nil || !strings.Contains(err.Error(), "redirects") {
		t.Errorf("a loop: %v", err)
	}
}

// TestPolite: requests to a host are separated by the client's pause or the one in robots.txt, whichever is longer; addresses for
// programs are exempt from robots.txt.
func TestPolite(t *testing.T) {
	var agents []string
	s := serve(t, map[string]http.HandlerFunc{"/a": func(rw http.ResponseWriter, r *http.Request) {
		agents = append(agents,
			r.UserAgent())
	},
		"/robots.txt": says("User-agent: *\nDisallow: /\n\nUser-agent: Concordat\nCrawl-delay: 3\nDisallow: /closed\n")})
	c, slept := client(time.Second)
	for _, at := range []string{"/a", "/a"} {
		if _, err := get(t, c, s.URL+at, fetch.Want{}); err != nil {
			t.Error(err)
		}
	}
	if want := []time.Duration{time.Second, 3 * time.Second}; !slices.Equal(*slept, want) {
		t.Errorf("waited %v, want %v", *slept, want) // before robots.txt is read, the delay is unknown
	}
	if _, err := get(t, c, s.URL+"/closed/1", fetch.Want{}); !errors.Is(err, fetch.ErrRobots) {
		t.Errorf("closed: %v", err)
	}
	if _, err := get(t, c, s.URL+"/closed/1", fetch.Want{Protocol: true}); errors.Is(err, fetch.ErrRobots) {
		t.Errorf("an interface: %v", err)
	}
	if agents[0] != "concordat/1.0 (test)" {
		t.Errorf("agent %q", agents[0])
	}
}

// TestPost: a post observes the host's pause, including the one in robots.txt, and returns the status of the answer.
func TestPost(t *testing.T) {
	code, got := http.StatusAccepted, ""
	s := serve(t, map[string]http.HandlerFunc{"/a": says("a"), "/robots.txt": says("User-agent: *\nCrawl-delay: 3\n"),
		"/inbox": func(rw http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body) // compared below
			got = r.Method + " " + r.UserAgent() + " " + r.Header.Get("Content-Type") + " " + string(b)
			rw.WriteHeader(code)
		}})
	c, slept := client(time.Second)
	if _, err := get(t, c, s.URL+"/a", fetch.Want{}); err != nil {
		t.Error(err)
	}
	for range 2 {
		if status, err := c.Post(t.Context(), s.URL+"/inbox", "text/x", []byte("body")); err != nil || status != code {
			t.Errorf("%d, %v", status, err)
		}
	}
	if want := []time.Duration{time.Second, 3 * time.Second, 3 * time.Second}; !slices.Equal(*slept, want) {
		t.Errorf("waited %v, want %v", *slept, want)
	}
	if want := "POST concordat/1.0 (test) text/x body"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	code = http.StatusGone
	status, err := c.Post(t.Context(), s.URL+"/inbox", "text/x", nil)
	if failed := (*fetch.StatusError)(nil); status != code || !errors.As(err, &failed) || failed.Code != code {
		t.Errorf("%d, %v", status, err)
	}
	s.Close()
	if status, err := c.Post(t.Context(), s.URL+"/inbox", "text/x", nil); status != 0 || err == nil || strings.Contains(err.Error(), s.URL) {
		t.Errorf("%d, %v", status, err)
	}
}

// TestRobotsFail: while robots.txt is unavailable, nothing is read; if it does not exist, everything may be read.
func TestRobotsFail(t *testing.T) {
	code := http.StatusInternalServerError
	s := serve(t, map[string]http.HandlerFunc{"/a": says("a"), "/robots.txt": func(rw http.ResponseWriter,
		_ *http.Request) {
		rw.WriteHeader(code)
	}})
	c, _ := client(0)
	if text, err := get(t, c, s.URL+"/a", fetch.Want{}); err == nil {
		t.Errorf("got %q", text)
	}
	code = http.StatusNotFound
	if _, err := get(t, c, s.URL+"/a", fetch.Want{}); err != nil {
		t.Error(err)
	}
}

// TestLongLine: a line of the maximum length of robots.txt does not prevent later rules from being read.
func TestLongLine(t *testing.T) {
	s := serve(t, map[string]http.HandlerFunc{"/a": says("a"), "/robots.txt": says("User-agent: *\nDisallow: /" +
		strings.Repeat("x", 200<<10) + "\nDisallow: /a\n")})
	c, _ := client(0)
	if text, err := get(t, c, s.URL+"/a", fetch.Want{}); !errors.Is(err, fetch.ErrRobots) {
		t.Errorf("got %q, %v", text, err)
	}
}

// TestRetryAfter: a busy host states how long to wait, in seconds or as a date.
func TestRetryAfter(t *testing.T) {
	s := serve(t, map[string]http.HandlerFunc{"/": func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Retry-After", r.URL.Query().Get("after"))
		rw.WriteHeader(http.StatusServiceUnavailable)
	}})
	c, _ := client(0)
	for after, want := range map[string]time.Duration{"120": 2 * time.Minute, start.Add(time.Hour).Format(http.TimeFormat): time.Hour,
		start.Add(-time.Hour).Format(http.TimeFormat): 0, "soon": 0, "-5": 0, "": 0} {
		_, err := get(t, c, s.URL+"/?after="+url.QueryEscape(after), fetch.Want{Protocol: true})
		status := (*fetch.StatusError)(nil)
		if !errors.As(err, &status) || !status.Busy() || status.After != want {
			t.Errorf("%q: %v, want %s", after, err, want)
		}
	}
}

// TestNames: the host determines the name of a file, which is never a path.
func TestNames(t *testing.T) {
	s := serve(t, map[string]http.HandlerFunc{"/d/1": func(rw http.ResponseWriter, r *http.Request) {
		rw.Header().Set("Content-Disposition", r.URL.Query().Get("is"))
	}})
	c, _ := client(0)
	for is, want := range map[string]string{`attachment; filename="thesis.pdf"`: "thesis.pdf",
		`inline; filename="../../etc/passwd"`: "passwd",
		`attachment; filename="C:\\x\\y.doc"`: "y.doc", `attachment; filename*=UTF-8''%C3%A4.pdf`: "ä.pdf", "": "1", "nonsense;;": "1"} {
		r, err := c.Open(t.Context(), s.URL+"/d/1?is="+url.QueryEscape(is), fetch.Want{Protocol: true, Most: 10})
		if err != nil {
			t.Fatal(err)
		}
		if r.Name != want {
			t.Errorf("%s: %q, want %q", is, r.Name, want)
		}
		if err := r.Body.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestRobots: the longest match decides, as in RFC 9309.
func TestRobots(t *testing.T) {
	rules := "# all\r\nUser-Agent: other\nDisallow: /\n\nuser-agent: *\nUser-agent: third\nDisallow: /a\nAllow: /a/b # but\nDisallow: /*.doc$\nDisallow: /q?*x=1\nDisallow:\nAllow: /%C3%A4\nDisallow: /ä/z\nSitemap: http://x/\n"
	for path, want := range map[string]bool{"/": true, "/a": false, "/ab": false, "/a/b/c": true, "/x.doc": false, "/x.docx": true,
		"/x.doc?y":   true,
		"/q?y=2&x=1": false, "/q?x=2": true, "/%C3%A4/z": false, "/%C3%A4/y": true} {
		s := serve(t, map[string]http.HandlerFunc{"/robots.txt": says(rules)})
		c, _ := client(0)
		_, err := get(t, c, s.URL+path, fetch.Want{})
		if got := !errors.Is(err, fetch.ErrRobots); got != want {
			t.Errorf("%s: %v, want %v (%v)", path, got, want, err)
		}
	}
}

// FuzzRobots: no robots.txt delays the client for long or stops it.
func FuzzRobots(f *testing.F) {
	f.Add("User-agent: *\nDisallow: /a*b*c$\nCrawl-delay: 1e300\n", "/a/b/c")
	f.Add("user-agent:\n:\nallow:*\n", "/")
	f.Fuzz(func(t *testing.T, text, path string) {
		u, err := url.Parse(path)
		if err != nil {
			return
		}
		if d := fetch.TryRobots([]byte(text), u); d < 0 || d > time.Minute {
			t.Errorf("a delay of %s", d)
		}
	})
}
