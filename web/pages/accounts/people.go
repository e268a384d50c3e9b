package accounts

import (
	"errors"
	"fmt"
	"net/http"

	"concordat"
	"concordat/people"
	"concordat/store"
	"concordat/web/pages"
)

type peoplePage struct {
	Accounts []store.Account
	Roles    []store.Role
	Link     string // to be given to the person; shown only once
	For      string
	Problem  string
	Asked    store.Account // rejected values, to be shown again
}

func (w Accounts) peoplePage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	w.showPeople(rw, r, v, http.StatusOK, peoplePage{})
}

func (w Accounts) showPeople(rw http.ResponseWriter, r *http.Request, v *pages.Visitor, code int, p peoplePage) {
	var err error
	if p.Accounts, err = w.o.Store.People.Accounts(r.Context()); err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	p.Roles = people.Roles
	w.frame.Show(rw, r, v, code, "people", "title.people", p)
}

// addPerson creates an account without a password and shows the link for setting one.
func (w Accounts) addPerson(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	if err := pages.ParseForm(rw, r); err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	f := r.PostForm
	asked := store.Account{Name: f.Get("name"), Title: f.Get("title"), Role: store.Role(f.Get("role"))}
	a, link, err := w.o.People.Add(r.Context(), v.Name, asked)
	var broken *people.RuleError
	switch {
	case errors.As(err, &broken) && broken.Rule == people.RuleName:
		w.showPeople(rw, r, v, http.StatusBadRequest, peoplePage{Problem: "first.name", Asked: a})
	case errors.Is(err, concordat.ErrExists):
		w.showPeople(rw, r, v, http.StatusConflict, peoplePage{Problem: "people.taken", Asked: a})
	case err != nil:
		w.frame.Fail(rw, r, v, err)
	default:
		w.showLink(rw, r, v, a.Name, link)
	}
}

// showLink shows a new link for setting a password.
func (w Accounts) showLink(rw http.ResponseWriter, r *http.Request, v *pages.Visitor, name string, link people.Link) {
	w.showPeople(rw, r, v, http.StatusOK, peoplePage{Link: w.addressOf(r) + JoinPath(link), For: name})
}

// JoinPath returns the path in a link for setting a password.
func JoinPath(l people.Link) string { return "/join?key=" + l.Key }

// addressOf returns the public address of the site. This is the configured address if it uses https, and otherwise the address in the
// request, since the listening address may not be reachable.
func (w Accounts) addressOf(r *http.Request) string {
	switch {
	case !w.o.Secure:
		return "http://" + r.Host
	case w.o.Base != "":
		return w.o.Base
	}
	return "https://" + r.Host
}

// changePerson disables or enables an account, changes its role, or creates a new link for setting a password.
func (w Accounts) changePerson(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	if err := pages.ParseForm(rw, r); err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	name, action, role := r.PathValue("name"), r.PostForm.Get("action"), store.Role(r.PostForm.Get("role"))
	var err error
	switch action {
	case "disable", "enable":
		disabled := action == "disable"
		_, err = w.o.People.Change(r.Context(), v.Name, name, people.Change{Disabled: &disabled})
	case "role":
		_, err = w.o.People.Change(r.Context(), v.Name, name, people.Change{Role: &role})
	case "link":
		var link people.Link
		if _, link, err = w.o.People.NewLink(r.Context(), v.Name, name); err == nil {
			w.showLink(rw, r, v, name, link)
			return
		}
	default:
		err = fmt.Errorf("action %q: %w", action, concordat.ErrInvalid)
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, "/people", http.StatusSeeOther)
}
