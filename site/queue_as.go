package site

import (
	"context"
	"errors"

	"concordat"
	"concordat/store"
)

// SubmitAs is like Submit, with a task ID that the caller chose in advance, so that an interrupted caller can repeat the call. It is not
// an error if the task exists.
func (q *Queue) SubmitAs(ctx context.Context, id concordat.TaskID, owner, batch string, j Job, notes ...store.AuditNote) error {
	if err := q.SubmitTask(ctx, id, owner, batch, j, notes...); err != nil && !errors.Is(err, concordat.ErrExists) {
		return err
	}
	return nil
}
