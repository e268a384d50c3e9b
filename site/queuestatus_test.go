package site_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/site"
	"concordat/store"
)

// TestQueueHolds: while the queue is on hold, it starts nothing, and Status says why.
func TestQueueHolds(t *testing.T) {
	full := errors.New("no room")
	var hold atomic.Bool
	hold.Store(true)
	asked := make(chan struct{}, 100)
	p := sitetest.NewSite(t, "a")
	began := make(chan struct{}, 1)
	leave := make(chan struct{})
	q := p.NewQueue(site.QueueOptions{Store: p.Store,
		Read: func(ctx context.Context, _ site.Job) ([]site.Item, error) {
			began <- struct{}{}
			<-leave
			return []site.Item{{Submission: site.Submission{ID: "one.txt", Text: sitetest.Folios}}}, nil
		},
		Options: func(context.Context, site.Job) (site.CheckOptions, func(), error) {
			return site.CheckOptions{}, nil, nil
		},
		Hold: func() error {
			select {
			case asked <- struct{}{}:
			default:
			}
			if hold.Load() {
				return full
			}
			return nil
		}})
	if s := q.Status(); s.Workers != 0 {
		t.Errorf("a queue that is not run: %+v", s)
	}
	id := sitetest.Submit(t, q, site.Job{Name: "one.txt", File: "one"})
	sitetest.StartQueue(t, q)
	<-asked
	<-asked // the first answer has been stored
	if s := q.Status(); s.Workers != 1 || !errors.Is(s.Holding, full) || len(s.Running) != 0 {
		t.Errorf("held: %+v", s)
	}
	if task, err := p.Store.Checks.Task(t.Context(), id); err != nil || task.State != concordat.TaskQueued {
		t.Errorf("held: %+v, %v", task, err)
	}
	hold.Store(false)
	<-began
	if s := q.Status(); s.Holding != nil || !slices.Equal(s.Running, []concordat.TaskID{id}) {
		t.Errorf("running: %+v", s)
	}
	if e, ok := q.Latest(id); !ok || e.Stage != site.StageRead {
		t.Errorf("latest %+v, %v", e, ok)
	}
	close(leave)
	if state, cause := sitetest.Await(t, p, q, id); state != concordat.TaskDone {
		t.Errorf("got %s, %s", state, cause)
	}
}

// TestQueueAdds: texts are added to a library; an unreadable text does not delay the others, and repeating the task changes nothing.
func TestQueueAdds(t *testing.T) {
	p, q := sitetest.NewQueue(t, func(_ context.Context, j site.Job) ([]site.Item, error) {
		if j.File == "bad" {
			return []site.Item{{Submission: site.Submission{ID: "bad.pdf"}, Err: errors.New("damaged: it ends in the middle")}}, nil
		}
		return []site.Item{
			{Submission: site.Submission{ID: "one.txt", Title: "One", Text: sitetest.Folios}},
			{Submission: site.Submission{ID: "two.pdf"}, Err: errors.New("encrypted: it wants a password")},
			{Submission: site.Submission{ID: "no\x00name", Text: sitetest.Folios}},
		}, nil
	})
	sitetest.StartQueue(t, q)
	for _, want := range []string{"added: 1 new, 0 replaced, 0 unchanged, 2 not readable",
		"added: 0 new, 0 replaced, 1 unchanged, 2 not readable"} {
		id := sitetest.Submit(t, q, site.Job{Name: "a.zip", File: "zip", Into: "a"})
		if state, cause := sitetest.Await(t, p, q, id); state != concordat.TaskPartial || cause != want {
			t.Errorf("got %s, %q, want partial, %q", state, cause, want)
		}
		if state, cause := sitetest.Await(t, p, q, id+"-2"); state != concordat.TaskFailed || !strings.Contains(cause, "password") {
			t.Errorf("member: %s, %q", state, cause)
		}
	}
	bad := sitetest.Submit(t, q, site.Job{Name: "bad.pdf", File: "bad", Into: "a"})
	if state, cause := sitetest.Await(t, p, q, bad); state != concordat.TaskFailed || !strings.Contains(cause, "damaged") {
		t.Errorf("got %s, %q", state, cause)
	}
	if l, err := p.Store.Catalogue.Library(t.Context(), "a"); err != nil || l.Documents != 2 {
		t.Errorf("library %+v, %v; want the source and the new one", l, err)
	}
	fault := sitetest.Submit(t, q, site.Job{Name: "large.txt", Fault: store.Cause{Detail: "limit: too large"}})
	if state, cause := sitetest.Await(t, p, q, fault); state != concordat.TaskFailed || cause != "limit: too large" {
		t.Errorf("got %s, %q", state, cause)
	}
}
