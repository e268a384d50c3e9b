package accounts

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"

	"concordat"
	"concordat/people"
	"concordat/store"
	"concordat/view"
	"concordat/web/limit"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/passwords"
)

// maxName is the maximum length of an account name at sign-in, in bytes.
const maxName = 512

// ErrLink rejects a used or expired link.
var ErrLink = fmt.Errorf("the link has already been used or has expired: %w", concordat.ErrNotFound)

// loggedIn returns the audit entry of a sign-in.
func loggedIn(account string, detail map[string]any) store.AuditNote {
	n := store.AuditNote{Actor: account, Action: "login", Detail: map[string]any{"ok": true}}
	maps.Copy(n.Detail, detail)
	return n
}

type signPage struct {
	Next, Key, Name, Title, Problem string
	Site                            string // title of the site; if NamesSite is set, the form asks for it
	NamesSite                       bool
	Public                          bool // people can create accounts themselves

	Providers      []providerLink // providers through which people can sign in
	Administrators bool           // only administrators may use a password
}

func (w Accounts) loginPage(rw http.ResponseWriter, r *http.Request) {
	w.frame.Show(rw, r, nil, http.StatusOK, "login", "title.login", w.signPage(signPage{Next: r.URL.Query().Get("next")}))
}

func (w Accounts) login(rw http.ResponseWriter, r *http.Request) {
	if err := pages.ParseForm(rw, r); err != nil {
		w.frame.Fail(rw, r, nil, err)
		return
	}
	name, next := r.PostForm.Get("name"), r.PostForm.Get("next")
	refuse := func(code int, problem string) {
		w.frame.Show(rw, r, nil, code, "login", "title.login", w.signPage(signPage{Next: next, Name: name, Problem: problem}))
	}
	if len(name) > maxName { // no account has such a name, and it is not recorded anywhere, including the audit
		w.o.Sessions.CountFailure(r)
		refuse(http.StatusForbidden, "login.wrong")
		return
	}
	ok, err := w.o.Sessions.TryPassword(r, name, r.PostForm.Get("password"))
	if problem, code := problemOfTry(rw, err); problem != "" {
		refuse(code, problem)
		return
	}
	if err != nil {
		w.frame.Fail(rw, r, nil, err)
		return
	}
	if !ok {
		w.o.Auditor.Audit(r.Context(), name, "login", map[string]any{"ok": false})
		refuse(http.StatusForbidden, "login.wrong")
		return
	}
	switch ok, err := w.mayUsePassword(r.Context(), name); {
	case err != nil:
		w.frame.Fail(rw, r, nil, err)
		return
	case !ok:
		w.o.Auditor.Audit(r.Context(), name, "login", map[string]any{"ok": false, "password": "right"})
		refuse(http.StatusForbidden, "login.provider")
		return
	}
	if err := w.o.Sessions.Begin(rw, r, name, loggedIn(name, nil)); err != nil {
		w.frame.Fail(rw, r, nil, err)
		return
	}
	http.Redirect(rw, r, local(next), http.StatusSeeOther)
}

// problemOfTry returns the message key and the status for a password that was not tried, and sets the Retry-After header. The key is
// empty if the password was tried.
func problemOfTry(rw http.ResponseWriter, err error) (key string, code int) {
	var many *limit.TooMany
	var busy *limit.Busy
	switch {
	case errors.As(err, &many):
		limit.RetryAfter(rw.Header(), many.Retry)
		return many.Key, http.StatusTooManyRequests
	case errors.As(err, &busy):
		limit.RetryAfter(rw.Header(), busy.Retry)
		return "login.busy", http.StatusServiceUnavailable
	}
	return "", 0
}

// local returns the path to open after sign-in; it is always a path on this site, whatever next contains.
func local(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") ||
		strings.Contains(next, `\`) {
		return "/checks"
	}
	return u.RequestURI()
}

func (w Accounts) logout(rw http.ResponseWriter, r *http.Request) {
	if err := w.o.Sessions.End(rw, r); err != nil {
		w.frame.Fail(rw, r, nil, err)
		return
	}
	w.afterLogout(rw, r)
}

func (w Accounts) firstPage(rw http.ResponseWriter, r *http.Request) {
	key := r.URL.Query().Get("key")
	if _, err := w.o.Store.People.Token(r.Context(), key, store.PurposeFirst); err != nil {
		w.frame.Fail(rw, r, nil, ofLink(err))
		return
	}
	w.frame.Show(rw, r, nil, http.StatusOK, "first", "title.first", w.namingSite(signPage{Key: key}))
}

// titleKey is the configuration key of the site's title.
const titleKey = "site.title"

// namingSite sets whether the first page asks for the site's title, and adds the title that was entered.
func (w Accounts) namingSite(p signPage) signPage {
	if w.o.Settings == nil {
		return p
	}
	for _, one := range w.o.Settings.Settings() {
		if one.Key == titleKey && one.Changeable {
			p.NamesSite, p.Site = true, one.Value
		}
	}
	return p
}

func (w Accounts) first(rw http.ResponseWriter, r *http.Request) {
	p, password, ok := w.choose(rw, r, "first", true)
	if !ok {
		return
	}
	hash, err := w.hashFor(r, p.Key, store.PurposeFirst, password)
	var a store.Account
	if err == nil {
		a, err = w.o.People.First(r.Context(), p.Key, store.Account{Name: p.Name, Title: p.Title, Password: hash})
	}
	if err == nil && p.NamesSite && p.Site != "" && p.Site != w.o.Title() {
		note := store.AuditNote{Actor: a.Name, Action: "settings_changed", Detail: map[string]any{titleKey: p.Site}}
		if err := w.o.Settings.Set(r.Context(), []view.Setting{{Key: titleKey, Value: p.Site}}, note); err != nil {
			w.o.Auditor.Logger.Error("title of the site", "error", err) // the account exists, and the settings page can change the title
		}
	}
	w.joined(rw, r, a.Name, err)
}

func (w Accounts) joinPage(rw http.ResponseWriter, r *http.Request) {
	key := r.URL.Query().Get("key")
	t, err := w.o.Store.People.Token(r.Context(), key, store.PurposeJoin)
	if err != nil {
		w.frame.Fail(rw, r, nil, ofLink(err))
		return
	}
	w.frame.Show(rw, r, nil, http.StatusOK, "join", "title.join", signPage{Key: key, Name: t.Account})
}

func (w Accounts) join(rw http.ResponseWriter, r *http.Request) {
	p, password, ok := w.choose(rw, r, "join", false)
	if !ok {
		return
	}
	hash, err := w.hashFor(r, p.Key, store.PurposeJoin, password)
	var a store.Account
	if err == nil {
		a, err = w.o.People.Join(r.Context(), p.Key, hash)
	}
	w.joined(rw, r, a.Name, err)
}

// ofLink converts the error for a missing token to an error about the link.
func ofLink(err error) error {
	if errors.Is(err, concordat.ErrNotFound) {
		return ErrLink
	}
	return err
}

// hashFor hashes a password if the link is valid. Otherwise it hashes nothing, since hashing is expensive.
func (w Accounts) hashFor(r *http.Request, key string, purpose store.Purpose, password string) (string, error) {
	if _, err := w.o.Store.People.Token(r.Context(), key, purpose); err != nil {
		return "", ofLink(err)
	}
	return w.o.Sessions.Passwords.Hash(r.Context(), password)
}

// choose reads the form for setting a password, and shows it again if it contains an error.
func (w Accounts) choose(rw http.ResponseWriter, r *http.Request, page string, named bool) (p signPage, password string, ok bool) {
	if err := pages.ParseForm(rw, r); err != nil {
		w.frame.Fail(rw, r, nil, err)
		return p, "", false
	}
	f := r.PostForm
	p = signPage{Key: f.Get("key"), Name: strings.TrimSpace(f.Get("name")), Title: f.Get("title")}
	if password = f.Get("password"); named {
		p = w.namingSite(p)
		p.Site = strings.TrimSpace(f.Get("site"))
	}
	if !named { // the link identifies the account
		t, err := w.o.Store.People.Token(r.Context(), p.Key, store.PurposeJoin)
		if err != nil {
			w.frame.Fail(rw, r, nil, ofLink(err))
			return p, "", false
		}
		p.Name = t.Account
	}
	if len(p.Title) > people.MaxTitle {
		p.Title = "" // the form has no field for it
	}
	if len(p.Site) > people.MaxTitle {
		p.Site = "" // the form has no field for it
	}
	if p.Problem = passwords.Fault(password, f.Get("again"), p.Name, p.Title); named && p.Name == "" {
		p.Problem = "first.name"
	}
	if p.Problem != "" {
		w.frame.Show(rw, r, nil, http.StatusBadRequest, page, "title."+page, p)
	}
	return p, password, p.Problem == ""
}

// joined signs in a visitor whose password was set; if err is not nil, it shows the error instead.
func (w Accounts) joined(rw http.ResponseWriter, r *http.Request, name string, err error) {
	if err == nil {
		err = w.o.Sessions.Begin(rw, r, name)
	}
	if err != nil {
		w.frame.Fail(rw, r, nil, err)
		return
	}
	http.Redirect(rw, r, "/checks", http.StatusSeeOther)
}

// language stores the language that a visitor chose.
func (w Accounts) language(rw http.ResponseWriter, r *http.Request) {
	if err := pages.ParseForm(rw, r); err != nil {
		w.frame.Fail(rw, r, nil, err)
		return
	}
	http.SetCookie(rw, &http.Cookie{Name: message.Cookie, Value: string(message.LanguageNamed(r.PostForm.Get("language"))), Path: "/",
		MaxAge: 365 * 24 * 3600, HttpOnly: true, Secure: w.o.Secure, SameSite: http.SameSiteLaxMode})
	http.Redirect(rw, r, local(r.PostForm.Get("next")), http.StatusSeeOther)
}
