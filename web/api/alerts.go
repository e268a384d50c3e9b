package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"concordat"
	"concordat/site"
	"concordat/store"
	"concordat/view"
	"concordat/web"
	"concordat/web/bounds"
	"concordat/web/pages"
)

// alertsAPI has the operations about alerts.
type alertsAPI struct{ api api }

// apiOfAlerts adds the operations on alerts.
func (w alertsAPI) apiOfAlerts(a huma.API) {
	register(w.api, a, operation{id: "list-alerts", method: http.MethodGet, path: "/alerts",
		summary: "Later documents that match watched checks, latest first", scope: scopeRead, roles: pages.Officers,
		text: "Found: a check of this site matches a document, here or at a partner. Told: a partner was notified that its check matches a document of this site; this site shows no more of the match than the partner was shown."},
		w.apiAlerts)
	register(w.api, a, operation{id: "get-alert", method: http.MethodGet, path: "/alerts/{number}",
		summary: "One alert", scope: scopeRead, roles: pages.Officers}, w.apiAlert)
	register(w.api, a, operation{id: "change-alert", method: http.MethodPost, path: "/alerts/{number}",
		summary: "Mark an alert as read or handled, or reopen it", scope: scopeReview, roles: pages.Officers,
		text: "Handled alerts count as read. The first person to read or handle an alert stays recorded."}, w.apiChangeAlert)
	watch := standing{w.api.Web}
	register(w.api, a, operation{id: "list-watched", method: http.MethodGet, path: "/watched",
		summary: "Watched checks, latest first", scope: scopeRead, roles: pages.Officers}, watch.list)
	registerEmpty(w.api, a, operation{id: "keep-watching-check", method: http.MethodPut, path: "/checks/{id}/watch",
		summary: "Compare later documents of this site with a check", scope: scopeReview, roles: pages.Officers, status: http.StatusNoContent,
		text: "Documents that match raise an alert. Partners are asked to watch only when a check is submitted with the field standing."}, watch.watch)
	registerEmpty(w.api, a, operation{id: "stop-watching-check", method: http.MethodDelete, path: "/checks/{id}/watch",
		summary: "Stop watching a check, here and at partners", scope: scopeReview, roles: pages.Officers, status: http.StatusNoContent,
		text: "409: watching has ended here, but a partner could not be notified. Repeat the call later."}, watch.stop)
}

// standing serves the operations on watched checks.
type standing struct{ web *web.Web }

type apiWatchedCheck struct {
	Check    concordat.TaskID   `json:"check"`
	Title    string             `json:"title"`
	Since    *time.Time         `json:"since,omitempty" doc:"When this site began to watch; absent: only partners watch"`
	Partners []concordat.SiteID `json:"partners,omitempty" doc:"Partners that also watch it"`
}

type apiWatchedBody struct {
	Watched []apiWatchedCheck `json:"watched" nullable:"false"`
}

func (s standing) list(ctx context.Context, _ *struct{}) (*answer[apiWatchedBody], error) {
	all, err := s.web.Alerts.Watched(ctx)
	out := &answer[apiWatchedBody]{apiWatchedBody{[]apiWatchedCheck{}}}
	for _, c := range all {
		out.Body.Watched = append(out.Body.Watched, apiWatchedCheck{c.Task, c.Title, moment(c.Since), c.Partners})
	}
	return out, err
}

func (s standing) watch(ctx context.Context, in *apiCheckInput) (*struct{}, error) {
	t, err := s.web.Visible(ctx, visitorOf(ctx), concordat.TaskID(in.ID))
	if err == nil {
		err = s.web.Alerts.Watch(ctx, visitorOf(ctx), t)
	}
	return nil, err
}

func (s standing) stop(ctx context.Context, in *apiCheckInput) (*struct{}, error) {
	t, err := s.web.Visible(ctx, visitorOf(ctx), concordat.TaskID(in.ID))
	if err == nil {
		err = s.web.Alerts.StopWatching(ctx, visitorOf(ctx), t)
	}
	return nil, err
}

type apiAlertsInput struct {
	bounds.PageInput
	Side string `query:"side" enum:"found,told" doc:"Only alerts of this kind"`
	Open bool   `query:"open" doc:"Only alerts not handled yet"`
}

type apiAlertsOutput struct {
	Body struct {
		Alerts []view.Alert `json:"alerts" nullable:"false"`
		Next   string       `json:"next,omitempty" doc:"Cursor of the next page"`
	}
}

func (w alertsAPI) apiAlerts(ctx context.Context, in *apiAlertsInput) (*apiAlertsOutput, error) {
	out := &apiAlertsOutput{}
	out.Body.Alerts = []view.Alert{}
	before := int64(0)
	if err := listOfAlerts.Read(in.Cursor, &before); err != nil {
		return nil, err
	}
	all, next, err := w.api.Web.Alerts.List(ctx, store.AlertFilter{Side: store.AlertSide(in.Side), Open: in.Open}, before, in.Limit)
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

func (w alertsAPI) apiAlert(ctx context.Context, in *apiAlertInput) (*apiAlertOutput, error) {
	p, err := w.api.Web.Alerts.One(ctx, in.Number)
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

func (w alertsAPI) apiChangeAlert(ctx context.Context, in *apiChangeAlertInput) (*apiAlertOutput, error) {
	if _, err := site.ChangeAlert(ctx, w.api.Web.Options().Store, in.Number, in.Body.Action, visitorOf(ctx).Name,
		w.api.Web.Options().Now()); err != nil {
		return nil, err
	}
	return w.apiAlert(ctx, &apiAlertInput{in.Number})
}
