package accounts

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"concordat"
	"concordat/people"
	"concordat/store"
	"concordat/web/pages"
	"concordat/web/session"
)

// Login configures sign-in. With the zero value, people can sign in only with a password.
type Login struct {
	// AdministratorsOnly restricts sign-in with a password to administrators.
	AdministratorsOnly bool
	Providers          []Provider
	// Client sends requests to providers; the default is a client with its own bounds.
	Client *http.Client
}

// Provider is an OpenID Connect provider through which people sign in. Issuer and ClientID are required.
type Provider struct {
	Name, Title            string // Name is used in addresses, Title on the button
	Issuer                 string
	ClientID, ClientSecret string // ClientSecret may be empty
	Scopes                 []string
	RoleClaim              string // claim that contains the role; dots separate the names of nested objects
	Roles                  map[string]store.Role
	DefaultRole            store.Role // for people without a role in Roles; if empty, they are rejected
	AccountClaim           string     // claim with the name for a new account
	Create                 bool       // create an account at the first sign-in
	LinkVerified           bool       // link an account by the verified e-mail address, once
	UpdateRole             bool       // update the role at every sign-in
	ClockSkew, MaxAge      time.Duration
}

const (
	flowOIDC   = "oidc"
	flowLogout = "oidc-logout"
)

// oidcFlow is the state of a pending sign-in. Browser is a hash of the cookie. The browser that returns must be the one that left;
// otherwise, a person could unknowingly be signed in as someone else (RFC 6749, section 10.12).
type oidcFlow struct {
	Provider, Nonce, Verifier, Next, Browser string
}

type logoutFlow struct{ Provider, Token string }

// browserCookie returns the secret that identifies a browser, and creates one if necessary.
func (w Accounts) browserCookie(rw http.ResponseWriter, r *http.Request, name string) string {
	secret := rand.Text()
	if c, err := r.Cookie(w.o.Sessions.HostCookie(name)); err == nil && len(c.Value) >= 20 && len(c.Value) <= 100 {
		secret = c.Value // another tab is signing in too
	}
	http.SetCookie(rw, &http.Cookie{Name: w.o.Sessions.HostCookie(name), Value: secret, Path: "/", MaxAge: int(session.FlowTime.Seconds()),
		HttpOnly: true, Secure: w.o.Secure, SameSite: http.SameSiteLaxMode})
	return secret
}

// oidcBegin sends a visitor to a provider (OpenID Connect Core 1.0, section 3.1.2.1, with PKCE, RFC 7636).
func (w Accounts) oidcBegin(rw http.ResponseWriter, r *http.Request) {
	p, err := w.provider(r.PathValue("provider"))
	if err != nil {
		w.frame.Fail(rw, r, nil, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), session.SignTime)
	defer cancel()
	known, err := p.discover(ctx, w.o.Now())
	if err != nil {
		w.frame.Fail(rw, r, nil, fmt.Errorf("provider %s: %w: %w", p.Name, concordat.ErrUnavailable, err))
		return
	}
	state := rand.Text()
	f := oidcFlow{Provider: p.Name, Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Next: local(r.URL.Query().Get("next"))}
	f.Browser = session.HashText(w.browserCookie(rw, r, "oidc"))
	data, err := json.Marshal(f)
	if err == nil {
		err = w.o.Store.People.PutFlow(ctx, flowOIDC, state, string(data), w.o.Now().Add(session.FlowTime))
	}
	if err != nil {
		w.frame.Fail(rw, r, nil, err)
		return
	}
	options := []oauth2.AuthCodeOption{oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)}
	if p.MaxAge > 0 {
		options = append(options, oauth2.SetAuthURLParam("max_age", fmt.Sprint(int(p.MaxAge.Seconds()))))
	}
	http.Redirect(rw, r, p.oauth(known, w.o.Base).AuthCodeURL(state, options...), http.StatusSeeOther)
}

// oidcBack handles a visitor who returns from a provider.
func (w Accounts) oidcBack(rw http.ResponseWriter, r *http.Request) {
	p, err := w.provider(r.PathValue("provider"))
	if err != nil {
		w.frame.Fail(rw, r, nil, err)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), session.SignTime)
	defer cancel()
	f, err := w.takeFlow(ctx, r, p)
	var who *identity
	if err == nil {
		who, err = p.identify(ctx, r.URL.Query(), f, w.o.Base, w.o.Now())
	}
	var a store.Account
	if err == nil {
		a, err = w.accountOf(ctx, p, who)
	}
	if err != nil {
		w.refuseLogin(rw, r, p, who, err)
		return
	}
	if err := w.rememberLogout(ctx, rw, p, who); err != nil {
		w.frame.Fail(rw, r, nil, err)
		return
	}
	if err := w.o.Sessions.Begin(rw, r, a.Name, loggedIn(a.Name, map[string]any{"provider": p.Name})); err != nil {
		w.frame.Fail(rw, r, nil, err)
		return
	}
	http.Redirect(rw, r, f.Next, http.StatusSeeOther)
}

// refuseLogin shows the sign-in page again with a brief explanation; the details are in the log.
func (w Accounts) refuseLogin(rw http.ResponseWriter, r *http.Request, p *provider, who *identity, err error) {
	code, problem := http.StatusForbidden, "login.refused"
	switch {
	case errors.Is(err, concordat.ErrUnavailable):
		code, problem = http.StatusServiceUnavailable, "login.unavailable"
	case errors.Is(err, errStale):
		code, problem = http.StatusBadRequest, "login.stale"
	}
	subject := ""
	if who != nil {
		subject = who.Subject
	}
	w.o.Auditor.Logger.Info("sign in refused", "provider", p.Name, "error", err)
	w.o.Auditor.Audit(r.Context(), "", "login", map[string]any{"ok": false, "provider": p.Name, "subject": subject})
	w.frame.Show(rw, r, nil, code, "login", "title.login", w.signPage(signPage{Problem: problem}))
}

// errStale means that the answer does not belong to a recent sign-in of this browser.
var errStale = errors.New("unknown or expired sign-in")

func (w Accounts) takeFlow(ctx context.Context, r *http.Request, p *provider) (f oidcFlow, err error) {
	data, err := w.o.Store.People.TakeFlow(ctx, flowOIDC, r.URL.Query().Get("state"))
	if errors.Is(err, concordat.ErrNotFound) {
		return f, fmt.Errorf("%w: state: %w", errStale, err)
	}
	if err == nil {
		err = json.Unmarshal([]byte(data), &f)
	}
	if err != nil {
		return f, err
	}
	c, err := r.Cookie(w.o.Sessions.HostCookie("oidc"))
	if err != nil || !session.EqualText(session.HashText(c.Value), f.Browser) {
		return f, fmt.Errorf("%w: the sign-in was started in a different browser", errStale)
	}
	if f.Provider != p.Name { // RFC 9700, section 4.4: mix-up
		return f, fmt.Errorf("%w: the sign-in was started at provider %s", errStale, f.Provider)
	}
	return f, nil
}

// rememberLogout stores the data needed to sign out at the provider too.
func (w Accounts) rememberLogout(ctx context.Context, rw http.ResponseWriter, p *provider, who *identity) error {
	key := rand.Text()
	data, err := json.Marshal(logoutFlow{p.Name, who.token})
	if err == nil {
		err = w.o.Store.People.PutFlow(ctx, flowLogout, key, string(data), w.o.Now().Add(people.SessionTime))
	}
	if err != nil {
		return err
	}
	http.SetCookie(rw, &http.Cookie{Name: w.o.Sessions.HostCookie("provider"), Value: key, Path: "/",
		MaxAge: int(people.SessionTime.Seconds()), HttpOnly: true, Secure: w.o.Secure, SameSite: http.SameSiteLaxMode})
	return nil
}

type signedOut struct{ Provider, URL string }

// afterLogout redirects to the sign-in page or, for a visitor who signed in through a provider, shows a page with a link to sign out
// there too (OpenID Connect RP-Initiated Logout 1.0). It shows a link because forms on this site may not redirect to other sites.
func (w Accounts) afterLogout(rw http.ResponseWriter, r *http.Request) {
	c, err := r.Cookie(w.o.Sessions.HostCookie("provider"))
	if err != nil {
		http.Redirect(rw, r, "/login", http.StatusSeeOther)
		return
	}
	http.SetCookie(rw, &http.Cookie{Name: w.o.Sessions.HostCookie("provider"), Path: "/", MaxAge: -1, HttpOnly: true, Secure: w.o.Secure,
		SameSite: http.SameSiteLaxMode})
	data, err := w.o.Store.People.TakeFlow(r.Context(), flowLogout, c.Value)
	var f logoutFlow
	if err == nil {
		err = json.Unmarshal([]byte(data), &f)
	}
	var p *provider
	if err == nil {
		p, err = w.provider(f.Provider)
	}
	var end string
	if err == nil {
		ctx, cancel := context.WithTimeout(r.Context(), session.SignTime)
		defer cancel()
		end, err = p.endSession(ctx, f.Token, w.o.Base, w.o.Now())
	}
	if err != nil || end == "" { // the visitor is signed out here in any case
		http.Redirect(rw, r, "/login", http.StatusSeeOther)
		return
	}
	w.frame.Show(rw, r, nil, http.StatusOK, "signedout", "title.signedout", signedOut{p.Title, end})
}

// providerLink is a button on the sign-in page.
type providerLink struct{ Name, Title string }

// signPage adds the other sign-in methods to the sign-in page.
func (w Accounts) signPage(p signPage) signPage {
	for _, one := range w.providers {
		p.Providers = append(p.Providers, providerLink{one.Name, one.Title})
	}
	p.Administrators, p.Public = w.o.Login.AdministratorsOnly, w.o.Public
	return p
}

// mayUsePassword reports whether the account may sign in with its password.
func (w Accounts) mayUsePassword(ctx context.Context, name string) (bool, error) {
	if !w.o.Login.AdministratorsOnly {
		return true, nil
	}
	a, err := w.o.Store.People.Account(ctx, name)
	return err == nil && a.Role == store.RoleAdministrator, err
}

func (w Accounts) provider(name string) (*provider, error) {
	for _, p := range w.providers {
		if p.Name == name {
			return p, nil
		}
	}
	return nil, fmt.Errorf("provider %q: %w", name, concordat.ErrNotFound)
}

// backURL returns the address to which a provider sends people back. Each provider has its own address, so that one provider's answer
// cannot pass for another's.
func (p *provider) backURL(base string) string {
	return base + "/login/oidc/" + url.PathEscape(p.Name) + "/back"
}

// accountName derives a name for a new account from a provider's claims.
func accountName(claim string, who *identity) string {
	name := strings.Map(func(r rune) rune {
		// Format characters (Cf) can reverse or hide neighbouring text on a page.
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '/' || r == '\ufffd' {
			return -1
		}
		return r
	}, strings.TrimSpace(strings.ToValidUTF8(claim, "\ufffd")))
	if runes := []rune(name); len(runes) > 80 {
		name = string(runes[:80])
	}
	if name == "" || strings.HasPrefix(name, pages.PlatformOwner) {
		name = "person-" + session.HashText(who.Issuer + "\n" + who.Subject)[:12]
	}
	return name
}
