package site

import (
	"context"
	"errors"

	"concordat"
	"concordat/store"
)

// SubmitAs does the same as Submit under a task id chosen by the caller in advance, so that an interrupted caller can repeat the call: an
// existing task with that id is not an error.
func (q *Queue) SubmitAs(ctx context.Context, id concordat.TaskID, owner, batch string, j Job, notes ...store.AuditNote) error {
	if err := q.SubmitTask(ctx, id, owner, batch, j, notes...); err != nil && !errors.Is(err, concordat.ErrExists) {
		return err
	}
	return nil
}
