package site

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/report"
	"concordat/store"
)

// Job is what a queued check is to do. It is kept with its task, as JSON.
type Job struct {
	Name      string                `json:"name"`            // of the file as it was handed in
	File      string                `json:"file,omitempty"`  // hash of the original; empty: Text
	Text      string                `json:"text,omitempty"`  // what was pasted, or a member's text
	Title     string                `json:"title,omitempty"` // empty: the file's own, or Name
	Flags     []concordat.Flag      `json:"flags,omitempty"` // of Text
	Libraries []concordat.LibraryID `json:"libraries,omitempty"`
	Template  string                `json:"template,omitempty"` // name of a section template
	Forward   string                `json:"forward,omitempty"`
	Partners  []concordat.SiteID    `json:"partners,omitempty"` // to be asked
	Purpose   string                `json:"purpose,omitempty"`  // told to them
	// PartnerLibraries are single libraries of partners to be asked, as SITE/LIBRARY; Partners are
	// asked for all they open.
	PartnerLibraries []string       `json:"partner_libraries,omitempty"`
	Level            concordat.Show `json:"level,omitempty"`    // the most that partners are asked to show; empty: metadata
	Deadline         time.Duration  `json:"deadline,omitempty"` // of each partner; 0: DefaultDeadline
	// Exclude are documents that are never shown: earlier versions of the submission.
	Exclude []concordat.Ref `json:"exclude,omitempty"`
	// Rules are those with which the report begins; nil: those of the site.
	Rules *report.Rules `json:"rules,omitempty"`
	Short bool          `json:"short,omitempty"` // titles, headings and answers are compared too, whatever the site's setting
	// NoStore: text and original go once the report is made.
	NoStore bool `json:"no_store,omitempty"`
	// Fault is why there is no text to check, as CODE: WORDS; the task ends as failed with it.
	Fault string `json:"fault,omitempty"`
	// Into is the library that the texts are added to, instead of being checked; empty: none.
	Into concordat.LibraryID `json:"into,omitempty"`
}

// Item is one text of a job's file, or why it has none.
type Item struct {
	Submission
	Author string // as the file's metadata says; empty: unknown
	Err    error
}

// Stages of a queued check that Check itself does not have.
const (
	StageRead  = "read"
	StageEnded = "ended"
)

// Event tells how far a task is.
type Event struct {
	Task     concordat.TaskID `json:"task"`
	State    concordat.State  `json:"state"`
	Progress `json:"progress"`
	// Partners is how far each partner is that has been spoken to so far, in the order of the first
	// word with it. Readers must not change it.
	Partners []PartnerProgress `json:"partners,omitempty"`
}

// PartnerProgress is how far one partner is in a check.
type PartnerProgress struct {
	Site   concordat.SiteID `json:"site"`
	State  PartnerState     `json:"state"`
	Reason concordat.Reason `json:"reason,omitempty"` // why there is no whole answer
}

// QueueStore is what a Queue needs beside a site's Store; *store.DB has it.
type QueueStore interface {
	Store
	CreateTask(ctx context.Context, t store.Task) error
	CreateTasks(ctx context.Context, ts []store.Task) error
	ClaimTaskOf(ctx context.Context, lane store.Lane, worker string, lease time.Duration) (store.Task, error)
	RenewTask(ctx context.Context, t store.Task, lease time.Duration) error
	ReleaseTask(ctx context.Context, t store.Task) error
	CancelTask(ctx context.Context, id concordat.TaskID, cause string) error
	ReclaimTasks(ctx context.Context, worker string) error
	RetryTask(ctx context.Context, id concordat.TaskID) error
	PutTaskProgress(ctx context.Context, id concordat.TaskID, event json.RawMessage) error
	TaskProgress(ctx context.Context, id concordat.TaskID) (json.RawMessage, error)
}

// QueueOptions of a Queue. Store, Read and Options are required.
type QueueOptions struct {
	Store QueueStore
	// Worker names this process among those of the site; empty: serve.
	Worker string
	// Read returns the texts of the job's file, an Item with Err for each that gives none.
	Read func(ctx context.Context, j Job) ([]Item, error)
	// Options returns what the job's check compares with; done, if not nil, is called after the check.
	Options func(ctx context.Context, j Job) (o CheckOptions, done func(), err error)
	// Hold, if not nil, is asked before a task is begun: while it returns an error, none is, and what
	// is queued waits for it.
	Hold func() error
	// Admit, if not nil, is asked once the texts of a task are read and before they are compared; an
	// error, such as of a quota, ends the task with it as the cause.
	Admit func(ctx context.Context, t store.Task, j Job, items []Item) error
	// Discard, if not nil, is called after a task of a job with NoStore has ended, and removes the text
	// and the original. What it misses is for [Eraser.Sweep].
	Discard func(ctx context.Context, id concordat.TaskID) error
	// Begun, if not nil, is called when a task is begun, with how long it has waited; Told with every event.
	// Both are quick, and safe for concurrent use.
	Begun  func(wait time.Duration)
	Told   func(Event)
	Checks int          // at a time; 0: one. What is added to libraries has a worker of its own beside them
	Logger *slog.Logger // nil: nothing is logged
}

// Queue runs checks that were handed in, in order, and survives the end of the process: what was
// begun is begun again. Its methods are safe for concurrent use.
type Queue struct {
	site *Site
	o    QueueOptions
	wake map[store.Lane]chan struct{} // holds a token when there may be a new task

	mu       sync.Mutex // guards the rest
	running  map[concordat.TaskID]begun
	latest   map[concordat.TaskID]Event // of running tasks
	watchers map[concordat.TaskID]map[chan Event]bool
	workers  int   // that run
	holding  error // why no task is begun; nil: nothing holds
}

const (
	queueLease = time.Minute
	// shareEvery is how often other processes are told how far a task is.
	shareEvery = time.Second
	queuePoll  = 2 * time.Second // for tasks that another process hands in
)

// NewQueue returns a queue of checks by s. Run runs it.
func (s *Site) NewQueue(o QueueOptions) *Queue {
	o.Worker = cmp.Or(o.Worker, "serve")
	o.Checks = cmp.Or(o.Checks, 1)
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Queue{site: s, o: o, wake: map[store.Lane]chan struct{}{store.LaneChecks: make(chan struct{}, 1), store.LaneAdding: make(chan struct{}, 1)}, running: map[concordat.TaskID]begun{},
		latest: map[concordat.TaskID]Event{}, watchers: map[concordat.TaskID]map[chan Event]bool{}}
}

// Submit puts a check at the end of the queue and returns its task. It is durable on return.
func (q *Queue) Submit(ctx context.Context, owner, batch string, j Job) (concordat.TaskID, error) {
	id := concordat.TaskID(strings.ToLower(rand.Text()))
	return id, q.submit(ctx, id, owner, batch, j)
}

// SubmitAll is Submit for several: all are in the queue, or none. Those whose job has a Fault have ended.
// As none ends before all are there, the end of a batch is told once.
func (q *Queue) SubmitAll(ctx context.Context, owner, batch string, jobs []Job) ([]concordat.TaskID, error) {
	var tasks []store.Task
	var ids []concordat.TaskID
	for _, j := range jobs {
		t, err := q.task(concordat.TaskID(strings.ToLower(rand.Text())), owner, batch, j)
		if err != nil {
			return nil, err
		}
		tasks, ids = append(tasks, t), append(ids, t.ID)
	}
	if err := q.o.Store.CreateTasks(ctx, tasks); err != nil {
		return nil, err
	}
	q.look()
	for i, j := range jobs {
		if j.Fault == "" {
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
	return store.Task{Task: concordat.Task{ID: id, Title: cmp.Or(j.Title, j.Name), Made: q.site.o.Now()}, Owner: owner, Batch: batch, Request: request, File: j.File}, nil
}

func (q *Queue) submit(ctx context.Context, id concordat.TaskID, owner, batch string, j Job) error {
	t, err := q.task(id, owner, batch, j)
	if err == nil {
		err = q.o.Store.CreateTask(ctx, t)
	}
	if err == nil {
		q.look()
	}
	return err
}

// look wakes the workers that wait for a task.
func (q *Queue) look() {
	for _, wake := range q.wake {
		select {
		case wake <- struct{}{}:
		default: // somebody is about to look anyway
		}
	}
}

// begun is a task that a worker is at.
type begun struct {
	stop context.CancelFunc
	lane store.Lane
}

// Retry puts a failed task back into the queue, at its old place. It fails with concordat.ErrInvalid in
// another state.
func (q *Queue) Retry(ctx context.Context, id concordat.TaskID) error {
	if err := q.o.Store.RetryTask(ctx, id); err != nil {
		return err
	}
	q.look()
	return nil
}

// Cancel ends a task that is queued or running; one that has ended stays as it is.
func (q *Queue) Cancel(ctx context.Context, id concordat.TaskID, cause string) error {
	if err := q.o.Store.CancelTask(ctx, id, cause); err != nil {
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

// Watch returns a channel of what happens to a task, beginning with the latest event if it is
// running; events may be left out where the reader is slow, but never the last one. stop ends it.
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

// tell passes an event on: it takes the place of one that has not been read.
func (q *Queue) tell(e Event) {
	if q.o.Told != nil {
		q.o.Told(e)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if e.Stage == StageEnded {
		delete(q.latest, e.Task)
	} else {
		e.Partners = withPartner(q.latest[e.Task].Partners, e.Progress)
		q.latest[e.Task] = e
	}
	for c := range q.watchers[e.Task] {
		select {
		case <-c:
		default:
		}
		c <- e // q.mu makes this the only sender, and there is room
	}
}

// Run runs queued tasks until ctx ends, and then puts back what it had begun. Only one process of a
// site may run a queue of one Worker name.
func (q *Queue) Run(ctx context.Context) error {
	if err := q.o.Store.ReclaimTasks(ctx, q.o.Worker); err != nil {
		if ctx.Err() != nil {
			return nil // stopped before it has begun
		}
		return fmt.Errorf("queue: %w", err)
	}
	g, ctx := errgroup.WithContext(ctx)
	for range q.o.Checks {
		g.Go(func() error { return q.work(ctx, store.LaneChecks) })
	}
	// A large archive on its way into a library must not hold the checks up.
	g.Go(func() error { return q.work(ctx, store.LaneAdding) })
	if err := g.Wait(); ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// work takes one task of a lane after the other.
func (q *Queue) work(ctx context.Context, lane store.Lane) error {
	poll := time.NewTicker(queuePoll)
	defer poll.Stop()
	if lane == store.LaneChecks {
		q.count(1)
		defer q.count(-1)
	}
	for {
		if q.held(q.o.Hold) != nil {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-poll.C:
			}
			continue
		}
		t, err := q.o.Store.ClaimTaskOf(ctx, lane, q.o.Worker, queueLease)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, concordat.ErrNotFound):
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-q.wake[lane]:
			case <-poll.C:
			}
			continue
		case err != nil:
			q.o.Logger.Error("claim a task", "error", err)
			_ = q.held(func() error { return err }) // until it is asked again
			select {                                // a store that is out of reach for a while must not end the site
			case <-ctx.Done():
				return ctx.Err()
			case <-poll.C:
			}
			continue
		}
		if q.o.Begun != nil {
			q.o.Begun(q.site.o.Now().Sub(t.Made))
		}
		q.run(ctx, t, lane)
	}
}

// run does one task and ends it, or puts it back when ctx ends.
func (q *Queue) run(ctx context.Context, t store.Task, lane store.Lane) {
	own, stop := context.WithCancel(ctx)
	defer stop()
	q.mu.Lock()
	q.running[t.ID] = begun{stop, lane}
	q.mu.Unlock()
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		q.renew(own, stop, t)
	}()
	shared := make(chan struct{})
	go func() {
		defer close(shared)
		q.share(own, t.ID)
	}()
	began := time.Now()
	state, cause, err := q.do(own, t)
	stop()
	<-renewed
	<-shared
	q.mu.Lock()
	delete(q.running, t.ID)
	q.mu.Unlock()

	last := context.WithoutCancel(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		err = q.o.Store.ReleaseTask(last, t)
	case err != nil:
		state, cause = concordat.TaskFailed, err.Error()
		err = q.o.Store.FinishTask(last, t, state, cause)
	case state != "": // else the findings were kept and the task has ended with them
		err = q.o.Store.FinishTask(last, t, state, cause)
	}
	if err != nil && !errors.Is(err, store.ErrLease) && !errors.Is(err, concordat.ErrNotFound) { // cancelled or deleted meanwhile
		q.o.Logger.Error("end a task", "task", t.ID, "error", err)
	}
	q.o.Logger.Info("check", "task", t.ID, "state", state, "took", time.Since(began))
	if ctx.Err() == nil {
		q.discard(last, t)
		q.tell(Event{Task: t.ID, State: cmp.Or(state, concordat.TaskDone), Progress: Progress{Stage: StageEnded}})
	}
}

// discard removes what a job with NoStore does not keep.
func (q *Queue) discard(ctx context.Context, t store.Task) {
	var j Job
	if q.o.Discard == nil || json.Unmarshal(t.Request, &j) != nil || !j.NoStore {
		return
	}
	if err := q.o.Discard(ctx, t.ID); err != nil {
		q.o.Logger.Error("discard what is not kept", "task", t.ID, "error", err)
	}
}

// renew keeps the task ours until ctx ends, and stops its work if it has gone to somebody else.
func (q *Queue) renew(ctx context.Context, stop func(), t store.Task) {
	tick := time.NewTicker(queueLease / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := q.o.Store.RenewTask(ctx, t, queueLease)
		if errors.Is(err, store.ErrLease) || errors.Is(err, concordat.ErrNotFound) {
			stop()
			return
		}
		if err != nil && ctx.Err() == nil {
			q.o.Logger.Error("renew a task", "task", t.ID, "error", err)
		}
	}
}

// do does the work of a task. With findings it ends the task itself and returns no state.
func (q *Queue) do(ctx context.Context, t store.Task) (concordat.State, string, error) {
	var j Job
	if err := json.Unmarshal(t.Request, &j); err != nil {
		return "", "", fmt.Errorf("task: %w: %v", concordat.ErrCorrupt, err)
	}
	if j.Fault != "" {
		return concordat.TaskFailed, j.Fault, nil
	}
	q.tell(Event{Task: t.ID, State: concordat.TaskRunning, Progress: Progress{Stage: StageRead, Total: 1}})
	items := []Item{{Submission: Submission{ID: concordat.DocumentID(cmp.Or(j.Name, "text")), Title: j.Title, Text: j.Text, Flags: j.Flags}}}
	if j.File != "" {
		var err error
		if items, err = q.o.Read(ctx, j); err != nil {
			return "", "", err
		}
	}
	if q.o.Admit != nil && j.Into == "" { // what is added is no submission
		if err := q.o.Admit(ctx, t, j, items); err != nil {
			return "", "", err
		}
	}
	switch {
	case j.Into != "" && len(items) > 0:
		return q.add(ctx, t, j, items)
	case len(items) == 0:
		return concordat.TaskFailed, "empty: the file holds no document", nil
	case len(items) > 1:
		return concordat.TaskDone, fmt.Sprintf("split into %d checks", len(items)), q.split(ctx, t, j, items)
	case items[0].Err != nil:
		return concordat.TaskFailed, items[0].Err.Error(), nil
	}
	f, err := q.check(ctx, t, j, items[0].Submission)
	if err != nil {
		return "", "", err
	}
	if j.NoStore {
		report.Withhold(f)
	}
	return "", "", q.site.keep(ctx, t, f)
}

// check does the check of a task.
func (q *Queue) check(ctx context.Context, t store.Task, j Job, sub Submission) (*report.Findings, error) {
	if err := CheckName(string(sub.ID)); err != nil {
		return nil, err
	}
	if err := checkText(sub.Text); err != nil {
		return nil, err
	}
	sub.Title = cmp.Or(j.Title, sub.Title)
	o, done, err := q.o.Options(ctx, j)
	if err != nil {
		return nil, err
	}
	if done != nil {
		defer done()
	}
	o.Progress = func(p Progress) { q.tell(Event{Task: t.ID, State: concordat.TaskRunning, Progress: p}) }
	libraries, err := q.site.libraries(ctx, o.Libraries)
	if err != nil {
		return nil, err
	}
	f, err := q.site.find(ctx, t.ID, sub, o, libraries)
	if err != nil {
		return nil, err
	}
	f.Task, f.Made = t.ID, t.Made
	return f, nil
}

// split makes a task of each text of an archive. Doing it again makes none twice.
func (q *Queue) split(ctx context.Context, t store.Task, j Job, items []Item) error {
	for i, item := range items {
		id := concordat.TaskID(fmt.Sprintf("%s-%d", t.ID, i+1))
		one := j
		one.File, one.Name, one.Title, one.Text, one.Flags = "", string(item.ID), item.Title, item.Text, item.Flags
		if item.Err != nil {
			one.Fault = item.Err.Error()
		}
		err := q.submit(ctx, id, t.Owner, cmp.Or(t.Batch, string(t.ID)), one)
		if err == nil && one.Fault != "" {
			err = q.o.Store.CancelTask(ctx, id, one.Fault)
		}
		if err != nil && !errors.Is(err, concordat.ErrExists) {
			return err
		}
	}
	return nil
}
