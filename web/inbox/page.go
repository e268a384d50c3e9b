package inbox

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"concordat"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
)

// shown is the number of notifications on a page.
const shown = 100

// row is a notification with its answers.
type row struct {
	store.Notification
	What    string // message key for its kind; empty if the kind has no name
	From    string // name of the sender's machine
	Title   string // title of its check; empty if it has none
	Answers []answered
	Dead    bool // an answer was abandoned
}

// answered is an answer with the message key for its kind, which is empty if the kind has no name.
type answered struct {
	store.NotificationAnswer
	What string
}

// kindKey returns the message key for the kind of a notification, from its types.
func kindKey(types string) string {
	kinds := list(strings.Fields(types))
	for _, k := range [][2]string{{actionReview, "review"}, {actionEndorsement, "endorsement"}} {
		if kinds.has(typeOffer) && kinds.has(k[0]) {
			return "inbox.kind." + k[1]
		}
	}
	for _, k := range []string{typeUndo, typeAnnounce, typeAccept, typeReject, typeTentativeAccept, typeTentativeReject, typeFlag} {
		if kinds.has(k) {
			return "inbox.kind." + k
		}
	}
	return ""
}

type inboxPage struct {
	Rows      []row
	People    pages.Names
	Address   string // address of the inbox; empty if the site has no inbox
	MayChange bool
	Next      int64 // start the next page below this Seq; 0 on the last page
}

func (d *Inbox) page(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	p := inboxPage{MayChange: v.Role == store.RoleAdministrator}
	if base := d.w.Options().Base; base != "" {
		p.Address = base + Path
	}
	before, _ := strconv.ParseInt(r.URL.Query().Get("before"), 10, 64) // an unparsable value starts at the newest notification
	all, err := d.w.Options().Store.Notifications.ListNotifications(r.Context(), "", before, shown+1)
	if len(all) > shown {
		all = all[:shown]
		p.Next = all[shown-1].Seq
	}
	for _, n := range all {
		var one row
		if err == nil {
			one, err = d.row(r.Context(), n)
			p.Rows = append(p.Rows, one)
		}
	}
	if err == nil {
		p.People, err = d.w.Names(r.Context())
	}
	if err != nil {
		d.w.Fail(rw, r, v, err)
		return
	}
	d.w.Show(rw, r, v, http.StatusOK, "admin_inbox", "admin.inbox", p)
}

// row reads the answers to a notification and the title of its check.
func (d *Inbox) row(ctx context.Context, n store.Notification) (row, error) {
	one := row{Notification: n, What: kindKey(n.Kind), From: n.Origin}
	if u, err := url.Parse(n.Origin); err == nil && u.Host != "" {
		one.From = u.Host
	}
	if n.Task != "" {
		switch t, err := d.w.Options().Store.Checks.Task(ctx, n.Task); {
		case err == nil:
			one.Title = t.Title
		case !errors.Is(err, concordat.ErrNotFound): // it is gone if the check was deleted
			return one, err
		}
	}
	all, err := d.w.Options().Store.Notifications.NotificationAnswers(ctx, n.ID)
	for _, a := range all {
		one.Answers = append(one.Answers, answered{NotificationAnswer: a, What: kindKey(a.Kind)})
		one.Dead = one.Dead || a.State == store.DeliveryDead
	}
	return one, err
}

// change resends abandoned answers.
func (d *Inbox) change(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	err := pages.ParseForm(rw, r)
	if err == nil {
		switch f := r.PostForm; f.Get("action") {
		case "replay":
			_, err = d.Replay(r.Context(), v.Name, f.Get("id"))
		default:
			err = message.Invalid("wrong.action", f.Get("action"))
		}
	}
	if err != nil {
		d.w.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, "/admin/inbox", http.StatusSeeOther)
}
