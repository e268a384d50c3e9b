package site_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/site"
	"concordat/store"
)

// TestQueuePanics: a text that triggers a program fault fails only its own check, wherever the fault occurs, and the next check runs.
func TestQueuePanics(t *testing.T) {
	var panicked atomic.Int32
	p := sitetest.NewSite(t, "a")
	p.Add(t, "a", site.Incoming{ID: "source", Text: sitetest.Folios})
	var log bytes.Buffer
	q := p.NewQueue(site.QueueOptions{Store: p.Store, Logger: slog.New(slog.NewTextHandler(&log, nil)), Panicked: func() { panicked.Add(1) },
		Read: func(_ context.Context, j site.Job) ([]site.Item, error) {
			if j.Name == "reader" {
				panic("read")
			}
			return []site.Item{{Submission: site.Submission{ID: "x", Text: sitetest.Folios}}}, nil
		},
		Options: func(_ context.Context, j site.Job) (site.CheckOptions, func(), error) {
			return site.CheckOptions{Libraries: j.Libraries}, nil, nil
		}})
	for _, c := range []struct {
		name    string
		sources bool // whether it panics while sources are compared, outside the task's goroutine
		want    concordat.State
	}{{"reader", false, concordat.TaskFailed}, {"aligning", true, concordat.TaskFailed}, {"good", false, concordat.TaskDone}} {
		p.Index.Panics = c.sources
		log.Reset()
		stop := sitetest.StartQueue(t, q)
		id := sitetest.Submit(t, q, site.Job{Name: c.name, File: strings.Repeat("0", 64), Libraries: []concordat.LibraryID{"a"}})
		state, cause := sitetest.Await(t, p, q, id)
		stop()
		if state != c.want || (c.want == concordat.TaskFailed) != strings.HasPrefix(cause, "fault: ") || strings.Contains(cause, "goroutine") {
			t.Errorf("%s: %s, %q, want %s", c.name, state, cause, c.want)
		}
		if want := "msg=check task=" + string(id) + " state=" + string(c.want); !strings.Contains(log.String(), want) {
			t.Errorf("%s: the log has no %q: %s", c.name, want, log.String())
		}
	}
	if n := panicked.Load(); n != 2 {
		t.Errorf("%d panics were counted, want 2", n)
	}
}

func TestQueue(t *testing.T) {
	p, q := sitetest.NewQueue(t, func(_ context.Context, j site.Job) ([]site.Item, error) {
		switch j.File {
		case "gone":
			return nil, errors.New("damaged: the file ends in the middle")
		case "none":
			return nil, nil
		}
		return []site.Item{
			{Submission: site.Submission{ID: "one.txt", Title: "One", Text: sitetest.Folios}},
			{Submission: site.Submission{ID: "two.txt"}, Err: errors.New("encrypted: it wants a password")},
		}, nil
	})
	text := sitetest.Submit(t, q, site.Job{Name: "pasted", Title: "My essay", Text: sitetest.Folios})
	gone := sitetest.Submit(t, q, site.Job{Name: "gone.pdf", File: "gone"})
	none := sitetest.Submit(t, q, site.Job{Name: "empty.zip", File: "none"})
	archive := sitetest.Submit(t, q, site.Job{Name: "a.zip", File: "zip"})
	unknown := sitetest.Submit(t, q, site.Job{Name: "x", Text: sitetest.Folios, Libraries: []concordat.LibraryID{"none"}})
	sitetest.StartQueue(t, q)

	if state, cause := sitetest.Await(t, p, q, text); state != concordat.TaskDone {
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
		if state, cause := sitetest.Await(t, p, q, id); state != concordat.TaskFailed || !strings.Contains(cause, want) {
			t.Errorf("got %s, %q; want failed, %s", state, cause, want)
		}
	}
	if state, cause := sitetest.Await(t, p, q, archive); state != concordat.TaskDone || cause != "split into 2 checks" {
		t.Errorf("got %s, %q", state, cause)
	}
	if state, cause := sitetest.Await(t, p, q, archive+"-1"); state != concordat.TaskDone {
		t.Errorf("first member: %s, %s", state, cause)
	}
	if state, cause := sitetest.Await(t, p, q, archive+"-2"); state != concordat.TaskFailed || !strings.Contains(cause, "password") {
		t.Errorf("second member: %s, %s", state, cause)
	}
	member, err := p.Store.Checks.Task(t.Context(), archive+"-1")
	if err != nil || member.Batch != string(archive) || member.Owner != "ada" || member.Title != "One" {
		t.Errorf("got %+v, %v", member, err)
	}
}

// TestQueueWithoutStore: a check that failed because the store did not answer starts over and keeps its text, up to three attempts in
// all; other errors end it at once.
func TestQueueWithoutStore(t *testing.T) {
	lost := fmt.Errorf("libraries: %w: connection refused", store.ErrNoAnswer)
	for _, c := range []struct {
		name  string
		fails func(attempt int) error
		item  bool // whether one text fails, and not the whole file
		want  concordat.State
		tries int
	}{
		{"once", func(n int) error { return map[int]error{1: lost}[n] }, false, concordat.TaskDone, 2},
		{"one text, twice", func(n int) error { return map[int]error{1: lost, 2: lost}[n] }, true, concordat.TaskDone, 3},
		{"for ever", func(int) error { return lost }, false, concordat.TaskFailed, 3},
		{"another error", func(int) error { return concordat.ErrUnavailable }, false, concordat.TaskFailed, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			calls, discarded := 0, 0
			p := sitetest.NewSite(t, "a")
			p.Add(t, "a", site.Incoming{ID: "source", Text: sitetest.Folios})
			q := p.NewQueue(site.QueueOptions{Store: p.Store, Read: func(_ context.Context, j site.Job) ([]site.Item, error) {
				calls++
				if discarded > 0 {
					return nil, errors.New("the text was discarded")
				}
				one := site.Item{Submission: site.Submission{ID: "x", Text: sitetest.Folios}}
				if c.item {
					one.Err = c.fails(calls)
					return []site.Item{one}, nil
				}
				return []site.Item{one}, c.fails(calls)
			}, Options: func(_ context.Context, j site.Job) (site.CheckOptions, func(), error) {
				return site.CheckOptions{Libraries: j.Libraries}, nil, nil
			}, Discard: func(context.Context, concordat.TaskID) error { discarded++; return nil }})
			stop := sitetest.StartQueue(t, q)
			id := sitetest.Submit(t, q, site.Job{Name: "x", File: strings.Repeat("0", 64), Libraries: []concordat.LibraryID{"a"}, NoStore: true})
			state, cause := sitetest.Await(t, p, q, id)
			stop()
			if state != c.want || calls != c.tries || (c.want == concordat.TaskFailed) == (cause == "") || discarded != 1 {
				t.Errorf("got %s, %q after %d attempts, discarded %d times; want %s after %d, 1", state, cause, calls, discarded, c.want, c.tries)
			}
		})
	}
}

// stopsAt stops the queue as soon as it logs that a check has ended.
type stopsAt struct {
	slog.Handler
	stop func()
}

func (h stopsAt) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == "check" {
		h.stop()
	}
	return nil
}

func (stopsAt) Enabled(context.Context, slog.Level) bool { return true }

// TestQueueStopDiscards: the text of a check that is not kept is discarded even if the site stops just as the check ends.
func TestQueueStopDiscards(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	discarded := 0
	p := sitetest.NewSite(t, "a")
	q := p.NewQueue(site.QueueOptions{Store: p.Store, Logger: slog.New(stopsAt{slog.DiscardHandler, stop}),
		Options: func(_ context.Context, j site.Job) (site.CheckOptions, func(), error) {
			return site.CheckOptions{Libraries: j.Libraries}, nil, nil
		},
		Discard: func(context.Context, concordat.TaskID) error { discarded++; return nil }})
	id := sitetest.Submit(t, q, site.Job{Name: "pasted", Text: sitetest.Folios, Libraries: []concordat.LibraryID{"a"}, NoStore: true})
	if err := q.Run(ctx); err != nil {
		t.Fatal(err)
	}
	task, err := p.Store.Checks.Task(t.Context(), id)
	if err != nil || task.State != concordat.TaskDone || discarded != 1 {
		t.Errorf("got %s, %v, discarded %d times; want done, 1", task.State, err, discarded)
	}
}

// TestQueueRestart simulates the end of the process in the middle of a check.
func TestQueueRestart(t *testing.T) {
	reading := make(chan struct{}, 1)
	calls := 0
	p, q := sitetest.NewQueue(t, func(ctx context.Context, _ site.Job) ([]site.Item, error) {
		if calls++; calls == 1 {
			reading <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return []site.Item{{Submission: site.Submission{ID: "one.txt", Text: sitetest.Folios}}}, nil
	})
	id := sitetest.Submit(t, q, site.Job{Name: "one.txt", File: "one"})
	stop := sitetest.StartQueue(t, q)
	<-reading
	stop()
	if task, err := p.Store.Checks.Task(t.Context(), id); err != nil || task.State != concordat.TaskQueued || task.Attempts != 0 {
		t.Fatalf("got %+v, %v; want it back in the queue", task, err)
	}
	sitetest.StartQueue(t, q)
	if state, cause := sitetest.Await(t, p, q, id); state != concordat.TaskDone {
		t.Errorf("got %s, %s", state, cause)
	}
}

func TestQueueCancel(t *testing.T) {
	reading := make(chan struct{}, 1)
	p, q := sitetest.NewQueue(t, func(ctx context.Context, _ site.Job) ([]site.Item, error) {
		reading <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	})
	running := sitetest.Submit(t, q, site.Job{Name: "one.txt", File: "one"})
	waiting := sitetest.Submit(t, q, site.Job{Name: "two.txt", File: "two"})
	sitetest.StartQueue(t, q)
	<-reading
	for _, id := range []concordat.TaskID{waiting, running} {
		if err := q.Cancel(t.Context(), id, store.Cause{Detail: "cancelled by ada"}); err != nil {
			t.Fatal(err)
		}
		if state, cause := sitetest.Await(t, p, q, id); state != concordat.TaskFailed || cause != "cancelled by ada" {
			t.Errorf("got %s, %q", state, cause)
		}
	}
	if err := q.Cancel(t.Context(), "none", store.Cause{}); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("got %v", err)
	}
}
