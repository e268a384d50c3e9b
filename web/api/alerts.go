package api

import (
	"context"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"concordat"
	"concordat/site"
	"concordat/store"
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

// alertMark says who did something, and when.
type alertMark struct {
	By string    `json:"by"`
	At time.Time `json:"at"`
}

// oneAlertMark is nil where nobody made the mark.
func oneAlertMark(m store.AlertMark) *alertMark {
	if m.At.IsZero() {
		return nil
	}
	return &alertMark{m.By, m.At}
}

// apiOneAlert is an alert as programs see it.
type apiOneAlert struct {
	Number    int64                `json:"number"`
	Side      store.AlertSide      `json:"side" enum:"found,told"`
	At        time.Time            `json:"at"`
	Check     concordat.TaskID     `json:"check,omitempty" doc:"Of this site; of found"`
	Partner   concordat.SiteID     `json:"partner,omitempty" doc:"Who asked, of told; who has the document, of found"`
	Name      string               `json:"name,omitempty" doc:"Of the partner"`
	Job       string               `json:"job,omitempty" doc:"The partner's name of its question; of told"`
	Purpose   string               `json:"purpose,omitempty" doc:"Of the partner's check; of told"`
	Asked     time.Time            `json:"asked,omitzero" doc:"When the partner asked; of told"`
	Level     concordat.Show       `json:"level,omitempty" enum:"exists,counts,metadata,overlap,passage" doc:"What was told between sites; absent: check and document are of this site"`
	Library   concordat.LibraryID  `json:"library"`
	Document  concordat.DocumentID `json:"document,omitempty" doc:"A pseudonym of a partner's document, and of one of this site where the partner was not told which it is"`
	Title     string               `json:"title,omitempty"`
	Author    string               `json:"author,omitempty"`
	Contact   string               `json:"contact,omitempty"`
	Sentences int                  `json:"sentences" minimum:"0" doc:"Of the check that match; 0: not told"`
	Words     string               `json:"words,omitempty"`
	Read      *alertMark           `json:"read,omitempty" doc:"Absent: nobody has read it"`
	Handled   *alertMark           `json:"handled,omitempty" doc:"Absent: nobody has handled it"`
	Passages  []string             `json:"passages,omitempty" doc:"Of the check's document, or of this site's document of which a partner was told; of one alert only"`
}

func oneAPIAlert(a web.Alert) apiOneAlert {
	partner := a.Partner
	if !a.Told() && a.Level != "" {
		partner = a.Source.Site
	}
	return apiOneAlert{a.Seq, a.Side, a.At, a.Task, partner, a.Name, a.Job, a.Purpose, a.Asked, a.Level, a.Source.Library, a.Source.Document,
		a.Title, a.Author, a.Contact, a.Sentences, a.Words, oneAlertMark(a.Read), oneAlertMark(a.Handled), nil}
}

type apiAlertsInput struct {
	bounds.PageInput
	Side string `query:"side" enum:"found,told" doc:"Only these"`
	Open bool   `query:"open" doc:"Only those that nobody has handled"`
}

type apiAlertsOutput struct {
	Body struct {
		Alerts []apiOneAlert `json:"alerts" nullable:"false"`
		Next   string        `json:"next,omitempty" doc:"Cursor of the next page"`
	}
}

func (w api) apiAlerts(ctx context.Context, in *apiAlertsInput) (*apiAlertsOutput, error) {
	out := &apiAlertsOutput{}
	out.Body.Alerts = []apiOneAlert{}
	before := int64(0)
	if err := listOfAlerts.Read(in.Cursor, &before); err != nil {
		return nil, err
	}
	all, next, err := w.Checks.Alerts(ctx, store.AlertFilter{Side: store.AlertSide(in.Side), Open: in.Open}, before, in.Limit)
	for _, a := range all {
		out.Body.Alerts = append(out.Body.Alerts, oneAPIAlert(a))
	}
	if next > 0 {
		out.Body.Next = listOfAlerts.Cursor(next)
	}
	return out, err
}

type apiAlertInput struct {
	Number int64 `path:"number" minimum:"1"`
}

type apiAlertOutput struct{ Body apiOneAlert }

func (w api) apiAlert(ctx context.Context, in *apiAlertInput) (*apiAlertOutput, error) {
	p, err := w.Checks.OneAlert(ctx, in.Number)
	if err != nil {
		return nil, err
	}
	out := &apiAlertOutput{oneAPIAlert(p.Alert)}
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
	if _, err := site.ChangeAlert(ctx, w.Options().Store, in.Number, in.Body.Action, visitorOf(ctx).Name, w.Options().Now()); err != nil {
		return nil, err
	}
	return w.apiAlert(ctx, &apiAlertInput{in.Number})
}
