package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"concordat"
	"concordat/store"
)

// StageAdd is the stage that adds the texts of a file to a library.
const StageAdd = "add"

// add adds the texts of a job's file to its library. A text that cannot be added becomes a separate failed task and does not delay the
// others. Repeating the call has no further effect.
func (q *Queue) add(ctx context.Context, t store.Task, j Job, items []Item) (concordat.State, store.Cause, error) {
	var docs []Incoming
	failed := 0
	for i, item := range items {
		d := Incoming{ID: item.ID, Title: cmp.Or(item.Title, string(item.ID)), Text: item.Text, Source: j.Name, Dated: item.Dated,
			DatedBy: item.DatedBy}
		if len(items) == 1 {
			d.Title = cmp.Or(j.Title, d.Title)
		}
		err := item.Err
		if err == nil {
			err = check(d)
		}
		if err == nil {
			docs = append(docs, d)
			continue
		}
		if len(items) == 1 {
			return concordat.TaskFailed, CauseOf(err), nil
		}
		failed++
		if err := q.fail(ctx, t, j, i, item, err); err != nil {
			return "", store.Cause{}, err
		}
	}
	n := map[Outcome]int{}
	done := 0
	tell := func() {
		q.tell(Event{Task: t.ID, State: concordat.TaskRunning, Progress: Progress{Stage: StageAdd, Done: done, Total: len(docs)}})
	}
	tell()
	err := q.site.Ingest(ctx, j.Into, func(yield func(Incoming, error) bool) {
		for _, d := range docs {
			if !yield(d, nil) {
				return
			}
		}
	}, func(in Ingested) error {
		n[in.Outcome]++
		done++
		tell()
		return nil
	})
	if err != nil {
		return "", store.Cause{}, err
	}
	state := concordat.TaskDone
	if failed > 0 {
		state = concordat.TaskPartial
	}
	return state, store.Cause{Code: store.CauseAdded,
		Numbers: []int{n[Added], n[Replaced], n[Unchanged], failed}}, nil
}

// fail creates a failed task for a text that cannot be added.
func (q *Queue) fail(ctx context.Context, t store.Task, j Job, i int, item Item, cause error) error {
	one := j
	one.LeftOut = concordat.LeftOut{}
	one.File, one.Name, one.Title, one.Fault = "", cmp.Or(string(item.ID), j.Name), item.Title, CauseOf(cause)
	id := concordat.TaskID(fmt.Sprintf("%s-%d", t.ID, i+1))
	err := q.SubmitTask(ctx, id, t.Owner, cmp.Or(t.Batch, string(t.ID)), one)
	if err == nil {
		err = q.o.Store.Checks.CancelTask(ctx, id, one.Fault)
	}
	if errors.Is(err, concordat.ErrExists) {
		err = nil
	}
	return err
}
