package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"concordat"
	"concordat/store/engine"
)

// The kinds of repeated checks.
const (
	RecheckCheck = "check"
	RecheckBatch = "batch"
)

// Recheck is a scheduled repetition of a check or batch.
type Recheck struct {
	Kind   string // RecheckCheck or RecheckBatch
	Target string // ID of the task or batch
	Owner  string
	Every  int             // interval in days; 0 for once, at Next
	Next   time.Time       // zero for never again
	Latest string          // newest task of a check; empty for the target itself
	Due    string          // running task; empty if none
	Fresh  json.RawMessage // sources that were new in the latest run, in the caller's format
	Ran    time.Time       // time of the last repetition; zero for never
}

const recheckColumns = `kind, target, owner, every, next, latest, due, fresh, ran`

func scanRecheck(s engine.Scanner) (Recheck, error) {
	var r Recheck
	var next, ran int64
	var fresh string
	err := s.Scan(&r.Kind, &r.Target, &r.Owner, &r.Every, &next, &r.Latest, &r.Due, &fresh, &ran)
	r.Next, r.Ran, r.Fresh = instant(next), instant(ran), json.RawMessage(fresh)
	return r, err
}

// PutRecheck schedules the repetition of a check or batch, replacing any earlier schedule.
func (db *Alerts) PutRecheck(ctx context.Context, r Recheck) error {
	err := checkName("target", r.Target)
	switch {
	case err != nil:
	case r.Kind != RecheckCheck && r.Kind != RecheckBatch:
		err = fmt.Errorf("%w: unknown kind %q", concordat.ErrInvalid, r.Kind)
	case r.Every < 0:
		err = fmt.Errorf("%w: the interval must not be negative, but is %d days", concordat.ErrInvalid, r.Every)
	default:
		err = db.write(ctx, func(c engine.Conn) error {
			_, err := c.Exec(ctx, `INSERT INTO recheck (`+recheckColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT (kind, target) DO UPDATE SET owner = excluded.owner, every = excluded.every, next = excluded.next, latest = excluded.latest,
				due = excluded.due, fresh = excluded.fresh, ran = excluded.ran`,
				r.Kind, r.Target, cleanText(r.Owner), r.Every, stamp(r.Next), r.Latest, r.Due, jsonText(r.Fresh), stamp(r.Ran))
			return err
		})
	}
	return db.fail(err, "recheck of %s %s", r.Kind, r.Target)
}

// Recheck returns the schedule of a check or batch, or concordat.ErrNotFound.
func (db *Alerts) Recheck(ctx context.Context, kind, target string) (Recheck, error) {
	r, err := scanRecheck(db.read().Row(ctx, `SELECT `+recheckColumns+` FROM recheck WHERE kind = ? AND target = ?`, kind, target))
	return r, db.fail(err, "recheck of %s %s", kind, target)
}

// DueRechecks returns the repetitions that are due by now or running, earliest first.
func (db *Alerts) DueRechecks(ctx context.Context, now time.Time) ([]Recheck, error) {
	rs, err := engine.Collect(ctx, db.read(), scanRecheck,
		`SELECT `+recheckColumns+` FROM recheck WHERE next > 0 AND next <= ? OR due <> '' ORDER BY next, kind, target LIMIT ?`, stamp(now),
		MaxPage)
	return rs, db.fail(err, "list checks to repeat")
}

// Rechecks returns all repetitions, past and future, ordered by kind and target.
func (db *Alerts) Rechecks(ctx context.Context) ([]Recheck, error) {
	rs, err := engine.Collect(ctx, db.read(), scanRecheck, `SELECT `+recheckColumns+` FROM recheck ORDER BY kind, target LIMIT ?`, MaxPage)
	return rs, db.fail(err, "list checks to repeat")
}

// DeleteRecheck deletes a repetition. If it does not exist, that is not an error.
func (db *Alerts) DeleteRecheck(ctx context.Context, kind, target string) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `DELETE FROM recheck WHERE kind = ? AND target = ?`, kind, target)
		return err
	})
	return db.fail(err, "recheck of %s %s", kind, target)
}
