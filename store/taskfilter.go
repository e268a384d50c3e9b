package store

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"concordat/store/engine"

	"concordat"
)

// TaskFilter says which tasks are listed; what is empty does not count.
type TaskFilter struct {
	Owner string
	Batch string
	// Without leaves tasks out whose Batch begins so.
	Without string
	States  []concordat.State
	From    time.Time // made at or after
	To      time.Time // made before
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
	if f.Without != "" {
		add(`substr(batch, 1, ?) <> ?`, utf8.RuneCountInString(f.Without), f.Without)
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
	ts, err := engine.Collect(ctx, db.read(), scanTask,
		`SELECT `+taskColumns+` FROM task WHERE `+where+` ORDER BY seq DESC LIMIT ?`, append(args, page(limit))...)
	return ts, db.fail(err, "list tasks")
}
