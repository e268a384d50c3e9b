package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"concordat"
	"concordat/site"
	"concordat/store"
	"concordat/web/message"
)

const (
	// heartBeat is the interval at which something is sent on a silent connection to keep it open.
	heartBeat = 15 * time.Second
	// QueueBeat is how often the queue position of a watched check is updated.
	QueueBeat = 3 * time.Second
)

// progress is the progress of a check, in the form used for pages and events.
type progress struct {
	State    concordat.State   `json:"state"`
	Words    string            `json:"words"` // the current stage, or why the check waits
	Done     int               `json:"done"`
	Total    int               `json:"total"` // 0 if unknown
	Partners []partnerProgress `json:"partners,omitempty"`
	Finally  bool              `json:"finally"` // the check has ended, and the page must be reloaded
}

// partnerProgress is the progress of one partner.
type partnerProgress struct {
	Name  string            `json:"name"`
	State site.PartnerState `json:"state"`
	Words string            `json:"words"`
}

// onItsWay prepares the progress of an unfinished check for display.
type onItsWay struct {
	w *Web
	v *Visitor
	l message.Language
	// names of partners, read on first use
	names map[concordat.SiteID]string
}

// now returns the progress of a task: the stored progress, updated with the latest event from its worker.
func (o *onItsWay) now(ctx context.Context, t store.Task) (progress, error) {
	p := progress{State: t.State}
	switch {
	case t.State == concordat.TaskQueued:
		var err error
		p.Words, err = o.waits(ctx, t)
		return p, err
	case t.State == concordat.TaskRunning:
		if e, ok := o.w.o.Queue.Progress(ctx, t.ID); ok {
			return o.progressOf(ctx, t, e), nil
		}
		p.Words = o.l.Say("progress.elsewhere")
	}
	return p, nil
}

// progressOf describes an event of a running check.
func (o *onItsWay) progressOf(ctx context.Context, t store.Task, e site.Event) progress {
	p := progress{State: e.State, Done: e.Done, Total: e.Total, Words: o.stage(e.Progress)}
	if t.Attempts > 1 {
		p.Words += " " + o.l.Say("progress.again", t.Attempts)
	}
	for _, one := range e.Partners {
		words := o.l.Say("partner." + string(one.State))
		if one.Reason != "" {
			words += ": " + o.l.Say("reason."+string(one.Reason))
		}
		p.Partners = append(p.Partners, partnerProgress{Name: o.name(ctx, one.Site), State: one.State, Words: words})
	}
	return p
}

// units are the message keys of the units in which stages are measured. Stages without a unit have no progress between start and end.
var units = map[string]string{"match": "unit.sentences", "search": "unit.windows", "align": "unit.documents",
	"partner": "unit.partners", site.StageAdd: "unit.documents"}

func (o *onItsWay) stage(p site.Progress) string {
	words := o.l.Say("stage." + p.Stage)
	if unit, ok := units[p.Stage]; ok && p.Total > 0 {
		words += o.l.Say("colon") + o.l.Say(unit, p.Done, p.Total)
	}
	return words
}

// name returns the display name of a partner.
func (o *onItsWay) name(ctx context.Context, id concordat.SiteID) string {
	if o.names == nil {
		o.names = map[concordat.SiteID]string{}
		ps, err := o.w.o.Partners(ctx)
		if err != nil {
			o.w.o.Logger.Error("names of partners", "error", err)
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
func (o *onItsWay) waits(ctx context.Context, t store.Task) (string, error) {
	queued, running, err := o.w.o.Store.Checks.Ahead(ctx, t)
	if err != nil {
		return "", err
	}
	words := []string{o.l.Say("state.position", queued+1, running)}
	st := o.w.o.Queue.Status()
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

// busy lists the checks in progress. It only counts checks that the visitor may not see.
func (o *onItsWay) busy(ctx context.Context, running []concordat.TaskID) string {
	var out []string
	others := 0
	for _, id := range running {
		t, err := o.w.Visible(ctx, o.v, id)
		if err != nil {
			others++
			continue
		}
		one := t.Title
		if e, ok := o.w.o.Queue.Progress(ctx, id); ok {
			one += " (" + o.stage(e.Progress) + ")"
		}
		out = append(out, one)
	}
	if others > 0 {
		out = append(out, o.l.Say("wait.others", others))
	}
	return strings.Join(out, "; ")
}

// events sends the progress of a check until it ends.
func (w checkPages) events(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	t, err := w.task(r, v)
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	events, stop := w.o.Queue.Watch(t.ID)
	defer stop()
	o := &onItsWay{w: w.Web, v: v, l: message.LanguageOf(r)}
	w.follow(rw, r, v, events, QueueBeat, func(ctx context.Context) (progress, error) {
		// Read the store because an event may have happened before watching began.
		t, err := w.o.Store.Checks.Task(ctx, t.ID)
		switch {
		case err != nil:
			return progress{}, err
		case t.State.Ended():
			return progress{State: t.State, Finally: true}, nil
		}
		return o.now(ctx, t)
	})
}

// follow sends the result of now at every event and at intervals. It stops when now reports the last result or fails because its subject
// was deleted, or when the reader disconnects (HTML living standard, server-sent events). The number of streams of an account is bounded,
// and EndStreams ends all streams.
func (w checkPages) follow(rw http.ResponseWriter, r *http.Request, v *Visitor, events <-chan site.Event, every time.Duration,
	now func(context.Context) (progress, error)) {
	over, leave, err := w.OpenStream(v)
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	defer leave()
	s := stream{rw: rw, c: http.NewResponseController(rw)}
	if err := s.c.SetWriteDeadline(time.Time{}); err != nil {
		w.o.Logger.Debug("events", "error", err) // a test recorder, for example, has no deadline
	}
	rw.Header().Set("Content-Type", "text/event-stream")
	beat := time.NewTicker(heartBeat)
	defer beat.Stop()
	again := time.NewTicker(every)
	defer again.Stop()
	for {
		p, err := now(r.Context())
		if err != nil || !s.send(p) || p.Finally {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-over:
			return
		case <-beat.C:
			if !s.alive() {
				return
			}
		case <-again.C:
		case <-events:
		}
	}
}

// stream is an answer sent in parts.
type stream struct {
	rw   http.ResponseWriter
	c    *http.ResponseController
	last string
}

// send sends p unless it equals the previous one. It reports whether the reader is still connected.
func (s *stream) send(p progress) bool {
	b, err := json.Marshal(p)
	if err != nil {
		return false
	}
	if string(b) == s.last {
		return true
	}
	s.last = string(b)
	_, err = fmt.Fprintf(s.rw, "data: %s\n\n", b)
	return err == nil && s.c.Flush() == nil
}

// alive sends a comment to keep the connection open, and reports whether the reader is still connected.
func (s *stream) alive() bool {
	_, err := fmt.Fprint(s.rw, ": still here\n\n")
	return err == nil && s.c.Flush() == nil
}
