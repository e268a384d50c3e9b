package inbox

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"concordat"
	"concordat/store"
	"concordat/web"
	"concordat/web/message"
	"concordat/web/pages"
)

// Options configures the inbox.
type Options struct {
	// Poll is the polling interval for checks and answers; the default is 2 s.
	Poll time.Duration
	// Retry is the wait before the first retry after a failure; each further wait is three times as long. The default is 10 s.
	Retry time.Duration
	// Keep is how long an answer is retried; the default is store.AnswersKept.
	Keep time.Duration
}

// Retention is how long a notification and its answers are kept. An unfinished notification is kept longer unless its account is
// disabled.
const Retention = 30 * 24 * time.Hour

// Path is the path of the inbox on the site.
const Path = web.APIPrefix + "/inbox"

// Inbox accepts notifications and answers them. It is safe for concurrent use.
type Inbox struct {
	w    *web.Web
	o    Options
	wake chan struct{} // receives a value when a notification arrives
}

// New adds the inbox page to a site and returns the inbox.
func New(w *web.Web, o Options) *Inbox {
	if o.Poll == 0 {
		o.Poll = 2 * time.Second
	}
	if o.Retry == 0 {
		o.Retry = 10 * time.Second
	}
	if o.Keep == 0 {
		o.Keep = store.AnswersKept
	}
	d := &Inbox{w: w, o: o, wake: make(chan struct{}, 1)}
	w.AddPage("GET /admin/inbox", pages.Overseers, d.page)
	w.AddPage("POST /admin/inbox", pages.Administrators, d.change)
	return d
}

// Receive accepts a notification sent with a token of account v, and returns the stored notification. It stores a repeated notification
// only once. Receive fails with concordat.ErrInvalid if the notification does not follow the protocol, and with concordat.ErrRefused if
// the token does not list its origin. A notification that the site cannot act on is accepted, and the answer states this.
func (d *Inbox) Receive(ctx context.Context, v *pages.Visitor, origins []string, body []byte) (store.Notification, error) {
	now := d.w.Options().Now()
	n := store.Notification{ID: strings.ToLower(rand.Text()), Account: v.Name, Body: body, State: store.NotificationNoted, Due: now, Made: now}
	a, err := parse(body)
	switch {
	case err != nil:
		return n, err
	case d.w.Options().Base == "" || d.w.Options().Harvest == nil:
		return n, fmt.Errorf("inbox: %w: the site has no address to which responses can be sent; its administrator must set serve.url", concordat.ErrUnavailable)
	case !below(a.Origin.ID, origins) || !below(a.Origin.Inbox, origins):
		return n, fmt.Errorf("%w: origin.id and origin.inbox must be below an origin of the token (%.200s)", concordat.ErrRefused, a.Origin.ID)
	}
	n.Activity, n.Kind, n.Origin, n.Inbox, n.Object = a.ID, strings.Join(a.Type, " "), a.Origin.ID, a.Origin.Inbox, a.Object.ID
	n.Kind = cut(n.Kind)
	var answers []store.NotificationAnswer
	switch {
	case a.Type.has(typeOffer) && (a.Type.has(actionReview) || a.Type.has(actionEndorsement)):
		if len(textsOf(a)) == 0 {
			n.State, n.Cause = store.NotificationRefused, "The object has neither a text nor a page with an HTTP address."
			break
		}
		n.State = store.NotificationFetching
		answers = []store.NotificationAnswer{d.answer(n, typeTentativeAccept, "The text will be fetched and checked.")}
	case a.Type.has(typeUndo): // decided below, in the transaction of the change
	case a.Type.has(typeFlag): // never answered, or two programs could keep answering each other
		n.Cause = cut(a.Summary)
	case slices.ContainsFunc([]string{typeAccept, typeReject, typeTentativeAccept, typeTentativeReject}, a.Type.has):
		n.Cause = cut(a.Summary)
	default:
		n.State, n.Cause = store.NotificationRefused,
			"This inbox accepts requests for a review or an endorsement, and their withdrawal."
	}
	if n.State == store.NotificationRefused {
		answers = []store.NotificationAnswer{d.answer(n, typeFlag, n.Cause)}
	}
	var kept, undone store.Notification
	err = d.w.Options().Store.Atomic(ctx, func(tx *store.DB) error {
		n, answers := n, answers // this function may run several times
		var fresh bool
		var err error
		if undone = (store.Notification{}); a.Type.has(typeUndo) {
			if undone, n.Cause, err = d.undo(ctx, tx, v, a); err != nil {
				return err
			}
			if n.Cause != "" {
				n.State = store.NotificationRefused
				answers = []store.NotificationAnswer{d.answer(n, typeFlag, n.Cause)}
			}
		}
		if kept, fresh, err = tx.Notifications.TakeNotification(ctx, n, answers...); err != nil || !fresh {
			return err
		}
		if a.Type.has(typeFlag) {
			err = tx.Notifications.ObjectReply(ctx, v.Name, a.InReplyTo.ID, "the receiver answered: "+n.Cause)
		}
		if undone.ID != "" && undone.State != store.NotificationWithdrawn && err == nil {
			was := undone.State
			undone.State, undone.Cause = store.NotificationWithdrawn, cut(a.Summary)
			err = tx.Notifications.KeepNotification(ctx, was, undone)
		}
		if err != nil {
			return err
		}
		return tx.Audit.Notes(ctx, v.Note("notification", map[string]any{"id": n.ID, "type": n.Kind, "origin": n.Origin, "state": n.State}))
	})
	if err == nil && undone.Task != "" && undone.State == store.NotificationWithdrawn { // an earlier attempt to cancel it may have failed
		err = d.stop(ctx, v.Name, undone.Task)
	}
	select {
	case d.wake <- struct{}{}:
	default: // a wake-up is already pending
	}
	return kept, err
}

// undo returns the request that a notification withdraws, even if already withdrawn, or the reason why it withdraws none.
func (d *Inbox) undo(ctx context.Context, tx *store.DB, v *pages.Visitor, a activity) (store.Notification, string, error) {
	of := a.Object.ID
	n, err := tx.Notifications.NotificationOf(ctx, v.Name, of)
	switch {
	case errors.Is(err, concordat.ErrNotFound) || err == nil && n.Origin != a.Origin.ID:
		return store.Notification{}, "No request with this id has come from this origin.", nil
	case err != nil:
		return n, "", err
	case n.State == store.NotificationFetching || n.State == store.NotificationChecking || n.State == store.NotificationWithdrawn:
		return n, "", nil
	}
	return store.Notification{}, "The request has ended and can no longer be withdrawn.", nil
}

// stop cancels the check of a withdrawn request; it does nothing if the check has ended.
func (d *Inbox) stop(ctx context.Context, account string, id concordat.TaskID) error {
	err := d.w.Options().Queue.Cancel(ctx, id, store.Cause{Code: store.CauseCancelled, Who: account},
		store.AuditNote{Actor: account, Action: "check_cancelled", Detail: map[string]any{"task": id}})
	if errors.Is(err, concordat.ErrNotFound) {
		return nil
	}
	return err
}

// Replay resends abandoned answers and returns their number, at least one. It returns an error if there are none.
func (d *Inbox) Replay(ctx context.Context, who, id string) (n int64, err error) {
	err = pages.Change(ctx, d.w.Options().Store, who, "notification_replayed", map[string]any{"id": id}, func(tx *store.DB) error {
		if _, err := tx.Notifications.Notification(ctx, id); err != nil {
			return err
		}
		n, err = tx.Notifications.ReplayReplies(ctx, id, d.w.Options().Now().Add(d.o.Keep))
		if err == nil && n == 0 {
			err = message.Conflict("inbox.nothing")
		}
		return err
	})
	return n, err
}

// party is the site or the sender in a notification.
type party struct {
	ID    string `json:"id"`
	Name  string `json:"name,omitempty"`
	Type  string `json:"type"`
	Inbox string `json:"inbox,omitempty"`
}

// outgoing is a notification to be sent by the site.
type outgoing struct {
	Context   []string        `json:"@context"`
	ID        string          `json:"id"`
	Type      any             `json:"type"`
	Actor     party           `json:"actor"`
	Origin    party           `json:"origin"`
	Target    party           `json:"target"`
	InReplyTo string          `json:"inReplyTo"`
	Object    json.RawMessage `json:"object"`
	About     json.RawMessage `json:"context,omitempty"`
	Summary   string          `json:"summary,omitempty"`
}

// answer creates an answer to a notification: Accept, Reject and TentativeAccept repeat the notification, Announce identifies its check,
// and Flag states why the notification was rejected.
func (d *Inbox) answer(n store.Notification, kind, summary string) store.NotificationAnswer {
	base := d.w.Options().Base
	now := d.w.Options().Now()
	o := outgoing{Context: contexts[:2], ID: "urn:uuid:" + newUUID(), Type: kind, InReplyTo: n.Activity, Summary: summary,
		Actor:  party{ID: base, Name: d.w.Options().Current.Title(), Type: "Service"},
		Origin: party{ID: base, Type: "Service", Inbox: base + Path}, Target: party{ID: n.Origin, Type: "Service", Inbox: n.Inbox}}
	switch kind {
	case typeAnnounce:
		o.Type = []string{typeAnnounce, actionReview}
		o.Object = encoded(map[string]any{"id": base + "/checks/" + string(n.Task), "type": []string{"Page", "sorg:Review"}})
		o.About = aboutOf(n)
	case typeFlag:
		o.Type = []string{typeFlag, actionUnprocessable}
		o.Object = encoded(map[string]any{"id": n.Activity})
	default:
		o.Object = without(n.Body)
	}
	return store.NotificationAnswer{ID: o.ID, Notification: n.ID, Kind: kind, Body: encoded(o), Due: now, Until: now.Add(d.o.Keep), Made: now}
}

// aboutOf returns the object of a request as its sender described it.
func aboutOf(n store.Notification) json.RawMessage {
	var all struct {
		Object json.RawMessage `json:"object"`
	}
	if err := json.Unmarshal(n.Body, &all); err != nil || !strings.HasPrefix(string(all.Object), "{") {
		return encoded(map[string]any{"id": n.Object, "type": []string{"Page", "sorg:AboutPage"}})
	}
	return all.Object
}

// encoded encodes a value whose encoding cannot fail.
func encoded(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	return b
}

// newUUID returns a random UUID (RFC 9562, section 5.4).
func newUUID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	h := hex.EncodeToString(b[:])
	return strings.Join([]string{h[:8], h[8:12], h[12:16], h[16:20], h[20:]}, "-")
}
