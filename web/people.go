package web

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"concordat"
	"concordat/store"
)

// joinLinkTime is how long a link to choose a password works.
const joinLinkTime = 72 * time.Hour

// mostTitle bounds the name that people read of somebody or something, in bytes.
const mostTitle = 500

// boundTitle returns a title as it is kept, or concordat.ErrInvalid where it is too long.
func boundTitle(s string) (string, error) {
	if s = strings.TrimSpace(s); len(s) > mostTitle {
		return "", wrong("wrong.title", mostTitle)
	}
	return s, nil
}

type peoplePage struct {
	Accounts []store.Account
	Roles    []store.Role
	Link     string // to be given to the person; shown once
	For      string
	Problem  string
	Asked    store.Account // what was asked for, beside a problem
}

func (w *Web) peoplePage(rw http.ResponseWriter, r *http.Request, v *visitor) {
	w.showPeople(rw, r, v, http.StatusOK, peoplePage{})
}

func (w *Web) showPeople(rw http.ResponseWriter, r *http.Request, v *visitor, code int, p peoplePage) {
	var err error
	if p.Accounts, err = w.o.Store.Accounts(r.Context()); err != nil {
		w.fail(rw, r, v, err)
		return
	}
	p.Roles = []store.Role{store.RoleOfficer, store.RoleSubmitter, store.RoleAuditor, store.RoleAdministrator}
	w.show(rw, r, v, code, "people", "title.people", p)
}

// addPerson makes an account without a password and shows the link by which the person chooses one.
func (w *Web) addPerson(rw http.ResponseWriter, r *http.Request, v *visitor) {
	if err := form(rw, r); err != nil {
		w.fail(rw, r, v, err)
		return
	}
	f := r.PostForm
	a := store.Account{Name: strings.TrimSpace(f.Get("name")), Title: f.Get("title"), Role: store.Role(f.Get("role")), Created: w.o.Now()}
	title, err := boundTitle(a.Title)
	if err != nil {
		w.fail(rw, r, v, err)
		return
	}
	a.Title = title
	if a.Name == "" || len(a.Name) > 100 {
		w.showPeople(rw, r, v, http.StatusBadRequest, peoplePage{Problem: "first.name", Asked: a})
		return
	}
	err = w.o.Store.CreateAccount(r.Context(), a)
	if errors.Is(err, concordat.ErrExists) {
		w.showPeople(rw, r, v, http.StatusConflict, peoplePage{Problem: "people.taken", Asked: a})
		return
	}
	if err != nil {
		w.fail(rw, r, v, err)
		return
	}
	w.audit(r.Context(), v.Name, "account_made", map[string]any{"account": a.Name, "role": a.Role})
	w.showLink(rw, r, v, a.Name)
}

// showLink shows a new link by which somebody chooses a password.
func (w *Web) showLink(rw http.ResponseWriter, r *http.Request, v *visitor, name string) {
	path, err := w.joinLink(r.Context(), name)
	if err != nil {
		w.fail(rw, r, v, err)
		return
	}
	w.showPeople(rw, r, v, http.StatusOK, peoplePage{Link: w.addressOf(r) + path, For: name})
}

// addressOf is where people reach the site: as it is configured where it stands behind https, else where
// the request came, since the address on which it listens may be one that nobody can open.
func (w *Web) addressOf(r *http.Request) string {
	switch {
	case !w.o.Secure:
		return "http://" + r.Host
	case w.o.Base != "":
		return w.o.Base
	}
	return "https://" + r.Host
}

func (w *Web) joinLink(ctx context.Context, name string) (string, error) {
	secret, now := rand.Text(), w.o.Now()
	err := w.o.Store.PutToken(ctx, secret, store.Token{Purpose: store.PurposeJoin, Account: name, Made: now, Expires: now.Add(joinLinkTime)})
	return "/join?key=" + secret, err
}

// changePerson disables or enables an account, or gives a new link to choose a password.
func (w *Web) changePerson(rw http.ResponseWriter, r *http.Request, v *visitor) {
	if err := form(rw, r); err != nil {
		w.fail(rw, r, v, err)
		return
	}
	a, err := w.o.Store.Account(r.Context(), r.PathValue("name"))
	action := r.PostForm.Get("action")
	switch {
	case err != nil:
	case a.Name == v.Name && action == "disable":
		err = wrong("wrong.own")
	case action == "disable", action == "enable":
		a.Disabled = action == "disable"
		err = w.o.Store.UpdateAccount(r.Context(), a)
	case action == "role" && a.Name == v.Name:
		err = wrong("wrong.own")
	case action == "role":
		a.Role, a.Public = store.Role(r.PostForm.Get("role")), false
		err = w.o.Store.UpdateAccount(r.Context(), a)
	case action == "link":
		w.audit(r.Context(), v.Name, "account_link", map[string]any{"account": a.Name})
		w.showLink(rw, r, v, a.Name)
		return
	default:
		err = fmt.Errorf("action %q: %w", action, concordat.ErrInvalid)
	}
	if err != nil {
		w.fail(rw, r, v, err)
		return
	}
	w.audit(r.Context(), v.Name, "account_"+action, map[string]any{"account": a.Name, "role": a.Role})
	http.Redirect(rw, r, "/people", http.StatusSeeOther)
}
