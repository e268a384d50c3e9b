package accounts_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"concordat/internal/chromium"
	"concordat/internal/webtest"
	"concordat/store"
	"concordat/web"
	"concordat/web/api"
	"concordat/web/pages/accounts"
)

// idp is an OpenID Connect provider with real HTTP, real signatures, and any lies that a test needs.
type idp struct {
	*httptest.Server
	t *testing.T

	mu     sync.Mutex // guards the fields below
	key    *rsa.PrivateKey
	kid    string
	claims map[string]any // claims of the next person to sign in
	info   map[string]any // from the user info endpoint; nil if there is no such endpoint
	asked  url.Values     // the latest sign-in request
	codes  map[string]url.Values
	// lie changes the claims, or returns the whole token.
	lie      func(claims map[string]any) string
	issParam bool
	down     bool
}

func newIDP(t *testing.T) *idp {
	t.Helper()
	p := &idp{t: t, codes: map[string]url.Values{}}
	p.rotate("k1")
	m := http.NewServeMux()
	m.HandleFunc("GET /.well-known/openid-configuration", p.discovery)
	m.HandleFunc("GET /keys", p.keys)
	m.HandleFunc("GET /auth", p.auth)
	m.HandleFunc("POST /token", p.token)
	m.HandleFunc("GET /info", func(rw http.ResponseWriter, _ *http.Request) { writeTestJSON(rw, p.info) })
	p.Server = httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.down {
			http.Error(rw, "down", http.StatusBadGateway)
			return
		}
		m.ServeHTTP(rw, r)
	}))
	webtest.After(t, p.Close)
	return p
}

func writeTestJSON(rw http.ResponseWriter, v any) {
	rw.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(rw).Encode(v)
}

func (p *idp) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
}

func (p *idp) rotate(kid string) {
	k, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		p.t.Fatal(err)
	}
	p.key, p.kid = k, kid
}

func (p *idp) discovery(rw http.ResponseWriter, _ *http.Request) {
	d := map[string]any{"issuer": p.URL, "authorization_endpoint": p.URL + "/auth", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL +
		"/keys",
		"end_session_endpoint": p.URL + "/end", "response_types_supported": []string{"code"}, "subject_types_supported": []string{"public"},
		"id_token_signing_alg_values_supported": []string{"RS256", "none", "HS256"}, "authorization_response_iss_parameter_supported": p.issParam}
	if p.info != nil {
		d["userinfo_endpoint"] = p.URL + "/info"
	}
	writeTestJSON(rw, d)
}

func (p *idp) keys(rw http.ResponseWriter, _ *http.Request) {
	writeTestJSON(rw, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: &p.key.PublicKey, KeyID: p.kid, Algorithm: "RS256", Use: "sig"}}})
}

func (p *idp) auth(rw http.ResponseWriter, r *http.Request) {
	p.asked = r.URL.Query()
	code := rand.Text()
	p.codes[code] = p.asked
	back, _ := url.Parse(p.asked.Get("redirect_uri"))
	q := url.Values{"code": {code}, "state": {p.asked.Get("state")}}
	if p.issParam {
		q.Set("iss", p.URL)
	}
	back.RawQuery = q.Encode()
	http.Redirect(rw, r, back.String(), http.StatusSeeOther)
}

func (p *idp) token(rw http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	id, secret, basic := r.BasicAuth()
	asked, ok := p.codes[r.PostForm.Get("code")]
	delete(p.codes, r.PostForm.Get("code"))
	challenge := sha256.Sum256([]byte(r.PostForm.Get("code_verifier")))
	if !basic || id != "site" || secret != "secret" || !ok || asked.Get("code_challenge_method") != "S256" ||
		base64.RawURLEncoding.EncodeToString(challenge[:]) != asked.Get("code_challenge") ||
		r.PostForm.Get("redirect_uri") != asked.Get("redirect_uri") {
		rw.WriteHeader(http.StatusBadRequest)
		writeTestJSON(rw, map[string]string{"error": "invalid_grant"})
		return
	}
	claims := map[string]any{"iss": p.URL, "aud": "site", "sub": "s-1", "nonce": asked.Get("nonce"), "iat": time.Now().Unix(),
		"exp": time.Now().Add(time.Minute).Unix()}
	for k, v := range p.claims {
		claims[k] = v
	}
	var raw string
	if p.lie != nil {
		raw = p.lie(claims)
	}
	if raw == "" {
		raw = p.sign(claims)
	}
	writeTestJSON(rw, map[string]any{"access_token": "at", "token_type": "Bearer", "id_token": raw})
}

func (p *idp) sign(claims any) string {
	return signWith(p.t, jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: p.key, KeyID: p.kid}}, claims)
}

func signWith(t *testing.T, k jose.SigningKey, claims any) string {
	s, err := jose.NewSigner(k, nil)
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

// loginSite is a site where people sign in through providers. It runs no checks.
type loginSite struct {
	*webtest.Site
}

func newLoginSite(t *testing.T, administratorsOnly bool, providers ...accounts.Provider) *loginSite {
	t.Helper()
	db, err := store.Open(t.Context(), filepath.Join(t.TempDir(), "site.db"))
	if err != nil {
		t.Fatal(err)
	}
	var pages *web.Web
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) { pages.ServeHTTP(rw, r) }))
	pages, err = web.New(web.Options{Current: webtest.Current{Name: "Site"}, Store: db, Files: store.OpenFiles(t.TempDir()), Base: server.URL,
		Login: accounts.Login{AdministratorsOnly: administratorsOnly, Providers: providers}, Logger: slog.New(slog.DiscardHandler),
		Hashing: webtest.Cheap})
	if err != nil {
		t.Fatal(err)
	}
	api.Add(pages, nil, nil)
	webtest.After(t, func() {
		server.Close()
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return &loginSite{&webtest.Site{Server: server, Web: pages, Store: db}}
}

func uni(p *idp) accounts.Provider {
	return accounts.Provider{Name: "uni", Title: "University <1>", Issuer: p.URL, ClientID: "site", ClientSecret: "secret",
		Scopes:      []string{"profile"},
		DefaultRole: store.RoleSubmitter, AccountClaim: "preferred_username", Create: true, ClockSkew: time.Minute}
}

// try signs in at the provider and returns the resulting page.
func try(p *webtest.Person, want int) string {
	p.T.Helper()
	return p.Get("/login/oidc/uni?next=/account", want)
}

func (d *loginSite) accounts(t *testing.T) map[string]store.Account {
	t.Helper()
	all, err := d.Store.People.Accounts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]store.Account{}
	for _, a := range all {
		out[a.Name] = a
	}
	return out
}

// TestProviderSignsIn: an account is created at the first sign-in and found at the second by issuer and subject alone.
func TestProviderSignsIn(t *testing.T) {
	t.Parallel()
	p := newIDP(t)
	p.claims = map[string]any{"preferred_username": "ada", "name": "Ada L."}
	d := newLoginSite(t, false, uni(p))
	ada := d.Visitor(t)
	if page := ada.Get("/login?next=/account", http.StatusOK); !strings.Contains(page, "University &lt;1&gt;") ||
		!strings.Contains(page, `/login/oidc/uni?next=%2faccount`) {
		t.Errorf("no button:\n%s", page)
	}
	if page := try(ada, http.StatusOK); !strings.Contains(page, "Ada L. (submitter)") {
		t.Errorf("not signed in:\n%s", page)
	}
	// The name at the provider changes but identifies the same person.
	p.set(func() { p.claims["preferred_username"] = "ada2" })
	if page := try(d.Visitor(t), http.StatusOK); !strings.Contains(page, "Ada L. (submitter)") || d.accounts(t)["ada2"].Name != "" {
		t.Errorf("not ada:\n%s", page)
	}
	// Another person with the same name gets a separate account.
	p.set(func() { p.claims = map[string]any{"preferred_username": "ada", "sub": "s-2"} })
	if page := try(d.Visitor(t), http.StatusOK); !strings.Contains(page, "ada-2 (submitter)") {
		t.Errorf("not another:\n%s", page)
	}
	// Names that could do harm are replaced.
	p.set(func() { p.claims = map[string]any{"preferred_username": "lti:x", "sub": "s-3"} })
	try(d.Visitor(t), http.StatusOK)
	for name := range d.accounts(t) {
		if strings.HasPrefix(name, "lti:") {
			t.Errorf("account %s", name)
		}
	}
	// A disabled account remains disabled.
	a := d.accounts(t)["ada"]
	a.Disabled = true
	if err := d.Store.People.UpdateAccount(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	p.set(func() { p.claims = nil })
	try(d.Visitor(t), http.StatusForbidden)
	if !d.accounts(t)["ada"].Disabled {
		t.Error("the account was enabled")
	}
}

// TestProviderLies: only a token that is valid for this site in every respect passes.
func TestProviderLies(t *testing.T) {
	t.Parallel()
	p, other := newIDP(t), newIDP(t)
	d := newLoginSite(t, false, uni(p), accounts.Provider{Name: "other", Title: "Other", Issuer: other.URL, ClientID: "site",
		ClientSecret: "secret", DefaultRole: store.RoleAdministrator, Create: true})
	wrong, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	claim := func(name string, v any) func(map[string]any) string {
		return func(c map[string]any) string { c[name] = v; return "" }
	}
	for name, lie := range map[string]func(map[string]any) string{
		"nonce":                     claim("nonce", "another"),
		"no nonce":                  func(c map[string]any) string { delete(c, "nonce"); return "" },
		"audience":                  claim("aud", "someone"),
		"two audiences without azp": claim("aud", []string{"site", "someone"}),
		"azp":                       claim("azp", "someone"),
		"issuer":                    claim("iss", other.URL),
		"expired":                   claim("exp", time.Now().Add(-2*time.Minute).Unix()),
		"no expiry":                 func(c map[string]any) string { delete(c, "exp"); return "" },
		"from the future":           claim("iat", time.Now().Add(10*time.Minute).Unix()),
		"not yet":                   claim("nbf", time.Now().Add(10*time.Minute).Unix()),
		"no subject":                claim("sub", ""),
		"wrong key": func(c map[string]any) string {
			return signWith(t, jose.SigningKey{Algorithm: jose.RS256, Key: jose.JSONWebKey{Key: wrong, KeyID: p.kid}}, c)
		},
		"symmetric": func(c map[string]any) string {
			return signWith(t, jose.SigningKey{Algorithm: jose.HS256, Key: []byte("secretsecretsecretsecretsecretsecret")}, c)
		},
		"none": func(c map[string]any) string {
			b, _ := json.Marshal(c)
			return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." + base64.RawURLEncoding.EncodeToString(b) + "."
		},
		"huge":     func(map[string]any) string { return strings.Repeat("a", 100<<10) },
		"nonsense": func(map[string]any) string { return "a.b.c" },
	} {
		p.set(func() { p.lie = lie })
		who := d.Visitor(t)
		try(who, http.StatusForbidden)
		if page := who.Get("/account", http.StatusOK); !strings.Contains(page, `name="password"`) {
			t.Errorf("%s: signed in", name)
		}
	}
	if all := d.accounts(t); len(all) > 0 {
		t.Errorf("accounts were made: %v", all)
	}
	p.set(func() { p.lie = claim("exp", time.Now().Add(-30*time.Second).Unix()) }) // within the tolerated difference
	try(d.Visitor(t), http.StatusOK)
}

// TestProviderState: an answer is accepted only if it belongs to a sign-in that this browser started at this provider, and only once.
func TestProviderState(t *testing.T) {
	t.Parallel()
	p, other := newIDP(t), newIDP(t)
	otherProvider := uni(other)
	otherProvider.Name = "other"
	d := newLoginSite(t, false, uni(p), otherProvider)
	stop := func(who *webtest.Person) *webtest.Person {
		who.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		return who
	}
	location := func(who *webtest.Person, path string) *url.URL {
		t.Helper()
		resp, err := who.Do(who.Request(http.MethodGet, path, nil))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		u, err := resp.Location()
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	// begin starts a sign-in at the provider and returns the path that the provider sends the browser back to.
	begin := func(who *webtest.Person, at *idp, name string) string {
		t.Helper()
		to := location(who, "/login/oidc/"+name)
		resp, err := stop(&webtest.Person{T: t, Client: &http.Client{}, Base: at.URL}).Client.Get(to.String())
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		back, err := resp.Location()
		if err != nil {
			t.Fatal(err)
		}
		return back.RequestURI()
	}
	ada, mallory := stop(d.Visitor(t)), stop(d.Visitor(t))
	back := begin(mallory, p, "uni")
	ada.Get(back, http.StatusBadRequest) // Mallory's answer in Ada's browser
	back = begin(ada, p, "uni")
	ada.Get("/login/oidc/uni/back?code=x&state=guess", http.StatusBadRequest)
	ada.Get(strings.Replace(back, "/uni/", "/other/", 1), http.StatusBadRequest) // mix-up
	ada.Get(back, http.StatusBadRequest)                                         // the state is used up
	back = begin(ada, p, "uni")
	if got := location(ada, back).Path; got != "/checks" {
		t.Errorf("went to %s", got)
	}
	ada.Get(back, http.StatusBadRequest) // replayed
	replay := begin(ada, p, "uni")       // a new state with a used code
	q, _ := url.ParseQuery(strings.SplitN(replay, "?", 2)[1])
	old, _ := url.ParseQuery(strings.SplitN(back, "?", 2)[1])
	ada.Get("/login/oidc/uni/back?"+url.Values{"state": q["state"], "code": old["code"]}.Encode(), http.StatusForbidden)

	for _, next := range []string{"https://evil.example/", "//evil.example", `/\evil.example`, "javascript:alert(1)"} {
		who := stop(d.Visitor(t))
		to := location(who, "/login/oidc/uni?next="+url.QueryEscape(next))
		resp, err := stop(&webtest.Person{T: t, Client: &http.Client{}, Base: p.URL}).Client.Get(to.String())
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		back, _ := resp.Location()
		if got := location(who, back.RequestURI()).String(); got != "/checks" && got != d.URL+"/checks" {
			t.Errorf("next %q leads to %s", next, got)
		}
	}
	ada.Get("/login/oidc/none", http.StatusNotFound)

	// RFC 9207: a provider that names itself in answers must always do so, with the correct name.
	third := newIDP(t)
	third.issParam = true
	d2 := newLoginSite(t, false, uni(third))
	d = d2
	eve := stop(d2.Visitor(t))
	back = begin(eve, third, "uni")
	eve.Get(strings.Replace(back, url.QueryEscape(third.URL), url.QueryEscape(p.URL), 1), http.StatusForbidden)
	back = begin(eve, third, "uni")
	u, _ := url.Parse(back)
	q = u.Query()
	q.Del("iss")
	eve.Get(u.Path+"?"+q.Encode(), http.StatusForbidden)
	eve.Get(begin(eve, third, "uni"), http.StatusSeeOther)
}

// TestProviderRoles maps claims to roles, and rejects people without a matching claim.
func TestProviderRoles(t *testing.T) {
	t.Parallel()
	p := newIDP(t)
	one := uni(p)
	one.RoleClaim, one.DefaultRole, one.UpdateRole = "realm.groups", "", true
	one.Roles = map[string]store.Role{"office": store.RoleOfficer, "staff": store.RoleSubmitter}
	d := newLoginSite(t, false, one)
	groups := func(sub string, names ...string) {
		p.set(func() {
			p.claims = map[string]any{"sub": sub, "preferred_username": sub, "realm": map[string]any{"groups": names}}
		})
	}
	groups("ada", "staff", "office")
	try(d.Visitor(t), http.StatusOK)
	groups("bo", "guests")
	try(d.Visitor(t), http.StatusForbidden)
	all := d.accounts(t)
	if len(all) != 1 || all["ada"].Role != store.RoleOfficer {
		t.Fatalf("accounts %v", all)
	}
	groups("ada", "staff")
	try(d.Visitor(t), http.StatusOK)
	if got := d.accounts(t)["ada"].Role; got != store.RoleSubmitter {
		t.Errorf("role %s", got)
	}
	groups("ada")
	try(d.Visitor(t), http.StatusForbidden)

	// The user info endpoint can supply the claim, but not another person's claim.
	p.set(func() {
		p.claims = map[string]any{"sub": "cy", "preferred_username": "cy"}
		p.info = map[string]any{"sub": "cy", "realm.groups": "office"}
	})
	d = newLoginSite(t, false, one)
	try(d.Visitor(t), http.StatusOK)
	if got := d.accounts(t)["cy"].Role; got != store.RoleOfficer {
		t.Errorf("role %s", got)
	}
	p.set(func() { p.info["sub"] = "ada" })
	try(d.Visitor(t), http.StatusForbidden)
}

// TestProviderLinks: if no accounts are created, people are linked by hand, or once by a verified address.
func TestProviderLinks(t *testing.T) {
	t.Parallel()
	p := newIDP(t)
	one := uni(p)
	one.Create = false
	d := newLoginSite(t, false, one)
	ctx := t.Context()
	add := func(name string, r store.Role) {
		t.Helper()
		if err := d.Store.People.CreateAccount(ctx, store.Account{Name: name, Role: r, Created: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	add("ada@example.edu", store.RoleOfficer)
	add("root@example.edu", store.RoleAdministrator)
	p.claims = map[string]any{"email": "ada@example.edu", "email_verified": true}
	try(d.Visitor(t), http.StatusForbidden) // an address alone links no one
	if err := d.Store.People.LinkIdentity(ctx, store.Identity{Issuer: p.URL, Subject: "s-9", Account: "ada@example.edu",
		Made: time.Now()}); err != nil {
		t.Fatal(err)
	}
	p.set(func() { p.claims = map[string]any{"sub": "s-9"} })
	try(d.Visitor(t), http.StatusOK)
	if err := d.Store.People.UnlinkIdentity(ctx, p.URL, "s-9"); err != nil {
		t.Fatal(err)
	}

	one.LinkVerified = true
	linked := newLoginSite(t, false, one)
	d = linked
	add("ada@example.edu", store.RoleOfficer)
	add("root@example.edu", store.RoleAdministrator)
	for _, c := range []struct {
		sub, email string
		verified   any
		want       int
	}{
		{"s-1", "ada@example.edu", false, http.StatusForbidden},
		{"s-1", "ada@example.edu", "true", http.StatusForbidden},
		{"s-1", "root@example.edu", true, http.StatusForbidden}, // administrators are linked only by hand
		{"s-1", "nobody@example.edu", true, http.StatusForbidden},
		{"s-1", "ada@example.edu", true, http.StatusOK},
		{"s-2", "ada@example.edu", true, http.StatusForbidden}, // the address now belongs to another person
		{"s-1", "new@example.edu", true, http.StatusOK},        // by the subject
	} {
		p.set(func() { p.claims = map[string]any{"sub": c.sub, "email": c.email, "email_verified": c.verified} })
		try(linked.Visitor(t), c.want)
	}
}

// TestProviderDown: the pages work while a provider is down, and its keys can change.
func TestProviderDown(t *testing.T) {
	t.Parallel()
	p := newIDP(t)
	p.down = true
	d := newLoginSite(t, false, uni(p))
	who := d.Visitor(t)
	who.Get("/login", http.StatusOK)
	try(who, http.StatusServiceUnavailable)
	p.set(func() { p.down = false })
	d = newLoginSite(t, false, uni(p))
	try(d.Visitor(t), http.StatusOK)
	p.set(func() { p.rotate("k2") })
	try(d.Visitor(t), http.StatusOK)
}

// TestPasswordForAdministratorsOnly: everyone else uses a provider, and can sign out there too.
func TestPasswordForAdministratorsOnly(t *testing.T) {
	t.Parallel()
	p := newIDP(t)
	d := newLoginSite(t, true, uni(p))
	first, err := d.Web.Accounts.FirstLink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	root := d.Visitor(t)
	const password = "correct horse battery"
	root.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	root.Post("/first", http.StatusSeeOther, url.Values{"key": {strings.TrimPrefix(first, "/first?key=")}, "name": {"root"},
		"password": {password}, "again": {password}})
	root.Post("/login", http.StatusSeeOther, url.Values{"name": {"root"}, "password": {password}})
	a := d.accounts(t)["root"]
	a.Role = store.RoleOfficer
	if err := d.Store.People.UpdateAccount(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if page := root.Post("/login", http.StatusForbidden, url.Values{"name": {"root"}, "password": {password}}); !strings.Contains(page,
		"only administrators") {
		t.Errorf("no word why:\n%s", page)
	}

	ada := d.Visitor(t)
	try(ada, http.StatusOK)
	page := ada.Post("/logout", http.StatusOK, nil)
	if !strings.Contains(page, p.URL+"/end?") || !strings.Contains(page, url.QueryEscape(d.URL+"/login")) {
		t.Errorf("no way to sign out there:\n%s", page)
	}
	ada.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	ada.Get("/account", http.StatusSeeOther)
	ada.Post("/logout", http.StatusSeeOther, nil)
}

// TestLoginInBrowser signs in at a provider and returns.
func TestLoginInBrowser(t *testing.T) {
	t.Parallel()
	p := newIDP(t)
	p.claims = map[string]any{"preferred_username": "ada"}
	d := newLoginSite(t, false, uni(p))
	ctx, complaints := webtest.Browser(t, d.URL, 390)
	var login, out []byte
	var wide bool
	if err := chromedp.Run(ctx, chromedp.EmulateViewport(390, 900), chromedp.Navigate(d.URL+"/login?next=/account"),
		chromedp.WaitVisible(".providers a", chromedp.ByQuery), webtest.Fits(&wide),
		chromedp.FullScreenshot(&login, 90), chromium.Click(".providers a", chromedp.ByQuery),
		chromium.Click(".who summary", chromedp.ByQuery), chromium.Click(`form[action="/logout"] button`, chromedp.ByQuery),
		chromedp.WaitVisible(`a[href*="/end?"]`, chromedp.ByQuery),
		chromedp.FullScreenshot(&out, 90)); err != nil {
		t.Fatal(err)
	}
	if wide {
		t.Error("wider than the window")
	}
	for _, one := range complaints() {
		if !strings.HasPrefix(one, "request for "+p.URL+"/auth?") {
			t.Error(one)
		}
	}
	webtest.KeepShot(t, "login", &login)
	webtest.KeepShot(t, "signedout", &out)
}
