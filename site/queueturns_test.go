package site_test

import (
	"bytes"
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/site"
)

// reading returns a queue with one worker. Checks of the file "slow" wait until leave is closed, even if their context ends.
func reading(t *testing.T, o site.QueueOptions) (p *sitetest.Parts, q *site.Queue, began, leave chan struct{}) {
	began, leave = make(chan struct{}, 9), make(chan struct{})
	p = sitetest.NewSite(t, "a")
	o.Store = p.Store
	o.Read = func(_ context.Context, j site.Job) ([]site.Item, error) {
		if j.File == "slow" {
			began <- struct{}{}
			<-leave
		}
		return []site.Item{{Submission: site.Submission{ID: "one.txt", Text: sitetest.Folios}}}, nil
	}
	o.Options = func(context.Context, site.Job) (site.CheckOptions, func(), error) {
		return site.CheckOptions{}, nil, nil
	}
	return p, p.NewQueue(o), began, leave
}

// TestQueueSpare: a long check delays only other checks of the same user.
func TestQueueSpare(t *testing.T) {
	p, q, began, leave := reading(t, site.QueueOptions{Long: time.Millisecond})
	slow := sitetest.Submit(t, q, site.Job{Name: "book.txt", File: "slow"})
	sitetest.StartQueue(t, q)
	<-began
	own := sitetest.Submit(t, q, site.Job{Name: "page.txt", File: "quick"})
	for range 3 {
		id, err := q.Submit(t.Context(), "bob", "", site.Job{Name: "page.txt", File: "quick"})
		if err != nil {
			t.Fatal(err)
		}
		if state, cause := sitetest.Await(t, p, q, id); state != concordat.TaskDone {
			t.Errorf("got %s, %s", state, cause)
		}
	}
	for id, want := range map[concordat.TaskID]concordat.State{slow: concordat.TaskRunning, own: concordat.TaskQueued} {
		if task, err := p.Store.Checks.Task(t.Context(), id); err != nil || task.State != want {
			t.Errorf("%s is %s, %v, want %s", id, task.State, err, want)
		}
	}
	close(leave)
	for _, id := range []concordat.TaskID{slow, own} {
		if state, cause := sitetest.Await(t, p, q, id); state != concordat.TaskDone {
			t.Errorf("got %s, %s", state, cause)
		}
	}
}

// TestQueueGrace: a check that ignores its context does not prevent the site from stopping, and is queued again.
func TestQueueGrace(t *testing.T) {
	var log bytes.Buffer
	p, q, began, leave := reading(t, site.QueueOptions{Grace: time.Millisecond, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	id := sitetest.Submit(t, q, site.Job{Name: "book.txt", File: "slow"})
	stop := sitetest.StartQueue(t, q)
	<-began
	stop()
	if task, err := p.Store.Checks.Task(t.Context(), id); err != nil || task.State != concordat.TaskQueued || task.Attempts != 0 {
		t.Errorf("got %+v, %v; want it back in the queue", task, err)
	}
	if !strings.Contains(log.String(), `msg="a check did not stop in time"`) || !strings.Contains(log.String(), "stage="+site.StageRead) {
		t.Errorf("logged %s", log.String())
	}
	close(leave)
}
