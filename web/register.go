package web

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"concordat"
	"concordat/site/retain"
	"concordat/store"
)

// publicMark begins the names of accounts that people make themselves, so that nobody can take one that
// looks like that of a member of staff, or of another way to sign in.
const publicMark = "~"

var handle = regexp.MustCompile(`^[a-z0-9][a-z0-9._+@-]{2,63}$`)

func (w *Web) registerRoutes() {
	w.mux.HandleFunc("GET /register", w.registerPage)
	w.mux.HandleFunc("POST /register", w.register)
}

type registerPage struct {
	Name, Problem string
	Key           string // of the link by which a password is chosen; shown once
	Account       string
}

// closed refuses to make accounts where the site is not open to everybody.
func (w *Web) closed(rw http.ResponseWriter, r *http.Request) bool {
	if !w.o.Policy.Public {
		w.fail(rw, r, nil, fmt.Errorf("page %s: %w", r.URL.Path, concordat.ErrNotFound))
	}
	return !w.o.Policy.Public
}

func (w *Web) registerPage(rw http.ResponseWriter, r *http.Request) {
	if !w.closed(rw, r) {
		w.show(rw, r, nil, http.StatusOK, "register", "title.register", registerPage{})
	}
}

// register makes an account for whoever asks, and shows once the link by which its password is chosen.
// A name that nobody takes into use within an hour is free again.
func (w *Web) register(rw http.ResponseWriter, r *http.Request) {
	if w.closed(rw, r) {
		return
	}
	if err := form(rw, r); err != nil {
		w.fail(rw, r, nil, err)
		return
	}
	name := strings.ToLower(strings.TrimSpace(r.PostForm.Get("name")))
	refuse := func(code int, problem string) {
		w.show(rw, r, nil, code, "register", "title.register", registerPage{Name: name, Problem: problem})
	}
	if !handle.MatchString(name) {
		refuse(http.StatusBadRequest, "register.name")
		return
	}
	key, err := w.newcomer(r, publicMark+name)
	switch {
	case errors.Is(err, concordat.ErrExists):
		refuse(http.StatusConflict, "people.taken")
	case errors.Is(err, errFull):
		refuse(http.StatusServiceUnavailable, "register.full")
	case err != nil:
		w.fail(rw, r, nil, err)
	default:
		w.show(rw, r, nil, http.StatusOK, "register", "title.register", registerPage{Key: key, Account: publicMark + name})
	}
}

var errFull = fmt.Errorf("%w: no more public accounts", concordat.ErrUnavailable)

// newcomer makes a public account and returns the key of its link.
func (w *Web) newcomer(r *http.Request, name string) (string, error) {
	ctx, now, address := r.Context(), w.o.Now(), w.address(r)
	n, err := w.o.Store.PublicAccounts(ctx)
	if err == nil && n >= w.o.Policy.PublicAccounts {
		err = errFull
	}
	if err == nil { // each try costs, so that names cannot be tried one after the other
		err = w.o.Store.Charge(ctx, store.Charge{Who: "address/" + address, Kind: quotaAccounts, Amount: 1,
			Most: int64(w.o.Policy.Registrations), Within: quotaWindow})
	}
	if err == nil {
		err = w.o.Store.CreateAccount(ctx, store.Account{Name: name, Role: store.RoleSubmitter, Created: now, Public: true})
	}
	if err != nil {
		return "", err
	}
	key := rand.Text()
	w.audit(ctx, name, "registered", map[string]any{"address": address})
	return key, w.o.Store.PutToken(ctx, key, store.Token{Purpose: store.PurposeJoin, Account: name, Made: now,
		Expires: now.Add(min(joinLinkTime, retain.UnjoinedTime, time.Hour))})
}
