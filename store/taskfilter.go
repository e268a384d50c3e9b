package store

import (
	"context"
	"strings"
	"time"

	"concordat"
)

// TaskFilter says which tasks are listed; what is empty does not count.
type TaskFilter struct {
	Owner  string
	Batch  string
	States []concordat.State
	From   time.Time // made at or after
	To     time.Time // made before
}

// FilterTasks is Tasks of those that the filter lets through.
func (db *DB) FilterTasks(ctx context.Context, f TaskFilter, before int64, limit int) ([]Task, error) {
	if before <= 0 {
		before = 1<<63 - 1
	}
	where, args := `seq < ?`, []any{before}
	add := func(condition string, values ...any) { where, args = where+" AND "+condition, append(args, values...) }
	if f.Owner != "" {
		add(`owner = ?`, f.Owner)
	}
	if f.Batch != "" {
		add(`batch = ?`, f.Batch)
	}
	if len(f.States) > 0 {
		var values []any
		for _, s := range f.States {
			values = append(values, s)
		}
		add(`state IN (?`+strings.Repeat(`, ?`, len(values)-1)+`)`, values...)
	}
	if !f.From.IsZero() {
		add(`made >= ?`, stamp(f.From))
	}
	if !f.To.IsZero() {
		add(`made < ?`, stamp(f.To))
	}
	ts, err := collect(ctx, db.read(), scanTask,
		`SELECT `+taskColumns+` FROM task WHERE `+where+` ORDER BY seq DESC LIMIT ?`, append(args, page(limit))...)
	return ts, db.fail(err, "list tasks")
}
