package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"concordat"
	"concordat/site"
	"concordat/store"
	"concordat/view"
	"concordat/web/pages"
)

func (w checkPages) alertRoutes() {
	w.AddPage("GET /alerts", pages.Officers, w.alertsPage)
	w.AddPage("GET /alerts/{number}", pages.Officers, w.alertPage)
	w.AddPage("POST /alerts/{number}", pages.Officers, w.changeAlert)
}

// alertsOnPage is the number of alerts on a page.
const alertsOnPage = 100

// Alert is an alert in the form shown to people.
type Alert struct {
	store.Alert
	Name  string // partner's name, if the partner has the check or the document; empty if this site has both
	Check string // title of the check; empty if the check is a partner's
	Place string // title of the library that contains the document
	Same  string // why the check's author may have written the document; empty if nothing suggests it, or if not examined
}

// View converts the alert to the form returned to programs.
func (a Alert) View() view.Alert {
	return view.OfAlert(a.Alert, map[concordat.SiteID]string{a.Partner: a.Name, a.Source.Site: a.Name})
}

// Told reports whether the alert records that a partner was notified of a document of this site.
func (a Alert) Told() bool { return a.Side == store.AlertTold }

// Named reports whether the document is named.
func (a Alert) Named() bool { return len(a.Spans) > 0 }

// IsRead and IsHandled report whether someone has read or handled the alert.
func (a Alert) IsRead() bool    { return !a.Read.At.IsZero() }
func (a Alert) IsHandled() bool { return !a.Handled.At.IsZero() }

type alertsPage struct {
	Open   bool // list only unhandled alerts
	Alerts []Alert
	Next   int64 // number to pass as before to get the next page; 0 on the last page
	// Watched lists the checks for which later documents raise alerts, and People lists their submitters.
	Watched []WatchedCheck
	People  pages.Names
}

func (w checkPages) alertsPage(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	before, _ := strconv.ParseInt(r.URL.Query().Get("before"), 10, 64) // an unparsable value starts at the latest alert
	p := alertsPage{Open: r.URL.Query().Get("all") == ""}
	var err error
	if p.Alerts, p.Next, err = w.Alerts(r.Context(), store.AlertFilter{Open: p.Open}, max(before, 0), alertsOnPage); err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	if p.Watched, err = w.Standing.Watched(r.Context()); err == nil {
		p.People, err = w.Names(r.Context())
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	w.Show(rw, r, v, http.StatusOK, "alerts", "title.alerts", p)
}

// Alerts returns up to limit alerts with numbers below before, latest first, and the value of before for the next page.
func (w checkPages) Alerts(ctx context.Context, f store.AlertFilter, before int64, limit int) (out []Alert, next int64, err error) {
	all, err := w.o.Store.Alerts.FilterAlerts(ctx, f, before, limit)
	if err != nil {
		return nil, 0, err
	}
	names, err := w.Names(ctx)
	if err != nil {
		return nil, 0, err
	}
	for _, a := range all {
		one, err := w.alert(ctx, a, names)
		if err != nil {
			return nil, 0, err
		}
		out = append(out, one)
	}
	if len(all) == limit {
		next = all[limit-1].Seq
	}
	return out, next, nil
}

func (w checkPages) alert(ctx context.Context, a store.Alert, names pages.Names) (Alert, error) {
	one := Alert{Alert: a, Place: names.LibraryAt(a.Source.Site, a.Source.Library)}
	id := a.Partner
	if a.Side == store.AlertFound {
		if a.Level != "" {
			id = a.Source.Site
		}
		t, err := w.o.Store.Checks.Task(ctx, a.Task)
		if err != nil && !errors.Is(err, concordat.ErrNotFound) {
			return one, err
		}
		one.Check = t.Title
	}
	if one.Name = names.Sites[id]; one.Name == "" {
		one.Name = string(id)
	}
	return one, nil
}

// unreadAlerts returns the number of unread alerts, at most alertsOnPage, or 0 for a visitor who may not review.
func (w *Web) unreadAlerts(ctx context.Context, v *Visitor) int {
	if v == nil || !v.MayReview() {
		return 0
	}
	n, err := w.o.Store.Alerts.UnreadAlerts(ctx, alertsOnPage)
	if err != nil {
		w.o.Logger.Error("alerts that no one has read", "error", err)
	}
	return n
}

type alertPage struct {
	Alert
	Passages []string // passages of the check's document, or of this site's document if a partner was notified of it
	Gone     bool     // the passages cannot be shown because the text has changed or was not kept
	People   pages.Names
}

// alertPage shows an alert with its passages, and marks it as read.
func (w checkPages) alertPage(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	n, err := alertNumber(r.PathValue("number"))
	if err == nil {
		_, err = site.ChangeAlert(r.Context(), w.o.Store, n, store.AlertRead, v.Name, w.o.Now())
	}
	var p alertPage
	if err == nil {
		p, err = w.OneAlert(r.Context(), n)
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	w.Show(rw, r, v, http.StatusOK, "alert", "title.alert", p)
}

func alertNumber(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("alert %q: %w", s, concordat.ErrNotFound)
	}
	return n, nil
}

func (w checkPages) OneAlert(ctx context.Context, n int64) (alertPage, error) {
	var p alertPage
	a, err := w.o.Store.Alerts.Alert(ctx, n)
	if err != nil {
		return p, err
	}
	names, err := w.Names(ctx)
	if err != nil {
		return p, err
	}
	p.People = names
	if p.Alert, err = w.alert(ctx, a, names); err != nil {
		return p, err
	}
	text, err := w.alertText(ctx, a)
	if err != nil && !errors.Is(err, concordat.ErrNotFound) {
		return p, err
	}
	for _, s := range a.Spans {
		if p.Gone = p.Gone || err != nil || s.Start < 0 || s.End < s.Start || s.End > len(text); !p.Gone {
			p.Passages = append(p.Passages, s.In(text))
		}
	}
	return p, nil
}

// alertText returns the text to which an alert's spans refer. It fails with concordat.ErrNotFound if that text no longer exists.
func (w checkPages) alertText(ctx context.Context, a store.Alert) (string, error) {
	if a.Side == store.AlertFound {
		f, err := w.o.Site.Findings(ctx, a.Task)
		if err != nil {
			return "", err
		}
		return f.Submission.Text, nil
	}
	if len(a.Spans) == 0 {
		return "", nil
	}
	row, err := w.o.Store.Catalogue.DocumentRow(ctx, a.Source.Library, a.Source.Document)
	if err == nil && row.Changed.After(a.At) {
		err = fmt.Errorf("%s has changed since the alert: %w", a.Source, concordat.ErrNotFound)
	}
	if err != nil {
		return "", err
	}
	return w.o.Site.DocumentText(ctx, a.Source)
}

// changeAlert marks an alert as read or handled.
func (w checkPages) changeAlert(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	n, err := alertNumber(r.PathValue("number"))
	if err == nil {
		err = pages.ParseForm(rw, r)
	}
	if err == nil {
		_, err = site.ChangeAlert(r.Context(), w.o.Store, n, store.AlertChange(r.PostForm.Get("action")), v.Name, w.o.Now())
	}
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, "/alerts/"+url.PathEscape(r.PathValue("number")), http.StatusSeeOther)
}
