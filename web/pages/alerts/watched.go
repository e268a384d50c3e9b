package alerts

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"concordat"
	"concordat/site/ask"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
)

// Watched is a check that later documents are compared with; one that matches raises an alert.
type Watched struct {
	Task     concordat.TaskID
	Title    string
	Owner    string
	Since    time.Time          // zero if only partners watch it
	Partners []concordat.SiteID // partners that also watch it
}

// Watched returns the watched checks, latest first.
func (s Alerts) Watched(ctx context.Context) ([]Watched, error) {
	here, err := s.o.Store.Alerts.StandingTasks(ctx)
	if err != nil {
		return nil, err
	}
	there, err := s.o.Store.Asks.StandingAsks(ctx)
	if err != nil {
		return nil, err
	}
	at := map[concordat.TaskID][]concordat.SiteID{}
	for _, a := range there {
		if !slices.Contains(at[a.Task], a.Site) {
			at[a.Task] = append(at[a.Task], a.Site)
		}
		if !slices.Contains(here, a.Task) {
			here = append(here, a.Task)
		}
	}
	out := []Watched{}
	for _, id := range here {
		t, err := s.o.Store.Checks.Task(ctx, id)
		if errors.Is(err, concordat.ErrNotFound) {
			continue // deleted in the meantime
		}
		if err != nil {
			return nil, err
		}
		since, err := s.o.Store.Alerts.StandingSince(ctx, id)
		if err != nil && !errors.Is(err, concordat.ErrNotFound) {
			return nil, err
		}
		out = append(out, Watched{Task: id, Title: pages.Visible(t.Title), Owner: t.Owner, Since: since, Partners: at[id]})
	}
	slices.SortFunc(out, func(a, b Watched) int { return b.Since.Compare(a.Since) })
	return out, nil
}

// IsWatched reports whether a check is watched, here or at a partner.
func (s Alerts) IsWatched(ctx context.Context, id concordat.TaskID) (bool, error) {
	_, err := s.o.Store.Alerts.StandingSince(ctx, id)
	if !errors.Is(err, concordat.ErrNotFound) {
		return err == nil, err
	}
	asks, err := s.o.Store.Asks.Asks(ctx, id)
	return slices.ContainsFunc(asks, func(a store.Ask) bool { return a.Standing }), err
}

// Watch starts comparing new documents of this site with an ended check.
func (s Alerts) Watch(ctx context.Context, v *pages.Visitor, t store.Task) error {
	if !pages.HasReport(t) {
		return message.Conflict("watch.noreport")
	}
	err := s.o.Site.Watch(ctx, t.ID)
	if errors.Is(err, concordat.ErrInvalid) {
		return message.Conflict("watch.notext")
	}
	if err != nil {
		return err
	}
	return s.o.Store.Audit.Note(ctx, v.Name, "check_watched", map[string]any{"task": t.ID})
}

// StopWatching stops watching a check, immediately at this site and then at each partner that watches it. If a partner cannot be reached,
// the error names it, and the check stays in the list for another try.
func (s Alerts) StopWatching(ctx context.Context, v *pages.Visitor, t store.Task) error {
	asks, err := s.o.Store.Asks.Asks(ctx, t.ID)
	if err != nil {
		return err
	}
	told := map[concordat.SiteID]bool{}
	var partners []ask.Listener
	for _, a := range asks {
		if !a.Standing || told[a.Site] || s.o.Partners == nil {
			continue
		}
		told[a.Site] = true
		p, done, err := s.o.Partners.Connect(ctx, a.Site)
		if err != nil {
			s.o.Logger.Warn("stop watching at a partner", "task", t.ID, "partner", a.Site, "error", err)
			continue
		}
		defer done()
		partners = append(partners, p)
	}
	ended := s.o.Asks.EndStanding(ctx, t.ID, partners...)
	if errors.Is(ended, concordat.ErrNotFound) {
		return fmt.Errorf("watched check %s: %w", t.ID, ended)
	}
	if err := s.o.Store.Audit.Note(ctx, v.Name, "watch_ended", map[string]any{"task": t.ID}); err != nil {
		return err
	}
	if ended != nil {
		s.o.Logger.Warn("stop watching", "task", t.ID, "error", ended)
		return message.Conflict("watch.untold")
	}
	return nil
}

// changeWatch handles the forms on the page of a check and in the list of watched checks.
func (s Alerts) changeWatch(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	t, err := s.o.Tasks.Visible(r.Context(), v, concordat.TaskID(r.PathValue("id")))
	if err == nil {
		err = pages.ParseForm(rw, r)
	}
	if err == nil {
		switch action := r.PostForm.Get("action"); action {
		case "watch":
			err = s.Watch(r.Context(), v, t)
		case "stop":
			err = s.StopWatching(r.Context(), v, t)
		default:
			err = message.Invalid("wrong.action", action)
		}
	}
	if err != nil {
		s.frame.Fail(rw, r, v, err)
		return
	}
	http.Redirect(rw, r, "/alerts#watched", http.StatusSeeOther)
}
