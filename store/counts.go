package store

import (
	"context"
	"time"

	"concordat/store/engine"

	"concordat"
)

// DeliveryCounts returns how many deliveries of webhooks there are in each state; a state without any may
// be missing.
func (db *DB) DeliveryCounts(ctx context.Context) (map[DeliveryState]int, error) {
	out := map[DeliveryState]int{}
	_, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (struct{}, error) {
		var state DeliveryState
		var n int
		err := s.Scan(&state, &n)
		out[state] = n
		return struct{}{}, err
	}, `SELECT state, COUNT(*) FROM hook_delivery GROUP BY state`)
	return out, db.fail(err, "count deliveries")
}

// OldestQueued returns when the task was made that has waited longest; zero: none waits.
func (db *DB) OldestQueued(ctx context.Context) (time.Time, error) {
	var made int64
	err := db.read().Row(ctx, `SELECT COALESCE(MIN(made), 0) FROM task WHERE state = ?`, concordat.TaskQueued).Scan(&made)
	return instant(made), db.fail(err, "oldest queued task")
}
