package site_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"concordat"
	"concordat/site"
	"concordat/store"
)

const folios = "The reading room of the old library kept its shutters closed until noon, because the paper of the folios had begun to fade in the morning light."

// queued is a site with a queue whose files are given by name.
func queued(t *testing.T, read func(ctx context.Context, j site.Job) ([]site.Item, error)) (*parts, *site.Queue) {
	p := newSite(t, "a")
	if err := p.Ingest(t.Context(), "a", docs(site.Incoming{ID: "source", Text: folios}),
		func(site.Ingested) error { return nil }); err != nil {
		t.Fatal(err)
	}
	return p, p.NewQueue(site.QueueOptions{Store: p.store, Read: read,
		Options: func(_ context.Context, j site.Job) (site.CheckOptions, func(), error) {
			return site.CheckOptions{Libraries: j.Libraries}, nil, nil
		}})
}

// start runs the queue until the test, or stop, ends it.
func start(t *testing.T, q *site.Queue) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- q.Run(ctx) }()
	var ended bool
	stop = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("queue: %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// await waits for the end of a task and returns it.
func await(t *testing.T, p *parts, q *site.Queue, id concordat.TaskID) (concordat.State, string) {
	t.Helper()
	events, stop := q.Watch(id)
	defer stop()
	for {
		task, err := p.store.Checks.Task(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		switch task.State {
		case concordat.TaskQueued, concordat.TaskRunning:
		default:
			return task.State, task.Cause.String()
		}
		select {
		case <-events:
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
}

func submit(t *testing.T, q *site.Queue, j site.Job) concordat.TaskID {
	t.Helper()
	id, err := q.Submit(t.Context(), "ada", "", j)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// TestQueuePanics: a text that meets a fault of the program fails its own check, wherever in it that is, and the next one is done.
func TestQueuePanics(t *testing.T) {
	var panicked atomic.Int32
	p := newSite(t, "a")
	p.ingest(t, "a", site.Incoming{ID: "source", Text: folios})
	q := p.NewQueue(site.QueueOptions{Store: p.store, Panicked: func() { panicked.Add(1) },
		Read: func(_ context.Context, j site.Job) ([]site.Item, error) {
			if j.Name == "reader" {
				panic("read")
			}
			return []site.Item{{Submission: site.Submission{ID: "x", Text: folios}}}, nil
		},
		Options: func(_ context.Context, j site.Job) (site.CheckOptions, func(), error) {
			return site.CheckOptions{Libraries: j.Libraries}, nil, nil
		}})
	for _, c := range []struct {
		name    string
		sources bool // what panics is where sources are compared, beside the goroutine of the task
		want    concordat.State
	}{{"reader", false, concordat.TaskFailed}, {"aligning", true, concordat.TaskFailed}, {"good", false, concordat.TaskDone}} {
		p.index.panics = c.sources
		stop := start(t, q)
		id := submit(t, q, site.Job{Name: c.name, File: strings.Repeat("0", 64), Libraries: []concordat.LibraryID{"a"}})
		state, cause := await(t, p, q, id)
		stop()
		if state != c.want || (c.want == concordat.TaskFailed) != strings.HasPrefix(cause, "fault: ") || strings.Contains(cause, "goroutine") {
			t.Errorf("%s: %s, %q, want %s", c.name, state, cause, c.want)
		}
	}
	if n := panicked.Load(); n != 2 {
		t.Errorf("%d panics were counted, want 2", n)
	}
}

func TestQueue(t *testing.T) {
	p, q := queued(t, func(_ context.Context, j site.Job) ([]site.Item, error) {
		switch j.File {
		case "gone":
			return nil, errors.New("damaged: the file ends in the middle")
		case "none":
			return nil, nil
		}
		return []site.Item{
			{Submission: site.Submission{ID: "one.txt", Title: "One", Text: folios}},
			{Submission: site.Submission{ID: "two.txt"}, Err: errors.New("encrypted: it wants a password")},
		}, nil
	})
	text := submit(t, q, site.Job{Name: "pasted", Title: "My essay", Text: folios})
	gone := submit(t, q, site.Job{Name: "gone.pdf", File: "gone"})
	none := submit(t, q, site.Job{Name: "empty.zip", File: "none"})
	archive := submit(t, q, site.Job{Name: "a.zip", File: "zip"})
	unknown := submit(t, q, site.Job{Name: "x", Text: folios, Libraries: []concordat.LibraryID{"none"}})
	start(t, q)

	if state, cause := await(t, p, q, text); state != concordat.TaskDone {
		t.Errorf("got %s, %s", state, cause)
	}
	f, err := p.Findings(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Passages) != 1 || f.Passages[0].Source.Document != "source" || f.Submission.Title != "My essay" || f.Task != text {
		t.Errorf("got %+v", f)
	}
	for id, want := range map[concordat.TaskID]string{gone: "damaged", none: "empty", unknown: "not found"} {
		if state, cause := await(t, p, q, id); state != concordat.TaskFailed || !strings.Contains(cause, want) {
			t.Errorf("got %s, %q; want failed, %s", state, cause, want)
		}
	}
	if state, cause := await(t, p, q, archive); state != concordat.TaskDone || cause != "split into 2 checks" {
		t.Errorf("got %s, %q", state, cause)
	}
	if state, cause := await(t, p, q, archive+"-1"); state != concordat.TaskDone {
		t.Errorf("first member: %s, %s", state, cause)
	}
	if state, cause := await(t, p, q, archive+"-2"); state != concordat.TaskFailed || !strings.Contains(cause, "password") {
		t.Errorf("second member: %s, %s", state, cause)
	}
	member, err := p.store.Checks.Task(t.Context(), archive+"-1")
	if err != nil || member.Batch != string(archive) || member.Owner != "ada" || member.Title != "One" {
		t.Errorf("got %+v, %v", member, err)
	}
}

// TestQueueRestart ends the process, as it were, in the middle of a check.
func TestQueueRestart(t *testing.T) {
	reading := make(chan struct{}, 1)
	calls := 0
	p, q := queued(t, func(ctx context.Context, _ site.Job) ([]site.Item, error) {
		if calls++; calls == 1 {
			reading <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return []site.Item{{Submission: site.Submission{ID: "one.txt", Text: folios}}}, nil
	})
	id := submit(t, q, site.Job{Name: "one.txt", File: "one"})
	stop := start(t, q)
	<-reading
	stop()
	if task, err := p.store.Checks.Task(t.Context(), id); err != nil || task.State != concordat.TaskQueued || task.Attempts != 0 {
		t.Fatalf("got %+v, %v; want it back in the queue", task, err)
	}
	start(t, q)
	if state, cause := await(t, p, q, id); state != concordat.TaskDone {
		t.Errorf("got %s, %s", state, cause)
	}
}

func TestQueueCancel(t *testing.T) {
	reading := make(chan struct{}, 1)
	p, q := queued(t, func(ctx context.Context, _ site.Job) ([]site.Item, error) {
		reading <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	running := submit(t, q, site.Job{Name: "one.txt", File: "one"})
	waiting := submit(t, q, site.Job{Name: "two.txt", File: "two"})
	start(t, q)
	<-reading
	for _, id := range []concordat.TaskID{waiting, running} {
		if err := q.Cancel(t.Context(), id, store.Cause{Detail: "cancelled by ada"}); err != nil {
			t.Fatal(err)
		}
		if state, cause := await(t, p, q, id); state != concordat.TaskFailed || cause != "cancelled by ada" {
			t.Errorf("got %s, %q", state, cause)
		}
	}
	if err := q.Cancel(t.Context(), "none", store.Cause{}); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}
