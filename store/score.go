package store

import (
	"context"
	"strings"

	"concordat/store/engine"

	"concordat"
)

// Score is how much of a submission counts. It is good for the findings and the rules that it was computed from.
type Score struct {
	Revision int64  // of the findings
	Rules    string // digest of the rules, in the caller's own form
	Measured bool   // something was compared
	Covered  float64
}

// PutScore keeps the score of a task in place of the one before. It fails with concordat.ErrNotFound if there is no
// such task.
func (db *DB) PutScore(ctx context.Context, id concordat.TaskID, s Score) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `INSERT INTO score (task, revision, rules, measured, covered) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (task) DO UPDATE SET revision = excluded.revision, rules = excluded.rules, measured = excluded.measured, covered = excluded.covered`,
			id, s.Revision, s.Rules, s.Measured, s.Covered)
		return err
	})
	return db.fail(err, "score of task %s", id)
}

// Scores returns the scores of tasks whose findings have not changed since; of others nothing. At most 500 are asked
// for at once.
func (db *DB) Scores(ctx context.Context, ids []concordat.TaskID) (map[concordat.TaskID]Score, error) {
	out := map[concordat.TaskID]Score{}
	if len(ids) == 0 {
		return out, nil
	}
	args := make([]any, len(ids))
	for i, id := range ids {
		args[i] = id
	}
	type one struct {
		id concordat.TaskID
		Score
	}
	rows, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (r one, err error) {
		return r, s.Scan(&r.id, &r.Revision, &r.Rules, &r.Measured, &r.Covered)
	}, `SELECT s.task, s.revision, s.rules, s.measured, s.covered FROM score s JOIN findings f ON f.task = s.task AND f.revision = s.revision
		WHERE s.task IN (?`+strings.Repeat(`, ?`, len(ids)-1)+`)`, args...)
	for _, r := range rows {
		out[r.id] = r.Score
	}
	return out, db.fail(err, "scores of %d tasks", len(ids))
}
