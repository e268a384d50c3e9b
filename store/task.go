package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"time"

	"concordat"
	"concordat/store/engine"
)

// ErrLease means that the task no longer belongs to this worker; another worker may have it. The worker must drop its work.
var ErrLease = errors.New("the lease has been lost")

// MaxAttempts is how many times a task is started before it is given up, so that a task that kills its worker does not keep doing so.
const MaxAttempts = 3

// Task is a check and its place in the queue.
type Task struct {
	concordat.Task
	Owner string // account that submitted it; empty for the command line
	Batch string // common name of tasks submitted together; can be empty
	// Request instructs the worker, in the caller's format.
	Request []byte
	// File is the hash of the file that the task needs, for CreateTask and StartTask; see Originals. It is not read back.
	File string
	// Files contains the hashes of any further files, without duplicates.
	Files []string

	// The store sets the remaining fields.

	Seq      int64     // order of creation, from 1
	Cause    Cause     // why it ended; zero if it has not ended, or ended normally
	Started  time.Time // start of the latest attempt; zero for never
	Finished time.Time // zero if it has not finished
	Attempts int       // number of attempts; with Worker, it distinguishes each claim from all others
	Worker   string    // worker that has or had the task
	Lease    time.Time // end of the claim; zero if the task is not running
}

const taskColumns = `seq, id, state, title, cause, request, made, started, finished, attempts, worker, lease_until, owner, batch`

func scanTask(s engine.Scanner) (Task, error) {
	var t Task
	var made, started, finished, lease int64
	var cause string
	err := s.Scan(&t.Seq, &t.ID, &t.State, &t.Title, &cause, &t.Request, &made, &started, &finished,
		&t.Attempts, &t.Worker, &lease, &t.Owner, &t.Batch)
	t.Made, t.Started, t.Finished, t.Lease = instant(made), instant(started), instant(finished), instant(lease)
	if err == nil {
		t.Cause, err = causeOf(cause)
	}
	return t, err
}

// CreateTask adds a task to the end of the queue; it reads ID, Title, Made, Owner, Batch and Request of t. If the id exists, it fails
// with concordat.ErrExists.
func (db *Checks) CreateTask(ctx context.Context, t Task) error {
	_, err := db.insertTask(ctx, t, concordat.TaskQueued, "", 0)
	return db.fail(err, "create task %s", t.ID)
}

// CreateTasks is like CreateTask for several tasks, in one transaction.
func (db *Checks) CreateTasks(ctx context.Context, ts []Task) error {
	err := db.write(ctx, func(c engine.Conn) error {
		for _, t := range ts {
			if _, err := insertTaskIn(ctx, c, t, concordat.TaskQueued, "", 0, 0); err != nil {
				return fmt.Errorf("task %s: %w", t.ID, err)
			}
		}
		return nil
	})
	return db.fail(err, "create %d tasks", len(ts))
}

// StartTask combines CreateTask and ClaimTask, so that no other worker gets the task while the lease lasts.
func (db *Checks) StartTask(ctx context.Context, t Task, worker string, lease time.Duration) (Task, error) {
	if err := checkClaim(worker, lease); err != nil {
		return Task{}, db.fail(err, "start task %s", t.ID)
	}
	t, err := db.insertTask(ctx, t, concordat.TaskRunning, worker, lease)
	return t, db.fail(err, "start task %s", t.ID)
}

func (db *Checks) insertTask(ctx context.Context, t Task, state concordat.State, worker string, lease time.Duration) (Task, error) {
	var started, until int64
	if state == concordat.TaskRunning {
		now := db.now()
		started, until = stamp(now), stamp(now.Add(lease))
	}
	var out Task
	err := db.write(ctx, func(c engine.Conn) (err error) {
		out, err = insertTaskIn(ctx, c, t, state, worker, started, until)
		return err
	})
	return out, err
}

func insertTaskIn(ctx context.Context, c engine.Conn, t Task, state concordat.State, worker string, started, until int64) (Task, error) {
	if err := checkName("task", t.ID); err != nil {
		return t, err
	}
	attempts := 0
	if state == concordat.TaskRunning {
		attempts = 1
	}
	request, files := t.Request, t.Files
	if t.File != "" {
		files = append([]string{t.File}, files...)
	}
	if request == nil {
		request = []byte{} // the column does not allow NULL
	}
	t, err := scanTask(c.Row(ctx, `INSERT INTO task
		(id, state, title, cause, request, made, started, finished, attempts, worker, lease_until, owner, batch)
		VALUES (?, ?, ?, '', ?, ?, ?, 0, ?, ?, ?, ?, ?) RETURNING `+taskColumns,
		t.ID, state, cleanText(t.Title), request, stamp(t.Made), started, attempts, worker, until, cleanText(t.Owner), cleanText(t.Batch)))
	for _, file := range files {
		if err == nil {
			_, err = c.Exec(ctx, `INSERT INTO original (hash, task) VALUES (?, ?)`, file, t.ID)
		}
	}
	return t, err
}

// Lane is one of the two queues for tasks, so that additions to libraries do not delay checks.
type Lane string

// The lanes; the zero value covers all tasks.
const (
	LaneChecks Lane = "checks"
	LaneAdding Lane = "adding" // tasks with a Batch that begins with AddingBatch
	// LaneSpare is the part of LaneChecks for a spare worker: the checks of owners without a running one.
	LaneSpare Lane = "spare"
)

// AddingBatch begins the Batch of tasks that add to a library; the library's name follows.
const AddingBatch = "library "

// where returns the SQL condition for tasks in the lane.
func (l Lane) where() string {
	switch l {
	case LaneChecks, LaneSpare:
		return ` AND batch NOT LIKE '` + AddingBatch + `%'`
	case LaneAdding:
		return ` AND batch LIKE '` + AddingBatch + `%'`
	}
	return ""
}

// lane returns the task's lane.
func (t Task) lane() Lane {
	if strings.HasPrefix(t.Batch, AddingBatch) {
		return LaneAdding
	}
	return LaneChecks
}

// turns selects, for each owner with queued tasks in the lane, the number of those tasks (n), the first of them, the number of the
// owner's running tasks, and when the last one started. Its placeholders are TaskQueued and TaskRunning.
func (l Lane) turns() string {
	return `(SELECT q.owner, q.n, q.first, COALESCE(r.n, 0) AS running,
		COALESCE((SELECT started FROM task WHERE owner = q.owner` + l.where() + ` ORDER BY started DESC LIMIT 1), 0) AS began
		FROM (SELECT owner, COUNT(*) AS n, MIN(seq) AS first FROM task WHERE state = ?` + l.where() + ` GROUP BY owner) AS q
		LEFT JOIN (SELECT owner, COUNT(*) AS n FROM task WHERE state = ?` + l.where() + ` GROUP BY owner) AS r ON r.owner = q.owner) AS turn`
}

// turnOrder determines whose turn it is: owners with fewer running tasks come first and, among equals, the one whose last task started
// longest ago. An owner without a running task waits for at most one task of each other owner, however many tasks those owners have
// queued.
const turnOrder = `running, began, first`

func checkClaim(worker string, lease time.Duration) error {
	if lease <= 0 {
		return fmt.Errorf("%w: the lease must be positive, but is %s", concordat.ErrInvalid, lease)
	}
	return checkName("worker", worker)
}

// ClaimTask gives the worker a task in the lane to run until the lease ends: a running task with an expired lease (its worker crashed),
// or the oldest queued task of the owner whose turn it is. If there is none, it fails with concordat.ErrNotFound. No two workers ever
// have the same task. Tasks started MaxAttempts times are marked as failed.
func (db *Checks) ClaimTask(ctx context.Context, lane Lane, worker string, lease time.Duration) (Task, error) {
	if err := checkClaim(worker, lease); err != nil {
		return Task{}, db.fail(err, "claim task")
	}
	givenUp, err := Cause{Code: CauseGivenUp, Numbers: []int{MaxAttempts}}.column()
	if err != nil {
		return Task{}, db.fail(err, "claim task")
	}
	now := db.now()
	next := `SELECT first FROM ` + lane.turns() + ` ORDER BY ` + turnOrder + ` LIMIT 1`
	if lane == LaneSpare {
		next = `SELECT first FROM ` + lane.turns() + ` WHERE running = 0 ORDER BY ` + turnOrder + ` LIMIT 1`
	}
	var t Task
	none := false
	err = db.write(ctx, func(c engine.Conn) error {
		given, err := engine.Collect(ctx, c, func(s engine.Scanner) (id concordat.TaskID, err error) { return id, s.Scan(&id) },
			`UPDATE task SET state = ?, cause = ?, finished = ?, lease_until = 0
			WHERE state = ? AND lease_until <= ? AND attempts >= ? RETURNING id`,
			concordat.TaskFailed, givenUp, stamp(now), concordat.TaskRunning, stamp(now), MaxAttempts)
		for _, id := range given {
			if err == nil {
				err = db.taskEnded(ctx, c, id, nil)
			}
		}
		if err != nil {
			return err
		}
		t, err = scanTask(c.Row(ctx, `UPDATE task
			SET state = ?, worker = ?, started = ?, lease_until = ?, attempts = attempts + 1
			WHERE seq = COALESCE(
				(SELECT seq FROM task WHERE state = ? AND lease_until <= ?`+lane.where()+` ORDER BY seq LIMIT 1), (`+next+`))
			RETURNING `+taskColumns,
			concordat.TaskRunning, worker, stamp(now), stamp(now.Add(lease)),
			concordat.TaskRunning, stamp(now), concordat.TaskQueued, concordat.TaskRunning))
		if errors.Is(err, sql.ErrNoRows) { // an abandoned task remains abandoned
			none = true
			return nil
		}
		return err
	})
	if err == nil && none {
		err = concordat.ErrNotFound
	}
	return t, db.fail(err, "claim task")
}

// changeClaimed runs an UPDATE of the task claimed by t. It fails with ErrLease if the claim has ended, and with concordat.ErrNotFound if
// the task is gone. A task whose lease has expired still belongs to t until another worker claims it.
func (db *Checks) changeClaimed(ctx context.Context, t Task, set string, args ...any) error {
	return db.write(ctx, func(c engine.Conn) error { return db.changeClaimedIn(ctx, c, t, set, args...) })
}

func (db *Checks) changeClaimedIn(ctx context.Context, c engine.Conn, t Task, set string, args ...any) error {
	args = append(args, t.ID, concordat.TaskRunning, t.Worker, t.Attempts)
	n, err := c.Exec(ctx, `UPDATE task SET `+set+` WHERE id = ? AND state = ? AND worker = ? AND attempts = ?`, args...)
	if err != nil || n == 1 {
		return err
	}
	var id string
	if err := c.Row(ctx, `SELECT id FROM task WHERE id = ?`, t.ID).Scan(&id); err != nil {
		return err
	}
	return ErrLease
}

// RenewTask extends the claim t by another lease from now. If the task has gone to another worker or has ended, it fails with ErrLease.
func (db *Checks) RenewTask(ctx context.Context, t Task, lease time.Duration) error {
	if err := checkClaim(t.Worker, lease); err != nil {
		return db.fail(err, "renew task %s", t.ID)
	}
	err := db.changeClaimed(ctx, t, `lease_until = ?`, stamp(db.now().Add(lease)))
	return db.fail(err, "renew task %s", t.ID)
}

// RetitleTask gives the claimed task t a new title, namely its document's, once the document is read. It fails with ErrLease like
// RenewTask.
func (db *Checks) RetitleTask(ctx context.Context, t Task, title string) error {
	return db.fail(db.changeClaimed(ctx, t, `title = ?`, cleanText(title)), "rename task %s", t.ID)
}

// RewriteTask gives the claimed task t a new request, which includes the results of reading its files. It fails with ErrLease like
// RenewTask.
func (db *Checks) RewriteTask(ctx context.Context, t Task, request []byte) error {
	return db.fail(db.changeClaimed(ctx, t, `request = ?`, request), "rewrite task %s", t.ID)
}

// ReleaseTask returns the claimed task t to its place in the queue, as if it had not been started, for a worker that shuts down. It fails
// with ErrLease like RenewTask.
func (db *Checks) ReleaseTask(ctx context.Context, t Task) error {
	err := db.changeClaimed(ctx, t, `state = ?, lease_until = 0, attempts = attempts - 1`, concordat.TaskQueued)
	return db.fail(err, "release task %s", t.ID)
}

// FinishTask ends the claimed task t as done, partial or failed, with the cause, if any. It fails with ErrLease like RenewTask.
func (db *Checks) FinishTask(ctx context.Context, t Task, state concordat.State, cause Cause) error {
	return db.finishTask(ctx, t, state, cause, nil)
}

// FinishCheck is like FinishTask, for a check that has a report. The number of its leads is reported to webhooks; it is nil if leads were
// not requested.
func (db *Checks) FinishCheck(ctx context.Context, t Task, state concordat.State, leads *concordat.LeadCount) error {
	return db.finishTask(ctx, t, state, Cause{}, leads)
}

func (db *Checks) finishTask(ctx context.Context, t Task, state concordat.State, cause Cause, leads *concordat.LeadCount) error {
	switch state {
	case concordat.TaskDone, concordat.TaskPartial, concordat.TaskFailed:
	default:
		return db.fail(fmt.Errorf("%w: %q is not a final state", concordat.ErrInvalid, state), "finish task %s", t.ID)
	}
	text, err := cause.column()
	if err != nil {
		return db.fail(err, "finish task %s", t.ID)
	}
	var all, open, counted *int // NULL without leads
	if leads != nil {
		all, open, counted = &leads.All, &leads.Open, &leads.Counted
	}
	err = db.write(ctx, func(c engine.Conn) error {
		err := db.changeClaimedIn(ctx, c, t, `state = ?, cause = ?, finished = ?, lease_until = 0, leads = ?, leads_open = ?, leads_counted = ?`,
			state, text, stamp(db.now()), all, open, counted)
		if err != nil {
			return err
		}
		return db.taskEnded(ctx, c, t.ID, leads)
	})
	return db.fail(err, "finish task %s", t.ID)
}

// Task returns a task, or concordat.ErrNotFound.
func (db *Checks) Task(ctx context.Context, id concordat.TaskID) (Task, error) {
	t, err := scanTask(db.read().Row(ctx, `SELECT `+taskColumns+` FROM task WHERE id = ?`, id))
	return t, db.fail(err, "task %s", id)
}

// Tasks returns tasks, newest first, starting before the one with Seq before (0 for the newest), up to limit, or up to MaxPage if limit
// is 0 or exceeds it. Tasks created in the meantime do not shift the next page.
func (db *Checks) Tasks(ctx context.Context, before int64, limit int) ([]Task, error) {
	if before <= 0 {
		before = 1<<63 - 1
	}
	ts, err := engine.Collect(ctx, db.read(), scanTask,
		`SELECT `+taskColumns+` FROM task WHERE seq < ? ORDER BY seq DESC LIMIT ?`, before, page(limit))
	return ts, db.fail(err, "list tasks")
}

// Ahead returns two numbers: the queued tasks in the lane that will be claimed before queued task t if none is added and each ends before
// the next is claimed, and the running tasks.
func (db *Checks) Ahead(ctx context.Context, t Task) (queued, running int, err error) {
	type turn struct {
		owner                    string
		n, first, running, began int64
	}
	read := db.read()
	var before int64 // its owner's queued tasks before it
	err = read.Row(ctx, `SELECT
		(SELECT COUNT(*) FROM task WHERE state = ? AND owner = ? AND seq < ?`+t.lane().where()+`),
		(SELECT COUNT(*) FROM task WHERE state = ?`+t.lane().where()+`)`,
		concordat.TaskQueued, t.Owner, t.Seq, concordat.TaskRunning).Scan(&before, &running)
	if err != nil {
		return 0, 0, db.fail(err, "count tasks before %s", t.ID)
	}
	turns, err := engine.Collect(ctx, read, func(s engine.Scanner) (x turn, err error) {
		return x, s.Scan(&x.owner, &x.n, &x.first, &x.running, &x.began)
	}, `SELECT owner, n, first, running, began FROM `+t.lane().turns()+` ORDER BY `+turnOrder, concordat.TaskQueued, concordat.TaskRunning)
	if err != nil {
		return 0, 0, db.fail(err, "count tasks before %s", t.ID)
	}
	all, each := before, before+1 // an owner before t's has one more turn than an owner after it
	for _, x := range turns {
		if x.owner == t.Owner {
			each = before
			continue
		}
		all += min(x.n, each)
	}
	return int(all), running, nil
}

// CancelTask ends a queued or running task as failed, with the cause; its worker then gets ErrLease. It has no effect on a task that has
// ended. If there is no such task, it fails with concordat.ErrNotFound.
func (db *Checks) CancelTask(ctx context.Context, id concordat.TaskID, cause Cause) error {
	text, err := cause.column()
	if err != nil {
		return db.fail(err, "cancel task %s", id)
	}
	err = db.write(ctx, func(c engine.Conn) error {
		n, err := c.Exec(ctx, `UPDATE task SET state = ?, cause = ?, finished = ?, lease_until = 0 WHERE id = ? AND state IN (?, ?)`,
			concordat.TaskFailed, text, stamp(db.now()), id, concordat.TaskQueued, concordat.TaskRunning)
		if err == nil && n == 1 {
			return db.taskEnded(ctx, c, id, nil)
		}
		if err != nil {
			return err
		}
		var found string
		return c.Row(ctx, `SELECT id FROM task WHERE id = ?`, id).Scan(&found)
	})
	return db.fail(err, "cancel task %s", id)
}

// ReclaimTasks requeues the worker's running tasks, for a worker that is starting and knows that no other worker with its name is
// running. ClaimTask gives up a task started MaxAttempts times.
func (db *Checks) ReclaimTasks(ctx context.Context, worker string) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `UPDATE task SET lease_until = 1 WHERE state = ? AND worker = ?`, concordat.TaskRunning, worker)
		return err
	})
	return db.fail(err, "reclaim tasks of %s", worker)
}

// DeleteTask deletes a task in any state, with its findings and results; its worker then gets concordat.ErrNotFound. If the task does not
// exist, that is not an error.
func (db *Checks) DeleteTask(ctx context.Context, id concordat.TaskID) error {
	err := db.write(ctx, func(c engine.Conn) error {
		_, err := c.Exec(ctx, `DELETE FROM task WHERE id = ?`, id)
		return err
	})
	return db.fail(err, "delete task %s", id)
}
