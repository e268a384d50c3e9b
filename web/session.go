package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"concordat"
	"concordat/people"
	"concordat/store"
	"concordat/web/limit"
	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/pages/settings"
	"concordat/web/passwords"
)

const (
	// maxName is the maximum length of an account name at sign-in, in bytes.
	maxName = 512
)

// cookie returns the name of the session cookie. Browsers accept names that begin with __Host- only over https and only for this exact
// host.
func (w *Web) cookie() string {
	if w.o.Secure {
		return "__Host-session"
	}
	return "session"
}

var (
	// errSignedOut rejects a form from a visitor who is not, or no longer, signed in.
	errSignedOut = fmt.Errorf("no one has signed in: %w", concordat.ErrRefused)
	// errLink rejects a used or expired link.
	errLink = fmt.Errorf("the link was used, or is too old: %w", concordat.ErrNotFound)
)

// as returns a page handler for signed-in people with one of the roles.
func (w *Web) as(roles []store.Role, page func(http.ResponseWriter, *http.Request, *Visitor)) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		v, err := w.visitor(r)
		switch {
		case errors.Is(err, concordat.ErrNotFound):
			switch {
			case r.Method == http.MethodGet:
			case strings.Contains(r.Header.Get("Accept"), "application/json"):
				w.signInFirst(rw, r)
				return
			default:
				w.Fail(rw, r, nil, errSignedOut)
				return
			}
			http.Redirect(rw, r, "/login?next="+url.QueryEscape(r.URL.RequestURI()), http.StatusSeeOther)
		case err != nil:
			w.Fail(rw, r, nil, err)
		case !slices.Contains(roles, v.Role):
			w.Fail(rw, r, v, fmt.Errorf("%s as %s: %w", r.URL.Path, v.Role, concordat.ErrRefused))
		default:
			limit.Known(rw, r)
			page(rw, r, v)
		}
	}
}

// signInFirst tells a page's script that the session has ended and where to sign in again.
func (w *Web) signInFirst(rw http.ResponseWriter, r *http.Request) {
	_, _ = io.CopyN(io.Discard, r.Body, w.o.MaxUpload) // a browser reads the answer only after it has sent everything
	rw.Header().Set("Content-Type", "application/json")
	rw.WriteHeader(http.StatusUnauthorized)
	_ = json.NewEncoder(rw).Encode(handed{Problem: message.LanguageOf(r).Say("new.ended"), SignIn: "/login?next=/checks"})
}

// visitor returns the signed-in visitor, or concordat.ErrNotFound.
func (w *Web) visitor(r *http.Request) (*Visitor, error) {
	c, err := r.Cookie(w.cookie())
	if err != nil {
		return nil, fmt.Errorf("session: %w", concordat.ErrNotFound)
	}
	t, err := w.o.Store.People.UseSession(r.Context(), c.Value, w.o.Policy.SessionIdle)
	if err != nil {
		return nil, err
	}
	a, err := w.o.Store.People.Account(r.Context(), t.Account)
	if err != nil {
		return nil, err
	}
	if a.Disabled {
		return nil, fmt.Errorf("account %s is disabled: %w", a.Name, concordat.ErrNotFound)
	}
	return &Visitor{Account: a, Session: store.SecretID(c.Value), Address: w.Address(r)}, nil
}

// signIn begins a session, ends the browser's former session, and marks the browser as known.
func (w *Web) signIn(rw http.ResponseWriter, r *http.Request, account string, notes ...store.AuditNote) error {
	former := ""
	if c, err := r.Cookie(w.cookie()); err == nil {
		former = c.Value
	}
	secret, err := w.People.Begin(r.Context(), account, former, r.UserAgent(), notes...)
	if err != nil {
		return err
	}
	http.SetCookie(rw, &http.Cookie{Name: w.cookie(), Value: secret, Path: "/", MaxAge: int(people.SessionTime.Seconds()), HttpOnly: true,
		Secure: w.o.Secure, SameSite: http.SameSiteLaxMode})
	return w.remember(rw, r, account)
}

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

func (w *Web) loginPage(rw http.ResponseWriter, r *http.Request) {
	w.Show(rw, r, nil, http.StatusOK, "login", "title.login", w.Accounts.signPage(signPage{Next: r.URL.Query().Get("next")}))
}

func (w *Web) login(rw http.ResponseWriter, r *http.Request) {
	if err := pages.ParseForm(rw, r); err != nil {
		w.Fail(rw, r, nil, err)
		return
	}
	name, next := r.PostForm.Get("name"), r.PostForm.Get("next")
	refuse := func(code int, problem string) {
		w.Show(rw, r, nil, code, "login", "title.login", w.Accounts.signPage(signPage{Next: next, Name: name, Problem: problem}))
	}
	address := w.Address(r)
	if len(name) > maxName { // no account has such a name, and it is not recorded anywhere, including the audit
		if try, wait := w.throttle.Begin("", address); wait == 0 {
			try.Failed()
		}
		refuse(http.StatusForbidden, "login.wrong")
		return
	}
	ok, err := w.tryPassword(r, name, address, r.PostForm.Get("password"))
	if problem, code := problemOfTry(rw, err); problem != "" {
		refuse(code, problem)
		return
	}
	if err != nil {
		w.Fail(rw, r, nil, err)
		return
	}
	if !ok {
		w.Audit(r.Context(), name, "login", map[string]any{"ok": false})
		refuse(http.StatusForbidden, "login.wrong")
		return
	}
	switch ok, err := w.Accounts.mayUsePassword(r.Context(), name); {
	case err != nil:
		w.Fail(rw, r, nil, err)
		return
	case !ok:
		w.Audit(r.Context(), name, "login", map[string]any{"ok": false, "password": "right"})
		refuse(http.StatusForbidden, "login.provider")
		return
	}
	if err := w.signIn(rw, r, name, loggedIn(name, nil)); err != nil {
		w.Fail(rw, r, nil, err)
		return
	}
	http.Redirect(rw, r, local(next), http.StatusSeeOther)
}

// tryPassword reports whether the password is correct for the account, and counts the try if it is not. It fails with a *limit.TooMany
// error if too many passwords were wrong, and with a *limit.Busy error if too many are being tried.
func (w *Web) tryPassword(r *http.Request, name, address, password string) (bool, error) {
	mark, err := w.knownAs(r.Context(), r, name)
	if err != nil {
		return false, err
	}
	var try *limit.Attempt
	var wait time.Duration
	if mark == "" {
		try, wait = w.throttle.Begin(name, address)
	} else {
		try, wait = w.throttle.BeginKnown(name, mark)
	}
	switch {
	case wait > limit.Soon:
		return false, &limit.TooMany{Key: "login.wait", Retry: wait}
	case wait > 0:
		return false, &limit.Busy{Retry: wait}
	}
	ok, err := w.authentic(r.Context(), try.Rank, name, password)
	switch {
	case err != nil:
		try.Undone()
	case ok:
		try.Right()
	default:
		try.Failed()
	}
	return ok, err
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

// authentic reports whether the password is correct for the account. It takes the same time for an unknown name.
func (w *Web) authentic(ctx context.Context, rank int, name, password string) (bool, error) {
	a, err := w.o.Store.People.Account(ctx, name)
	if err != nil && !errors.Is(err, concordat.ErrNotFound) {
		return false, err
	}
	if len(password) > passwords.MaxBytes {
		return false, nil
	}
	ok, err2 := w.hashing.Verify(ctx, rank, cmp.Or(a.Password, w.hashing.Nobody()), password)
	return ok && err == nil && !a.Disabled && a.Password != "", err2
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

func (w *Web) logout(rw http.ResponseWriter, r *http.Request) {
	if c, err := r.Cookie(w.cookie()); err == nil {
		if err := w.People.End(r.Context(), c.Value); err != nil {
			w.Fail(rw, r, nil, err)
			return
		}
	}
	http.SetCookie(rw, &http.Cookie{Name: w.cookie(), Path: "/", MaxAge: -1, HttpOnly: true, Secure: w.o.Secure,
		SameSite: http.SameSiteLaxMode})
	w.Accounts.afterLogout(rw, r)
}

func (w *Web) firstPage(rw http.ResponseWriter, r *http.Request) {
	key := r.URL.Query().Get("key")
	if _, err := w.o.Store.People.Token(r.Context(), key, store.PurposeFirst); err != nil {
		w.Fail(rw, r, nil, ofLink(err))
		return
	}
	w.Show(rw, r, nil, http.StatusOK, "first", "title.first", w.namingSite(signPage{Key: key}))
}

// titleKey is the setting of the site's title.
const titleKey = "site.title"

// namingSite sets whether the first page asks for the site's title, and adds the title that was entered.
func (w *Web) namingSite(p signPage) signPage {
	if w.o.Settings == nil {
		return p
	}
	for _, one := range w.Settings.All() {
		if one.Key == titleKey && one.Changeable {
			p.NamesSite, p.Site = true, one.Value
		}
	}
	return p
}

func (w *Web) first(rw http.ResponseWriter, r *http.Request) {
	p, password, ok := w.choose(rw, r, "first", true)
	if !ok {
		return
	}
	hash, err := w.hashFor(r, p.Key, store.PurposeFirst, password)
	var a store.Account
	if err == nil {
		a, err = w.People.First(r.Context(), p.Key, store.Account{Name: p.Name, Title: p.Title, Password: hash})
	}
	if err == nil && p.NamesSite && p.Site != "" && p.Site != w.o.Title() {
		note := store.AuditNote{Actor: a.Name, Action: "settings_changed", Detail: map[string]any{titleKey: p.Site}}
		if err := w.o.Settings.Set(r.Context(), []settings.Setting{{Key: titleKey, Value: p.Site}}, note); err != nil {
			w.o.Logger.Error("title of the site", "error", err) // the account exists, and the settings page can change the title
		}
	}
	w.joined(rw, r, a.Name, err)
}

func (w *Web) joinPage(rw http.ResponseWriter, r *http.Request) {
	key := r.URL.Query().Get("key")
	t, err := w.o.Store.People.Token(r.Context(), key, store.PurposeJoin)
	if err != nil {
		w.Fail(rw, r, nil, ofLink(err))
		return
	}
	w.Show(rw, r, nil, http.StatusOK, "join", "title.join", signPage{Key: key, Name: t.Account})
}

func (w *Web) join(rw http.ResponseWriter, r *http.Request) {
	p, password, ok := w.choose(rw, r, "join", false)
	if !ok {
		return
	}
	hash, err := w.hashFor(r, p.Key, store.PurposeJoin, password)
	var a store.Account
	if err == nil {
		a, err = w.People.Join(r.Context(), p.Key, hash)
	}
	w.joined(rw, r, a.Name, err)
}

// ofLink converts the error for a missing token to an error about the link.
func ofLink(err error) error {
	if errors.Is(err, concordat.ErrNotFound) {
		return errLink
	}
	return err
}

// hashFor hashes a password if the link is valid. Otherwise it hashes nothing, since hashing is expensive.
func (w *Web) hashFor(r *http.Request, key string, purpose store.Purpose, password string) (string, error) {
	if _, err := w.o.Store.People.Token(r.Context(), key, purpose); err != nil {
		return "", ofLink(err)
	}
	return w.hashing.Hash(r.Context(), password)
}

// choose reads the form for setting a password, and shows it again if it contains an error.
func (w *Web) choose(rw http.ResponseWriter, r *http.Request, page string, named bool) (p signPage, password string, ok bool) {
	if err := pages.ParseForm(rw, r); err != nil {
		w.Fail(rw, r, nil, err)
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
			w.Fail(rw, r, nil, ofLink(err))
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
		w.Show(rw, r, nil, http.StatusBadRequest, page, "title."+page, p)
	}
	return p, password, p.Problem == ""
}

// joined signs in a visitor whose password was set; if err is not nil, it shows the error instead.
func (w *Web) joined(rw http.ResponseWriter, r *http.Request, name string, err error) {
	if err == nil {
		err = w.signIn(rw, r, name)
	}
	if err != nil {
		w.Fail(rw, r, nil, err)
		return
	}
	http.Redirect(rw, r, "/checks", http.StatusSeeOther)
}

// language stores the language that a visitor chose.
func (w *Web) language(rw http.ResponseWriter, r *http.Request) {
	if err := pages.ParseForm(rw, r); err != nil {
		w.Fail(rw, r, nil, err)
		return
	}
	http.SetCookie(rw, &http.Cookie{Name: message.Cookie, Value: string(message.LanguageNamed(r.PostForm.Get("language"))), Path: "/",
		MaxAge: 365 * 24 * 3600, HttpOnly: true, Secure: w.o.Secure, SameSite: http.SameSiteLaxMode})
	http.Redirect(rw, r, local(r.PostForm.Get("next")), http.StatusSeeOther)
}
