package store

import (
	"context"
	"fmt"

	"concordat/store/engine"

	"concordat"
)

// TaskCounts returns how many tasks there are in each state; a state without tasks may be missing.
func (db *DB) TaskCounts(ctx context.Context) (map[concordat.State]int, error) {
	type count struct {
		state concordat.State
		n     int
	}
	all, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (count, error) {
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
	err := db.write(ctx, func(c engine.Conn) error {
		n, err := c.Exec(ctx, `UPDATE task SET state = ?, cause = '', started = 0, finished = 0, lease_until = 0 WHERE id = ? AND state = ?`,
			concordat.TaskQueued, id, concordat.TaskFailed)
		if err != nil || n == 1 {
			return err
		}
		var state string
		if err := c.Row(ctx, `SELECT state FROM task WHERE id = ?`, id).Scan(&state); err != nil {
			return err
		}
		return fmt.Errorf("%w: it is %s", concordat.ErrInvalid, state)
	})
	return db.fail(err, "retry task %s", id)
}
