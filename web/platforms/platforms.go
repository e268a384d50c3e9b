package platforms

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"concordat"
	"concordat/store"
	"concordat/web"
	"concordat/web/lti"
	"concordat/web/pages"
	websession "concordat/web/session"
)

// Options configures how learning platforms use the site. Keys is required.
type Options struct {
	Keys *lti.Keys
	// Private allows platforms at private addresses and over http.
	Private bool
	// Learners allows learners to open the reports on their own work and to submit files themselves.
	Learners bool
	// Threshold is the share at which a result is urgent; the default is 0.3.
	Threshold float64
	// Retry is the wait before the first retry after a failure; each further wait is twice as long. The default is 10 s.
	Retry time.Duration
	// Poll is the polling interval for checks; the default is 2 s.
	Poll time.Duration
}

// foreign lists the pages of this site that receive forms from platforms.
var foreign = []string{"POST /lti/login", "POST /lti/launch"}

const (
	flowLTI          = "lti-state"
	flowLTIAgain     = "lti-again"
	flowLTISession   = "lti-session"
	flowLTIConfigure = "lti-configure"

	stateCookie   = "lti-state"
	sessionCookie = "lti"
	// sessionTime is how long a launch remains valid.
	sessionTime = 4 * time.Hour
)

// Tool makes the site what LTI calls a tool. It receives launches and notices from learning platforms, checks the files in them, and
// reports the results. It is safe for concurrent use.
type Tool struct {
	w      *web.Web
	o      Options
	client *lti.Client
	wake   chan struct{} // receives a value when a notice arrives
}

// New adds the pages for learning platforms to the site.
func New(w *web.Web, o Options) *Tool {
	if o.Threshold == 0 {
		o.Threshold = 0.3
	}
	if o.Retry == 0 {
		o.Retry = 10 * time.Second
	}
	if o.Poll == 0 {
		o.Poll = 2 * time.Second
	}
	d := &Tool{w: w, o: o, client: lti.NewClient(lti.Options{Keys: o.Keys, Private: o.Private, Now: w.Options().Now}),
		wake: make(chan struct{}, 1)}
	w.UsePlatforms(foreign...)
	m := w.Mux
	m.HandleFunc("GET /lti/login", d.login)
	m.HandleFunc("POST /lti/login", d.login)
	m.HandleFunc("GET /lti/again", d.again)
	m.HandleFunc("POST /lti/launch", d.launch)
	m.HandleFunc("POST /lti/notice", d.notice)
	m.HandleFunc("GET /lti/jwks", d.jwks)
	m.HandleFunc("GET /lti/configure", d.as(d.configurePage))
	m.HandleFunc("POST /lti/configure", d.as(d.configure))
	m.HandleFunc("GET /lti/checks", d.as(d.checksPage))
	m.HandleFunc("POST /lti/checks", d.as(d.submit))
	m.HandleFunc("GET /lti/checks/{id}", d.as(d.checkPage))
	m.HandleFunc("GET /lti/checks/{id}/report", d.as(d.reportPage))
	m.HandleFunc("GET /lti/register", d.registerPage)
	m.HandleFunc("POST /lti/register", d.register)
	w.AddPage("GET /platforms", pages.Administrators, d.platformsPage)
	w.AddPage("POST /platforms", pages.Administrators, d.changePlatforms)
	return d
}

func (d *Tool) tool() lti.Tool {
	return lti.Tool{Name: d.w.Options().Current.Title(), Base: d.w.Options().Base}
}

func platformOf(p store.LTIPlatform) *lti.Platform {
	return &lti.Platform{Issuer: p.Issuer, ClientID: p.Client, AuthURL: p.AuthURL, TokenURL: p.TokenURL, TokenAudience: p.TokenAudience,
		KeysURL:     p.KeysURL,
		Deployments: p.Deployments, Hosts: p.Hosts}
}

// enabled returns a platform that may currently use the site.
func (d *Tool) enabled(ctx context.Context, id string) (store.LTIPlatform, error) {
	p, err := d.w.Options().Store.LTI.LTIPlatform(ctx, id)
	if err == nil && p.Disabled {
		err = fmt.Errorf("platform %s is disabled: %w", id, concordat.ErrRefused)
	}
	return p, err
}

// jwks serves the public keys of the site.
func (d *Tool) jwks(rw http.ResponseWriter, r *http.Request) {
	b, err := d.o.Keys.Public()
	if err != nil {
		d.w.Fail(rw, r, nil, err)
		return
	}
	rw.Header().Set("Content-Type", "application/json")
	_, _ = rw.Write(b) // an error means that the reader has disconnected
}

// cookie sets a cookie that also works within a frame of the platform, separately for each platform if the browser supports that (CHIPS).
func (d *Tool) cookie(rw http.ResponseWriter, name, value string, age time.Duration) {
	c := &http.Cookie{Name: d.w.Sessions.HostCookie(name), Value: value, Path: "/", MaxAge: int(age.Seconds()), HttpOnly: true,
		SameSite: http.SameSiteLaxMode}
	if d.w.Options().Secure {
		c.Secure, c.SameSite, c.Partitioned = true, http.SameSiteNoneMode, true
	}
	http.SetCookie(rw, c)
}

// frame allows the platform's pages to show this answer in a frame and, if where is not empty, the answer's form to submit there.
func (d *Tool) frame(rw http.ResponseWriter, p store.LTIPlatform, base string) {
	ancestors := "'none'"
	if all := platformOf(p).Origins(); len(all) > 0 {
		ancestors = "'self' " + strings.Join(all, " ")
	}
	rw.Header().Set("Content-Security-Policy", strings.Replace(base, "frame-ancestors 'none'", "frame-ancestors "+ancestors, 1))
}

// launchState is the state of a pending launch.
type launchState struct {
	Platform, Nonce, Browser, Deployment string
	Login, Hint                          string // parameters from the platform, for starting again
}

// login starts a launch (1EdTech Security Framework 1.0, section 5.1.1.1).
func (d *Tool) login(rw http.ResponseWriter, r *http.Request) {
	if err := pages.ParseForm(rw, r); err != nil {
		d.w.Fail(rw, r, nil, err)
		return
	}
	f := r.Form
	p, err := d.issuer(r.Context(), f.Get("iss"), f.Get("client_id"))
	if err == nil && (f.Get("login_hint") == "" || len(f.Get("login_hint"))+len(f.Get("lti_message_hint")) > 32<<10) {
		err = fmt.Errorf("login_hint is missing or too long: %w", concordat.ErrInvalid)
	}
	if err != nil {
		d.w.Fail(rw, r, nil, err)
		return
	}
	d.leave(rw, r, p, launchState{Platform: p.ID, Deployment: f.Get("lti_deployment_id"), Login: f.Get("login_hint"),
		Hint: f.Get("lti_message_hint")})
}

// issuer returns the enabled platform with this issuer and client, if there is exactly one.
func (d *Tool) issuer(ctx context.Context, issuer, client string) (store.LTIPlatform, error) {
	all, err := d.w.Options().Store.LTI.LTIIssuer(ctx, issuer, client)
	all = slices.DeleteFunc(all, func(p store.LTIPlatform) bool { return p.Disabled })
	switch {
	case err != nil:
		return store.LTIPlatform{}, err
	case len(all) != 1:
		return store.LTIPlatform{}, fmt.Errorf("%d platforms match issuer %q and client %q: %w", len(all), issuer, client, concordat.ErrRefused)
	}
	return all[0], nil
}

// leave sends the browser to the platform, which sends it back with a message (section 5.1.1.2).
func (d *Tool) leave(rw http.ResponseWriter, r *http.Request, p store.LTIPlatform, s launchState) {
	secret := rand.Text()
	if c, err := r.Cookie(d.w.Sessions.HostCookie(stateCookie)); err == nil && len(c.Value) >= 20 && len(c.Value) <= 100 {
		secret = c.Value // another tab is launching too
	}
	state := rand.Text()
	s.Nonce, s.Browser = rand.Text(), websession.HashText(secret)
	if err := d.put(r.Context(), flowLTI, state, s, websession.FlowTime); err != nil {
		d.w.Fail(rw, r, nil, err)
		return
	}
	d.cookie(rw, stateCookie, secret, websession.FlowTime)
	to, err := lti.SignInURL(platformOf(p), d.tool(), lti.SignIn{State: state, Nonce: s.Nonce, Login: s.Login, Hint: s.Hint})
	if err != nil {
		d.w.Fail(rw, r, nil, err)
		return
	}
	http.Redirect(rw, r, to, http.StatusSeeOther)
}

func (d *Tool) put(ctx context.Context, kind, secret string, v any, age time.Duration) error {
	return d.putIn(ctx, d.w.Options().Store, kind, secret, v, age)
}

// putIn stores the state of a flow in a transaction.
func (d *Tool) putIn(ctx context.Context, db *store.DB, kind, secret string, v any, age time.Duration) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return db.People.PutFlow(ctx, kind, secret, string(b), d.w.Options().Now().Add(age))
}

func (d *Tool) take(ctx context.Context, kind, secret string, v any) error {
	data, err := d.w.Options().Store.People.TakeFlow(ctx, kind, secret)
	if err != nil {
		return err
	}
	return json.Unmarshal([]byte(data), v)
}

// again repeats a launch in a separate window, where the browser stores cookies.
func (d *Tool) again(rw http.ResponseWriter, r *http.Request) {
	var s launchState
	err := d.take(r.Context(), flowLTIAgain, r.URL.Query().Get("key"), &s)
	var p store.LTIPlatform
	if err == nil {
		p, err = d.enabled(r.Context(), s.Platform)
	}
	if err != nil {
		d.w.Fail(rw, r, nil, err)
		return
	}
	d.leave(rw, r, p, s)
}

// session is the session of a person who came from a platform. The person has no account at the site and sees only what belongs to their
// course.
type session struct {
	Platform, Deployment, Context, Course string
	Subject, Name                         string
	Teacher                               bool

	platform store.LTIPlatform
}

// visitor returns the session as a visitor, so that actions can be recorded under the person's name.
func (s *session) visitor() *pages.Visitor {
	role := store.RoleSubmitter
	if s.Teacher {
		role = store.RoleOfficer
	}
	return &pages.Visitor{Account: store.Account{Name: pages.PlatformOwner + s.Platform + ":" + s.Subject, Title: s.Name, Role: role}}
}

// mayUse reports whether the person may see anything here.
func (d *Tool) mayUse(s *session) bool { return s.Teacher || d.o.Learners && s.Subject != "" }

// as returns a page handler for people who came from a platform.
func (d *Tool) as(page func(http.ResponseWriter, *http.Request, *session)) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		s, err := d.session(r)
		if err == nil && !d.mayUse(s) {
			err = fmt.Errorf("user %s of platform %s: %w", s.Subject, s.Platform, concordat.ErrRefused)
		}
		if errors.Is(err, concordat.ErrNotFound) {
			d.w.Show(rw, r, nil, http.StatusForbidden, "lti_lost", "title.lti", nil)
			return
		}
		if err != nil {
			d.w.Fail(rw, r, nil, err)
			return
		}
		d.frame(rw, s.platform, web.ContentPolicy)
		page(rw, r, s)
	}
}

// session returns the session of the request, or concordat.ErrNotFound.
func (d *Tool) session(r *http.Request) (*session, error) {
	c, err := r.Cookie(d.w.Sessions.HostCookie(sessionCookie))
	if err != nil {
		return nil, fmt.Errorf("launch: %w", concordat.ErrNotFound)
	}
	data, err := d.w.Options().Store.People.Flow(r.Context(), flowLTISession, c.Value)
	if err != nil {
		return nil, err
	}
	var s session
	if err := json.Unmarshal([]byte(data), &s); err != nil {
		return nil, err
	}
	s.platform, err = d.enabled(r.Context(), s.Platform)
	if err == nil && !platformOf(s.platform).Deployed(s.Deployment) {
		err = fmt.Errorf("deployment %q: %w", s.Deployment, concordat.ErrRefused)
	}
	return &s, err
}
