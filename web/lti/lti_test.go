package lti_test

import (
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"concordat"
	"concordat/internal/ltitest"
	"concordat/web/lti"
)

const claim = "https://purl.imsglobal.org/spec/lti/claim/"

func platform(p *ltitest.Platform) *lti.Platform {
	return &lti.Platform{Issuer: p.URL, ClientID: ltitest.Client, AuthURL: p.AuthURL(), TokenURL: p.TokenURL(), KeysURL: p.KeysURL(),
		Deployments: []string{ltitest.Deployment}}
}

// client returns a client whose keys are known to the platform.
func client(t *testing.T, p *ltitest.Platform, o lti.Options) *lti.Client {
	t.Helper()
	if o.Keys == nil {
		keys, err := lti.NewKeys()
		if err != nil {
			t.Fatal(err)
		}
		o.Keys = keys
	}
	tool := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		b, err := o.Keys.Public()
		if err != nil || strings.Contains(string(b), `"d"`) {
			t.Errorf("public keys %s, %v", b, err)
		}
		_, _ = rw.Write(b)
	}))
	t.Cleanup(tool.Close)
	p.Tool(tool.URL)
	c := lti.NewClient(o)
	t.Cleanup(c.Close)
	return c
}

// TestVerify: a valid message passes, and no message that differs from it in a relevant way does.
func TestVerify(t *testing.T) {
	p, other := ltitest.New(t), ltitest.New(t)
	c := client(t, p, lti.Options{Private: true})
	reg := platform(p)
	good := map[string]any{"/message_type": lti.TypeReview, "sub": "u1",
		"/roles": []string{"http://purl.imsglobal.org/vocab/lis/v2/membership#Instructor"},
		"/asset": map[string]any{"id": "a1"}, "/custom": map[string]any{"x": "y", "n": 7}, "/for_user": map[string]any{"user_id": "u2"}}
	m, err := c.Verify(t.Context(), reg, p.Sign(p.Claims(good)))
	if err != nil {
		t.Fatal(err)
	}
	if m.Type != lti.TypeReview || m.Asset.ID != "a1" || m.Custom["x"] != "y" || len(m.Custom) != 1 || m.ForUser != "u2" || !m.Teaches() ||
		m.Learns() || m.Context.ID != "course-1" {
		t.Errorf("got %+v", m)
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for name, change := range map[string]map[string]any{
		"issuer": {"iss": other.URL}, "no issuer": {"iss": nil}, "audience": {"aud": "other"}, "no audience": {"aud": nil},
		"two audiences": {"aud": []string{ltitest.Client, "other"}}, "party": {"azp": "other"}, "another deployment": {"/deployment_id": "2"},
		"no deployment": {"/deployment_id": nil},
		"expired":       {"exp": now.Add(-2 * time.Minute).Unix()}, "no expiry": {"exp": nil},
		"from the future": {"iat": now.Add(5 * time.Minute).Unix()},
		"not issued":      {"iat": nil}, "not yet": {"nbf": now.Add(5 * time.Minute).Unix()}, "no nonce": {"nonce": nil},
	} {
		if _, err := c.Verify(t.Context(), reg, p.Sign(p.Claims(change))); !errors.Is(err, concordat.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, raw := range map[string]string{
		"wrong key, right name": ltitest.SignWith(t, key, "key-1", p.Claims(nil)),
		"unknown key":           ltitest.SignWith(t, key, "key-9", p.Claims(nil)),
		"another platform":      other.Sign(p.Claims(nil)),
	} {
		if _, err := c.Verify(t.Context(), reg, raw); !errors.Is(err, concordat.ErrRefused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	payload, err := json.Marshal(p.Claims(nil))
	if err != nil {
		t.Fatal(err)
	}
	symmetric, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: []byte(strings.Repeat("k", 32))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	hs, err := jwt.Signed(symmetric).Claims(p.Claims(nil)).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	for name, raw := range map[string]string{
		"none":      base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + base64.RawURLEncoding.EncodeToString(payload) + ".",
		"symmetric": hs, "nonsense": "x", "empty": "", "huge": strings.Repeat("x", lti.MaxMessage+1),
		"version": p.Sign(p.Claims(map[string]any{"/version": "1.1"})),
		"files":   p.Sign(p.Claims(map[string]any{"/assetservice": map[string]any{"assets": make([]map[string]string, lti.MaxAssets+1)}})),
		"type":    p.Sign(p.Claims(map[string]any{"/roles": "Instructor"})),
		"time":    p.Sign(p.Claims(map[string]any{"exp": "soon"})),
	} {
		if _, err := c.Verify(t.Context(), reg, raw); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestKeysChange: a new key of the platform is found, and forgers' guesses do not each cause a request.
func TestKeysChange(t *testing.T) {
	p := ltitest.New(t)
	now := time.Now()
	c := client(t, p, lti.Options{Private: true, Now: func() time.Time { return now }})
	reg := platform(p)
	verify := func(want error) {
		t.Helper()
		if _, err := c.Verify(t.Context(), reg, p.Sign(p.Claims(nil))); !errors.Is(err, want) {
			t.Errorf("got %v, want %v", err, want)
		}
	}
	verify(nil)
	p.Rotate("key-2")
	verify(concordat.ErrRefused) // the keys have just been fetched
	for range 5 {
		verify(concordat.ErrRefused)
	}
	if n := p.Requests("/jwks"); n != 1 {
		t.Errorf("keys were read %d times", n)
	}
	now = now.Add(20 * time.Second)
	verify(nil)
	p.Fail("/jwks", 1)
	now = now.Add(2 * time.Hour) // the keys are stale, but remain valid because the platform is down
	if _, err := c.Verify(t.Context(), reg, p.Sign(p.Claims(map[string]any{"iat": now.Unix(),
		"exp": now.Add(time.Minute).Unix()}))); err != nil {
		t.Error(err)
	}
	fresh := client(t, p, lti.Options{Private: true})
	p.Fail("/jwks", 1)
	if _, err := fresh.Verify(t.Context(), reg, p.Sign(p.Claims(nil))); !errors.Is(err, concordat.ErrUnavailable) {
		t.Errorf("without keys: %v", err)
	}
	if _, err := fresh.Verify(t.Context(), reg, p.Sign(p.Claims(nil))); err != nil {
		t.Errorf("after that: %v", err)
	}
}

// TestServices fetches a file and sends reports, with one token per scope, and a new token if the old one is no longer accepted.
func TestServices(t *testing.T) {
	p := ltitest.New(t)
	c := client(t, p, lti.Options{Private: true})
	reg := platform(p)
	a := p.Put("a1", "essay.txt", []byte("text"))
	read := func() string {
		t.Helper()
		d, err := c.Asset(t.Context(), reg, a["url"].(string), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		b, err := io.ReadAll(d)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for range 2 {
		if got := read(); got != "text" || p.Requests("/token") != 1 {
			t.Errorf("read %q with %d tokens", got, p.Requests("/token"))
		}
	}
	p.RevokeTokens()
	if read() != "text" || p.Requests("/token") != 2 {
		t.Errorf("%d tokens", p.Requests("/token"))
	}
	send := func(r lti.Report) error { return c.Report(t.Context(), reg, p.URL+"/reports/p1", nil, r) }
	for _, err := range []error{
		send(lti.Report{Asset: "a1", Progress: lti.Processing}),
		send(lti.Report{Asset: "a1", Progress: lti.Processed, Result: "37%", Priority: 3}),
		send(lti.Report{Asset: "a1", Progress: lti.Processing, Timestamp: "2020-01-01T00:00:00Z"}), // the platform has a later report
	} {
		if err != nil {
			t.Error(err)
		}
	}
	if got := p.Reports("a1"); len(got) != 2 || got[1]["result"] != "37%" || got[1]["type"] != lti.ReportType {
		t.Errorf("reports %v", got)
	}
	if err := c.Subscribe(t.Context(), reg, &lti.NoticeService{URL: p.URL + "/notices"}, lti.NoticeSubmission,
		"https://tool.example.edu/n"); err != nil || p.Handler(lti.NoticeSubmission) == "" {
		t.Errorf("subscribe: %v", err)
	}
	p.Fail("/assets/a1", 1)
	if _, err := c.Asset(t.Context(), reg, a["url"].(string), nil); !errors.Is(err, concordat.ErrUnavailable) {
		t.Errorf("a platform that is down: %v", err)
	}
	if _, err := c.Asset(t.Context(), reg, p.URL+"/assets/none", nil); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("a file that is gone: %v", err)
	}
	stranger := lti.NewClient(lti.Options{Keys: func() *lti.Keys { k, _ := lti.NewKeys(); return k }(), Private: true})
	defer stranger.Close()
	if _, err := stranger.Asset(t.Context(), reg, a["url"].(string), nil); !errors.Is(err, concordat.ErrRefused) {
		t.Errorf("with a key that the platform does not know: %v", err)
	}
}

// TestOtherHosts: a platform cannot direct the site to another host, whether directly or by redirection, or to an internal address; a
// token goes only to its own host.
func TestOtherHosts(t *testing.T) {
	p := ltitest.New(t)
	var asked []string
	victim := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Header.Get("Authorization"))
		_, _ = io.WriteString(rw, "inside")
	}))
	defer victim.Close()
	c := client(t, p, lti.Options{Private: true})
	reg := platform(p)
	a := p.Put("a1", "a", []byte("text"))
	for _, to := range []string{victim.URL, "http://169.254.169.254/latest", "file:///etc/passwd", "https://" +
		strings.TrimPrefix(p.URL, "http://") + "@evil.example/", "//evil", ""} {
		if _, err := c.Asset(t.Context(), reg, to, nil); !errors.Is(err, concordat.ErrRefused) {
			t.Errorf("%q: %v", to, err)
		}
		if err := c.Report(t.Context(), reg, to, nil, lti.Report{Asset: "a", Progress: lti.Processing}); !errors.Is(err, concordat.ErrRefused) {
			t.Errorf("report to %q: %v", to, err)
		}
	}
	p.Move("a1", victim.URL+"/x")
	if _, err := c.Asset(t.Context(), reg, a["url"].(string), nil); !errors.Is(err, concordat.ErrRefused) || len(asked) > 0 {
		t.Errorf("a redirection to another host: %v, %v", err, asked)
	}
	reg.Hosts = []string{strings.TrimPrefix(victim.URL, "http://")}
	d, err := c.Asset(t.Context(), reg, a["url"].(string), nil)
	if err != nil || len(asked) != 1 || asked[0] != "" {
		t.Errorf("a redirection to a host of the platform: %v, %q", err, asked)
	}
	if err == nil {
		d.Close()
	}
	p.Move("a1", a["url"].(string))
	if _, err := c.Asset(t.Context(), reg, a["url"].(string), nil); !errors.Is(err, concordat.ErrRefused) {
		t.Errorf("a circle: %v", err)
	}

	// Without Private, no name leads to an internal address, whatever it resolves to, and nothing is sent without TLS.
	public := client(t, p, lti.Options{})
	for _, to := range []string{"https://127.0.0.1:1/", "https://localhost:1/", "https://[::1]:1/", "https://10.0.0.1/",
		"https://169.254.169.254/", "https://[::ffff:10.0.0.1]/", "https://0.0.0.0/", "https://100.64.0.1/"} {
		u, err := url.Parse(to)
		if err != nil {
			t.Fatal(err)
		}
		inside := &lti.Platform{Issuer: to, ClientID: "c", AuthURL: to, TokenURL: to, KeysURL: to, Deployments: []string{"1"}}
		if !inside.Serves(u) {
			t.Errorf("%s is not its own host", to)
		}
		if _, err := public.Asset(t.Context(), inside, to, nil); !errors.Is(err, concordat.ErrRefused) {
			t.Errorf("%s: %v", to, err)
		}
	}
	if err := platform(p).Validate(false); !errors.Is(err, concordat.ErrInvalid) {
		t.Errorf("a platform without TLS: %v", err)
	}
}

func TestServes(t *testing.T) {
	p := &lti.Platform{Issuer: "https://canvas.example.com", AuthURL: "https://sso.example.com/a", TokenURL: "https://sso.example.com/t",
		KeysURL: "https://sso.example.com/k",
		Hosts:   []string{"files.example.edu", ".school.example"}}
	for host, want := range map[string]bool{"canvas.example.com": true, "sso.example.com": true, "SSO.example.com": true,
		"files.example.edu": true, "a.school.example": true, "school.example": true,
		"example.com": false, "evilschool.example": false, "sso.example.com.evil": false, "canvas.example.com:444": false} {
		if got := p.Serves(&url.URL{Scheme: "https", Host: host}); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
}

// TestRoles: teaching at the institution does not imply teaching this course.
func TestRoles(t *testing.T) {
	const vocab = "http://purl.imsglobal.org/vocab/lis/v2/"
	for role, want := range map[string][2]bool{
		vocab + "membership#Instructor": {true, false}, vocab + "membership/Instructor#TeachingAssistant": {true, false},
		"Instructor":                 {true, false},
		vocab + "membership#Learner": {false, true}, "Learner": {false, true}, vocab + "institution/person#Instructor": {false, false},
		vocab + "institution/person#Administrator": {true, false}, vocab + "membership#Mentor": {false, false}, "": {false, false},
	} {
		m := &lti.Message{Roles: []string{role}}
		if got := [2]bool{m.Teaches(), m.Learns()}; got != want {
			t.Errorf("%s: %v", role, got)
		}
	}
}

// TestKeys: the newest key signs, earlier ones still verify, and stored keys can be read again.
func TestKeys(t *testing.T) {
	p := ltitest.New(t)
	keys, err := lti.NewKeys()
	if err != nil {
		t.Fatal(err)
	}
	reg := platform(p)
	m := &lti.Message{Deployment: "1", DeepLinking: &lti.DeepLinking{Data: json.RawMessage(`"opaque"`)}}
	before, err := keys.DeepLinkingResponse(reg, m, &lti.Item{Title: "T", Custom: map[string]string{"a": "b"},
		ReportURL: "https://tool/lti/launch"}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if keys, err = keys.Rotate(); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := keys.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if keys, err = lti.ParseKeys(kept); err != nil {
		t.Fatal(err)
	}
	client(t, p, lti.Options{Keys: keys, Private: true})
	var got map[string]any
	if err := p.FromTool(t.Context(), before, &got); err != nil {
		t.Fatal(err)
	}
	item := got["https://purl.imsglobal.org/spec/lti-dl/claim/content_items"].([]any)[0].(map[string]any)
	if got["iss"] != ltitest.Client || got["aud"] != p.URL || got["https://purl.imsglobal.org/spec/lti-dl/claim/data"] != "opaque" ||
		item["type"] != lti.ItemProcessor || got[claim+"deployment_id"] != "1" {
		t.Errorf("got %v", got)
	}
	if keys, err = keys.Rotate(); err != nil {
		t.Fatal(err)
	}
	client(t, p, lti.Options{Keys: keys, Private: true})
	if err := p.FromTool(t.Context(), before, &got); err == nil {
		t.Error("a key of long ago still checks")
	}
	for _, bad := range []string{"", "{}", `{"keys":[]}`, `{"keys":[{"kty":"oct","k":"AA"}]}`} {
		if _, err := lti.ParseKeys([]byte(bad)); !errors.Is(err, concordat.ErrCorrupt) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestRegister: the site registers with a platform, but not with one whose description is another platform's.
func TestRegister(t *testing.T) {
	p, other := ltitest.New(t), ltitest.New(t)
	c := client(t, p, lti.Options{Private: true})
	tool := lti.Tool{Name: "Site", Base: "https://check.example.edu"}
	o, err := c.ReadOffer(t.Context(), p.URL+"/.well-known/openid-configuration")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Register(t.Context(), o, "wrong", tool); !errors.Is(err, concordat.ErrRefused) {
		t.Errorf("without the right token: %v", err)
	}
	got, err := c.Register(t.Context(), o, "register-me", tool)
	if err != nil || got.ClientID != ltitest.Client || !got.Deployed(ltitest.Deployment) {
		t.Errorf("got %v, %v", got, err)
	}
	liar := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		http.Redirect(rw, r, other.URL+r.URL.Path, http.StatusFound)
	}))
	defer liar.Close()
	for _, at := range []string{liar.URL + "/x", p.URL + "/none", "ftp://x/", "https://user@x/"} {
		if _, err := c.ReadOffer(t.Context(), at); err == nil {
			t.Errorf("%s is taken", at)
		}
	}
	forged := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(rw).Encode(o) // another platform's description
	}))
	defer forged.Close()
	if _, err := c.ReadOffer(t.Context(), forged.URL); !errors.Is(err, concordat.ErrRefused) {
		t.Errorf("another's description: %v", err)
	}
}

// FuzzPeek: reading a token never panics, and anything that is not a token is rejected.
func FuzzPeek(f *testing.F) {
	f.Add("a.b.c")
	f.Add(base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"RS256","kid":"k"}`)) + "." +
		base64.RawURLEncoding.EncodeToString([]byte(`{"iss":"i","aud":["a"],"exp":1e9}`)) + ".c2ln")
	f.Add(base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"RS256"}`)) + "." +
		base64.RawURLEncoding.EncodeToString([]byte(`{"iss":1}`)) + ".")
	f.Fuzz(func(t *testing.T, raw string) {
		if _, _, err := lti.Peek(raw); err != nil && !errors.Is(err, concordat.ErrInvalid) {
			t.Error(err)
		}
	})
}
