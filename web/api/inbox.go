package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"concordat"
	"concordat/store"
	"concordat/view"
	"concordat/web/bounds"
	"concordat/web/inbox"
	"concordat/web/pages"
)

// inboxAPI serves the operations of the inbox for notifications from other programs.
type inboxAPI struct{ w api }

// apiOfInbox adds the operations of the inbox, if the site has one.
func apiOfInbox(w api, a huma.API) {
	if w.inbox == nil {
		return
	}
	i := inboxAPI{w}
	do := func(id, method, path, summary, text string, status int) operation {
		return operation{id: id, method: method, path: path, summary: summary, text: text, scope: scopeInbox, roles: pages.Checkers,
			status: status}
	}
	send := do("send-notification", http.MethodPost, "/inbox", "Send a notification (COAR Notify 1.0.1)",
		"A request for a review or an endorsement starts a check of the text that it names; the answers go to origin.inbox. origin.id and "+
			"origin.inbox must be below an origin of the token. The type may also be application/ld+json. A repeated "+
			"notification is ignored. Programs that cannot send headers add the token to the address, as key; it must have the scope inbox alone.",
		http.StatusCreated)
	send.needs = []*huma.Schema{{Required: []string{"@context", "id", "type", "origin", "target", "object"}}}
	registerWhole(w, a, send, i.send)
	registerWhole(w, a, do("list-notifications", http.MethodGet, "/inbox", "Notifications of your account, newest first",
		"The answer is a Linked Data Platform container.", http.StatusOK), i.list)
	registerWhole(w, a, do("get-notification", http.MethodGet, "/inbox/{id}", "A notification of your account, as received", "",
		http.StatusOK), i.one)
	whole := func(id, method, path, summary, text, scope string, roles []store.Role, status int) operation {
		return operation{id: id, method: method, path: path, summary: summary, text: text, scope: scope, roles: roles, status: status}
	}
	register(w, a, whole("list-inbox", http.MethodGet, "/admin/inbox", "Notifications of all accounts with their answers, newest first", "",
		scopeRead, pages.Overseers, http.StatusOK), i.all)
	register(w, a, whole("get-inbox-notification", http.MethodGet, "/admin/inbox/{id}", "One notification with its answers", "", scopeRead,
		pages.Overseers, http.StatusOK), i.shown)
	register(w, a, whole("replay-answers", http.MethodPost, "/admin/inbox/{id}/replay", "Resend the answers that could not be delivered",
		"They are retried for another three days.", scopeSettings, pages.Administrators, http.StatusAccepted), i.replay)
}

type sendNotificationInput struct {
	Key     string         `query:"key" maxLength:"200" doc:"The token, for programs that cannot send headers"`
	Body    map[string]any `doc:"The notification, in JSON-LD"`
	RawBody []byte
}

type sendNotificationOutput struct {
	Location string `header:"Location" doc:"Where the notification can be read"`
}

func (i inboxAPI) send(ctx context.Context, in *sendNotificationInput) (*sendNotificationOutput, error) {
	n, err := i.w.inbox.Receive(ctx, visitorOf(ctx), tokenOf(ctx).Origins, in.RawBody)
	return &sendNotificationOutput{i.address(n)}, err
}

// address returns the address of a notification.
func (i inboxAPI) address(n store.Notification) string {
	return i.w.Web.Options().Base + inbox.Path + "/" + n.ID
}

// container is a list of notifications (Linked Data Notifications, section 3.3.2).
type container struct {
	Context  string   `json:"@context" enum:"http://www.w3.org/ns/ldp"`
	ID       string   `json:"@id"`
	Contains []string `json:"contains" nullable:"false" doc:"Addresses of notifications"`
	Next     string   `json:"next,omitempty" doc:"Cursor of the next page"`
}

// ContentType returns the media type of JSON-LD.
func (container) ContentType(string) string { return mediaLD }

const mediaLD = "application/ld+json"

type notificationsOutput struct{ Body container }

func (i inboxAPI) list(ctx context.Context, in *bounds.PageInput) (*notificationsOutput, error) {
	before := int64(0)
	if err := listOfNotifications.Read(in.Cursor, &before); err != nil {
		return nil, err
	}
	all, err := i.w.Web.Options().Store.Notifications.ListNotifications(ctx, visitorOf(ctx).Name, before, in.Limit)
	out := &notificationsOutput{container{Context: "http://www.w3.org/ns/ldp", ID: i.w.Web.Options().Base + inbox.Path, Contains: []string{}}}
	for _, n := range all {
		out.Body.Contains = append(out.Body.Contains, i.address(n))
	}
	if len(all) == in.Limit {
		out.Body.Next = listOfNotifications.Cursor(all[len(all)-1].Seq)
	}
	return out, err
}

type notificationInput struct {
	ID string `path:"id" maxLength:"64"`
}

// notification is a notification as it was received.
type notification json.RawMessage

// MarshalJSON returns the notification unchanged.
func (n notification) MarshalJSON() ([]byte, error) { return n, nil }

// Schema returns a schema that accepts any object.
func (notification) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: "object", AdditionalProperties: true}
}

// ContentType returns the media type of JSON-LD.
func (notification) ContentType(string) string { return mediaLD }

type notificationOutput struct{ Body notification }

func (i inboxAPI) one(ctx context.Context, in *notificationInput) (*notificationOutput, error) {
	n, err := i.w.Web.Options().Store.Notifications.Notification(ctx, in.ID)
	if err == nil && n.Account != visitorOf(ctx).Name {
		err = fmt.Errorf("notification %s: %w", in.ID, concordat.ErrNotFound)
	}
	return &notificationOutput{notification(n.Body)}, err
}

type inboxOutput struct {
	Body struct {
		Notifications []view.Notification `json:"notifications" nullable:"false"`
		Next          string              `json:"next,omitempty" doc:"Cursor of the next page"`
	}
}

func (i inboxAPI) all(ctx context.Context, in *bounds.PageInput) (*inboxOutput, error) {
	before := int64(0)
	if err := listOfInbox.Read(in.Cursor, &before); err != nil {
		return nil, err
	}
	ns, err := i.w.Web.Options().Store.Notifications.ListNotifications(ctx, "", before, in.Limit)
	out := &inboxOutput{}
	out.Body.Notifications = []view.Notification{}
	for _, n := range ns {
		var one view.Notification
		if err == nil {
			one, err = i.withAnswers(ctx, n)
		}
		out.Body.Notifications = append(out.Body.Notifications, one)
	}
	if len(ns) == in.Limit {
		out.Body.Next = listOfInbox.Cursor(ns[len(ns)-1].Seq)
	}
	return out, err
}

func (i inboxAPI) withAnswers(ctx context.Context, n store.Notification) (view.Notification, error) {
	answers, err := i.w.Web.Options().Store.Notifications.NotificationAnswers(ctx, n.ID)
	return view.OfNotification(n, answers), err
}

type inboxNotificationOutput struct{ Body view.Notification }

func (i inboxAPI) shown(ctx context.Context, in *notificationInput) (*inboxNotificationOutput, error) {
	n, err := i.w.Web.Options().Store.Notifications.Notification(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	out, err := i.withAnswers(ctx, n)
	return &inboxNotificationOutput{out}, err
}

func (i inboxAPI) replay(ctx context.Context, in *notificationInput) (*inboxNotificationOutput, error) {
	if _, err := i.w.inbox.Replay(ctx, visitorOf(ctx).Name, in.ID); err != nil {
		return nil, err
	}
	return i.shown(ctx, in)
}
