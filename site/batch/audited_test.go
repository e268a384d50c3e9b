package batch_test

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/report"
	"concordat/site"
	"concordat/site/batch"
	"concordat/site/retain"
	"concordat/store"
)

// entries returns the number of audit entries with the given action.
func entries(t *testing.T, db *store.DB, action string) (n int) {
	t.Helper()
	all, err := db.Audit.Audit(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if e.Action == action {
			n++
		}
	}
	return n
}

// TestNotedTogether: if a change's audit entry cannot be stored, the change is not made, so a crash cannot leave a change without its
// entry; otherwise both are stored.
func TestNotedTogether(t *testing.T) {
	ctx := t.Context()
	p, q := sitetest.NewQueue(t, func(context.Context, site.Job) ([]site.Item, error) { return nil, errors.New("not read") })
	texts := sitetest.Twins()
	b := sitetest.NewBatch(t, p, texts, slices.Sorted(maps.Keys(texts)), batch.Job{})
	v := b.Run(t)
	all := batch.NewQueue(p.Site, batch.QueueOptions{Store: p.Store, Queue: q, Read: b.BatchOptions.Read, Options: b.BatchOptions.Options,
		Rules: func() report.Rules { return report.Rules{} }})
	first, second := v.Members[0].Number, v.Members[1].Number
	id := concordat.TaskID("task")
	state := func() concordat.State {
		task, err := p.Store.Checks.Task(ctx, id)
		if err != nil {
			return ""
		}
		return task.State
	}
	events := func() int {
		got, err := p.Store.Batches.BatchEvents(ctx, b.BatchID)
		if err != nil {
			t.Fatal(err)
		}
		return len(got)
	}
	erasures := func() int {
		got, err := p.Store.Retention.OpenErasures(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return len(got)
	}
	for _, c := range []struct {
		name   string
		seen   func() any // its result reflects the change
		change func(store.AuditNote) error
	}{
		{"submit", func() any { return state() }, func(n store.AuditNote) error { return q.SubmitTask(ctx, id, "olga", "", site.Job{}, n) }},
		{"cancel", func() any { return state() }, func(n store.AuditNote) error { return q.Cancel(ctx, id, store.Cause{Detail: "enough"}, n) }},
		{"retry", func() any { return state() }, func(n store.AuditNote) error { return q.Retry(ctx, id, n) }},
		{"submit all", func() any { n, _ := p.Store.Checks.Tasks(ctx, 0, 0); return len(n) }, func(n store.AuditNote) error {
			_, err := q.SubmitAll(ctx, "olga", "", []site.Job{{}, {}},
				func(tx *store.DB, _ []concordat.TaskID) error { return tx.Audit.Notes(ctx, n) })
			return err
		}},
		{"lineage", func() any { return events() }, func(n store.AuditNote) error {
			return batch.SetLineage(ctx, p.Site, p.Store, b.BatchID, "olga", batch.LineageRules{}, report.Rules{}, n)
		}},
		{"pair", func() any { return events() }, func(n store.AuditNote) error {
			return batch.SetVerdict(ctx, p.Site, p.Store, b.BatchID, "olga", first, second, store.VerdictCount, "", report.Rules{}, n)
		}},
		{"again", func() any { x, _ := p.Store.Batches.Batch(ctx, b.BatchID); return x.State }, func(n store.AuditNote) error {
			return all.Again(ctx, b.BatchID, n)
		}},
		{"end", func() any { x, _ := p.Store.Batches.Batch(ctx, b.BatchID); return x.State }, func(n store.AuditNote) error {
			return all.Cancel(ctx, b.BatchID, store.Cause{Detail: "enough"}, n)
		}},
		{"erase", func() any { return erasures() }, func(n store.AuditNote) error {
			_, err := retain.Ask(ctx, p.Site, p.Store, "olga", "asked", retain.Target{Tasks: []concordat.TaskID{id}}, n)
			return err
		}},
	} {
		before := c.seen()
		lost := store.AuditNote{Actor: "olga", Action: c.name, Detail: map[string]any{"x": make(chan int)}} // not JSON
		if err := c.change(lost); err == nil || c.seen() != before {
			t.Errorf("%s: %v before, %v after a change without its entry: %v", c.name, before, c.seen(), err)
		}
		note := store.AuditNote{Actor: "olga", Action: c.name, Detail: map[string]any{}}
		if err := c.change(note); err != nil || c.seen() == before || entries(t, p.Store, c.name) != 1 {
			t.Errorf("%s: %v before, %v after, %d entries: %v", c.name, before, c.seen(), entries(t, p.Store, c.name), err)
		}
	}
}
