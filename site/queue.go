package site

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"concordat"
	"concordat/report"
	"concordat/store"
)

// Job describes a queued check. It is stored with its task as JSON.
type Job struct {
	Name      string                `json:"name"`              // name of the submitted file
	File      string                `json:"file,omitempty"`    // hash of the original; if empty, see Text
	Text      string                `json:"text,omitempty"`    // pasted text, or a member's text
	Title     string                `json:"title,omitempty"`   // empty means the file's own title, or else Name
	Authors   []concordat.Creator   `json:"authors,omitempty"` // empty means the authors named in the file
	Flags     []concordat.Flag      `json:"flags,omitempty"`   // flags about Text
	Libraries []concordat.LibraryID `json:"libraries,omitempty"`
	Template  string                `json:"template,omitempty"` // name of a section template
	Forward   string                `json:"forward,omitempty"`
	Partners  []concordat.SiteID    `json:"partners,omitempty"` // partners to ask
	Purpose   string                `json:"purpose,omitempty"`  // purpose stated to them
	// PartnerLibraries lists individual partner libraries to ask, as SITE/LIBRARY; Partners are asked about all the libraries they open.
	PartnerLibraries []string       `json:"partner_libraries,omitempty"`
	Level            concordat.Show `json:"level,omitempty"`    // highest level that partners are asked to disclose; empty means metadata
	Deadline         time.Duration  `json:"deadline,omitempty"` // time limit per partner; 0 means DefaultDeadline
	// Exclude lists documents never to be reported, for example earlier versions of the submission.
	Exclude []concordat.Ref `json:"exclude,omitempty"`
	// Rules are the report's initial rules; nil means the site's rules.
	Rules *report.Rules `json:"rules,omitempty"`
	Short bool          `json:"short,omitempty"` // also compare titles, headings and answers, whatever the site's setting
	// NoStore means that text and original are deleted once the report is complete.
	NoStore bool `json:"no_store,omitempty"`
	// Standing means that later documents that match raise an alert, here and at the partners asked.
	Standing bool `json:"standing,omitempty"`
	// Fault is the reason why there is no text to check, which makes the task fail.
	Fault store.Cause `json:"fault,omitzero"`
	// Parts are the files that form one submission, in order, in place of File and Text.
	Parts []Part `json:"parts,omitempty"`
	// Into is the library to which the texts are added instead of being checked, or empty.
	Into concordat.LibraryID `json:"into,omitempty"`
	// From is the check whose submission is to be added, in place of a file or Text, or empty.
	From concordat.TaskID `json:"from,omitempty"`
	// Again is the check that this one repeats, or empty. The repetition is not compared with the document created from that check.
	Again concordat.TaskID `json:"again,omitempty"`
	// LeftOut records the files left out of the submitted archives that have been read.
	LeftOut concordat.LeftOut `json:"left_out,omitzero"`
}

// Part is one of several files or texts that form one submission.
type Part struct {
	Name string `json:"name"`           // name of the submitted file
	File string `json:"file,omitempty"` // hash of the original; if empty, see Text
	Text string `json:"text,omitempty"` // pasted text
}

// HasOriginals reports whether submitted files are stored for the job.
func (j *Job) HasOriginals() bool {
	return j.File != "" || slices.ContainsFunc(j.Parts, func(p Part) bool { return p.File != "" })
}

// HasText reports whether the job itself contains text.
func (j *Job) HasText() bool {
	return j.Text != "" || slices.ContainsFunc(j.Parts, func(p Part) bool { return p.Text != "" })
}

// Item is one text from a job's file, or the reason why there is none.
type Item struct {
	Submission
	Author string // from the file's metadata; empty if unknown
	Err    error
	// LeftOut records the files left out of the archive before this text.
	LeftOut concordat.LeftOut
}

// These are the stages of a queued check, in addition to Check's own.
const (
	StageRead  = "read"
	StageEnded = "ended"
)

// Event is the progress of a task.
type Event struct {
	Task     concordat.TaskID `json:"task"`
	State    concordat.State  `json:"state"`
	Progress `json:"progress"`
	// Partners is the progress of each partner contacted so far, in order of first contact. Readers must not modify it.
	Partners []PartnerProgress `json:"partners,omitempty"`
}

// PartnerProgress is the progress of one partner in a check.
type PartnerProgress struct {
	Site   concordat.SiteID `json:"site"`
	State  PartnerState     `json:"state"`
	Reason concordat.Reason `json:"reason,omitempty"` // why the answer is incomplete
}

// QueueOptions configure a Queue. Store, Read and Options are mandatory.
type QueueOptions struct {
	Store *store.DB
	// Worker identifies this process among the site's processes; empty means serve.
	Worker string
	// Read returns the texts in the job's file; a part without text becomes an Item with Err.
	Read func(ctx context.Context, j Job) ([]Item, error)
	// Options returns the options for the job's check; done, if not nil, is called after the check.
	Options func(ctx context.Context, j Job) (o CheckOptions, done func(), err error)
	// Hold, if not nil, is called before a task begins. As long as it returns an error, queued tasks wait.
	Hold func() error
	// Admit, if not nil, is called once the texts of a task are read and before they are compared; an error, for example from a quota,
	// ends the task and becomes its cause.
	Admit func(ctx context.Context, t store.Task, j Job, items []Item) error
	// Discard, if not nil, is called after a task with NoStore has ended, and removes its text and original. Whatever it misses is
	// removed by a sweep of package retain.
	Discard func(ctx context.Context, id concordat.TaskID) error
	// Begun, if not nil, is called when a task begins, with the time it waited; Told, if not nil, is called with every event. Both must
	// return quickly and be safe for concurrent use.
	Begun func(wait time.Duration)
	Told  func(Event)
	// Panicked, if not nil, is called after a task ended in a panic, which is logged and fails only that task.
	Panicked func()
	// Checks is the number of checks run at once; the default is one. Once all of them have run for Long, spare workers start checks for
	// people who have none running. A separate worker handles additions to libraries.
	Checks int
	Long   time.Duration // 0 means 10 s
	// Grace is how long a running task can continue after Run's context ends; the default is 20 s.
	Grace  time.Duration
	Logger *slog.Logger // nil disables logging
}

// Queue runs submitted checks, taking turns between people, and survives restarts of the process; interrupted checks start over. Its
// methods are safe for concurrent use.
type Queue struct {
	site *Site
	o    QueueOptions
	wake map[store.Lane]chan struct{} // contains a token if there might be a new task

	mu       sync.Mutex // protects the following fields
	running  map[concordat.TaskID]begun
	latest   map[concordat.TaskID]Event // latest event of each running task
	watchers map[concordat.TaskID]map[chan Event]bool
	workers  int       // number of running workers
	holding  error     // why no task begins; nil if tasks are not on hold
	released time.Time // when memory was last returned to the operating system
	rested   uint64    // result of heapHeld at that time, or the minimum since
}

const (
	queueLease = time.Minute
	// spareWorkers is the maximum number of additional checks that run while others take long, which also limits memory.
	spareWorkers = 2
	longCheck    = 10 * time.Second
	stopGrace    = 20 * time.Second
	// shareEvery is how often a task's progress is shared with other processes.
	shareEvery = time.Second
	QueuePoll  = 2 * time.Second // for tasks submitted by another process
)

// NewQueue returns a queue for checks by s. Run starts running them.
func (s *Site) NewQueue(o QueueOptions) *Queue {
	o.Worker = cmp.Or(o.Worker, "serve")
	o.Checks, o.Long, o.Grace = cmp.Or(o.Checks, 1), cmp.Or(o.Long, longCheck), cmp.Or(o.Grace, stopGrace)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Queue{site: s, o: o, wake: map[store.Lane]chan struct{}{store.LaneChecks: make(chan struct{}, 1),
		store.LaneSpare: make(chan struct{}, 1), store.LaneAdding: make(chan struct{}, 1)}, running: map[concordat.TaskID]begun{},
		latest: map[concordat.TaskID]Event{}, watchers: map[concordat.TaskID]map[chan Event]bool{}}
}

// Submit appends a check to the queue and returns its task. The check is durable once Submit returns.
func (q *Queue) Submit(ctx context.Context, owner, batch string, j Job) (concordat.TaskID, error) {
	id := concordat.TaskID(strings.ToLower(rand.Text()))
	return id, q.SubmitTask(ctx, id, owner, batch, j)
}

// SubmitAll submits several checks as Submit does, either all of them or none. Checks whose job has a Fault have ended by the time it
// returns. No check ends before all are in the queue, so that the end of a batch is reported once. also, if not nil, makes further
// changes and audit entries in the transaction that queues the tasks.
func (q *Queue) SubmitAll(ctx context.Context, owner, batch string, jobs []Job,
	also func(tx *store.DB, ids []concordat.TaskID) error) ([]concordat.TaskID, error) {
	var tasks []store.Task
	var ids []concordat.TaskID
	for _, j := range jobs {
		t, err := q.task(concordat.TaskID(strings.ToLower(rand.Text())), owner, batch, j)
		if err != nil {
			return nil, err
		}
		tasks, ids = append(tasks, t), append(ids, t.ID)
	}
	err := q.o.Store.Atomic(ctx, func(tx *store.DB) error {
		if err := tx.Checks.CreateTasks(ctx, tasks); err != nil || also == nil {
			return err
		}
		return also(tx, ids)
	})
	if err != nil {
		return nil, err
	}
	q.wakeAll()
	for i, j := range jobs {
		if j.Fault.IsZero() {
			continue
		}
		if err := q.Cancel(context.WithoutCancel(ctx), ids[i], j.Fault); err != nil { // no need to wait for its turn
			return ids, err
		}
	}
	return ids, nil
}

func (q *Queue) task(id concordat.TaskID, owner, batch string, j Job) (store.Task, error) {
	request, err := json.Marshal(j)
	if err != nil {
		return store.Task{}, fmt.Errorf("submit: %w", err)
	}
	t := store.Task{Task: concordat.Task{ID: id, Title: cmp.Or(j.Title, j.Name), Made: q.site.o.Now()}, Owner: owner, Batch: batch,
		Request: request, File: j.File}
	for _, p := range j.Parts {
		if p.File != "" && !slices.Contains(t.Files, p.File) {
			t.Files = append(t.Files, p.File)
		}
	}
	return t, nil
}

// SubmitTask is like Submit, with a task ID chosen by the caller. If the task exists, it fails with ErrExists. The notes become audit
// entries in the same transaction.
func (q *Queue) SubmitTask(ctx context.Context, id concordat.TaskID, owner, batch string, j Job, notes ...store.AuditNote) error {
	t, err := q.task(id, owner, batch, j)
	if err == nil {
		err = q.noted(ctx, notes, func(s *store.DB) error { return s.Checks.CreateTask(ctx, t) })
	}
	if err == nil {
		q.wakeAll()
	}
	return err
}

// noted changes the store and writes the corresponding audit entries in one transaction.
func (q *Queue) noted(ctx context.Context, notes []store.AuditNote, change func(*store.DB) error) error {
	if len(notes) == 0 {
		return change(q.o.Store)
	}
	return q.o.Store.Atomic(ctx, func(tx *store.DB) error {
		if err := change(tx); err != nil {
			return err
		}
		return tx.Audit.Notes(ctx, notes...)
	})
}

// wakeAll wakes all workers that are waiting for a task.
func (q *Queue) wakeAll() {
	for _, wake := range q.wake {
		select {
		case wake <- struct{}{}:
		default: // a worker will check soon anyway
		}
	}
}

// begun is a task being run by a worker.
type begun struct {
	stop  context.CancelFunc
	lane  store.Lane
	since time.Time
}

// Retry requeues a failed task at its old position. It fails with concordat.ErrInvalid if the task has not failed. The notes become audit
// entries in the same transaction.
func (q *Queue) Retry(ctx context.Context, id concordat.TaskID, notes ...store.AuditNote) error {
	if err := q.noted(ctx, notes, func(s *store.DB) error { return s.Checks.RetryTask(ctx, id) }); err != nil {
		return err
	}
	q.wakeAll()
	return nil
}

// Cancel ends a task that is queued or running, and has no effect on one that has ended. The notes become audit entries in the same
// transaction.
func (q *Queue) Cancel(ctx context.Context, id concordat.TaskID, cause store.Cause, notes ...store.AuditNote) error {
	if err := q.noted(ctx, notes, func(s *store.DB) error { return s.Checks.CancelTask(ctx, id, cause) }); err != nil {
		return err
	}
	q.mu.Lock()
	b, running := q.running[id]
	q.mu.Unlock()
	if running {
		b.stop()
	}
	q.tell(Event{Task: id, State: concordat.TaskFailed, Progress: Progress{Stage: StageEnded}})
	return nil
}

// Watch returns a channel with the events of a task, starting with the latest one if the task is running. Events can be dropped if the
// reader is slow, but never the last one. stop ends the subscription.
func (q *Queue) Watch(id concordat.TaskID) (events <-chan Event, stop func()) {
	c := make(chan Event, 1)
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.watchers[id] == nil {
		q.watchers[id] = map[chan Event]bool{}
	}
	q.watchers[id][c] = true
	if e, ok := q.latest[id]; ok {
		c <- e
	}
	return c, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		delete(q.watchers[id], c)
		if len(q.watchers[id]) == 0 {
			delete(q.watchers, id)
		}
	}
}
