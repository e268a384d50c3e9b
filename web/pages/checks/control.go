package checks

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"concordat"
	"concordat/site"
	"concordat/store"
	"concordat/view"
	"concordat/web/pages"
	"concordat/web/review"
)

// Control finds, cancels and retries checks for people who may do so. It is safe for concurrent use.
type Control struct {
	Store *store.DB
	Queue *site.Queue
}

var _ pages.Tasks = Control{}

// Visible returns a check if the visitor may see it; for other visitors it does not exist.
func (w Control) Visible(ctx context.Context, v *pages.Visitor, id concordat.TaskID) (store.Task, error) {
	t, err := w.Store.Checks.Task(ctx, id)
	if err == nil && !v.SeesAll() && t.Owner != v.Name {
		err = fmt.Errorf("task %s: %w", t.ID, concordat.ErrNotFound)
	}
	return t, err
}

// CancelTask cancels a check, or fails with concordat.ErrRefused if the visitor may not change it.
func (w Control) CancelTask(ctx context.Context, v *pages.Visitor, t store.Task) error {
	if !v.MayChange(t) {
		return fmt.Errorf("cancel %s: %w", t.ID, concordat.ErrRefused)
	}
	return w.Queue.Cancel(ctx, t.ID, store.Cause{Code: store.CauseCancelled, Who: v.Name},
		v.Note("check_cancelled", map[string]any{"task": t.ID}))
}

// RetryTask queues a failed check again. The caller checks the visitor's rights.
func (w Control) RetryTask(ctx context.Context, v *pages.Visitor, t store.Task) error {
	return w.Queue.Retry(ctx, t.ID, v.Note("check_retried", map[string]any{"task": t.ID}))
}

// Row is a check in the list.
type Row struct {
	store.Task
	Queued, Running int // numbers of checks queued and running before it
	MayCancel       bool
	LeftOut         concordat.LeftOut
	File            string            // name as submitted, if it differs from the title; empty for pasted text or if unknown
	Score           review.ShownScore // score in a list; zero if there is no report
	HasReport       bool
	Watched         bool       // later documents are compared with it; set for one check, not in a list
	Group           *caseGroup // the batch or archive of the row; nil if the row is a check
}

// Row returns a check as a row without its score.
func (w Control) Row(ctx context.Context, v *pages.Visitor, t store.Task) (Row, error) {
	t.Title = pages.Visible(t.Title)
	one := Row{Task: t, MayCancel: !t.State.Ended() && v.MayChange(t), File: FileName(t), LeftOut: view.LeftOutOf(t)}
	if one.File == t.Title {
		one.File = ""
	}
	if t.State == concordat.TaskQueued {
		var err error
		if one.Queued, one.Running, err = w.Store.Checks.Ahead(ctx, t); err != nil {
			return one, err
		}
	}
	return one, nil
}

// FileName returns the name under which the file of a check was submitted, including its path within an archive, or "" for pasted text or
// an unknown name.
func FileName(t store.Task) string {
	var j site.Job
	if len(t.Request) == 0 || json.Unmarshal(t.Request, &j) != nil || j.Name == "text" {
		return ""
	}
	if len(j.Parts) > 1 {
		var names []string
		for _, p := range j.Parts {
			names = append(names, p.Name)
		}
		return pages.Visible(strings.Join(names, ", "))
	}
	return pages.Visible(j.Name)
}
