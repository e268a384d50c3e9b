package accounts

import (
	"net/http"
	"strings"

	"concordat/people"
	"concordat/store"
	"concordat/web/pages"
	"concordat/web/passwords"
)

type accountPage struct {
	Name   string // account name, for the browser's password manager
	Tokens []tokenRow
	Scopes []string
	Secret string // shown once
	// Sessions lists the signed-in browsers, including this one.
	Sessions []sessionRow
	Problem  string
	Changed  bool // the password was changed
	Quota    []quotaRow
}

// sessionRow is a signed-in browser.
type sessionRow struct {
	ID   store.TokenID
	Here bool
	store.Token
}

type tokenRow struct {
	ID store.TokenID
	store.Token
}

func (w Accounts) accountPage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	w.showAccount(rw, r, v, http.StatusOK, accountPage{Changed: r.URL.Query().Has("changed")})
}

func (w Accounts) showAccount(rw http.ResponseWriter, r *http.Request, v *pages.Visitor, code int, p accountPage) {
	ids, tokens, err := w.o.Store.People.Tokens(r.Context(), v.Name, store.PurposeAPI)
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	p.Name, p.Scopes = v.Name, people.Scopes
	for i := range tokens {
		p.Tokens = append(p.Tokens, tokenRow{ids[i], tokens[i]})
	}
	if ids, tokens, err = w.o.Store.People.Tokens(r.Context(), v.Name, store.PurposeSession); err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	for i := range tokens {
		p.Sessions = append(p.Sessions, sessionRow{ids[i], ids[i] == v.Session, tokens[i]})
	}
	p.Quota = w.quotaRows(v)
	w.frame.Show(rw, r, v, code, "account", "title.account", p)
}

// changeTokens creates or revokes a token for a program.
func (w Accounts) changeTokens(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	if err := pages.ParseForm(rw, r); err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	f := r.PostForm
	if id := f.Get("revoke"); id != "" {
		if err := w.o.People.RevokeToken(r.Context(), v.Name, store.TokenID(id)); err != nil {
			w.frame.Fail(rw, r, v, err)
			return
		}
		http.Redirect(rw, r, "/account", http.StatusSeeOther)
		return
	}
	secret, _, err := w.o.People.MakeToken(r.Context(), v.Name, people.NewToken{Name: f.Get("name"), Scopes: f["scope"],
		Lasts: people.TokenTime, Origins: strings.Fields(f.Get("origins"))})
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	w.showAccount(rw, r, v, http.StatusOK, accountPage{Secret: secret})
}

// quotaRow is one limit of an account, for the account page.
type quotaRow struct {
	Key  string // key of a message
	Most int64
}

func (w Accounts) quotaRows(v *pages.Visitor) (out []quotaRow) {
	q := w.o.People.Quota(v.Account)
	for _, r := range []quotaRow{{"quota." + people.KindDocuments, int64(q.Documents)}, {"quota." + people.KindBytes, q.Bytes},
		{"quota." + people.KindCharacters, int64(q.Characters)}, {"quota.open", int64(q.Open)}} {
		if r.Most > 0 {
			out = append(out, r)
		}
	}
	return out
}

// endSessions signs out one browser, or all but this one.
func (w Accounts) endSessions(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	err := pages.ParseForm(rw, r)
	if err == nil {
		err = w.o.People.EndSessions(r.Context(), v.Name, store.TokenID(r.PostForm.Get("end")), v.Session)
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, "/account#sessions", http.StatusSeeOther)
}

// changePassword checks the current password, sets a new one, and signs out all other browsers.
func (w Accounts) changePassword(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	if err := pages.ParseForm(rw, r); err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	f := r.PostForm
	refuse := func(code int, problem string) {
		w.showAccount(rw, r, v, code, accountPage{Problem: problem})
	}
	if problem := passwords.Fault(f.Get("password"), f.Get("again"), v.Name, v.Title); problem != "" {
		refuse(http.StatusBadRequest, problem)
		return
	}
	ok, err := w.o.Sessions.TryPassword(r, v.Name, f.Get("old"))
	if problem, code := problemOfTry(rw, err); problem != "" {
		refuse(code, problem)
		return
	}
	if err == nil && !ok {
		w.o.Auditor.Audit(r.Context(), v.Name, "password_refused", nil)
		refuse(http.StatusForbidden, "password.wrong")
		return
	}
	var hash string
	if err == nil {
		hash, err = w.o.Sessions.Passwords.Hash(r.Context(), f.Get("password"))
	}
	if err == nil {
		err = w.o.People.SetPassword(r.Context(), v.Name, hash, f.Get("tokens") == "revoke")
	}
	if err == nil {
		err = w.o.Sessions.Begin(rw, r, v.Name) // start a new session, since changing the password ended the old ones
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, "/account?changed", http.StatusSeeOther)
}
