package web

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"concordat/site"
	"concordat/web/message"
	"concordat/web/progress"
)

const (
	// heartBeat is how often something is sent on a silent connection to keep it open.
	heartBeat = 15 * time.Second
	// QueueBeat is how often the queue position of a watched check is updated.
	QueueBeat = 3 * time.Second
)

// events sends the progress of a check until it ends.
func (w checkPages) events(rw http.ResponseWriter, r *http.Request, v *Visitor) {
	t, err := w.task(r, v)
	if err != nil {
		w.Fail(rw, r, v, err)
		return
	}
	events, stop := w.o.Queue.Watch(t.ID)
	defer stop()
	o := w.progress.For(v, message.LanguageOf(r))
	w.follow(rw, r, v, events, QueueBeat, func(ctx context.Context) (progress.Shown, error) {
		// Read the store because an event may have happened before watching began.
		t, err := w.o.Store.Checks.Task(ctx, t.ID)
		switch {
		case err != nil:
			return progress.Shown{}, err
		case t.State.Ended():
			return progress.Shown{State: t.State, Finally: true}, nil
		}
		return o.Now(ctx, t)
	})
}

// follow sends the result of now at every event and at intervals. It stops when now reports the last result or fails because its subject
// was deleted, or when the reader disconnects (HTML living standard, server-sent events). The number of streams of an account is bounded,
// and EndStreams ends all streams.
func (w checkPages) follow(rw http.ResponseWriter, r *http.Request, v *Visitor, events <-chan site.Event, every time.Duration,
	now func(context.Context) (progress.Shown, error)) {
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
func (s *stream) send(p progress.Shown) bool {
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
