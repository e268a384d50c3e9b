package accounts

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"concordat"
	"concordat/people"
	"concordat/site/retain"
	"concordat/web/pages"
)

var handle = regexp.MustCompile(`^[a-z0-9][a-z0-9._+@-]{2,63}$`)

type registerPage struct {
	Name, Problem string
	Key           string // link for setting a password; shown only once
	Account       string
}

// closed reports whether visitors cannot create accounts because the site is not public; if so, it answers with an error.
func (w Accounts) closed(rw http.ResponseWriter, r *http.Request) bool {
	if !w.o.Public {
		w.frame.Fail(rw, r, nil, fmt.Errorf("page %s: %w", r.URL.Path, concordat.ErrNotFound))
	}
	return !w.o.Public
}

func (w Accounts) registerPage(rw http.ResponseWriter, r *http.Request) {
	if !w.closed(rw, r) {
		w.frame.Show(rw, r, nil, http.StatusOK, "register", "title.register", registerPage{})
	}
}

// register creates an account for anyone and shows, only once, the link for setting its password. If no password is set within an hour,
// the name becomes available again.
func (w Accounts) register(rw http.ResponseWriter, r *http.Request) {
	if w.closed(rw, r) {
		return
	}
	if err := pages.ParseForm(rw, r); err != nil {
		w.frame.Fail(rw, r, nil, err)
		return
	}
	name := strings.ToLower(strings.TrimSpace(r.PostForm.Get("name")))
	refuse := func(code int, problem string) {
		w.frame.Show(rw, r, nil, code, "register", "title.register", registerPage{Name: name, Problem: problem})
	}
	if !handle.MatchString(name) {
		refuse(http.StatusBadRequest, "register.name")
		return
	}
	link, err := w.o.People.Register(r.Context(), people.PublicMark+name, w.o.Sessions.Address(r), retain.UnjoinedTime)
	switch {
	case errors.Is(err, concordat.ErrExists):
		refuse(http.StatusConflict, "people.taken")
	case errors.Is(err, people.ErrFull):
		refuse(http.StatusServiceUnavailable, "register.full")
	case err != nil:
		w.frame.Fail(rw, r, nil, err)
	default:
		w.frame.Show(rw, r, nil, http.StatusOK, "register", "title.register", registerPage{Key: link.Key, Account: people.PublicMark + name})
	}
}
