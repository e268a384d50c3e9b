// Package accounts serves the sign-in page and the account pages, both a person's own and those for administrators. Start with New.
package accounts

import (
	"context"
	"net/http"
	"time"

	"concordat/people"
	"concordat/store"
	"concordat/web/pages"
	"concordat/web/pages/settings"
	"concordat/web/session"
)

// Options configures the pages. All fields except Settings and Base are required.
type Options struct {
	Store    *store.DB
	People   *people.Registry
	Sessions *session.Sessions
	Auditor  pages.Auditor
	Open     *http.ServeMux   // handles the pages that need no account
	Settings settings.Control // if nil, the first page does not ask for the title of the site
	Title    func() string    // current title of the site
	Login    Login            // sign-in methods in addition to the password
	Public   bool             // anyone can create an account
	Base     string           // public address of the site, without a trailing slash
	Secure   bool             // people reach the site over https, and cookies are bound to it
	Now      func() time.Time
}

// Accounts signs people in, and shows and changes their accounts.
type Accounts struct {
	frame pages.Frame
	o     Options
	// providers are the OpenID Connect providers.
	providers []*provider
}

// New adds the pages to a site.
func New(frame pages.Frame, o Options) Accounts {
	w := Accounts{frame, o, newProviders(o.Login)}
	o.Open.HandleFunc("GET /first", w.firstPage)
	o.Open.HandleFunc("POST /first", w.first)
	o.Open.HandleFunc("GET /register", w.registerPage)
	o.Open.HandleFunc("POST /register", w.register)
	o.Open.HandleFunc("GET /join", w.joinPage)
	o.Open.HandleFunc("POST /join", w.join)
	o.Open.HandleFunc("GET /login", w.loginPage)
	o.Open.HandleFunc("POST /login", w.login)
	o.Open.HandleFunc("POST /logout", w.logout)
	o.Open.HandleFunc("POST /language", w.language)
	o.Open.HandleFunc("GET /login/oidc/{provider}", w.oidcBegin)
	o.Open.HandleFunc("GET /login/oidc/{provider}/back", w.oidcBack)
	frame.AddPage("GET /account", pages.Everyone, w.accountPage)
	frame.AddPage("POST /account/tokens", pages.Everyone, w.changeTokens)
	frame.AddPage("POST /account/sessions", pages.Everyone, w.endSessions)
	frame.AddPage("POST /account/password", pages.Everyone, w.changePassword)
	frame.AddPage("GET /people", pages.Administrators, w.peoplePage)
	frame.AddPage("POST /people", pages.Administrators, w.addPerson)
	frame.AddPage("POST /people/{name}", pages.Administrators, w.changePerson)
	return w
}

// FirstLink returns the path of a page that creates the first administrator. The path works only once, and only for a day. The path is
// empty if an account already exists.
func (w Accounts) FirstLink(ctx context.Context) (string, error) {
	link, err := w.o.People.FirstLink(ctx)
	if err != nil || link.Key == "" {
		return "", err
	}
	return "/first?key=" + link.Key, nil
}
