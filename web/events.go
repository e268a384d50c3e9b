package web

import (
	"context"
	"net/http"

	"concordat/web/message"
	"concordat/web/progress"
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
	err = w.Streams.Follow(rw, r, v, events, progress.QueueBeat, func(ctx context.Context) (progress.Shown, error) {
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
	if err != nil {
		w.Fail(rw, r, v, err)
	}
}
