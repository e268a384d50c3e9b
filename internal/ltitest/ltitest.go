// Package ltitest provides a learning platform for tests. It speaks LTI 1.3 over real HTTP with real signatures, serves files, accepts
// reports, and sends false data on request.
package ltitest

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Client and Deployment identify the tool on the platform.
const (
	Client     = "client-1"
	Deployment = "1"

	prefix = "https://purl.imsglobal.org/spec/lti/claim/"
)

// Report is a report as received by the platform.
type Report map[string]any

// Platform is a learning platform. Its methods are safe for concurrent use.
type Platform struct {
	*httptest.Server
	t testing.TB

	mu      sync.Mutex // guards the fields below
	key     *rsa.PrivateKey
	kid     string
	toolURL string // address of the tool's keys
	files   map[string][]byte
	reports []Report
	changed chan struct{} // closed and replaced on every report
	tokens  map[string][]string
	handler map[string]string // address by type of notice
	failing map[string]int    // number of 503 answers still due, by path
	moved   map[string]string // target of a file's redirect, by path
	seen    map[string]int    // number of requests by path
	jti     map[string]bool
	pending map[string]any // claims of the next launch
	answers []string
}

// New starts a platform and stops it when the test ends.
func New(t testing.TB) *Platform {
	t.Helper()
	p := &Platform{t: t, files: map[string][]byte{}, changed: make(chan struct{}), tokens: map[string][]string{}, handler: map[string]string{},
		failing: map[string]int{}, moved: map[string]string{}, seen: map[string]int{}, jti: map[string]bool{}}
	p.Rotate("key-1")
	m := http.NewServeMux()
	m.HandleFunc("GET /jwks", p.jwks)
	m.HandleFunc("GET /auth", p.auth)
	m.HandleFunc("POST /token", p.token)
	m.HandleFunc("GET /assets/{id}", p.asset)
	m.HandleFunc("POST /reports/{processor}", p.report)
	m.HandleFunc("PUT /notices", p.subscribe)
	m.HandleFunc("GET /.well-known/openid-configuration", p.offer)
	m.HandleFunc("POST /register", p.register)
	m.HandleFunc("POST /return", p.returned)
	p.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		p.seen[r.URL.Path]++
		fail := p.failing[r.URL.Path] > 0
		if fail {
			p.failing[r.URL.Path]--
		}
		p.mu.Unlock()
		if fail {
			http.Error(rw, "not now", http.StatusServiceUnavailable)
			return
		}
		m.ServeHTTP(rw, r)
	}))
	t.Cleanup(p.Close)
	return p
}

// AuthURL returns the browsers' sign-in address.
func (p *Platform) AuthURL() string { return p.URL + "/auth" }

// TokenURL returns the address that issues tokens.
func (p *Platform) TokenURL() string { return p.URL + "/token" }

// KeysURL returns the address of the platform's keys.
func (p *Platform) KeysURL() string { return p.URL + "/jwks" }

// Tool sets the address of the tool's keys.
func (p *Platform) Tool(keysURL string) { p.with(func() { p.toolURL = keysURL }) }

func (p *Platform) with(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
}

// Rotate makes the platform sign with a new key from now on, and publish only that one.
func (p *Platform) Rotate(kid string) {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		p.t.Fatal(err)
	}
	p.with(func() { p.key, p.kid = k, kid })
}

// Fail makes the next n requests for a path fail with 503.
func (p *Platform) Fail(path string, n int) { p.with(func() { p.failing[path] = n }) }

// Move makes a file's address redirect.
func (p *Platform) Move(id, to string) { p.with(func() { p.moved[id] = to }) }

// Requests returns the number of requests for a path.
func (p *Platform) Requests(path string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen[path]
}

func answer(rw http.ResponseWriter, code int, v any) {
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(code)
	_ = json.NewEncoder(rw).Encode(v) // a disconnected caller fails its own test
}

func (p *Platform) jwks(rw http.ResponseWriter, _ *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	answer(rw, http.StatusOK, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &p.key.PublicKey, KeyID: p.kid, Algorithm: "RS256",
		Use: "sig"}}})
}

// Sign returns a token with the claims, signed by the platform's key.
func (p *Platform) Sign(claims map[string]any) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return SignWith(p.t, p.key, p.kid, claims)
}

// SignWith signs claims with the given key.
func SignWith(t testing.TB, key *rsa.PrivateKey, kid string, claims map[string]any) string {
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: key, KeyID: kid}}, nil)
	if err != nil {
		t.Error(err)
		return ""
	}
	raw, err := jwt.Signed(s).Claims(claims).Serialize()
	if err != nil {
		t.Error(err)
	}
	return raw
}

// Claims returns the claims of every message, overridden by more; a nil value removes a claim.
func (p *Platform) Claims(more map[string]any) map[string]any {
	c := map[string]any{"iss": p.URL, "aud": Client, "iat": time.Now().Unix(), "exp": time.Now().Add(5 * time.Minute).Unix(),
		"nonce":            rand.Text(),
		prefix + "version": "1.3.0", prefix + "deployment_id": Deployment, prefix +
			"context": map[string]any{"id": "course-1", "title": "Course <1>"}}
	for k, v := range more {
		if strings.HasPrefix(k, "/") {
			k = prefix + k[1:]
		}
		if v == nil {
			delete(c, k)
		} else {
			c[k] = v
		}
	}
	return c
}

// token issues access tokens to a caller that proves to be the tool (RFC 7523).
func (p *Platform) token(rw http.ResponseWriter, r *http.Request) {
	refuse := func(why string) {
		answer(rw, http.StatusBadRequest, map[string]string{"error": "invalid_client", "error_description": why})
	}
	if err := r.ParseForm(); err != nil {
		refuse(err.Error())
		return
	}
	c, err := p.proof(r.Context(), r.PostForm.Get("client_assertion"))
	switch {
	case err != nil:
		refuse(err.Error())
		return
	case r.PostForm.Get("grant_type") != "client_credentials" ||
		r.PostForm.Get("client_assertion_type") != "urn:ietf:params:oauth:client-assertion-type:jwt-bearer":
		refuse("grant")
		return
	case c.Issuer != Client || c.Subject != Client || !c.Audience.Contains(p.TokenURL()) || c.Expiry.Time().Before(time.Now()) || c.ID == "":
		refuse("assertion")
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.jti[c.ID] {
		refuse("replayed")
		return
	}
	p.jti[c.ID] = true
	t := rand.Text()
	p.tokens[t] = strings.Fields(r.PostForm.Get("scope"))
	answer(rw, http.StatusOK, map[string]any{"access_token": t, "token_type": "Bearer", "expires_in": 3600, "scope": r.PostForm.Get("scope")})
}

// proof verifies a token from the tool with the tool's published keys.
func (p *Platform) proof(ctx context.Context, raw string) (*jwt.Claims, error) {
	var c jwt.Claims
	return &c, p.FromTool(ctx, raw, &c)
}

// FromTool verifies a token from the tool with the tool's published keys and decodes its claims.
func (p *Platform) FromTool(ctx context.Context, raw string, claims any) error {
	p.mu.Lock()
	at := p.toolURL
	p.mu.Unlock()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // the body is only read
	var set jose.JSONWebKeySet
	if err := json.NewDecoder(resp.Body).Decode(&set); err != nil {
		return err
	}
	t, err := jwt.ParseSigned(raw, []jose.SignatureAlgorithm{jose.RS256})
	if err != nil {
		return err
	}
	keys := set.Key(t.Headers[0].KeyID)
	if len(keys) != 1 {
		return fmt.Errorf("found %d keys with that name", len(keys))
	}
	return t.Claims(keys[0], claims)
}

// RevokeTokens invalidates all tokens issued so far.
func (p *Platform) RevokeTokens() { p.with(func() { clear(p.tokens) }) }

func (p *Platform) allowed(rw http.ResponseWriter, r *http.Request, scope string) bool {
	t := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	p.mu.Lock()
	defer p.mu.Unlock()
	if !slices.Contains(p.tokens[t], "https://purl.imsglobal.org/spec/lti/scope/"+scope) {
		answer(rw, http.StatusUnauthorized, map[string]string{"error": "token"})
		return false
	}
	return true
}

func (p *Platform) subscribe(rw http.ResponseWriter, r *http.Request) {
	if !p.allowed(rw, r, "noticehandlers") {
		return
	}
	var one struct {
		Type    string `json:"notice_type"`
		Handler string `json:"handler"`
	}
	if err := json.NewDecoder(r.Body).Decode(&one); err != nil {
		answer(rw, http.StatusBadRequest, err.Error())
		return
	}
	p.with(func() { p.handler[one.Type] = one.Handler })
	answer(rw, http.StatusOK, one)
}

// Handler returns the address for notices of a type.
func (p *Platform) Handler(notice string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.handler[notice]
}

// Submission returns the claims of a notice that a learner submitted files.
func (p *Platform) Submission(learner string, more map[string]any, assets ...map[string]any) map[string]any {
	c := p.Claims(map[string]any{
		"/notice": map[string]any{"id": rand.Text(), "type": "LtiAssetProcessorSubmissionNotice",
			"timestamp": time.Now().Format(time.RFC3339)},
		"/for_user":   map[string]any{"user_id": learner},
		"/activity":   map[string]any{"id": "activity-1", "title": "Essay"},
		"/submission": map[string]any{"id": "submission-1"},
		"/assetreport": map[string]any{"scope": []string{"https://purl.imsglobal.org/spec/lti/scope/report"}, "report_url": p.URL +
			"/reports/p1"},
		"/assetservice": map[string]any{"scope": []string{"https://purl.imsglobal.org/spec/lti/scope/asset.readonly"}, "assets": assets},
	})
	for k, v := range more {
		if strings.HasPrefix(k, "/") {
			k = prefix + k[1:]
		}
		c[k] = v
	}
	return c
}

// Send posts notices to the tool and returns the status of its answer.
func (p *Platform) Send(to string, tokens ...string) int {
	p.t.Helper()
	var all []map[string]string
	for _, t := range tokens {
		all = append(all, map[string]string{"jwt": t})
	}
	b, err := json.Marshal(map[string]any{"notices": all})
	if err != nil {
		p.t.Fatal(err)
	}
	resp, err := http.Post(to, "application/json", bytes.NewReader(b))
	if err != nil {
		p.t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, resp.Body) // the content of the answer is not needed
	_ = resp.Body.Close()
	return resp.StatusCode
}
