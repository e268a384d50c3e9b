package lti

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"concordat"
	"concordat/webhook/outbound"
)

// Options configures a Client. Keys is required.
type Options struct {
	Keys *Keys
	// Private allows platforms at private and loopback addresses and over http.
	Private bool
	Now     func() time.Time // the default is time.Now
	Timeout time.Duration    // time limit of a call without a file; the default is 20 s
}

// Client verifies messages from platforms and calls their services. It is safe for concurrent use.
type Client struct {
	o    Options
	http *http.Client

	mu     sync.Mutex // guards the fields below
	keys   map[string]*keySet
	tokens map[tokenKey]token
}

type tokenKey struct{ issuer, client, scopes string }

type token struct {
	value   string
	expires time.Time
}

const (
	callTime  = 20 * time.Second
	maxAnswer = 1 << 20 // bytes of an answer other than a file
	maxHops   = 5
	// leastToken is the minimum remaining lifetime for an access token to be used.
	leastToken = 30 * time.Second
	maxTokens  = 10_000
)

// NewClient returns a client.
func NewClient(o Options) *Client {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Timeout == 0 {
		o.Timeout = callTime
	}
	d := &net.Dialer{Timeout: o.Timeout, Control: o.dial}
	t := &http.Transport{DialContext: d.DialContext, TLSHandshakeTimeout: o.Timeout, ResponseHeaderTimeout: o.Timeout,
		IdleConnTimeout: time.Minute, MaxIdleConnsPerHost: 4, ForceAttemptHTTP2: true}
	return &Client{o: o, keys: map[string]*keySet{}, tokens: map[tokenKey]token{},
		// The client follows redirections itself, after checking each.
		http: &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// Close closes idle connections.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// dial rejects private addresses after names are resolved, so no name can resolve to one.
func (o Options) dial(_, address string, _ syscall.RawConn) error {
	if o.Private {
		return nil
	}
	if !outbound.PublicAddress(address) {
		return fmt.Errorf("%w: %s is a private address", concordat.ErrRefused, address)
	}
	return nil
}

// place parses an address and returns an error unless it is at a host of the platform.
func (c *Client) place(p *Platform, address string) (*url.URL, error) {
	u, err := service(address, c.o.Private)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", concordat.ErrRefused, err)
	}
	if !p.Serves(u) {
		return nil, fmt.Errorf("%w: %s is not a host of %s", concordat.ErrRefused, u.Host, p.Issuer)
	}
	return u, nil
}

// send sends a request once and does not follow redirections. Network failures wrap concordat.ErrUnavailable.
func (c *Client) send(req *http.Request) (*http.Response, error) {
	resp, err := c.http.Do(req)
	switch {
	case errors.Is(err, concordat.ErrRefused):
		return nil, fmt.Errorf("%s: %w", req.URL.Host, err)
	case err != nil:
		return nil, fmt.Errorf("%s: %w: %w", req.URL.Host, concordat.ErrUnavailable, err)
	}
	return resp, nil
}

// statusError converts the status of an unsuccessful answer to an error.
func statusError(resp *http.Response) error {
	code := resp.StatusCode
	kind := concordat.ErrRefused
	switch {
	case code/100 == 2:
		return nil
	case code == http.StatusNotFound || code == http.StatusGone:
		kind = concordat.ErrNotFound
	case code >= 500 || code == http.StatusTooManyRequests || code == http.StatusRequestTimeout || code == http.StatusUnauthorized:
		kind = concordat.ErrUnavailable
	}
	return &answered{resp.Request.URL.Host, code, kind}
}

// answered is the error for an unsuccessful answer.
type answered struct {
	host string
	code int
	kind error
}

// Error implements error.
func (a *answered) Error() string {
	return fmt.Sprintf("%s: %v: it answers %d", a.host, a.kind, a.code)
}

// Unwrap returns the kind of error.
func (a *answered) Unwrap() error { return a.kind }

// get requests an address and reads the short answer.
func (c *Client) get(ctx context.Context, p *Platform, address, bearer string) ([]byte, error) {
	u, err := c.place(p, address)
	if err != nil {
		return nil, err
	}
	return c.call(ctx, http.MethodGet, u, bearer, "", nil)
}

// call sends a request and reads the short answer.
func (c *Client) call(ctx context.Context, method string, u *url.URL, bearer, media string, body []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", concordat.ErrRefused, err)
	}
	if bearer != "" {
		req.Header.Set("Authorization", "Bearer "+bearer)
	}
	if media != "" {
		req.Header.Set("Content-Type", media)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := c.send(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // read to the end or abandoned
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w: %w", u.Host, concordat.ErrUnavailable, err)
	case len(b) > maxAnswer:
		return nil, fmt.Errorf("%s: %w: the response has more than %d bytes", u.Host, concordat.ErrRefused, maxAnswer)
	}
	if err := statusError(resp); err != nil {
		return b, err
	}
	return b, nil
}

// token returns an access token (RFC 6749, section 4.4, with RFC 7523), from the cache while it is valid. used is the token that the
// platform rejected, if any.
func (c *Client) token(ctx context.Context, p *Platform, scopes []string, used string) (string, error) {
	key := tokenKey{p.Issuer, p.ClientID, strings.Join(slices.Sorted(slices.Values(scopes)), " ")}
	c.mu.Lock()
	have := c.tokens[key]
	c.mu.Unlock()
	if have.value != "" && have.value != used && have.expires.After(c.o.Now().Add(leastToken)) {
		return have.value, nil
	}
	u, err := c.place(p, p.TokenURL)
	if err != nil {
		return "", err
	}
	proof, err := c.o.Keys.assertion(p, c.o.Now())
	if err != nil {
		return "", err
	}
	form := url.Values{"grant_type": {"client_credentials"},
		"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
		"client_assertion":      {proof}, "scope": {key.scopes}}
	b, err := c.call(ctx, http.MethodPost, u, "", "application/x-www-form-urlencoded", []byte(form.Encode()))
	if err != nil {
		return "", fmt.Errorf("token: %w", err)
	}
	var got struct {
		Token   string  `json:"access_token"`
		Type    string  `json:"token_type"`
		Expires seconds `json:"expires_in"`
	}
	if err := json.Unmarshal(b, &got); err != nil || got.Token == "" || !strings.EqualFold(got.Type, "bearer") {
		return "", fmt.Errorf("token: %w: the response contains no bearer token", concordat.ErrUnavailable)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.tokens) > maxTokens {
		clear(c.tokens)
	}
	c.tokens[key] = token{got.Token, c.o.Now().Add(time.Duration(min(float64(got.Expires), 86400)) * time.Second)}
	return got.Token, nil
}

// withToken runs do with an access token and, if the platform rejects it, once more with a new one.
func (c *Client) withToken(ctx context.Context, p *Platform, scopes []string, do func(token string) (again bool, err error)) error {
	used := ""
	for range 2 {
		t, err := c.token(ctx, p, scopes, used)
		if err != nil {
			return err
		}
		again, err := do(t)
		if !again || err == nil {
			return err
		}
		used = t
		if ctx.Err() != nil {
			return err
		}
	}
	return fmt.Errorf("%s: %w: the platform rejects its own tokens", p.Issuer, concordat.ErrUnavailable)
}

// Download is a file being transferred. The caller must close it.
type Download struct {
	io.ReadCloser
	Media    string // content type
	Filename string // name stated by the server; may be empty
}

// Asset starts to download a file and follows redirections only to hosts of the platform. It fails with concordat.ErrRefused for another
// host, concordat.ErrNotFound if the file no longer exists, and concordat.ErrUnavailable if a later try may succeed. ctx bounds the whole
// transfer; the reader bounds its length.
func (c *Client) Asset(ctx context.Context, p *Platform, address string, scopes []string) (*Download, error) {
	if len(scopes) == 0 {
		scopes = []string{ScopeAssets}
	}
	var d *Download
	err := c.withToken(ctx, p, scopes, func(token string) (bool, error) {
		var again bool
		var err error
		d, again, err = c.fetch(ctx, p, address, token)
		return again, err
	})
	if err != nil {
		return nil, fmt.Errorf("file: %w", err)
	}
	return d, nil
}

func (c *Client) fetch(ctx context.Context, p *Platform, address, token string) (d *Download, again bool, err error) {
	u, err := c.place(p, address)
	if err != nil {
		return nil, false, err
	}
	first := u.Host
	for range maxHops {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
		if err != nil {
			return nil, false, fmt.Errorf("%w: %w", concordat.ErrRefused, err)
		}
		if u.Host == first { // a token is only for the host that issued it
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := c.send(req)
		if err != nil {
			return nil, false, err
		}
		to, err := resp.Location()
		if resp.StatusCode/100 == 3 && err == nil {
			_ = resp.Body.Close() // its content is not needed
			if u, err = c.place(p, to.String()); err != nil {
				return nil, false, err
			}
			continue
		}
		if err := statusError(resp); err != nil || resp.StatusCode != http.StatusOK {
			_ = resp.Body.Close()
			if err == nil {
				err = fmt.Errorf("%s: %w: unexpected status %d", u.Host, concordat.ErrUnavailable, resp.StatusCode)
			}
			return nil, resp.StatusCode == http.StatusUnauthorized, err
		}
		d := &Download{ReadCloser: resp.Body}
		d.Media, _, _ = mime.ParseMediaType(resp.Header.Get("Content-Type"))
		if _, params, err := mime.ParseMediaType(resp.Header.Get("Content-Disposition")); err == nil {
			d.Filename = params["filename"]
		}
		return d, false, nil
	}
	return nil, false, fmt.Errorf("%s: %w: more than %d redirects", first, concordat.ErrRefused, maxHops)
}

// ReportType is the type of the site's reports.
const ReportType = "originality"

// Processing states of a report (Asset Report Service 1.0).
const (
	Pending    = "Pending"
	Processing = "Processing"
	Processed  = "Processed"
	Failed     = "Failed"
)

// Error codes.
const (
	CodeUnsupported = "UNSUPPORTED_ASSET_TYPE"
	CodeTooLarge    = "ASSET_TOO_LARGE"
	CodeTooSmall    = "ASSET_TOO_SMALL"
	CodeDownload    = "DOWNLOAD_FAILED"
	CodeFailed      = "PROCESSING_FAILED" // a code specific to this site
)

// Report is the state of a file as shown by the platform.
type Report struct {
	Asset     string `json:"assetId"`
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"` // RFC 3339 with microseconds; a report with a later time replaces earlier ones
	Title     string `json:"title,omitempty"`
	Comment   string `json:"comment,omitempty"`
	Result    string `json:"result,omitempty"`          // at most 16 characters
	Color     string `json:"indicationColor,omitempty"` // #RRGGBB
	Alt       string `json:"indicationAlt,omitempty"`
	Priority  int    `json:"priority"` // 0 (nothing) to 5 (urgent)
	Progress  string `json:"processingProgress"`
	Code      string `json:"errorCode,omitempty"`
	Visible   bool   `json:"visibleToOwner"`
}

// Report sends a report to the platform. It is not an error if the platform already has a newer report.
func (c *Client) Report(ctx context.Context, p *Platform, address string, scopes []string, r Report) error {
	if len(scopes) == 0 {
		scopes = []string{ScopeReports}
	}
	if r.Timestamp == "" {
		r.Timestamp = c.o.Now().UTC().Format("2006-01-02T15:04:05.000000Z")
	}
	r.Type = ReportType
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return c.post(ctx, p, http.MethodPost, address, scopes, body)
}

// Subscribe asks a platform to send notices of the given type to the handler.
func (c *Client) Subscribe(ctx context.Context, p *Platform, s *NoticeService, notice, handler string) error {
	scopes := s.Scopes
	if len(scopes) == 0 {
		scopes = []string{ScopeNotices}
	}
	body, err := json.Marshal(map[string]any{"notice_type": notice, "handler": handler})
	if err != nil {
		return err
	}
	return c.post(ctx, p, http.MethodPut, s.URL, scopes, body)
}

func (c *Client) post(ctx context.Context, p *Platform, method, address string, scopes []string, body []byte) error {
	u, err := c.place(p, address)
	if err != nil {
		return err
	}
	return c.withToken(ctx, p, scopes, func(token string) (bool, error) {
		said, err := c.call(ctx, method, u, token, "application/json", body)
		var status *answered
		switch {
		case err == nil:
			return false, nil
		case errors.As(err, &status) && status.code == http.StatusConflict:
			return false, nil
		case errors.As(err, &status):
			return status.code == http.StatusUnauthorized, fmt.Errorf("%w: %.200q", err, said)
		}
		return false, err
	})
}
