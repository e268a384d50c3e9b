package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"concordat/site"
	"concordat/store"
	"concordat/view"
	"concordat/web"
	"concordat/web/bounds"
)

// apiOfAlerts adds what later documents matched.
func (w api) apiOfAlerts(a huma.API) {
	register(w, a, operation{id: "list-alerts", method: http.MethodGet, path: "/alerts",
		summary: "Later documents that match checks that stay, the latest first", scope: scopeRead, roles: web.Officers,
		text: "Found: a check of this site matches a document, here or at a partner. Told: a partner's check was told of a document of this site, of which no more is shown here than there."},
		w.apiAlerts)
	register(w, a, operation{id: "get-alert", method: http.MethodGet, path: "/alerts/{number}",
		summary: "One alert", scope: scopeRead, roles: web.Officers}, w.apiAlert)
	register(w, a, operation{id: "change-alert", method: http.MethodPost, path: "/alerts/{number}",
		summary: "Mark an alert as read or handled, or open it again", scope: scopeReview, roles: web.Officers,
		text: "What is handled is read. The first who did either stays."}, w.apiChangeAlert)
}

type apiAlertsInput struct {
	bounds.PageInput
	Side string `query:"side" enum:"found,told" doc:"Only these"`
	Open bool   `query:"open" doc:"Only those that nobody has handled"`
}

type apiAlertsOutput struct {
	Body struct {
		Alerts []view.Alert `json:"alerts" nullable:"false"`
		Next   string       `json:"next,omitempty" doc:"Cursor of the next page"`
	}
}

func (w api) apiAlerts(ctx context.Context, in *apiAlertsInput) (*apiAlertsOutput, error) {
	out := &apiAlertsOutput{}
	out.Body.Alerts = []view.Alert{}
	before := int64(0)
	if err := listOfAlerts.Read(in.Cursor, &before); err != nil {
		return nil, err
	}
	all, next, err := w.Web.Checks.Alerts(ctx, store.AlertFilter{Side: store.AlertSide(in.Side), Open: in.Open}, before, in.Limit)
	for _, a := range all {
		out.Body.Alerts = append(out.Body.Alerts, a.View())
	}
	if next > 0 {
		out.Body.Next = listOfAlerts.Cursor(next)
	}
	return out, err
}

type apiAlertInput struct {
	Number int64 `path:"number" minimum:"1"`
}

type apiAlertOutput struct{ Body view.Alert }

func (w api) apiAlert(ctx context.Context, in *apiAlertInput) (*apiAlertOutput, error) {
	p, err := w.Web.Checks.OneAlert(ctx, in.Number)
	if err != nil {
		return nil, err
	}
	out := &apiAlertOutput{p.View()}
	out.Body.Passages = p.Passages
	return out, nil
}

type apiChangeAlertInput struct {
	Number int64 `path:"number" minimum:"1"`
	Body   struct {
		Action store.AlertChange `json:"action" enum:"read,handle,reopen"`
	}
}

func (w api) apiChangeAlert(ctx context.Context, in *apiChangeAlertInput) (*apiAlertOutput, error) {
	if _, err := site.ChangeAlert(ctx, w.Web.Options().Store, in.Number, in.Body.Action, visitorOf(ctx).Name,
		w.Web.Options().Now()); err != nil {
		return nil, err
	}
	return w.apiAlert(ctx, &apiAlertInput{in.Number})
}
