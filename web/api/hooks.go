package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"concordat"
	"concordat/store"
	"concordat/web/bounds"
	"concordat/web/pages"
	"concordat/webhook"
)

func (w adminAPI) apiOfHooks(a huma.API) {
	do := func(id, method, path, summary, text string, status int) operation {
		return operation{id: id, method: method, path: "/webhooks" + path, summary: summary, text: text, scope: scopeHooks, roles: pages.Everyone,
			status: status}
	}
	register(w.api, a, do("list-webhooks", http.MethodGet, "", "Webhooks of your account; for an administrator, of the site", "", 0),
		w.apiHooks)
	made := do("make-webhook", http.MethodPost, "", "Create a webhook",
		"The secret is shown only once. Only administrators can receive events from the whole site. The address must be public and use https, unless the site allows others.", http.StatusCreated)
	made.needs = addresses("url")
	register(w.api, a, made, w.apiMakeHook)
	register(w.api, a, do("get-webhook", http.MethodGet, "/{id}", "One webhook", "", 0), w.apiHook)
	change := do("change-webhook", http.MethodPatch, "/{id}", "Change a webhook", "Absent fields are kept.", 0)
	change.needs = addresses("url")
	register(w.api, a, change, w.apiChangeHook)
	registerEmpty(w.api, a, do("delete-webhook", http.MethodDelete, "/{id}", "Delete a webhook with its deliveries", "", http.StatusNoContent),
		w.apiDeleteHook)
	register(w.api, a, do("rotate-webhook", http.MethodPost, "/{id}/rotate", "Give a webhook a new secret",
		"The new secret is shown only once. For a day, deliveries are also signed with the previous secret.", 0), w.apiRotateHook)
	register(w.api, a, do("ping-webhook", http.MethodPost, "/{id}/ping", "Send a ping", "", http.StatusAccepted), w.apiPingHook)
	register(w.api, a, do("list-deliveries", http.MethodGet, "/{id}/deliveries", "Deliveries of a webhook, newest first",
		"Ended deliveries are kept for 30 days, up to the newest 1000 for each webhook.", 0), w.apiDeliveries)
	register(w.api, a, do("get-delivery", http.MethodGet, "/{id}/deliveries/{delivery}", "One delivery with its attempts and what was sent",
		"", 0), w.apiDelivery)
	register(w.api, a, do("replay-delivery", http.MethodPost, "/{id}/deliveries/{delivery}/replay", "Send one delivery again",
		"The delivery keeps its webhook-id.", http.StatusAccepted), w.apiReplayOne)
	register(w.api, a, do("replay-deliveries", http.MethodPost, "/{id}/replay", "Send many deliveries again",
		"Sends ended deliveries in the given range; only dead ones if no state is given.", http.StatusAccepted), w.apiReplay)
}

// apiWebhook is a webhook in the API's form.
type apiWebhook struct {
	ID      store.HookID      `json:"id"`
	Account string            `json:"account"`
	Whole   bool              `json:"whole" doc:"Whether it receives events from the whole site"`
	URL     string            `json:"url"`
	Title   string            `json:"title"`
	Events  []store.EventKind `json:"events" nullable:"false"`
	State   store.HookState   `json:"state" enum:"active,paused"`
	Cause   string            `json:"cause,omitempty" doc:"Why the webhook is paused"`
	Made    time.Time         `json:"made"`
	Former  *time.Time        `json:"former_secret_until,omitempty"`
	Secret  string            `json:"secret,omitempty" doc:"The secret; shown only once"`
}

func webhookOf(h store.Hook, secret bool) apiWebhook {
	out := apiWebhook{h.ID, h.Account, h.Whole, h.URL, h.Title, h.Kinds, h.State, h.Cause, h.Made, moment(h.Former), ""}
	if secret {
		out.Secret = webhook.SecretText(h.Secrets[0])
	}
	return out
}

type apiWebhooksOutput struct {
	Body struct {
		Webhooks []apiWebhook `json:"webhooks" nullable:"false"`
		Next     string       `json:"next,omitempty" doc:"Cursor of the next page"`
	}
}

func (w adminAPI) apiHooks(ctx context.Context, in *bounds.PageInput) (*apiWebhooksOutput, error) {
	v := visitorOf(ctx)
	var after string
	if err := listOfWebhooks.Read(in.Cursor, &after); err != nil {
		return nil, err
	}
	own := v.Name
	if v.Role == store.RoleAdministrator {
		own = ""
	}
	hs, err := w.api.Web.Options().Store.Webhooks.Hooks(ctx, own, store.HookID(after), in.Limit)
	out := &apiWebhooksOutput{}
	out.Body.Webhooks = []apiWebhook{}
	for _, h := range hs {
		out.Body.Webhooks = append(out.Body.Webhooks, webhookOf(h, false))
	}
	if len(hs) == in.Limit {
		out.Body.Next = listOfWebhooks.Cursor(hs[len(hs)-1].ID)
	}
	return out, err
}

type apiMakeHookInput struct {
	Body struct {
		URL    string                           `json:"url" maxLength:"2000"`
		Title  string                           `json:"title,omitempty" maxLength:"200" doc:"Title for people"`
		Events bounds.Distinct[store.EventKind] `json:"events" minItems:"1" maxItems:"20" enum:"check.done,check.failed,batch.done,evidence.request,evidence.answer,partner.alarm,alert.found,alert.told,case.changed"`
		Whole  bool                             `json:"whole,omitempty" doc:"Receive events from the whole site, not only from the account's checks"`
	}
}

type apiWebhookOutput struct{ Body apiWebhook }

func (w adminAPI) apiMakeHook(ctx context.Context, in *apiMakeHookInput) (*apiWebhookOutput, error) {
	b := in.Body
	h, err := w.api.Web.Hooks.Make(ctx, visitorOf(ctx), store.Hook{URL: b.URL, Title: b.Title, Kinds: b.Events, Whole: b.Whole})
	if err != nil {
		return nil, err
	}
	return &apiWebhookOutput{webhookOf(h, true)}, nil
}

// HookInput is the input that identifies a webhook.
type HookInput struct {
	ID string `path:"id"`
}

func (w adminAPI) apiHook(ctx context.Context, in *HookInput) (*apiWebhookOutput, error) {
	h, err := w.api.Web.Hooks.One(ctx, visitorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	return &apiWebhookOutput{webhookOf(h, false)}, nil
}

type apiChangeHookInput struct {
	HookInput
	Body struct {
		URL    *string                          `json:"url,omitempty" maxLength:"2000"`
		Title  *string                          `json:"title,omitempty" maxLength:"200"`
		Events bounds.Distinct[store.EventKind] `json:"events,omitempty" maxItems:"20" enum:"check.done,check.failed,batch.done,evidence.request,evidence.answer,partner.alarm,alert.found,alert.told,case.changed"`
		State  store.HookState                  `json:"state,omitempty" enum:"active,paused"`
	}
}

func (w adminAPI) apiChangeHook(ctx context.Context, in *apiChangeHookInput) (*apiWebhookOutput, error) {
	v := visitorOf(ctx)
	h, err := w.api.Web.Hooks.One(ctx, v, in.ID)
	if err != nil {
		return nil, err
	}
	b := in.Body
	if b.URL != nil {
		h.URL = strings.TrimSpace(*b.URL)
	}
	if b.Title != nil {
		h.Title = *b.Title
	}
	if len(b.Events) > 0 {
		h.Kinds = b.Events
	}
	if b.State != "" {
		h.State = b.State
	}
	if err := w.api.Web.Hooks.Update(ctx, v, h); err != nil {
		return nil, err
	}
	return w.apiHook(ctx, &in.HookInput)
}

func (w adminAPI) apiDeleteHook(ctx context.Context, in *HookInput) (*struct{}, error) {
	v := visitorOf(ctx)
	h, err := w.api.Web.Hooks.One(ctx, v, in.ID)
	if err == nil {
		err = w.api.Web.Hooks.Delete(ctx, v, h.ID)
	}
	return &struct{}{}, err
}

func (w adminAPI) apiRotateHook(ctx context.Context, in *HookInput) (*apiWebhookOutput, error) {
	v := visitorOf(ctx)
	h, err := w.api.Web.Hooks.One(ctx, v, in.ID)
	if err == nil {
		h, err = w.api.Web.Hooks.Rotate(ctx, v, h.ID)
	}
	if err != nil {
		return nil, err
	}
	return &apiWebhookOutput{webhookOf(h, true)}, nil
}

type apiReplayedOutput struct {
	Body struct {
		Deliveries int64 `json:"deliveries" doc:"Number of deliveries to be sent"`
	}
}

func (w adminAPI) apiPingHook(ctx context.Context, in *HookInput) (*apiReplayedOutput, error) {
	h, err := w.api.Web.Hooks.One(ctx, visitorOf(ctx), in.ID)
	if err == nil {
		err = w.api.Web.Options().Store.Webhooks.PingHook(ctx, h.ID)
	}
	out := &apiReplayedOutput{}
	out.Body.Deliveries = 1
	return out, err
}

// apiDeliveryItem is a delivery in the API's form.
type apiDeliveryItem struct {
	Seq      int64               `json:"seq"`
	Event    string              `json:"event" doc:"webhook-id of all attempts"`
	Kind     store.EventKind     `json:"kind"`
	State    store.DeliveryState `json:"state" enum:"pending,delivered,dead"`
	Made     time.Time           `json:"made"`
	Attempts int                 `json:"attempts"`
	Due      *time.Time          `json:"due,omitempty" doc:"Time of the next attempt, while it is pending"`
	Ended    *time.Time          `json:"ended,omitempty"`
	Status   int                 `json:"status,omitempty" doc:"HTTP status of the latest answer"`
	Cause    string              `json:"cause,omitempty" doc:"Cause of the latest failure"`
}

func deliveryOf(d store.Delivery) apiDeliveryItem {
	out := apiDeliveryItem{d.Seq, d.Event, d.Kind, d.State, d.Made, d.Attempts, nil, moment(d.Ended), d.Status, d.Cause}
	if d.State == store.DeliveryPending {
		out.Due = moment(d.Due)
	}
	return out
}

type apiDeliveriesInput struct {
	HookInput
	bounds.PageInput
	State store.DeliveryState `query:"state" enum:"pending,delivered,dead"`
}

type apiDeliveriesOutput struct {
	Body struct {
		Deliveries []apiDeliveryItem `json:"deliveries" nullable:"false"`
		Next       string            `json:"next,omitempty" doc:"Cursor of the next page"`
	}
}

func (w adminAPI) apiDeliveries(ctx context.Context, in *apiDeliveriesInput) (*apiDeliveriesOutput, error) {
	h, err := w.api.Web.Hooks.One(ctx, visitorOf(ctx), in.ID)
	before := int64(0)
	if err == nil {
		err = listOfDeliveries.Read(in.Cursor, &before)
	}
	if err != nil {
		return nil, err
	}
	ds, err := w.api.Web.Options().Store.Webhooks.Deliveries(ctx, h.ID, in.State, before, in.Limit)
	out := &apiDeliveriesOutput{}
	out.Body.Deliveries = []apiDeliveryItem{}
	for _, d := range ds {
		out.Body.Deliveries = append(out.Body.Deliveries, deliveryOf(d))
	}
	if len(ds) == in.Limit {
		out.Body.Next = listOfDeliveries.Cursor(ds[len(ds)-1].Seq)
	}
	return out, err
}

type apiDeliveryInput struct {
	HookInput
	Delivery int64 `path:"delivery" minimum:"1"`
}

type apiAttempt struct {
	N       int       `json:"n"`
	At      time.Time `json:"at"`
	Seconds float64   `json:"seconds"`
	Status  int       `json:"status,omitempty"`
	Cause   string    `json:"cause,omitempty"`
}

// apiSent is the body of a sent delivery.
type apiSent json.RawMessage

// MarshalJSON returns the body unchanged.
func (s apiSent) MarshalJSON() ([]byte, error) { return s, nil }

// Schema returns the common schema of all events.
func (apiSent) Schema(huma.Registry) *huma.Schema {
	none := 0.0
	count := &huma.Schema{Type: "integer", Minimum: &none}
	return &huma.Schema{Type: "object", Required: []string{"type", "timestamp", "data"}, AdditionalProperties: false,
		Properties: map[string]*huma.Schema{
			"type": {Type: "string"}, "timestamp": {Type: "string", Format: "date-time"}, "data": {Type: "object",
				Description: "Depends on the type; see the documentation",
				Properties: map[string]*huma.Schema{"leads": {Type: "object", Required: []string{"all", "open", "counted"},
					Description: "For check.done: leads in the report; for batch.done: leads between the documents of a batch, or in all reports of checks that were submitted together. Absent: leads were not requested",
					Properties:  map[string]*huma.Schema{"all": count, "open": count, "counted": count}}}}}}
}

type apiDeliveryOutput struct {
	Body struct {
		Delivery apiDeliveryItem `json:"delivery"`
		Attempts []apiAttempt    `json:"attempts" nullable:"false" doc:"Attempts, oldest first"`
		Sent     apiSent         `json:"sent" doc:"The body of each attempt"`
	}
}

func (w adminAPI) apiDelivery(ctx context.Context, in *apiDeliveryInput) (*apiDeliveryOutput, error) {
	h, err := w.api.Web.Hooks.One(ctx, visitorOf(ctx), in.ID)
	if err != nil {
		return nil, err
	}
	d, attempts, err := w.api.Web.Options().Store.Webhooks.Delivery(ctx, h.ID, in.Delivery)
	out := &apiDeliveryOutput{}
	out.Body.Delivery, out.Body.Attempts, out.Body.Sent = deliveryOf(d), []apiAttempt{}, apiSent(d.Body)
	for _, a := range attempts {
		out.Body.Attempts = append(out.Body.Attempts, apiAttempt{a.N, a.At, a.Took.Seconds(), a.Status, a.Cause})
	}
	return out, err
}

func (w adminAPI) apiReplayOne(ctx context.Context, in *apiDeliveryInput) (*apiReplayedOutput, error) {
	return w.replayed(ctx, in.ID, store.Replay{Seq: in.Delivery})
}

type apiReplayInput struct {
	HookInput
	Body struct {
		State store.DeliveryState `json:"state,omitempty" enum:"dead,delivered" default:"dead"`
		From  time.Time           `json:"from,omitempty" doc:"Only deliveries created at this instant or later"`
		To    time.Time           `json:"to,omitempty" doc:"Only deliveries created before this instant"`
	}
}

func (w adminAPI) apiReplay(ctx context.Context, in *apiReplayInput) (*apiReplayedOutput, error) {
	b := in.Body
	if !b.To.IsZero() && b.To.Before(b.From) {
		return nil, fmt.Errorf("%w: the period ends before it begins", concordat.ErrInvalid)
	}
	return w.replayed(ctx, in.ID, store.Replay{State: b.State, From: b.From, To: b.To})
}

func (w adminAPI) replayed(ctx context.Context, id string, r store.Replay) (*apiReplayedOutput, error) {
	v := visitorOf(ctx)
	h, err := w.api.Web.Hooks.One(ctx, v, id)
	if err != nil {
		return nil, err
	}
	out := &apiReplayedOutput{}
	out.Body.Deliveries, err = w.api.Web.Hooks.Replay(ctx, v, h.ID, r)
	return out, err
}
