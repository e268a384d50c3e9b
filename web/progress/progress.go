// Package progress tells people how far unfinished checks have got. Start with Reader.
package progress

import (
	"context"
	"errors"
	"log/slog"
	"strings"

	"concordat"
	"concordat/site"
	"concordat/store"
	"concordat/web/message"
	"concordat/web/pages"
)

// Shown is the progress of a check, in the form used for pages and events.
type Shown struct {
	State    concordat.State `json:"state"`
	Words    string          `json:"words"` // the current stage, or why the check waits
	Done     int             `json:"done"`
	Total    int             `json:"total"` // 0 if unknown
	Partners []Partner       `json:"partners,omitempty"`
	Finally  bool            `json:"finally"` // the check has ended, and the page must be reloaded
}

// Partner is the progress of one partner.
type Partner struct {
	Name  string            `json:"name"`
	State site.PartnerState `json:"state"`
	Words string            `json:"words"`
}

// Options configures a Reader.
type Options struct {
	Store   *store.DB
	Queue   *site.Queue
	Tasks   pages.Tasks
	Choices pages.Choices
	Logger  *slog.Logger
}

// Reader reads the progress of unfinished checks. It is safe for concurrent use.
type Reader struct{ o Options }

// NewReader returns a reader of a site's progress.
func NewReader(o Options) *Reader { return &Reader{o} }

// For returns the progress of checks in the given language, and names only checks that the visitor may see.
func (r *Reader) For(v *pages.Visitor, l message.Language) *Way { return &Way{r: r, v: v, l: l} }

// Way prepares the progress of an unfinished check for display.
type Way struct {
	r *Reader
	v *pages.Visitor
	l message.Language
	// names of partners, read on first use
	names map[concordat.SiteID]string
}

// Now returns the progress of a task: the stored progress, updated with the latest event from its worker.
func (o *Way) Now(ctx context.Context, t store.Task) (Shown, error) {
	p := Shown{State: t.State}
	switch {
	case t.State == concordat.TaskQueued:
		var err error
		p.Words, err = o.waits(ctx, t)
		return p, err
	case t.State == concordat.TaskRunning:
		if e, ok := o.r.o.Queue.Progress(ctx, t.ID); ok {
			return o.progressOf(ctx, t, e), nil
		}
		p.Words = o.l.Say("progress.elsewhere")
	}
	return p, nil
}

// progressOf describes an event of a running check.
func (o *Way) progressOf(ctx context.Context, t store.Task, e site.Event) Shown {
	p := Shown{State: e.State, Done: e.Done, Total: e.Total, Words: o.stage(e.Progress)}
	if t.Attempts > 1 {
		p.Words += " " + o.l.Say("progress.again", t.Attempts)
	}
	for _, one := range e.Partners {
		words := o.l.Say("partner." + string(one.State))
		if one.Reason != "" {
			words += ": " + o.l.Say("reason."+string(one.Reason))
		}
		p.Partners = append(p.Partners, Partner{Name: o.name(ctx, one.Site), State: one.State, Words: words})
	}
	return p
}

// units contains the message key of each stage's unit. Stages without a unit have no progress between start and end.
var units = map[string]string{"match": "unit.sentences", "search": "unit.windows", "align": "unit.documents",
	"partner": "unit.partners", site.StageAdd: "unit.documents"}

func (o *Way) stage(p site.Progress) string {
	words := o.l.Say("stage." + p.Stage)
	if unit, ok := units[p.Stage]; ok && p.Total > 0 {
		words += o.l.Say("colon") + o.l.Say(unit, p.Done, p.Total)
	}
	return words
}

// name returns the display name of a partner.
func (o *Way) name(ctx context.Context, id concordat.SiteID) string {
	if o.names == nil {
		o.names = map[concordat.SiteID]string{}
		ps, err := o.r.o.Choices.Partners(ctx)
		if err != nil {
			o.r.o.Logger.Error("names of partners", "error", err)
		}
		for _, p := range ps {
			o.names[p.Site] = p.Name
		}
	}
	if name := o.names[id]; name != "" {
		return name
	}
	return string(id)
}

// waits describes the place of a queued check and why it has not started.
func (o *Way) waits(ctx context.Context, t store.Task) (string, error) {
	queued, running, err := o.r.o.Store.Checks.Ahead(ctx, t)
	if err != nil {
		return "", err
	}
	words := []string{o.l.Say("state.position", queued+1, running)}
	st := o.r.o.Queue.Status()
	switch {
	case st.Workers == 0:
		words = append(words, o.l.Say("wait.stopped"))
	case errors.Is(st.Holding, concordat.ErrDiskFull):
		words = append(words, o.l.Say("wait.full"))
	case st.Holding != nil:
		words = append(words, o.l.Say("wait.fault"))
	case len(st.Running) >= st.Workers:
		words = append(words, o.l.Say("wait.busy"), o.busy(ctx, st.Running))
	default:
		words = append(words, o.l.Say("wait.next"))
	}
	return strings.Join(words, " "), nil
}

// busy lists the checks in progress. Checks that the visitor may not see are counted but not named.
func (o *Way) busy(ctx context.Context, running []concordat.TaskID) string {
	var out []string
	others := 0
	for _, id := range running {
		t, err := o.r.o.Tasks.Visible(ctx, o.v, id)
		if err != nil {
			others++
			continue
		}
		one := t.Title
		if e, ok := o.r.o.Queue.Progress(ctx, id); ok {
			one += " (" + o.stage(e.Progress) + ")"
		}
		out = append(out, one)
	}
	if others > 0 {
		out = append(out, o.l.Say("wait.others", others))
	}
	return strings.Join(out, "; ")
}
