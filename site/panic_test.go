package site_test

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/internal/storetest"
	"concordat/report"
	"concordat/site"
	"concordat/site/batch"
	"concordat/site/compare"
	"concordat/store"
)

// noted records a test's panics.
type noted struct {
	log   bytes.Buffer
	count atomic.Int32
}

func (n *noted) panics() compare.Panics {
	return compare.Panics{Logger: slog.New(slog.NewTextHandler(&n.log, nil)), Counted: func() { n.count.Add(1) }}
}

// once requires that one panic was counted and logged, with a stack that includes where.
func (n *noted) once(t *testing.T, where string) {
	t.Helper()
	if log := n.log.String(); n.count.Load() != 1 || strings.Count(log, "msg=panic") != 1 || !strings.Contains(log, where) {
		t.Errorf("%d panics were counted; want 1, logged once with %s:\n%s", n.count.Load(), where, log)
	}
}

// once returns a function that panics when first called.
func once(what any) func() error {
	var called atomic.Bool
	return func() error {
		if called.CompareAndSwap(false, true) {
			panic(what)
		}
		return nil
	}
}

// TestIngestPanics: a panic while documents are added ends only that call, is recorded once with its stack and leaves nothing half added;
// the same documents can be added afterwards.
func TestIngestPanics(t *testing.T) {
	good := []site.Incoming{{ID: "one", Text: sitetest.Folios}}
	each := func(yield func(site.Incoming, error) bool) { _ = yield(good[0], nil) }
	for _, c := range []struct {
		name, where string
		docs        iter.Seq2[site.Incoming, error]
		put         bool
		done        func(site.Ingested) error
	}{
		{"reading", "panickingDocuments", panickingDocuments, false, nil},
		{"writing", "Faulty", each, true, nil},
		{"telling", "panickingDone", each, false, panickingDone},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, n := sitetest.NewSite(t, "a"), &noted{}
			p.Site.TellPanics(n.panics())
			p.Index.PutPanics = c.put
			done := c.done
			if done == nil {
				done = func(site.Ingested) error { return nil }
			}
			var fault *compare.Fault
			if err := p.Ingest(t.Context(), "a", c.docs, done); !errors.As(err, &fault) {
				t.Fatalf("got %v, want a fault", err)
			}
			n.once(t, c.where)
			p.Index.PutPanics = false
			if left, err := p.Store.Catalogue.Intakes(t.Context(), ""); err != nil || len(left) != 0 {
				t.Errorf("%d intakes are left half done, %v", len(left), err)
			}
			p.Add(t, "a", good...)
			if f := p.Found(t, sitetest.Folios, site.CheckOptions{}); len(f.Passages) != 1 {
				t.Errorf("%d passages, want 1", len(f.Passages))
			}
		})
	}
}

func panickingDocuments(func(site.Incoming, error) bool) { panic("documents") }

func panickingDone(site.Ingested) error { panic("done") }

// TestBatchPanics: a panic fails only its batch, or only the file being read, and is recorded once with its stack; the queue then runs
// the next batch.
func TestBatchPanics(t *testing.T) {
	for _, c := range []struct {
		name, where string
		want        concordat.State
	}{
		{"reading", "TestBatchPanics", concordat.TaskDone},
		{"looking", "Script", concordat.TaskDone},
		{"keeping", "Faulty", concordat.TaskFailed},
		{"pairing", "Script", concordat.TaskFailed},
		{"comparing", "Faulty", concordat.TaskFailed},
		{"opening", "TestBatchPanics", concordat.TaskFailed},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, n := sitetest.NewSite(t, "theses"), &noted{}
			p.Site.TellPanics(n.panics())
			b := sitetest.NewBatch(t, p, sitetest.Twins(), []string{"a.txt", "b.txt"}, batch.Job{})
			var broken atomic.Bool
			broken.Store(true)
			inner := &sitetest.Faulty{Index: b.Index, Panics: c.name == "comparing", PutPanics: c.name == "keeping"}
			db, script := storetest.Scripted(p.Store)
			switch c.name {
			case "pairing":
				script.On("Compared", once("compared"))
			case "looking":
				script.On("NextBatch", once("next"))
			}
			all := batch.NewQueue(p.Site, batch.QueueOptions{Store: db, Options: b.BatchOptions.Options,
				Rules: func() report.Rules { return report.Rules{} },
				Read: func(ctx context.Context, in store.BatchInput) ([]site.Item, error) {
					if c.name == "reading" && in.Name == "a.txt" && broken.Load() {
						panic("read")
					}
					return b.BatchOptions.Read(ctx, in)
				},
				Open: func(context.Context, string) (concordat.Index, func() error, error) {
					if c.name == "opening" && broken.Load() {
						panic("open")
					}
					return inner, func() error { return nil }, nil
				}})
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- all.Run(ctx) }()
			first, err := all.Submit(ctx, "ann", "First", batch.Job{}, []store.BatchInput{{Name: "a.txt", Place: "a.txt"},
				{Name: "b.txt", Place: "b.txt"}}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := awaitBatch(t, p, first); got.State != c.want || strings.Contains(got.Cause.String(), "goroutine") {
				t.Errorf("got %s, %q, want %s", got.State, got.Cause, c.want)
			}
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if c.name == "comparing" {
				if n.count.Load() < 1 || !strings.Contains(n.log.String(), c.where) {
					t.Errorf("not noted: %s", n.log.String())
				}
				return
			}
			n.once(t, c.where)
		})
	}
}

// TestBatchTellingPanics: a panic while an unreadable file is reported fails only the batch.
func TestBatchTellingPanics(t *testing.T) {
	b := sitetest.NewBatch(t, sitetest.NewSite(t, "theses"), sitetest.Twins(), []string{"a.txt", "b.txt", "damaged.txt"}, batch.Job{})
	b.BatchOptions.Failed = func(string, string) { panic("told") }
	var fault *compare.Fault
	if err := batch.Run(t.Context(), b.Site, b.BatchID, b.BatchOptions); !errors.As(err, &fault) {
		t.Errorf("got %v, want a fault", err)
	}
	got, err := b.Store.Batches.Batch(t.Context(), b.BatchID)
	if err != nil || got.State != concordat.TaskFailed || strings.Contains(got.Cause.String(), "told") {
		t.Errorf("the batch is %s, %q, %v", got.State, got.Cause, err)
	}
}

// awaitBatch returns a batch once it has ended.
func awaitBatch(t *testing.T, p *sitetest.Parts, id string) store.Batch {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		b, err := p.Store.Batches.Batch(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		if b.State != concordat.TaskQueued && b.State != concordat.TaskRunning {
			return b
		}
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal(t.Context().Err())
		}
	}
}
