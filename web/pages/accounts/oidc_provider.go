package accounts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"concordat"
	"concordat/people"
	"concordat/store"
	"concordat/web/session"
	"concordat/webhook/outbound"
)

const (
	// discoverTime is how long a discovery document is used before it is fetched again.
	discoverTime = time.Hour
	// retryTime is the wait before a failed provider is contacted again.
	retryTime = 5 * time.Second
	// maxAnswer is the maximum length of a provider's answer in bytes.
	maxAnswer = 1 << 20
	// maxToken is the maximum length of an identity token in bytes.
	maxToken = 64 << 10
)

// provider is a Provider with its discovery document. An unavailable provider is tried again at the next sign-in; until then, nothing
// waits for it.
type provider struct {
	Provider
	client *http.Client
	way    *way

	mu     sync.Mutex // guards the fields below and serialises discovery
	known  *discovered
	asked  time.Time
	failed error
}

// discovered contains the fields read from a provider's discovery document (OpenID Connect Discovery 1.0, section 3).
type discovered struct {
	*oidc.Provider
	verifier *oidc.IDTokenVerifier
	discoveryExtras
}

// discoveryExtras contains the fields that the library does not return.
type discoveryExtras struct {
	EndSession string   `json:"end_session_endpoint"`
	IssParam   bool     `json:"authorization_response_iss_parameter_supported"`
	Auth       []string `json:"token_endpoint_auth_methods_supported"`
	Keys       string   `json:"jwks_uri"`
}

func newProviders(l Login) []*provider {
	var out []*provider
	for _, one := range l.Providers {
		p := &provider{Provider: one, client: l.Client, way: newWay(one.Issuer)}
		if p.client == nil {
			p.client = &http.Client{Timeout: session.SignTime, Transport: bounded{p.way.transport()}}
		}
		out = append(out, p)
	}
	return out
}

// bounded is a transport that truncates long answers.
type bounded struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := b.next.RoundTrip(r)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	}
	return resp, err
}

func (p *provider) discover(ctx context.Context, now time.Time) (*discovered, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known != nil && now.Sub(p.asked) < discoverTime {
		return p.known, nil
	}
	if p.failed != nil && now.Sub(p.asked) < retryTime {
		return nil, p.failed
	}
	d, err := p.ask(ctx, now)
	if err == nil {
		p.way.proven()
	}
	p.asked = now
	switch {
	case err == nil:
		p.known, p.failed = d, nil
	case p.known != nil: // it worked before, so its earlier document is used until it answers again
	default:
		p.failed = err
		return nil, err
	}
	return p.known, nil
}

func (p *provider) ask(ctx context.Context, now time.Time) (*discovered, error) {
	known, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.Issuer)
	if err != nil {
		return nil, err
	}
	d := &discovered{Provider: known}
	if err := known.Claims(&d.discoveryExtras); err != nil {
		return nil, err
	}
	for _, one := range []string{known.Endpoint().AuthURL, known.Endpoint().TokenURL, d.Keys} {
		if err := secureAs(one, p.Issuer); err != nil {
			return nil, err
		}
	}
	if d.EndSession != "" && secureAs(d.EndSession, p.Issuer) != nil {
		d.EndSession = ""
	}
	d.verifier = known.VerifierContext(oidc.ClientContext(context.WithoutCancel(ctx), p.client),
		&oidc.Config{ClientID: p.ClientID, SkipExpiryCheck: true})
	return d, nil
}

// secureAs rejects an endpoint without https, unless the issuer does not use https either, which the configuration allows only on this
// machine.
func secureAs(endpoint, issuer string) error {
	e, err := url.Parse(endpoint)
	if err != nil {
		return err
	}
	if e.Host == "" || e.Scheme != "https" && (e.Scheme != "http" || !strings.HasPrefix(issuer, "http:")) {
		return fmt.Errorf("%w: unsuitable endpoint %q", concordat.ErrInvalid, endpoint)
	}
	return nil
}

func (p *provider) oauth(d *discovered, base string) *oauth2.Config {
	e := d.Endpoint()
	switch {
	case p.ClientSecret == "":
		e.AuthStyle = oauth2.AuthStyleInParams
	case len(d.Auth) == 0 || slices.Contains(d.Auth, "client_secret_basic"):
		e.AuthStyle = oauth2.AuthStyleInHeader
	default:
		e.AuthStyle = oauth2.AuthStyleInParams
	}
	return &oauth2.Config{ClientID: p.ClientID, ClientSecret: p.ClientSecret, Endpoint: e, RedirectURL: p.backURL(base),
		Scopes: append([]string{oidc.ScopeOpenID}, p.Scopes...)}
}

// identity is a person's identity as stated by a provider.
type identity struct {
	Issuer, Subject string
	claims          map[string]any
	token           string
}

// identify exchanges the code in an answer for an identity token and verifies the token.
func (p *provider) identify(ctx context.Context, q url.Values, f oidcFlow, base string, now time.Time) (*identity, error) {
	d, err := p.discover(ctx, now)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", concordat.ErrUnavailable, err)
	}
	// An answer names its issuer if the provider supports that (RFC 9207).
	if iss := q.Get("iss"); iss != "" && iss != p.Issuer || iss == "" && d.IssParam {
		return nil, fmt.Errorf("%w: unexpected issuer %q in the response", concordat.ErrRefused, iss)
	}
	if e := q.Get("error"); e != "" {
		return nil, fmt.Errorf("%w: the provider returned error %q", concordat.ErrRefused, e)
	}
	ctx = oidc.ClientContext(ctx, p.client)
	t, err := p.oauth(d, base).Exchange(ctx, q.Get("code"), oauth2.VerifierOption(f.Verifier))
	if err != nil {
		var said *oauth2.RetrieveError
		if errors.As(err, &said) && said.Response != nil && said.Response.StatusCode < 500 {
			return nil, fmt.Errorf("%w: code: %w", concordat.ErrRefused, err)
		}
		return nil, fmt.Errorf("%w: code: %w", concordat.ErrUnavailable, err)
	}
	raw, _ := t.Extra("id_token").(string)
	if raw == "" || len(raw) > maxToken {
		return nil, fmt.Errorf("%w: the identity token is missing or too long (%d bytes)", concordat.ErrRefused, len(raw))
	}
	who, err := p.check(ctx, d, raw, f.Nonce, now)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", concordat.ErrRefused, err)
	}
	return who, p.more(ctx, d, t, who)
}

// check verifies an identity token (OpenID Connect Core 1.0, section 3.1.3.7). The library verifies the signature with an asymmetric
// algorithm, the issuer and the audience; check verifies the times, the authorised party and the nonce.
func (p *provider) check(ctx context.Context, d *discovered, raw, nonce string, now time.Time) (*identity, error) {
	t, err := d.verifier.Verify(ctx, raw)
	if err != nil {
		return nil, err
	}
	var more struct {
		AZP      string `json:"azp"`
		Before   int64  `json:"nbf"`
		AuthTime int64  `json:"auth_time"`
	}
	who := &identity{Issuer: t.Issuer, Subject: t.Subject, token: raw}
	if err := errors.Join(t.Claims(&more), t.Claims(&who.claims)); err != nil {
		return nil, err
	}
	switch early, late := now.Add(-p.ClockSkew), now.Add(p.ClockSkew); {
	case !t.Expiry.After(early):
		return nil, fmt.Errorf("expired at %s", t.Expiry)
	case t.IssuedAt.After(late):
		return nil, fmt.Errorf("issued at %s, which is in the future", t.IssuedAt)
	case time.Unix(more.Before, 0).After(late):
		return nil, fmt.Errorf("not valid before %s", time.Unix(more.Before, 0))
	case p.MaxAge > 0 && time.Unix(more.AuthTime, 0).Add(p.MaxAge).Before(early):
		return nil, fmt.Errorf("signed in at %s, which is earlier than max_age allows", time.Unix(more.AuthTime, 0))
	case t.Subject == "":
		return nil, errors.New("the token is missing its subject")
	case more.AZP != "" && more.AZP != p.ClientID, more.AZP == "" && len(t.Audience) > 1:
		return nil, fmt.Errorf("issued to %q", more.AZP)
	case !session.EqualText(t.Nonce, nonce):
		return nil, errors.New("the nonce does not match")
	}
	return who, nil
}

// more asks the provider for claims that the identity token lacks.
func (p *provider) more(ctx context.Context, d *discovered, t *oauth2.Token, who *identity) error {
	wanted := []string{p.RoleClaim}
	if p.Create {
		wanted = append(wanted, p.AccountClaim)
	}
	missing := slices.ContainsFunc(wanted, func(name string) bool { return name != "" && len(who.texts(name)) == 0 })
	if !missing || d.UserInfoEndpoint() == "" || secureAs(d.UserInfoEndpoint(), p.Issuer) != nil {
		return nil
	}
	info, err := d.UserInfo(ctx, oauth2.StaticTokenSource(t))
	if err != nil {
		return fmt.Errorf("%w: user info: %w", concordat.ErrUnavailable, err)
	}
	if info.Subject != who.Subject { // section 5.3.2
		return fmt.Errorf("%w: the user info belongs to a different person", concordat.ErrRefused)
	}
	var claims map[string]any
	if err := info.Claims(&claims); err != nil {
		return fmt.Errorf("%w: user info: %w", concordat.ErrRefused, err)
	}
	for name, v := range claims {
		if _, ok := who.claims[name]; !ok {
			who.claims[name] = v
		}
	}
	return nil
}

// texts returns the values of a claim; dots in its name separate the names of nested objects.
func (who *identity) texts(name string) []string {
	v, ok := who.claims[name]
	if !ok {
		v = who.claims
		for part := range strings.SplitSeq(name, ".") {
			m, isMap := v.(map[string]any)
			if !isMap {
				return nil
			}
			v = m[part]
		}
	}
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var all []string
		for _, one := range v {
			if s, ok := one.(string); ok {
				all = append(all, s)
			}
		}
		return all
	}
	return nil
}

func (who *identity) text(name string) string {
	if all := who.texts(name); len(all) > 0 {
		return all[0]
	}
	return ""
}

// strongest lists the roles, strongest first; a person with several roles gets the first.
var strongest = []store.Role{store.RoleAdministrator, store.RoleOfficer, store.RoleAuditor, store.RoleSubmitter}

// role returns the role of a person, or an error if the person has none.
func (p *provider) role(who *identity) (store.Role, bool) {
	if p.RoleClaim != "" {
		values := who.texts(p.RoleClaim)
		for _, r := range strongest {
			if slices.ContainsFunc(values, func(v string) bool { return p.Roles[v] == r }) {
				return r, true
			}
		}
	}
	return p.DefaultRole, p.DefaultRole != ""
}

// accountOf returns the account of a person; it creates or links the account if so configured.
func (w Accounts) accountOf(ctx context.Context, p *provider, who *identity) (store.Account, error) {
	i, err := w.o.Store.People.Identity(ctx, who.Issuer, who.Subject)
	switch {
	case err == nil:
		return w.o.People.Recognize(ctx, p.person(who), i.Account, p.UpdateRole)
	case !errors.Is(err, concordat.ErrNotFound):
		return store.Account{}, err
	}
	if p.LinkVerified {
		a, err := w.linkVerified(ctx, p, who)
		if err == nil || !errors.Is(err, concordat.ErrNotFound) {
			return a, err
		}
	}
	if !p.Create {
		return store.Account{}, fmt.Errorf("%w: subject %q of %s is not linked to an account", concordat.ErrRefused, who.Subject, who.Issuer)
	}
	return w.newAccount(ctx, p, who)
}

// person converts an identity for package people.
func (p *provider) person(who *identity) people.Person {
	r, _ := p.role(who)
	return people.Person{Provider: p.Name, Issuer: who.Issuer, Subject: who.Subject, Title: who.text("name"), Role: r}
}

// linkVerified links a person to the account whose name is the verified e-mail address, or fails with concordat.ErrNotFound. It does so
// only once, since an address can later be given to another person.
func (w Accounts) linkVerified(ctx context.Context, p *provider, who *identity) (store.Account, error) {
	email, verified := who.text("email"), who.claims["email_verified"]
	if email == "" || verified != true {
		return store.Account{}, fmt.Errorf("no verified e-mail address: %w", concordat.ErrNotFound)
	}
	return w.o.People.Connect(ctx, p.person(who), email)
}

func (w Accounts) newAccount(ctx context.Context, p *provider, who *identity) (store.Account, error) {
	person := p.person(who)
	if person.Role == "" {
		return store.Account{}, fmt.Errorf("%w: subject %q of %s has no role", concordat.ErrRefused, who.Subject, who.Issuer)
	}
	first := accountName(who.text(p.AccountClaim), who)
	const tries = 100 // maximum number of people with the same name
	for n := 1; n <= tries; n++ {
		name := first
		if n > 1 {
			name = fmt.Sprintf("%s-%d", first, n)
		}
		a, err := w.o.People.AddPerson(ctx, person, name)
		if errors.Is(err, concordat.ErrExists) {
			if i, found := w.o.Store.People.Identity(ctx, who.Issuer, who.Subject); found == nil { // another tab was faster
				return w.o.People.Recognize(ctx, person, i.Account, p.UpdateRole)
			}
			continue
		}
		return a, err
	}
	return store.Account{}, fmt.Errorf("%w: the account name %s and %d similar names are taken", concordat.ErrRefused, first, tries)
}

// endSession returns the provider's sign-out address for a person, or "" if there is none.
func (p *provider) endSession(ctx context.Context, token, base string, now time.Time) (string, error) {
	d, err := p.discover(ctx, now)
	if err != nil || d.EndSession == "" {
		return "", err
	}
	u, err := url.Parse(d.EndSession)
	if err != nil {
		return "", err
	}
	q := u.Query()
	q.Set("id_token_hint", token)
	q.Set("client_id", p.ClientID)
	q.Set("post_logout_redirect_uri", base+"/login")
	u.RawQuery = q.Encode()
	return u.String(), nil
}

// way controls the connections to one provider. The issuer's host comes from the administrator and proxies come from the environment;
// these can be at any address. All other hosts come from the provider and must be public, unless the issuer's discovery document, fetched
// over a verified connection, was served from a network of the site itself. It is safe for concurrent use.
type way struct {
	own    string // the issuer's host and port
	dialer net.Dialer

	proxies sync.Map    // hosts and ports of proxies
	near    atomic.Bool // the latest connection to the issuer was to a private address
	inside  atomic.Bool // an answer came from there
}

func newWay(issuer string) *way {
	w := &way{dialer: net.Dialer{Timeout: session.SignTime, KeepAlive: 30 * time.Second}}
	if u, err := url.Parse(issuer); err == nil {
		w.own = hostPort(u)
	}
	return w
}

// hostPort returns the host and port of an address, for dialling.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	}
	if port == "" {
		port = "443"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// transport returns a transport with these restrictions.
func (w *way) transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = func(r *http.Request) (*url.URL, error) {
		u, err := http.ProxyFromEnvironment(r)
		if u != nil {
			w.proxies.Store(hostPort(u), true)
		}
		return u, err
	}
	t.DialContext = w.dial
	return t
}

// proven records that the issuer has answered.
func (w *way) proven() { w.inside.Store(w.near.Load()) }

func (w *way) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if _, proxy := w.proxies.Load(address); proxy {
		return w.dialer.DialContext(ctx, network, address)
	}
	d, own := w.dialer, address == w.own
	d.ControlContext = func(_ context.Context, _, at string, _ syscall.RawConn) error {
		public := outbound.PublicAddress(at)
		switch {
		case own:
			w.near.Store(!public)
		case !public && !w.inside.Load():
			return fmt.Errorf("%w: %s resolves to %s, which is neither public nor the issuer's host", concordat.ErrRefused, address, at)
		}
		return nil
	}
	return d.DialContext(ctx, network, address)
}
