package web

import (
	"net/http"

	"concordat/people"
	"concordat/store"
)

// accountPages has the pages of one's own account: sessions, tokens, and ways to sign in.
type accountPages struct{ *Web }

type accountPage struct {
	Name   string // of the account, for the browser's keeper of passwords
	Tokens []tokenRow
	Scopes []string
	Secret string // shown once
	// Sessions are the browsers that are signed in, this one among them.
	Sessions []sessionRow
	Problem  string
	Changed  bool // the password
	Quota    []quotaRow
}

// sessionRow is a browser that is signed in.
type sessionRow struct {
	ID   store.TokenID
	Here bool
	store.Token
}

type tokenRow struct {
	ID store.TokenID
	store.Token
}

func (w accountPages) accountPage(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	w.showAccount(rw, r, v, http.StatusOK, accountPage{Changed: r.URL.Query().Has("changed")})
}

func (w accountPages) showAccount(rw http.ResponseWriter, r *http.Request, v *Visitor, code int, p accountPage) {
	ids, tokens, err := w.o.Store.Tokens(r.Context(), v.Name, store.PurposeAPI)
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	p.Name, p.Scopes = v.Name, people.Scopes
	for i := range tokens {
		p.Tokens = append(p.Tokens, tokenRow{ids[i], tokens[i]})
	}
	if ids, tokens, err = w.o.Store.Tokens(r.Context(), v.Name, store.PurposeSession); err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	for i := range tokens {
		p.Sessions = append(p.Sessions, sessionRow{ids[i], ids[i] == v.session, tokens[i]})
	}
	p.Quota = w.quotaRows(v)
	w.Show(rw, r, v, code, "account", "title.account", p)
}

// changeTokens makes a token for a program, or revokes one.
func (w accountPages) changeTokens(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	if err := ParseForm(rw, r); err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	f := r.PostForm
	if id := f.Get("revoke"); id != "" {
		if err := w.People.RevokeToken(r.Context(), v.Name, store.TokenID(id)); err != nil {
			w.Fail(rw, r, v, err)
			return
		}
		http.Redirect(rw, r, "/account", http.StatusSeeOther)
		return
	}
	secret, _, err := w.People.MakeToken(r.Context(), v.Name, people.NewToken{Name: f.Get("name"), Scopes: f["scope"],
		Lasts: people.TokenTime})
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	w.showAccount(rw, r, v, http.StatusOK, accountPage{Secret: secret})
}
