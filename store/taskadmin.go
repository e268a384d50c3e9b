package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"concordat"
	"concordat/store/engine"
)

// TaskCounts returns the number of tasks in each state; it can omit states without tasks.
func (db *Checks) TaskCounts(ctx context.Context) (map[concordat.State]int, error) {
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

// RetryTask requeues a failed task at its old position. It keeps the number of attempts, which distinguishes each claim from all others.
// It fails with concordat.ErrChanged if the task is in another state, and with concordat.ErrNotFound if there is no such task.
func (db *Checks) RetryTask(ctx context.Context, id concordat.TaskID) error {
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
		return fmt.Errorf("%w: the state of the task is %s", concordat.ErrChanged, state)
	})
	return db.fail(err, "retry task %s", id)
}

// OldestQueued returns when the longest-waiting task was created, or zero if none is waiting.
func (db *Checks) OldestQueued(ctx context.Context) (time.Time, error) {
	var made int64
	err := db.read().Row(ctx, `SELECT COALESCE(MIN(made), 0) FROM task WHERE state = ?`, concordat.TaskQueued).Scan(&made)
	return instant(made), db.fail(err, "find the oldest queued task")
}

// PutTaskProgress records the progress of a task. If the task does not exist, that is not an error.
func (db *Checks) PutTaskProgress(ctx context.Context, id concordat.TaskID, event json.RawMessage) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `INSERT INTO task_progress (task, event) SELECT id, ? FROM task WHERE id = ? AND state = ?
			ON CONFLICT (task) DO UPDATE SET event = excluded.event`, cleanText(string(event)), id, concordat.TaskRunning)
		return err
	})
	return db.fail(err, "progress of task %s", id)
}

// TaskProgress returns the last recorded progress of a task, or concordat.ErrNotFound.
func (db *Checks) TaskProgress(ctx context.Context, id concordat.TaskID) (json.RawMessage, error) {
	var event string
	err := db.read().Row(ctx, `SELECT event FROM task_progress WHERE task = ?`, id).Scan(&event)
	return json.RawMessage(event), db.fail(err, "progress of task %s", id)
}

// TaskFilter selects tasks for a list; empty fields are ignored.
type TaskFilter struct {
	Owner string
	Batch string
	// Without omits tasks whose Batch has this prefix.
	Without string
	States  []concordat.State
	// Stage is the review stage of a check with a report.
	Stage CaseStage
	// Assigned is the reviewer.
	Assigned string
	// Query is part of the task's title, ignoring case.
	Query string
	From  time.Time // created at or after
	To    time.Time // created before
	// Heads omits all checks of a batch except the first match, which represents the batch; it also omits checks created from an archive.
	Heads bool
	// Within restricts the list to the checks of a batch or archive.
	Within string
	// Least is the minimum counted share, 0 to 1, of a check or of the batch it represents; 0 for any share, known or not.
	Least float64
}

// CaseStage is the review stage of a check.
type CaseStage string

// The stages of checks that have a report.
const (
	StageNew     CaseStage = "new"     // no decision yet
	StageReview  CaseStage = "review"  // review has begun, but there is no verdict
	StageDecided CaseStage = "decided" // a verdict exists
	StageSigned  CaseStage = "signed"  // the latest verdict is signed off
)

// caseStages maps stages to SQL conditions. Rules set automatically by a batch do not count as a person's rules.
var caseStages = map[CaseStage]string{
	StageNew:     hasReport + ` AND NOT EXISTS (SELECT 1 FROM review r WHERE r.task = task.id AND ` + byPeople + `)`,
	StageReview:  hasReport + ` AND NOT ` + hasVerdict + ` AND EXISTS (SELECT 1 FROM review r WHERE r.task = task.id AND ` + byPeople + `)`,
	StageDecided: hasReport + ` AND ` + hasVerdict + ` AND NOT ` + hasSignOff,
	StageSigned:  hasReport + ` AND ` + hasVerdict + ` AND ` + hasSignOff,
}

const (
	hasReport  = `state IN ('done', 'partial') AND cause = ''`
	byPeople   = `r.text NOT LIKE 'lineage%'`
	hasVerdict = `EXISTS (SELECT 1 FROM review r WHERE r.task = task.id AND r.kind = 'verdict')`
	hasSignOff = `EXISTS (SELECT 1 FROM review r WHERE r.task = task.id AND r.kind = 'signoff' AND r.seq >
		(SELECT MAX(v.seq) FROM review v WHERE v.task = task.id AND v.kind = 'verdict'))`
	assignedTo = `(SELECT r.data FROM review r WHERE r.task = task.id AND r.kind = 'assign' ORDER BY r.seq DESC LIMIT 1) = ?`
)

// condition returns the filter as an SQL condition, with its arguments.
func (f TaskFilter) condition() (where string, args []any, err error) {
	where = `1 = 1`
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
	if f.Stage != "" {
		condition, ok := caseStages[f.Stage]
		if !ok {
			return "", nil, fmt.Errorf("%w: unknown stage %q", concordat.ErrInvalid, f.Stage)
		}
		add(condition)
	}
	if f.Assigned != "" {
		name, err := json.Marshal(f.Assigned)
		if err != nil {
			return "", nil, err
		}
		add(assignedTo, string(name))
	}
	if f.Query != "" {
		add(`lower(title) LIKE ? ESCAPE '\'`, likeText(f.Query))
	}
	if f.Within != "" {
		add(`(batch = ? OR substr(task.id, 1, ?) = ?)`, f.Within, utf8.RuneCountInString(f.Within)+1, f.Within+"-")
	}
	if f.Least > 0 {
		add(f.score("share")+` >= ?`, f.Least)
	}
	if !f.From.IsZero() {
		add(`made >= ?`, stamp(f.From))
	}
	if !f.To.IsZero() {
		add(`made < ?`, stamp(f.To))
	}
	if f.Heads {
		add(heads(where), args...)
	}
	return where, args, nil
}

// FilterTasks is Tasks restricted to those that match the filter.
func (db *Checks) FilterTasks(ctx context.Context, f TaskFilter, before int64, limit int) ([]Task, error) {
	if before <= 0 {
		before = 1<<63 - 1
	}
	where, args, err := f.condition()
	if err != nil {
		return nil, db.fail(err, "list tasks")
	}
	ts, err := engine.Collect(ctx, db.read(), scanTask,
		`SELECT `+taskColumns+` FROM task WHERE `+where+` AND seq < ? ORDER BY seq DESC LIMIT ?`, append(args, before, page(limit))...)
	return ts, db.fail(err, "list tasks")
}

// TaskSum is the number of tasks in one state; for done tasks, also with one cause.
type TaskSum struct {
	State concordat.State
	Cause Cause // zero for other states, since each failure has a different cause
	Tasks int
}

// SumTasks counts the tasks that match the filter by state, and done tasks also by cause.
func (db *Checks) SumTasks(ctx context.Context, f TaskFilter) ([]TaskSum, error) {
	where, args, err := f.condition()
	if err != nil {
		return nil, db.fail(err, "count tasks by state")
	}
	sums, err := engine.Collect(ctx, db.read(), func(s engine.Scanner) (one TaskSum, err error) {
		var cause string
		if err := s.Scan(&one.State, &cause, &one.Tasks); err != nil {
			return one, err
		}
		one.Cause, err = causeOf(cause)
		return one, err
	}, `SELECT state, CASE state WHEN 'done' THEN cause ELSE '' END AS why, COUNT(*) FROM task WHERE `+where+` GROUP BY state, why`, args...)
	return sums, db.fail(err, "count tasks by state")
}
