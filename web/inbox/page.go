package inbox

import (
	"net/http"
	"strconv"

	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
)

// shown is the number of notifications on a page.
const shown = 100

// row is a notification with its answers.
type row struct {
	store.Notification
	Answers []store.NotificationAnswer
	Dead    bool // an answer was abandoned
}

type inboxPage struct {
	Rows      []row
	Address   string // address of the inbox; empty if the site has no inbox
	MayChange bool
	Next      int64 // Seq below which the next page begins; 0 on the last page
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
		if err != nil {
			break
		}
		one := row{Notification: n}
		one.Answers, err = d.w.Options().Store.Notifications.NotificationAnswers(r.Context(), n.ID)
		for _, a := range one.Answers {
			one.Dead = one.Dead || a.State == store.DeliveryDead
		}
		p.Rows = append(p.Rows, one)
	}
	if err != nil {
		d.w.Fail(rw, r, v, err)
		return
	}
	d.w.Show(rw, r, v, http.StatusOK, "admin_inbox", "admin.inbox", p)
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
