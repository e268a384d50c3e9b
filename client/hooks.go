package client

import (
	"context"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// Webhook is an address that the site notifies of events.
type Webhook struct {
	ID      string    `json:"id"`
	Account string    `json:"account"`
	Whole   bool      `json:"whole"` // receives events of the whole site, not only of the account's checks
	URL     string    `json:"url"`
	Title   string    `json:"title"`
	Events  []string  `json:"events"`
	State   string    `json:"state"` // active or paused
	Cause   string    `json:"cause"` // why it is paused
	Made    time.Time `json:"made"`
	Former  time.Time `json:"former_secret_until"` // zero if only one secret signs
	Secret  string    `json:"secret"`              // shown when it is created or rotated; Verify needs it
}

// Webhooks returns the webhooks of the token's account or, for an administrator, all webhooks of the site.
func (c *Client) Webhooks(ctx context.Context) iter.Seq2[Webhook, error] {
	return list[Webhook](ctx, c, "/webhooks", "webhooks", nil)
}

// Webhook returns one webhook.
func (c *Client) Webhook(ctx context.Context, id string) (Webhook, error) {
	var out Webhook
	_, err := c.call(ctx, request{method: http.MethodGet, path: "/webhooks/" + escape(id)}, &out)
	return out, err
}

// MakeWebhook creates a webhook and returns it with its secret. It uses the URL, Title, Events and Whole of h.
func (c *Client) MakeWebhook(ctx context.Context, h Webhook) (Webhook, error) {
	var out Webhook
	body := map[string]any{"url": h.URL, "title": h.Title, "events": h.Events, "whole": h.Whole}
	_, err := c.call(ctx, request{method: http.MethodPost, path: "/webhooks", body: body, once: true}, &out)
	return out, err
}

// ChangeWebhook changes the URL, Title, Events and State of a webhook to the fields of h that are not empty.
func (c *Client) ChangeWebhook(ctx context.Context, h Webhook) (Webhook, error) {
	body := map[string]any{}
	for name, value := range map[string]string{"url": h.URL, "title": h.Title, "state": h.State} {
		if value != "" {
			body[name] = value
		}
	}
	if len(h.Events) > 0 {
		body["events"] = h.Events
	}
	var out Webhook
	_, err := c.call(ctx, request{method: http.MethodPatch, path: "/webhooks/" + escape(h.ID), body: body}, &out)
	return out, err
}

// DeleteWebhook deletes a webhook and its deliveries.
func (c *Client) DeleteWebhook(ctx context.Context, id string) error {
	_, err := c.call(ctx, request{method: http.MethodDelete, path: "/webhooks/" + escape(id)}, nil)
	return err
}

// RotateWebhook gives a webhook a new secret and returns it; the former secret also signs for one day.
func (c *Client) RotateWebhook(ctx context.Context, id string) (Webhook, error) {
	var out Webhook
	_, err := c.call(ctx, request{method: http.MethodPost, path: "/webhooks/" + escape(id) + "/rotate", once: true}, &out)
	return out, err
}

// PingWebhook makes the site send a ping.
func (c *Client) PingWebhook(ctx context.Context, id string) error {
	_, err := c.call(ctx, request{method: http.MethodPost, path: "/webhooks/" + escape(id) + "/ping", once: true}, nil)
	return err
}

// Delivery is an event to be delivered to a webhook.
type Delivery struct {
	Seq      int64     `json:"seq"`
	Event    string    `json:"event"` // Notification.ID, the same for all attempts
	Kind     string    `json:"kind"`
	State    string    `json:"state"` // pending, delivered or dead
	Made     time.Time `json:"made"`
	Attempts int       `json:"attempts"`
	Due      time.Time `json:"due"` // time of the next attempt; zero for none
	Ended    time.Time `json:"ended"`
	Status   int       `json:"status"` // HTTP status of the latest answer; 0 for none
	Cause    string    `json:"cause"`  // cause of the latest failure
}

// Deliveries returns the deliveries of a webhook, newest first. If state is not empty, it returns only deliveries in that state.
func (c *Client) Deliveries(ctx context.Context, id, state string) iter.Seq2[Delivery, error] {
	q := url.Values{}
	if state != "" {
		q.Set("state", state)
	}
	return list[Delivery](ctx, c, "/webhooks/"+escape(id)+"/deliveries", "deliveries", q)
}

// Replay resends one delivery under its old ID.
func (c *Client) Replay(ctx context.Context, id string, seq int64) error {
	_, err := c.call(ctx, request{method: http.MethodPost, path: "/webhooks/" + escape(id) + "/deliveries/" + strconv.FormatInt(seq, 10) +
		"/replay"}, nil)
	return err
}

// ReplayAll resends the deliveries in a state, dead or delivered, that were created at or after from and before to; a zero time does not
// restrict them. It returns their number.
func (c *Client) ReplayAll(ctx context.Context, id, state string, from, to time.Time) (int, error) {
	body := map[string]any{"state": state}
	if !from.IsZero() {
		body["from"] = from
	}
	if !to.IsZero() {
		body["to"] = to
	}
	var out struct{ Deliveries int }
	_, err := c.call(ctx, request{method: http.MethodPost, path: "/webhooks/" + escape(id) + "/replay", body: body}, &out)
	return out.Deliveries, err
}
