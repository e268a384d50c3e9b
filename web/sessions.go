package web

import (
	"net/http"

	"concordat/people"
	"concordat/store"
	"concordat/web/passwords"
)

// quotaRow is a limit of an account, for the account page.
type quotaRow struct {
	Key  string // of a message
	Most int64
}

func (w accountPages) quotaRows(v *Visitor) (out []quotaRow) {
	q := w.People.Quota(v.Account)
	for _, r := range []quotaRow{{"quota." + people.KindDocuments, int64(q.Documents)}, {"quota." + people.KindBytes, q.Bytes},
		{"quota." + people.KindCharacters, int64(q.Characters)}, {"quota.open", int64(q.Open)}} {
		if r.Most > 0 {
			out = append(out, r)
		}
	}
	return out
}

// endSessions signs a browser out, or all but this one.
func (w accountPages) endSessions(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	err := ParseForm(rw, r)
	if err == nil {
		err = w.People.EndSessions(r.Context(), v.Name, store.TokenID(r.PostForm.Get("end")), v.session)
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, "/account#sessions", http.StatusSeeOther)
}

// changePassword takes the present password and a new one, and signs all other browsers out.
func (w accountPages) changePassword(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	if err := ParseForm(rw, r); err != nil {
		w.Fail(rw, r, v, err)
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
	ok, err := w.tryPassword(r, v.Name, v.Address, f.Get("old"))
	if problem, code := problemOfTry(rw, err); problem != "" {
		refuse(code, problem)
		return
	}
	if err == nil && !ok {
		w.Audit(r.Context(), v.Name, "password_refused", nil)
		refuse(http.StatusForbidden, "password.wrong")
		return
	}
	var hash string
	if err == nil {
		hash, err = w.hashing.Hash(r.Context(), f.Get("password"))
	}
	if err == nil {
		err = w.People.SetPassword(r.Context(), v.Name, hash, f.Get("tokens") == "revoke")
	}
	if err == nil {
		err = w.signIn(rw, r, v.Name) // a new session: the old ones are gone with the old password
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, "/account?changed", http.StatusSeeOther)
}
