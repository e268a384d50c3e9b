// Package alerts serves the pages and API operations for alerts, which report later documents that match a check, and for the checks that
// officers watch. Start with New.
package alerts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"concordat"
	"concordat/site"
	"concordat/site/ask"
	"concordat/store"
	"concordat/view"
	"concordat/web/pages"
)

// Options configures the pages.
type Options struct {
	Site  *site.Site
	Store *store.DB
	Asks  *ask.Asker
	Tasks pages.Tasks
	// Partners are reached to end the watching of a check there; if nil, no partner can be reached.
	Partners pages.Connector
	Logger   *slog.Logger
	Now      func() time.Time
}

// Alerts shows alerts and watched checks, and records what people do about them.
type Alerts struct {
	frame pages.Frame
	o     Options
}

// New adds the pages to a site.
func New(frame pages.Frame, o Options) Alerts {
	s := Alerts{frame, o}
	frame.AddPage("GET /alerts", pages.Officers, s.page)
	frame.AddPage("GET /alerts/{number}", pages.Officers, s.onePage)
	frame.AddPage("POST /alerts/{number}", pages.Officers, s.change)
	frame.AddPage("POST /checks/{id}/watch", pages.Officers, s.changeWatch)
	return s
}

// onPage is the number of alerts on a page.
const onPage = 100

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

type listPage struct {
	Open   bool // list only unhandled alerts
	Alerts []Alert
	Next   int64 // number to pass as before to get the next page; 0 on the last page
	// Watched lists the checks for which later documents raise alerts, and People lists their submitters.
	Watched []Watched
	People  pages.Names
}

func (s Alerts) page(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	before, _ := strconv.ParseInt(r.URL.Query().Get("before"), 10, 64) // an unparsable value starts at the latest alert
	p := listPage{Open: r.URL.Query().Get("all") == ""}
	var err error
	if p.Alerts, p.Next, err = s.List(r.Context(), store.AlertFilter{Open: p.Open}, max(before, 0), onPage); err != nil {
		s.frame.Fail(rw, r, v, err)
		return
	}
	if p.Watched, err = s.Watched(r.Context()); err == nil {
		p.People, err = s.frame.Names(r.Context())
	}
	if err != nil {
		s.frame.Fail(rw, r, v, err)
		return
	}
	s.frame.Show(rw, r, v, http.StatusOK, "alerts", "title.alerts", p)
}

// List returns up to limit alerts with numbers below before, latest first, and the value of before for the next page.
func (s Alerts) List(ctx context.Context, f store.AlertFilter, before int64, limit int) (out []Alert, next int64, err error) {
	all, err := s.o.Store.Alerts.FilterAlerts(ctx, f, before, limit)
	if err != nil {
		return nil, 0, err
	}
	names, err := s.frame.Names(ctx)
	if err != nil {
		return nil, 0, err
	}
	for _, a := range all {
		one, err := s.named(ctx, a, names)
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

func (s Alerts) named(ctx context.Context, a store.Alert, names pages.Names) (Alert, error) {
	one := Alert{Alert: a, Place: names.LibraryAt(a.Source.Site, a.Source.Library)}
	id := a.Partner
	if a.Side == store.AlertFound {
		if a.Level != "" {
			id = a.Source.Site
		}
		t, err := s.o.Store.Checks.Task(ctx, a.Task)
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

// Unread returns the number of unread alerts, at most onPage, or 0 for a visitor who may not review.
func (s Alerts) Unread(ctx context.Context, v *pages.Visitor) int {
	if v == nil || !v.MayReview() {
		return 0
	}
	n, err := s.o.Store.Alerts.UnreadAlerts(ctx, onPage)
	if err != nil {
		s.o.Logger.Error("alerts that no one has read", "error", err)
	}
	return n
}

// Page is an alert with the passages it concerns.
type Page struct {
	Alert
	Passages []string // passages of the check's document, or of this site's document if a partner was notified of it
	Gone     bool     // the passages cannot be shown because the text has changed or was not kept
	People   pages.Names
}

// onePage shows an alert with its passages, and marks it as read.
func (s Alerts) onePage(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	n, err := number(r.PathValue("number"))
	if err == nil {
		_, err = site.ChangeAlert(r.Context(), s.o.Store, n, store.AlertRead, v.Name, s.o.Now())
	}
	var p Page
	if err == nil {
		p, err = s.One(r.Context(), n)
	}
	if err != nil {
		s.frame.Fail(rw, r, v, err)
		return
	}
	s.frame.Show(rw, r, v, http.StatusOK, "alert", "title.alert", p)
}

func number(s string) (int64, error) {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("alert %q: %w", s, concordat.ErrNotFound)
	}
	return n, nil
}

// One returns an alert with its passages.
func (s Alerts) One(ctx context.Context, n int64) (Page, error) {
	var p Page
	a, err := s.o.Store.Alerts.Alert(ctx, n)
	if err != nil {
		return p, err
	}
	names, err := s.frame.Names(ctx)
	if err != nil {
		return p, err
	}
	p.People = names
	if p.Alert, err = s.named(ctx, a, names); err != nil {
		return p, err
	}
	text, err := s.text(ctx, a)
	if err != nil && !errors.Is(err, concordat.ErrNotFound) {
		return p, err
	}
	for _, span := range a.Spans {
		if p.Gone = p.Gone || err != nil || span.Start < 0 || span.End < span.Start || span.End > len(text); !p.Gone {
			p.Passages = append(p.Passages, span.In(text))
		}
	}
	return p, nil
}

// text returns the text to which an alert's spans refer. It fails with concordat.ErrNotFound if that text no longer exists.
func (s Alerts) text(ctx context.Context, a store.Alert) (string, error) {
	if a.Side == store.AlertFound {
		f, err := s.o.Site.Findings(ctx, a.Task)
		if err != nil {
			return "", err
		}
		return f.Submission.Text, nil
	}
	if len(a.Spans) == 0 {
		return "", nil
	}
	row, err := s.o.Store.Catalogue.DocumentRow(ctx, a.Source.Library, a.Source.Document)
	if err == nil && row.Changed.After(a.At) {
		err = fmt.Errorf("%s has changed since the alert: %w", a.Source, concordat.ErrNotFound)
	}
	if err != nil {
		return "", err
	}
	return s.o.Site.DocumentText(ctx, a.Source)
}

// change marks an alert as read or handled.
func (s Alerts) change(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	n, err := number(r.PathValue("number"))
	if err == nil {
		err = pages.ParseForm(rw, r)
	}
	if err == nil {
		_, err = site.ChangeAlert(r.Context(), s.o.Store, n, store.AlertChange(r.PostForm.Get("action")), v.Name, s.o.Now())
	}
	if err != nil {
		s.frame.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, "/alerts/"+url.PathEscape(r.PathValue("number")), http.StatusSeeOther)
}
