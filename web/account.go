package web

import (
	"crypto/rand"
	"net/http"
	"slices"
	"strings"
	"time"

	"concordat/store"
)

// apiTokenTime is how long a program's token lasts.
const apiTokenTime = 365 * 24 * time.Hour

// tokenPrefix tells what a string is that somebody finds somewhere.
const tokenPrefix = "concordat_"

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

func (w *Web) accountPage(rw http.ResponseWriter, r *http.Request, v *visitor) {
	w.showAccount(rw, r, v, http.StatusOK, accountPage{Changed: r.URL.Query().Has("changed")})
}

func (w *Web) showAccount(rw http.ResponseWriter, r *http.Request, v *visitor, code int, p accountPage) {
	ids, tokens, err := w.o.Store.Tokens(r.Context(), v.Name, store.PurposeAPI)
	if err != nil {
		w.fail(rw, r, v, err)
		return
	}
	p.Name, p.Scopes = v.Name, scopes
	for i := range tokens {
		p.Tokens = append(p.Tokens, tokenRow{ids[i], tokens[i]})
	}
	if ids, tokens, err = w.o.Store.Tokens(r.Context(), v.Name, store.PurposeSession); err != nil {
		w.fail(rw, r, v, err)
		return
	}
	for i := range tokens {
		p.Sessions = append(p.Sessions, sessionRow{ids[i], ids[i] == v.session, tokens[i]})
	}
	p.Quota = w.quotaRows(v)
	w.show(rw, r, v, code, "account", "title.account", p)
}

// changeTokens makes a token for a program, or revokes one.
func (w *Web) changeTokens(rw http.ResponseWriter, r *http.Request, v *visitor) {
	if err := form(rw, r); err != nil {
		w.fail(rw, r, v, err)
		return
	}
	f := r.PostForm
	if id := f.Get("revoke"); id != "" {
		if err := w.o.Store.RevokeToken(r.Context(), v.Name, store.TokenID(id)); err != nil {
			w.fail(rw, r, v, err)
			return
		}
		w.audit(r.Context(), v.Name, "token_revoked", map[string]any{"token": id})
		http.Redirect(rw, r, "/account", http.StatusSeeOther)
		return
	}
	name := strings.TrimSpace(f.Get("name"))
	for _, s := range f["scope"] {
		if !slices.Contains(scopes, s) {
			w.fail(rw, r, v, wrong("wrong.token"))
			return
		}
	}
	if name == "" || len(name) > 200 || len(f["scope"]) == 0 {
		w.fail(rw, r, v, wrong("wrong.token"))
		return
	}
	secret, now := tokenPrefix+rand.Text()+rand.Text(), w.o.Now()
	t := store.Token{Purpose: store.PurposeAPI, Account: v.Name, Made: now, Expires: now.Add(apiTokenTime), Name: name, Scopes: f["scope"]}
	if err := w.o.Store.PutToken(r.Context(), secret, t); err != nil {
		w.fail(rw, r, v, err)
		return
	}
	w.audit(r.Context(), v.Name, "token_made", map[string]any{"name": name, "scopes": f["scope"]})
	w.showAccount(rw, r, v, http.StatusOK, accountPage{Secret: secret})
}
