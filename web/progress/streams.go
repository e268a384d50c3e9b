package progress

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"concordat/site"
	"concordat/web/limit"
	"concordat/web/pages"
)

const (
	// heartBeat is how often something is sent on a silent connection to keep it open.
	heartBeat = 15 * time.Second
	// QueueBeat is how often the queue position of a watched check is updated.
	QueueBeat = 3 * time.Second
)

// Streams sends progress to pages that follow it. It is safe for concurrent use.
type Streams struct {
	open    limit.Streams
	over    chan struct{} // closed when streams must end
	endOnce sync.Once
	logger  *slog.Logger
}

// NewStreams returns the streams of a site.
func NewStreams(logger *slog.Logger) *Streams {
	return &Streams{over: make(chan struct{}), logger: logger}
}

// End ends continuous answers, for example the progress of checks, when a server shuts down. Browsers then reconnect to its successor.
func (s *Streams) End() { s.endOnce.Do(func() { close(s.over) }) }

// Open lets the visitor follow events. The events end when over is closed; the caller must call leave when it stops following.
func (s *Streams) Open(v *pages.Visitor) (over <-chan struct{}, leave func(), err error) {
	if err := s.open.Enter(v.Name); err != nil {
		return nil, nil, err
	}
	return s.over, func() { s.open.Leave(v.Name) }, nil
}

// Follow sends the result of now at every event and at intervals. It stops when now reports the last result or fails because its subject
// was deleted, or when the reader disconnects (HTML living standard, server-sent events). The number of streams of an account is bounded,
// and End ends all streams. If Follow fails, it has sent nothing.
func (s *Streams) Follow(rw http.ResponseWriter, r *http.Request, v *pages.Visitor, events <-chan site.Event, every time.Duration,
	now func(context.Context) (Shown, error)) error {
	over, leave, err := s.Open(v)
	if err != nil {
		return err
	}
	defer leave()
	to := stream{rw: rw, c: http.NewResponseController(rw)}
	if err := to.c.SetWriteDeadline(time.Time{}); err != nil {
		s.logger.Debug("events", "error", err) // a test recorder, for example, has no deadline
	}
	rw.Header().Set("Content-Type", "text/event-stream")
	beat := time.NewTicker(heartBeat)
	defer beat.Stop()
	again := time.NewTicker(every)
	defer again.Stop()
	for {
		p, err := now(r.Context())
		if err != nil || !to.send(p) || p.Finally {
			return nil
		}
		select {
		case <-r.Context().Done():
			return nil
		case <-over:
			return nil
		case <-beat.C:
			if !to.alive() {
				return nil
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
func (s *stream) send(p Shown) bool {
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
