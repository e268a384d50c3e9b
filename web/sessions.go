package web

import (
	"context"
	"fmt"
	"net/http"

	"concordat"
	"concordat/store"
)

// quotaRow is a limit of an account, for the account page.
type quotaRow struct {
	Key  string // of a message
	Most int64
}

func (w *Web) quotaRows(v *visitor) (out []quotaRow) {
	q := w.quotaOf(v.Account)
	for _, r := range []quotaRow{{"quota." + quotaDocuments, int64(q.Documents)}, {"quota." + quotaBytes, q.Bytes},
		{"quota." + quotaCharacters, int64(q.Characters)}, {"quota.open", int64(q.Open)}} {
		if r.Most > 0 {
			out = append(out, r)
		}
	}
	return out
}

// endSessions signs a browser out, or all but this one.
func (w *Web) endSessions(rw http.ResponseWriter, r *http.Request, v *visitor) {
	err := form(rw, r)
	id := store.TokenID(r.PostForm.Get("end"))
	switch {
	case err != nil:
	case id == "others":
		err = w.o.Store.EndSessions(r.Context(), v.Name, v.session)
	case len(id) == 32:
		err = w.o.Store.RevokeToken(r.Context(), v.Name, id)
	default:
		err = fmt.Errorf("session %q: %w", id, concordat.ErrInvalid)
	}
	if err != nil {
		w.fail(rw, r, v, err)
		return
	}
	w.audit(r.Context(), v.Name, "sessions_ended", map[string]any{"which": id})
	http.Redirect(rw, r, "/account#sessions", http.StatusSeeOther)
}

// changePassword takes the present password and a new one, and signs all other browsers out.
func (w *Web) changePassword(rw http.ResponseWriter, r *http.Request, v *visitor) {
	if err := form(rw, r); err != nil {
		w.fail(rw, r, v, err)
		return
	}
	f := r.PostForm
	refuse := func(code int, problem string) {
		w.showAccount(rw, r, v, code, accountPage{Problem: problem})
	}
	if problem := faultOfPassword(f.Get("password"), f.Get("again"), v.Name, v.Title); problem != "" {
		refuse(http.StatusBadRequest, problem)
		return
	}
	ok, err := w.tryPassword(r, v.Name, v.address, f.Get("old"))
	if problem, code := problemOfTry(rw, err); problem != "" {
		refuse(code, problem)
		return
	}
	if err == nil && !ok {
		w.audit(r.Context(), v.Name, "password_refused", nil)
		refuse(http.StatusForbidden, "password.wrong")
		return
	}
	var hash string
	if err == nil {
		hash, err = w.hashing.hashPassword(r.Context(), f.Get("password"))
	}
	if err == nil {
		err = w.o.Store.SetPassword(r.Context(), v.Name, hash)
	}
	if err == nil && f.Get("tokens") == "revoke" {
		err = w.revokeTokens(r.Context(), v.Name)
	}
	if err == nil {
		err = w.signIn(rw, r, v.Name) // a new session: the old ones are gone with the old password
	}
	if err != nil {
		w.fail(rw, r, v, err)
		return
	}
	w.audit(r.Context(), v.Name, "password_changed", nil)
	http.Redirect(rw, r, "/account?changed", http.StatusSeeOther)
}

// revokeTokens ends all tokens of an account's programs.
func (w *Web) revokeTokens(ctx context.Context, account string) error {
	ids, _, err := w.o.Store.Tokens(ctx, account, store.PurposeAPI)
	for _, id := range ids {
		if err == nil {
			err = w.o.Store.RevokeToken(ctx, account, id)
		}
	}
	if err == nil {
		w.audit(ctx, account, "tokens_revoked", map[string]any{"tokens": len(ids)})
	}
	return err
}

// faultOfPassword returns the key of what is wrong with a chosen password; empty: nothing. names are those of its account.
func faultOfPassword(password, again string, names ...string) string {
	switch n := len([]rune(password)); {
	case n < leastSecret || len(password) > mostSecret:
		return "first.short"
	case common(password):
		return "first.common"
	case ownName(password, names...):
		return "first.own"
	case password != again:
		return "first.differ"
	}
	return ""
}
