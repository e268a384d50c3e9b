package sitetest

import (
	"context"
	"testing"

	"concordat"
	"concordat/report"
	"concordat/site"
)

// Folios is the text of the source that NewQueue ingests.
const Folios = "The reading room of the old library kept its shutters closed until noon, because the paper of the folios had begun to fade in the morning light."

// NewQueue returns a site with a queue that reads files with read.
func NewQueue(t *testing.T, read func(ctx context.Context, j site.Job) ([]site.Item, error)) (*Parts, *site.Queue) {
	p := NewSite(t, "a")
	if err := p.Ingest(t.Context(), "a", Docs(site.Incoming{ID: "source", Text: Folios}),
		func(site.Ingested) error { return nil }); err != nil {
		t.Fatal(err)
	}
	return p, p.NewQueue(site.QueueOptions{Store: p.Store, Read: read,
		Options: func(_ context.Context, j site.Job) (site.CheckOptions, func(), error) {
			return site.CheckOptions{Libraries: j.Libraries}, nil, nil
		}})
}

// StartQueue runs the queue until the test ends or stop is called.
func StartQueue(t *testing.T, q *site.Queue) (stop func()) {
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

// Await waits for a task to end and returns the task.
func Await(t *testing.T, p *Parts, q *site.Queue, id concordat.TaskID) (concordat.State, string) {
	t.Helper()
	events, stop := q.Watch(id)
	defer stop()
	for {
		task, err := p.Store.Checks.Task(t.Context(), id)
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

// Submit adds a job and returns its task.
func Submit(t *testing.T, q *site.Queue, j site.Job) concordat.TaskID {
	t.Helper()
	id, err := q.Submit(t.Context(), "ada", "", j)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// Cited returns the source documents of a check's passages.
func (p *Parts) Cited(t *testing.T, text string) (out []concordat.DocumentID) {
	t.Helper()
	for _, one := range p.Found(t, text, site.CheckOptions{}).Passages {
		out = append(out, one.Source.Document)
	}
	return out
}

// Flagged reports whether a check raised the flag.
func Flagged(f *report.Findings, code string) bool {
	for _, x := range f.Flags {
		if x.Code == code {
			return true
		}
	}
	return false
}
