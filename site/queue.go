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

// Job describes a queued check. It is stored with its task, as JSON.
type Job struct {
	Name      string                `json:"name"`              // of the file as submitted
	File      string                `json:"file,omitempty"`    // hash of the original; empty: see Text
	Text      string                `json:"text,omitempty"`    // pasted text, or a member's text
	Title     string                `json:"title,omitempty"`   // empty: the file's own title, or Name
	Authors   []concordat.Creator   `json:"authors,omitempty"` // empty: those named in the file
	Flags     []concordat.Flag      `json:"flags,omitempty"`   // of Text
	Libraries []concordat.LibraryID `json:"libraries,omitempty"`
	Template  string                `json:"template,omitempty"` // name of a section template
	Forward   string                `json:"forward,omitempty"`
	Partners  []concordat.SiteID    `json:"partners,omitempty"` // to ask
	Purpose   string                `json:"purpose,omitempty"`  // stated to them
	// PartnerLibraries are single libraries of partners to ask, as SITE/LIBRARY; Partners are asked about all that they open.
	PartnerLibraries []string       `json:"partner_libraries,omitempty"`
	Level            concordat.Show `json:"level,omitempty"`    // the highest level that partners are asked to show; empty means metadata
	Deadline         time.Duration  `json:"deadline,omitempty"` // time limit of each partner; 0 means DefaultDeadline
	// Exclude are documents that are never shown, for example earlier versions of the submission.
	Exclude []concordat.Ref `json:"exclude,omitempty"`
	// Rules are the initial rules of the report; nil means those of the site.
	Rules *report.Rules `json:"rules,omitempty"`
	Short bool          `json:"short,omitempty"` // titles, headings and answers are compared too, whatever the site's setting
	// NoStore says that text and original are deleted once the report is made.
	NoStore bool `json:"no_store,omitempty"`
	// Standing says that later documents that match raise an alert, here and at the partners asked.
	Standing bool `json:"standing,omitempty"`
	// Fault is the reason why there is no text to check, with which the task fails.
	Fault store.Cause `json:"fault,omitzero"`
	// Parts are the files of one submission, in order, instead of File and Text: together they are one text.
	Parts []Part `json:"parts,omitempty"`
	// Into is the library that the texts are added to, instead of being checked, or empty if there is none.
	Into concordat.LibraryID `json:"into,omitempty"`
	// From is the check whose submission is added, instead of a file or Text, or empty if there is none.
	From concordat.TaskID `json:"from,omitempty"`
	// Again is the check that this one repeats, or empty if there is none. The repetition is not compared with the
	// document made from that check.
	Again concordat.TaskID `json:"again,omitempty"`
	// LeftOut are the files left out of the submitted archives, once those have been read.
	LeftOut concordat.LeftOut `json:"left_out,omitzero"`
}

// Part is one of several files or texts that make up one submission.
type Part struct {
	Name string `json:"name"`           // of the file as submitted
	File string `json:"file,omitempty"` // hash of the original; empty: see Text
	Text string `json:"text,omitempty"` // pasted text
}

// HasOriginals reports whether submitted files are kept for the job.
func (j *Job) HasOriginals() bool {
	return j.File != "" || slices.ContainsFunc(j.Parts, func(p Part) bool { return p.File != "" })
}

// HasText reports whether the job holds text itself.
func (j *Job) HasText() bool {
	return j.Text != "" || slices.ContainsFunc(j.Parts, func(p Part) bool { return p.Text != "" })
}

// Item is one text of a job's file, or the reason why there is none.
type Item struct {
	Submission
	Author string // from the file's metadata; empty if unknown
	Err    error
	// LeftOut are the files that were left out of the archive before this text.
	LeftOut concordat.LeftOut
}

// Stages of a queued check beyond those of Check itself.
const (
	StageRead  = "read"
	StageEnded = "ended"
)

// Event is the progress of a task.
type Event struct {
	Task     concordat.TaskID `json:"task"`
	State    concordat.State  `json:"state"`
	Progress `json:"progress"`
	// Partners is the progress of each partner contacted so far, in the order of the first contact. Readers must not change it.
	Partners []PartnerProgress `json:"partners,omitempty"`
}

// PartnerProgress is the progress of one partner in a check.
type PartnerProgress struct {
	Site   concordat.SiteID `json:"site"`
	State  PartnerState     `json:"state"`
	Reason concordat.Reason `json:"reason,omitempty"` // why the answer is incomplete
}

// QueueOptions of a Queue. Store, Read and Options are required.
type QueueOptions struct {
	Store *store.DB
	// Worker names this process among those of the site; empty means serve.
	Worker string
	// Read returns the texts of the job's file, and an Item with Err for each part without one.
	Read func(ctx context.Context, j Job) ([]Item, error)
	// Options returns the options of the job's check; done, if not nil, is called after the check.
	Options func(ctx context.Context, j Job) (o CheckOptions, done func(), err error)
	// Hold, if not nil, is called before a task begins: while it returns an error, no task begins, and queued tasks wait.
	Hold func() error
	// Admit, if not nil, is called after the texts of a task are read and before they are compared; an error, for example from a quota,
	// ends the task and becomes its cause.
	Admit func(ctx context.Context, t store.Task, j Job, items []Item) error
	// Discard, if not nil, is called after a task of a job with NoStore has ended, and removes the text and the original. A
	// sweep of package retain removes what it misses.
	Discard func(ctx context.Context, id concordat.TaskID) error
	// Begun, if not nil, is called when a task begins, with its waiting time; Told, if not nil, with every event. Both must be quick and
	// safe for concurrent use.
	Begun func(wait time.Duration)
	Told  func(Event)
	// Panicked, if not nil, is called after a task that ended in a panic, which is logged and fails only that task.
	Panicked func()
	// Checks is the number of checks run at a time; the default is one. Once each of them has run for Long, spare workers take on checks
	// of people who have none running. Additions to libraries have their own worker.
	Checks int
	Long   time.Duration // 0: 10 s
	// Grace is how long a running task may continue after the end of Run's context; the default is 20 s.
	Grace  time.Duration
	Logger *slog.Logger // nil: nothing is logged
}

// Queue runs submitted checks, taking turns between people, and survives the end of the process: interrupted checks begin again. Its
// methods are safe for concurrent use.
type Queue struct {
	site *Site
	o    QueueOptions
	wake map[store.Lane]chan struct{} // holds a token when there may be a new task

	mu       sync.Mutex // guards the rest
	running  map[concordat.TaskID]begun
	latest   map[concordat.TaskID]Event // of running tasks
	watchers map[concordat.TaskID]map[chan Event]bool
	workers  int       // running
	holding  error     // why no task begins; nil if nothing holds tasks
	released time.Time // when memory was last returned to the system
	rested   uint64    // bytes that heapHeld returned then, or the minimum since
}

const (
	queueLease = time.Minute
	// spareWorkers bounds the additional checks that run while others take long, and so bounds memory.
	spareWorkers = 2
	longCheck    = 10 * time.Second
	stopGrace    = 20 * time.Second
	// shareEvery is the interval at which a task's progress is shared with other processes.
	shareEvery = time.Second
	QueuePoll  = 2 * time.Second // for tasks submitted by another process
)

// NewQueue returns a queue of checks by s. Run runs it.
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

// Submit puts a check at the end of the queue and returns its task. The check is durable when Submit returns.
func (q *Queue) Submit(ctx context.Context, owner, batch string, j Job) (concordat.TaskID, error) {
	id := concordat.TaskID(strings.ToLower(rand.Text()))
	return id, q.SubmitTask(ctx, id, owner, batch, j)
}

// SubmitAll submits several checks as Submit does: either all are put into the queue or none. Checks whose job has a Fault have then
// already ended. Since no check ends before all are in the queue, the end of a batch is reported once. also, if not nil, makes further
// changes, and audit entries, in the transaction that puts the tasks into the queue.
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
		if err := q.Cancel(context.WithoutCancel(ctx), ids[i], j.Fault); err != nil { // it need not wait for its turn
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

// SubmitTask does the same as Submit under an identity that the caller chose. It fails with ErrExists if there is such a task. The
// notes go into the audit with it.
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

// noted changes the store and writes the audit entries about it, in one transaction.
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

// wakeAll wakes the workers that wait for a task.
func (q *Queue) wakeAll() {
	for _, wake := range q.wake {
		select {
		case wake <- struct{}{}:
		default: // a worker will check soon anyway
		}
	}
}

// begun is a task that a worker is running.
type begun struct {
	stop  context.CancelFunc
	lane  store.Lane
	since time.Time
}

// Retry puts a failed task back into the queue, at its old place. It fails with concordat.ErrInvalid if the task is in another state. The
// notes go into the audit with the change.
func (q *Queue) Retry(ctx context.Context, id concordat.TaskID, notes ...store.AuditNote) error {
	if err := q.noted(ctx, notes, func(s *store.DB) error { return s.Checks.RetryTask(ctx, id) }); err != nil {
		return err
	}
	q.wakeAll()
	return nil
}

// Cancel ends a task that is queued or running; one that has ended stays unchanged. The notes go into the audit with the change.
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

// Watch returns a channel of the events of a task, beginning with the latest one if the task is running; events may be dropped if the
// reader is slow, but never the last one. stop ends it.
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
