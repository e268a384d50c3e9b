package store

import (
	"context"
	"fmt"
	"strings"

	"concordat"
)

// TaskFilter chooses tasks; its zero value chooses all.
type TaskFilter struct {
	State concordat.State // empty: any
	Owner string          // empty: anybody's
	Batch string          // empty: any
}

// FilteredTasks is Tasks of those that the filter chooses.
func (db *DB) FilteredTasks(ctx context.Context, f TaskFilter, before int64, limit int) ([]Task, error) {
	if before <= 0 {
		before = 1<<63 - 1
	}
	where, args := []string{"seq < ?"}, []any{before}
	for _, one := range []struct{ column, value string }{{"state", string(f.State)}, {"owner", f.Owner}, {"batch", f.Batch}} {
		if one.value != "" {
			where, args = append(where, one.column+" = ?"), append(args, one.value)
		}
	}
	ts, err := collect(ctx, db.read(), scanTask,
		`SELECT `+taskColumns+` FROM task WHERE `+strings.Join(where, " AND ")+` ORDER BY seq DESC LIMIT ?`, append(args, page(limit))...)
	return ts, db.fail(err, "list tasks")
}

// TaskCounts returns how many tasks there are in each state; a state without tasks may be missing.
func (db *DB) TaskCounts(ctx context.Context) (map[concordat.State]int, error) {
	type count struct {
		state concordat.State
		n     int
	}
	all, err := collect(ctx, db.read(), func(s scanner) (count, error) {
		var c count
		return c, s.Scan(&c.state, &c.n)
	}, `SELECT state, COUNT(*) FROM task GROUP BY state`)
	out := make(map[concordat.State]int, len(all))
	for _, c := range all {
		out[c.state] = c.n
	}
	return out, db.fail(err, "count tasks")
}

// RetryTask puts a failed task back into the queue at its old place, with its attempts, which tell one claim from
// every other. It fails with concordat.ErrInvalid in another state, and with concordat.ErrNotFound where there is none.
func (db *DB) RetryTask(ctx context.Context, id concordat.TaskID) error {
	err := db.write(ctx, func(c conn) error {
		n, err := c.exec(ctx, `UPDATE task SET state = ?, cause = '', started = 0, finished = 0, lease_until = 0 WHERE id = ? AND state = ?`,
			concordat.TaskQueued, id, concordat.TaskFailed)
		if err != nil || n == 1 {
			return err
		}
		var state string
		if err := c.row(ctx, `SELECT state FROM task WHERE id = ?`, id).Scan(&state); err != nil {
			return err
		}
		return fmt.Errorf("%w: it is %s", concordat.ErrInvalid, state)
	})
	return db.fail(err, "retry task %s", id)
}
