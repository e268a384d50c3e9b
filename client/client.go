package client

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Options configures a Client. Address and Token are required.
type Options struct {
	Address string       // address of the site, for example https://site.example; its path is kept
	Token   string       // as shown on the account page
	HTTP    *http.Client // the default has no time limit, because contexts set one
	// Tries is the maximum number of attempts at a repeatable request; the default is 5, and 1 disables retries.
	Tries int
	// Wait is the maximum pause before the second attempt; it doubles each time, up to 30 s. The default is 500 ms.
	Wait time.Duration
}

// Client acts on behalf of its token's account. It is safe for concurrent use.
type Client struct {
	o    Options
	base string
}

const (
	prefix = "/api/v1"
	// maxWait bounds the pause between two attempts.
	maxWait = 30 * time.Second
	// maxProblem is the maximum number of bytes read from an error response.
	maxProblem = 1 << 20
)

// New returns a client. It fails if the address is not an http or https URL or the token is empty.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.Address)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("client: %q is not a valid site address", o.Address)
	}
	if o.Token == "" {
		return nil, errors.New("client: missing token")
	}
	if o.HTTP == nil {
		o.HTTP = &http.Client{}
	}
	o.Tries = cmp.Or(o.Tries, 5)
	o.Wait = cmp.Or(o.Wait, 500*time.Millisecond)
	return &Client{o, strings.TrimSuffix(u.String(), "/")}, nil
}

// Problem is an error reported by a site (RFC 9457).
type Problem struct {
	Type   string `json:"type"` // urn:concordat:problem: followed by a stable word
	Title  string `json:"title"`
	Status int    `json:"status"` // HTTP status
	Detail string `json:"detail"`
	Errors []struct {
		Message  string `json:"message"`
		Location string `json:"location"`
	} `json:"errors"`
	// After is how long the site asks the client to wait; 0 if unspecified.
	After time.Duration `json:"-"`
}

// Kind returns the word at the end of the type: token, refused, not_found, invalid, large, changed, condition, exists, idempotency_key,
// disk_full, unavailable, fault or a newer one.
func (p *Problem) Kind() string { return p.Type[strings.LastIndex(p.Type, ":")+1:] }

// Error describes the problem.
func (p *Problem) Error() string {
	out := cmp.Or(p.Detail, p.Title, http.StatusText(p.Status))
	for _, e := range p.Errors {
		out += "; " + e.Location + ": " + e.Message
	}
	return strconv.Itoa(p.Status) + ": " + out
}

// busy reports whether the same request may succeed later.
func (p *Problem) busy() bool {
	switch p.Status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// request is one call of the API.
type request struct {
	method, path string
	query        url.Values
	body         any // sent as JSON; nil for no body
	header       http.Header
	// once is set if sending the request again could repeat its effect.
	once bool
}

// key returns the header that makes a request repeatable.
func key(given string) http.Header {
	return http.Header{"Idempotency-Key": {cmp.Or(given, rand.Text())}}
}

// call sends a request, repeats it if that is safe, and decodes the answer into out unless out is nil. It returns the header of the
// answer.
func (c *Client) call(ctx context.Context, r request, out any) (http.Header, error) {
	var body []byte
	if r.body != nil {
		var err error
		if body, err = json.Marshal(r.body); err != nil {
			return nil, fmt.Errorf("%s %s: %w", r.method, r.path, err)
		}
	}
	resp, err := c.send(ctx, r, func() io.Reader { return bytes.NewReader(body) }, "application/json")
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // read to its end, or not needed
	if out != nil {
		if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
			return nil, fmt.Errorf("%s %s: parse response: %w", r.method, r.path, err)
		}
	}
	return resp.Header, nil
}

// send sends a request until it succeeds or fails permanently.
func (c *Client) send(ctx context.Context, r request, body func() io.Reader, media string) (*http.Response, error) {
	wait := c.o.Wait
	for try := 1; ; try++ {
		resp, err := c.once(ctx, r, body(), media)
		var p *Problem
		refused := errors.As(err, &p)
		switch {
		case err == nil:
			return resp, nil
		case ctx.Err() != nil, r.once, try >= c.o.Tries, refused && !p.busy():
			return nil, err
		}
		pause := time.Duration((0.5 + mathrand.Float64()/2) * float64(wait))
		if refused {
			pause = max(pause, min(p.After, maxWait))
		}
		wait = min(2*wait, maxWait)
		if err := sleep(ctx, pause); err != nil {
			return nil, err
		}
	}
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// once sends a request a single time.
func (c *Client) once(ctx context.Context, r request, body io.Reader, media string) (*http.Response, error) {
	u := c.base + prefix + r.path
	if len(r.query) > 0 {
		u += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, u, body)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	req.Header.Set("Authorization", "Bearer "+c.o.Token)
	req.Header.Set("User-Agent", "concordat-client/1")
	if r.method != http.MethodGet && r.method != http.MethodDelete {
		req.Header.Set("Content-Type", media)
	}
	resp, err := c.o.HTTP.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", r.method, r.path, err)
	}
	if resp.StatusCode >= 200 && resp.StatusCode < 300 {
		return resp, nil
	}
	return nil, fmt.Errorf("%s %s: %w", r.method, r.path, problemOf(resp))
}

// problemOf reads a Problem. It creates one from any other body, for example a proxy's page.
func problemOf(resp *http.Response) *Problem {
	defer func() { _ = resp.Body.Close() }()
	p := &Problem{}
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	if err != nil || json.Unmarshal(b, p) != nil || p.Status == 0 {
		*p = Problem{}
	}
	p.Status = resp.StatusCode
	if n, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && n > 0 {
		p.After = time.Duration(min(n, 24*3600)) * time.Second
	}
	return p
}

func escape(s string) string { return url.PathEscape(s) }
