// Package hooks serves the pages and API operations for webhooks. Start with New.
package hooks

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"concordat"
	"concordat/store"
	"concordat/web/pages"
	"concordat/webhook"
)

// formerSecretTime is how long a replaced secret still signs deliveries.
const formerSecretTime = 24 * time.Hour

// Options configures the pages.
type Options struct {
	Store    *store.DB
	Networks []netip.Prefix // private networks that webhooks may reach
}

// Hooks shows and changes webhooks.
type Hooks struct {
	frame pages.Frame
	o     Options
}

// New adds the pages to a site.
func New(frame pages.Frame, o Options) Hooks {
	w := Hooks{frame, o}
	frame.AddPage("GET /account/webhooks", pages.Everyone, w.listPage)
	frame.AddPage("POST /account/webhooks", pages.Everyone, w.add)
	frame.AddPage("GET /account/webhooks/{id}", pages.Everyone, w.onePage)
	frame.AddPage("POST /account/webhooks/{id}", pages.Everyone, w.change)
	return w
}

// One returns a webhook if the visitor may see it. Administrators may see all webhooks, and others only their own.
func (w Hooks) One(ctx context.Context, v *pages.Visitor, id string) (store.Hook, error) {
	h, err := w.o.Store.Webhooks.Hook(ctx, store.HookID(id))
	if err == nil && h.Account != v.Name && v.Role != store.RoleAdministrator {
		err = fmt.Errorf("webhook %s: %w", id, concordat.ErrNotFound)
	}
	return h, err
}

// Make creates a webhook for the visitor.
func (w Hooks) Make(ctx context.Context, v *pages.Visitor, h store.Hook) (store.Hook, error) {
	if h.Whole && v.Role != store.RoleAdministrator {
		return h, fmt.Errorf("%w: only administrators can receive events from the whole site", concordat.ErrRefused)
	}
	u, err := webhook.CheckURL(h.URL, w.o.Networks)
	if err != nil {
		return h, err
	}
	h.Account = v.Name
	// The rest of the address may contain a secret.
	detail := map[string]any{"host": u.Host, "whole": h.Whole, "events": h.Kinds}
	err = pages.Change(ctx, w.o.Store, v.Name, "webhook_made", detail, func(tx *store.DB) error {
		h, err = tx.Webhooks.CreateHook(ctx, h)
		detail["webhook"] = h.ID
		return err
	})
	return h, err
}

// Update changes a webhook that the visitor may see.
func (w Hooks) Update(ctx context.Context, v *pages.Visitor, h store.Hook) error {
	u, err := webhook.CheckURL(h.URL, w.o.Networks)
	if err != nil {
		return err
	}
	detail := map[string]any{"webhook": h.ID, "host": u.Host, "events": h.Kinds, "state": h.State}
	return pages.Change(ctx, w.o.Store, v.Name, "webhook_changed", detail, func(tx *store.DB) error { return tx.Webhooks.UpdateHook(ctx, h) })
}

// Rotate replaces the secret of a webhook; the old secret also signs deliveries for formerSecretTime.
func (w Hooks) Rotate(ctx context.Context, v *pages.Visitor, id store.HookID) (store.Hook, error) {
	var h store.Hook
	err := pages.Change(ctx, w.o.Store, v.Name, "webhook_rotated", map[string]any{"webhook": id}, func(tx *store.DB) (err error) {
		h, err = tx.Webhooks.RotateHook(ctx, id, formerSecretTime)
		return err
	})
	return h, err
}

// Delete deletes a webhook and its deliveries.
func (w Hooks) Delete(ctx context.Context, v *pages.Visitor, id store.HookID) error {
	return pages.Change(ctx, w.o.Store, v.Name, "webhook_deleted", map[string]any{"webhook": id},
		func(tx *store.DB) error { return tx.Webhooks.DeleteHook(ctx, id) })
}

// Replay resends deliveries and returns their number.
func (w Hooks) Replay(ctx context.Context, v *pages.Visitor, id store.HookID, r store.Replay) (int64, error) {
	var n int64
	detail := map[string]any{"webhook": id}
	err := pages.Change(ctx, w.o.Store, v.Name, "webhook_replayed", detail, func(tx *store.DB) (err error) {
		n, err = tx.Webhooks.ReplayDeliveries(ctx, id, r)
		detail["deliveries"] = n
		return err
	})
	return n, err
}

type hooksPage struct {
	Hooks    []store.Hook
	Kinds    []store.EventKind
	MayWhole bool
	Me       string
	People   pages.Names
}

func (w Hooks) listPage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	own := v.Name
	if v.Role == store.RoleAdministrator {
		own = ""
	}
	hs, err := w.o.Store.Webhooks.Hooks(r.Context(), own, "", 0)
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	people, err := w.frame.Names(r.Context())
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	w.frame.Show(rw, r, v, http.StatusOK, "hooks", "title.hooks",
		hooksPage{hs, store.EventKinds(), v.Role == store.RoleAdministrator, v.Name, people})
}

func kindsOf(f url.Values) (out []store.EventKind) {
	for _, k := range f["event"] {
		out = append(out, store.EventKind(k))
	}
	return out
}

func (w Hooks) add(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	err := pages.ParseForm(rw, r)
	var h store.Hook
	if err == nil {
		h, err = w.Make(r.Context(), v, store.Hook{Whole: r.PostForm.Get("whole") != "", URL: strings.TrimSpace(r.PostForm.Get("url")),
			Title: strings.TrimSpace(r.PostForm.Get("title")), Kinds: kindsOf(r.PostForm)})
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	w.show(rw, r, v, h, webhook.SecretText(h.Secrets[0]), 0)
}

// deliveriesPage is the number of deliveries on a page.
const deliveriesPage = 50

type hookPage struct {
	store.Hook
	All        []store.EventKind
	Secret     string // shown once
	Deliveries []store.Delivery
	Older      int64 // Seq from which the next page continues; 0 on the last page
	Dead       bool  // at least one delivery is dead
	// Delivery is the delivery whose attempts are shown; it is nil for none.
	Delivery *store.Delivery
	Attempts []store.Attempt
}

// Wants reports whether the webhook subscribes to events of a kind.
func (p hookPage) Wants(k store.EventKind) bool { return slices.Contains(p.Kinds, k) }

func (w Hooks) onePage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	h, err := w.One(r.Context(), v, r.PathValue("id"))
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	before, _ := strconv.ParseInt(r.URL.Query().Get("before"), 10, 64) // an unparsable value starts at the newest delivery
	w.show(rw, r, v, h, "", before)
}

func (w Hooks) show(rw http.ResponseWriter, r *http.Request, v *pages.Visitor, h store.Hook, secret string, before int64) {
	p := hookPage{Hook: h, All: store.EventKinds(), Secret: secret}
	var err error
	if p.Deliveries, err = w.o.Store.Webhooks.Deliveries(r.Context(), h.ID, "", before, deliveriesPage); err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	for _, d := range p.Deliveries {
		p.Dead = p.Dead || d.State == store.DeliveryDead
	}
	if len(p.Deliveries) == deliveriesPage {
		p.Older = p.Deliveries[deliveriesPage-1].Seq
	}
	if seq, err := strconv.ParseInt(r.URL.Query().Get("delivery"), 10, 64); err == nil {
		d, attempts, err := w.o.Store.Webhooks.Delivery(r.Context(), h.ID, seq)
		if err != nil {
			w.frame.Fail(rw, r, v, err)
			return
		}
		p.Delivery, p.Attempts = &d, attempts
	}
	w.frame.Show(rw, r, v, http.StatusOK, "hook", "title.hook", p)
}

func (w Hooks) change(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	ctx := r.Context()
	h, err := w.One(ctx, v, r.PathValue("id"))
	if err == nil {
		err = pages.ParseForm(rw, r)
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	f := r.PostForm
	to := "/account/webhooks/" + string(h.ID)
	switch action := f.Get("action"); action {
	case "save":
		h.URL, h.Title, h.Kinds = strings.TrimSpace(f.Get("url")), strings.TrimSpace(f.Get("title")), kindsOf(f)
		err = w.Update(ctx, v, h)
	case "pause":
		h.State = store.HookPaused
		err = w.Update(ctx, v, h)
	case "resume":
		h.State = store.HookActive
		err = w.Update(ctx, v, h)
	case "rotate":
		if h, err = w.Rotate(ctx, v, h.ID); err == nil {
			w.show(rw, r, v, h, webhook.SecretText(h.Secrets[0]), 0)
			return
		}
	case "ping":
		err = w.o.Store.Webhooks.PingHook(ctx, h.ID)
	case "delete":
		to = "/account/webhooks"
		err = w.Delete(ctx, v, h.ID)
	case "replay", "replay-dead":
		again := store.Replay{State: store.DeliveryDead}
		if action == "replay" {
			again = store.Replay{}
			if again.Seq, err = strconv.ParseInt(f.Get("delivery"), 10, 64); err != nil || again.Seq < 1 {
				err = fmt.Errorf("delivery %q: %w", f.Get("delivery"), concordat.ErrInvalid)
			}
		}
		if err == nil {
			_, err = w.Replay(ctx, v, h.ID, again)
		}
	default:
		err = fmt.Errorf("action %q: %w", action, concordat.ErrInvalid)
	}
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, to, http.StatusSeeOther)
}
