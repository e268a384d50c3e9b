package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"concordat"
	"concordat/webhook/outbound"
)

// Options configures a Client.
type Options struct {
	// Allow lists the private networks from which the client may read.
	Allow []netip.Prefix
	// Pause is the minimum time between the end of a request to a host and the beginning of the next; robots.txt can make it longer.
	Pause time.Duration
	// Agent is the client's User-Agent; its first word is the client's name in robots.txt.
	Agent string
	// Time bounds one request, including its body; the default is ten minutes.
	Time time.Duration
	// Now and Sleep are the clock; the default is the system clock.
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
}

// Client requests URLs, pausing between requests to a host and respecting robots.txt. It is safe for concurrent use.
type Client struct {
	o    Options
	http *http.Client

	mu    sync.Mutex
	hosts map[string]*host // guarded by mu
}

// host is a scheme with host and port.
type host struct {
	mu     sync.Mutex // held while a request starts, so that requests start one at a time
	free   time.Time  // when the next request may begin
	robots *robots    // nil if not read yet
	read   time.Time  // when robots was read
}

// Errors of Open, in addition to network errors.
var (
	ErrRobots  = errors.New("robots.txt disallows access to this address")
	ErrPrivate = errors.New("the address is not public; an administrator can allow its network with harvest.allow")
	ErrLarge   = errors.New("the response is larger than this site accepts")
)

// StatusError is an answer with an unexpected status.
type StatusError struct {
	Code  int
	After time.Duration // how long the host asks the client to wait; 0 if it does not say
}

// Error returns the status.
func (e *StatusError) Error() string {
	return strings.TrimSpace(fmt.Sprintf("the server responded with %d %s", e.Code, http.StatusText(e.Code)))
}

// Busy reports whether the host asks the client to retry later.
func (e *StatusError) Busy() bool {
	return e.Code == http.StatusServiceUnavailable || e.Code == http.StatusTooManyRequests
}

const (
	maxRedirects = 6
	maxAddress   = 4000
	headerTime   = time.Minute
	robotsAge    = 24 * time.Hour
	maxRobots    = 512 << 10 // RFC 9309, section 2.5
	longestDelay = 30 * time.Second
)

// New returns a client.
func New(o Options) *Client {
	if o.Time == 0 {
		o.Time = 10 * time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = Sleep
	}
	c := &Client{o: o, hosts: map[string]*host{}}
	d := &net.Dialer{Timeout: headerTime, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		// The checked address is the dialled one, so a name cannot resolve to another address in between.
		if at, err := netip.ParseAddrPort(address); err != nil || !c.reachable(at.Addr()) {
			return ErrPrivate
		}
		return nil
	}}
	c.http = &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{Proxy: nil, DialContext: d.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: headerTime,
			ResponseHeaderTimeout: 5 * time.Minute, MaxResponseHeaderBytes: 256 << 10, IdleConnTimeout: time.Minute,
			MaxIdleConnsPerHost: 1},
	}
	return c
}

// Sleep waits for the given time, or until ctx ends.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

func (c *Client) reachable(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	for _, p := range c.o.Allow {
		if p.Contains(ip) {
			return true
		}
	}
	return outbound.Public(ip)
}

// Check returns the parsed address, or an error that wraps concordat.ErrInvalid.
func (c *Client) Check(address string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(address))
	switch {
	case len(address) > maxAddress:
		err = fmt.Errorf("%w: exceeds the maximum length", concordat.ErrInvalid)
	case err != nil || u.Scheme != "https" && u.Scheme != "http":
		err = fmt.Errorf("%w: must begin with https:// or http://", concordat.ErrInvalid)
	case u.Hostname() == "" || u.Opaque != "":
		err = fmt.Errorf("%w: missing host name", concordat.ErrInvalid)
	case u.User != nil:
		err = fmt.Errorf("%w: must not contain a user name or password", concordat.ErrInvalid)
	}
	if err == nil {
		if ip, failed := netip.ParseAddr(u.Hostname()); failed == nil && !c.reachable(ip) {
			err = fmt.Errorf("%w: %w", concordat.ErrInvalid, ErrPrivate)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("address: %w", err)
	}
	u.Fragment = ""
	return u, nil
}

// Response is an answer. Body ends with ErrLarge if it is longer than allowed.
type Response struct {
	URL    *url.URL // address of the answer, after redirections
	Header http.Header
	Type   string // media type without parameters, in lower case
	Name   string // file name from the host, or else from the address
	Body   io.ReadCloser
}

// Want describes a request.
type Want struct {
	Accept   string
	Protocol bool  // an interface for programs, to which robots.txt does not apply
	Most     int64 // maximum size of the body in bytes
}

// Open requests an address and follows redirections. A status other than 200 is a *StatusError.
func (c *Client) Open(ctx context.Context, address string, w Want) (*Response, error) {
	u, err := c.Check(address)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.o.Time)
	for range maxRedirects {
		var r *http.Response
		if r, err = c.one(ctx, u, w); err != nil {
			break
		}
		if to := r.Header.Get("Location"); to != "" && r.StatusCode >= 300 && r.StatusCode < 400 {
			_ = r.Body.Close() // its content is not needed
			next, failed := u.Parse(to)
			if failed == nil {
				u, failed = c.Check(next.String())
			}
			if failed != nil {
				err = fmt.Errorf("cannot follow a redirect: %w", failed)
				break
			}
			continue
		}
		if r.StatusCode != http.StatusOK {
			_ = r.Body.Close() // its content is not needed
			err = &StatusError{r.StatusCode, retryAfter(r.Header, c.o.Now())}
			break
		}
		if r.ContentLength > w.Most {
			_ = r.Body.Close() // its content is not needed
			err = ErrLarge
			break
		}
		media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		return &Response{URL: u, Header: r.Header, Type: media, Name: nameOf(r.Header, u), Body: &body{r.Body, w.Most, cancel}}, nil
	}
	cancel()
	if err == nil {
		err = errors.New("too many redirects")
	}
	return nil, err
}

// one sends one request as soon as the host's limits permit.
func (c *Client) one(ctx context.Context, u *url.URL, w Want) (*http.Response, error) {
	h := c.hostOf(u)
	h.mu.Lock()
	defer h.mu.Unlock()
	if !w.Protocol {
		if err := c.readRobots(ctx, h, u); err != nil {
			return nil, err
		}
		if !h.robots.allows(u) {
			return nil, ErrRobots
		}
	}
	return c.get(ctx, h, u, w.Accept)
}

func (c *Client) get(ctx context.Context, h *host, u *url.URL, accept string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	return c.send(h, r)
}

// send sends a request to a host, which the caller has locked, after the required pause.
func (c *Client) send(h *host, r *http.Request) (*http.Response, error) {
	if wait := h.free.Sub(c.o.Now()); wait > 0 {
		if err := c.o.Sleep(r.Context(), wait); err != nil {
			return nil, err
		}
	}
	r.Header.Set("User-Agent", c.o.Agent)
	out, err := c.http.Do(r)
	pause := c.o.Pause
	if h.robots != nil {
		pause = max(pause, h.robots.delay)
	}
	h.free = c.o.Now().Add(pause)
	var failed *url.Error
	if errors.As(err, &failed) {
		err = failed.Err // without the address, which the caller adds
	}
	return out, err
}

func (c *Client) hostOf(u *url.URL) *host {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := u.Scheme + "://" + u.Host
	if c.hosts[key] == nil {
		if len(c.hosts) > 1000 { // a repository can refer to any number of hosts
			clear(c.hosts)
		}
		c.hosts[key] = &host{}
	}
	return c.hosts[key]
}

// readRobots reads the host's robots.txt once a day. If there is none, everything is allowed; while the host fails, nothing is allowed
// (RFC 9309, section 2.3.1).
func (c *Client) readRobots(ctx context.Context, h *host, u *url.URL) error {
	if h.robots != nil && c.o.Now().Sub(h.read) < robotsAge {
		return nil
	}
	at := &url.URL{Scheme: u.Scheme, Host: u.Host, Path: "/robots.txt"}
	for range maxRedirects {
		r, err := c.get(ctx, h, at, "text/plain")
		if err != nil {
			return fmt.Errorf("robots.txt: %w", err)
		}
		if to := r.Header.Get("Location"); to != "" && r.StatusCode >= 300 && r.StatusCode < 400 {
			_ = r.Body.Close() // its content is not needed
			if next, err := at.Parse(to); err == nil {
				if at, err = c.Check(next.String()); err == nil {
					continue
				}
			}
			break
		}
		text, err := io.ReadAll(io.LimitReader(r.Body, maxRobots))
		_ = r.Body.Close() // it has been read
		switch {
		case err != nil:
			return fmt.Errorf("robots.txt: %w", err)
		case r.StatusCode >= 500 || r.StatusCode == http.StatusTooManyRequests:
			return fmt.Errorf("robots.txt: %w", &StatusError{r.StatusCode, retryAfter(r.Header, c.o.Now())})
		case r.StatusCode != http.StatusOK:
			text = nil
		}
		name, _, _ := strings.Cut(c.o.Agent, "/")
		h.robots, h.read = parseRobots(text, name), c.o.Now()
		return nil
	}
	h.robots, h.read = parseRobots(nil, ""), c.o.Now()
	return nil
}

// retryAfter returns how long a host asks the client to wait (RFC 9110, section 10.2.3), or 0 if it does not ask.
func retryAfter(h http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(h.Get("Retry-After"))
	if n, err := strconv.ParseInt(text, 10, 32); err == nil && n >= 0 {
		return time.Duration(n) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}

// nameOf returns the file name of an answer.
func nameOf(h http.Header, u *url.URL) string {
	if _, p, err := mime.ParseMediaType(h.Get("Content-Disposition")); err == nil && p["filename"] != "" {
		return path.Base(strings.ReplaceAll(p["filename"], `\`, "/"))
	}
	if name := path.Base(u.Path); name != "/" && name != "." {
		return name
	}
	return ""
}

// body is a body of bounded length.
type body struct {
	io.ReadCloser
	left   int64
	cancel context.CancelFunc
}

// Read implements io.Reader. It fails with ErrLarge beyond the bound.
func (b *body) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	if int64(n) > b.left {
		n, err = int(b.left), ErrLarge
	}
	b.left -= int64(n)
	return n, err
}

// Close ends the request.
func (b *body) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}
