package checks

import (
	"context"
	"net/http"

	"concordat/web/message"
	"concordat/web/pages"
	"concordat/web/progress"
)

// events sends the progress of a check until it ends.
func (w Checks) events(rw http.ResponseWriter, r *http.Request, v *pages.Visitor) {
	t, err := w.task(r, v)
	if err != nil {
		w.frame.Fail(rw, r, v, err)
		return
	}
	events, stop := w.o.Control.Queue.Watch(t.ID)
	defer stop()
	o := w.o.Progress.For(v, message.LanguageOf(r))
	err = w.o.Streams.Follow(rw, r, v, events, progress.QueueBeat, func(ctx context.Context) (progress.Shown, error) {
		// Read the store because an event may have happened before watching began.
		t, err := w.o.Control.Store.Checks.Task(ctx, t.ID)
		switch {
		case err != nil:
			return progress.Shown{}, err
		case t.State.Ended():
			return progress.Shown{State: t.State, Finally: true}, nil
		}
		return o.Now(ctx, t)
	})
	if err != nil {
		w.frame.Fail(rw, r, v, err)
	}
}
