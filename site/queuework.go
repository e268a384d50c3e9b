package site

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/report"
	"concordat/site/compare"
	"concordat/store"
)

// tell passes on an event, replacing the previous one if it was not read.
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
		c <- e // this is the only sender, because of q.mu, and the channel has space
	}
}

// Run runs queued tasks until ctx ends, and then requeues the unfinished ones. Only one process of a site can run a queue with a given
// Worker name.
func (q *Queue) Run(ctx context.Context) error {
	if err := q.o.Store.Checks.ReclaimTasks(ctx, q.o.Worker); err != nil {
		if ctx.Err() != nil {
			return nil // stopped before it began
		}
		return fmt.Errorf("queue: %w", err)
	}
	g, ctx := errgroup.WithContext(ctx)
	for range q.o.Checks {
		g.Go(func() error { return q.work(ctx, store.LaneChecks) })
	}
	for range spareWorkers {
		g.Go(func() error { return q.work(ctx, store.LaneSpare) })
	}
	// Adding a large archive to a library must not delay checks.
	g.Go(func() error { return q.work(ctx, store.LaneAdding) })
	if err := g.Wait(); ctx.Err() == nil || !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// work runs the tasks of a lane one at a time.
func (q *Queue) work(ctx context.Context, lane store.Lane) error {
	poll := time.NewTicker(QueuePoll)
	defer poll.Stop()
	if lane == store.LaneChecks {
		q.count(1)
		defer q.count(-1)
	}
	for {
		if lane == store.LaneSpare && !q.allLong() || q.held(q.o.Hold) != nil {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-poll.C:
			}
			continue
		}
		t, err := q.o.Store.Checks.ClaimTask(ctx, lane, q.o.Worker, queueLease)
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
			_ = q.held(func() error { return err }) // until the next poll
			select {                                // the site must survive if the store is temporarily unreachable
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

// allLong reports whether every check worker is running a long check, so that a spare worker is needed.
func (q *Queue) allLong() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	n := 0
	for _, b := range q.running {
		if b.lane == store.LaneAdding {
			continue
		}
		if time.Since(b.since) < q.o.Long {
			return false
		}
		n++
	}
	return n >= q.o.Checks
}

// outcome is the result of a task's work.
type outcome struct {
	state concordat.State
	cause store.Cause
	err   error
}

// await waits for the work of a task. Work that does not stop within the grace period after ctx ended is abandoned until the process
// ends; its changes fail, since its context has ended and the task no longer belongs to it.
func (q *Queue) await(ctx context.Context, t store.Task, ended <-chan outcome) outcome {
	select {
	case out := <-ended:
		return out
	case <-ctx.Done():
	}
	grace := time.NewTimer(q.o.Grace)
	defer grace.Stop()
	select {
	case out := <-ended:
		return out
	case <-grace.C:
		e, _ := q.Latest(t.ID)
		q.o.Logger.Warn("a check did not stop in time", "task", t.ID, "stage", e.Stage)
		return outcome{err: context.Cause(ctx)}
	}
}

// run runs one task and ends it, or requeues it when ctx ends. A task that failed because the store did not answer starts over, up to
// store.MaxAttempts times in all.
func (q *Queue) run(ctx context.Context, t store.Task, lane store.Lane) {
	own, stop := context.WithCancel(ctx)
	defer stop()
	q.mu.Lock()
	q.running[t.ID] = begun{stop, lane, time.Now()}
	q.mu.Unlock()
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		q.aside(t, func() { q.renew(own, stop, t) })
	}()
	shared := make(chan struct{})
	go func() {
		defer close(shared)
		q.aside(t, func() { q.share(own, t.ID) })
	}()
	began := time.Now()
	ended := make(chan outcome, 1)
	go func() { ended <- q.guarded(own, t) }()
	out := q.await(ctx, t, ended)
	state, cause, err := out.state, out.cause, out.err
	stop()
	<-renewed
	<-shared
	q.mu.Lock()
	delete(q.running, t.ID)
	q.mu.Unlock()

	last := context.WithoutCancel(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		state = concordat.TaskQueued
		err = q.o.Store.Checks.ReleaseTask(last, t)
	case errors.Is(err, store.ErrNoAnswer) && t.Attempts < store.MaxAttempts:
		// The claim ends, so that the next worker that reaches the store starts the task over. If the store does not answer even now, the
		// claim expires by itself.
		q.o.Logger.Warn("a task starts over because the store did not answer", "task", t.ID, "attempts", t.Attempts, "error", err)
		state = concordat.TaskQueued
		if err = q.o.Store.Checks.RenewTask(last, t, time.Nanosecond); err == nil {
			q.wakeAll()
		}
	case err != nil:
		state, cause = concordat.TaskFailed, CauseOf(err)
		err = q.o.Store.Checks.FinishTask(last, t, state, cause)
	case state != "": // otherwise the findings were stored, which ended the task
		err = q.o.Store.Checks.FinishTask(last, t, state, cause)
	}
	recorded := err == nil || errors.Is(err, store.ErrLease) || errors.Is(err, concordat.ErrNotFound) // or the task was cancelled or deleted
	if !recorded {
		q.o.Logger.Error("end a task", "task", t.ID, "error", err)
	}
	state = cmp.Or(state, concordat.TaskDone)
	q.o.Logger.Info("check", "task", t.ID, "state", state, "took", time.Since(began))
	q.releaseMemory()
	// A stop of the site must not leave the text of a task that has ended. An end that the store has not recorded is no end: the task
	// starts over, and needs its text.
	if recorded && state != concordat.TaskQueued {
		q.discard(last, t)
	}
	if ctx.Err() == nil {
		q.tell(Event{Task: t.ID, State: state, Progress: Progress{Stage: StageEnded}})
	}
}

// idleMemory is how much the memory of the process can grow over tasks before unused memory is returned to the operating system. Go's own
// scavenger would take minutes for the memory of one large text.
const idleMemory = 256 << 20

// releaseEvery is the minimum time between two releases; each runs a full garbage collection.
const releaseEvery = 5 * time.Second

// releaseMemory returns memory to the operating system after a task that used a lot of it. A check of 200 MB of text needs eight times as
// much memory for a few seconds, and then none is needed for hours.
func (q *Queue) releaseMemory() {
	held := heapHeld()
	q.mu.Lock()
	q.rested = min(q.rested, held)
	due := held > q.rested+idleMemory && time.Since(q.released) >= releaseEvery
	if due {
		q.released = time.Now()
	}
	q.mu.Unlock()
	if !due {
		return
	}
	debug.FreeOSMemory()
	held = heapHeld()
	q.mu.Lock()
	q.rested = held
	q.mu.Unlock()
}

// heapHeld returns the size of the heap, comprising objects, including dead ones not yet collected, and free memory not yet returned to
// the operating system.
func heapHeld() uint64 {
	m := []metrics.Sample{{Name: "/memory/classes/heap/free:bytes"}, {Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(m)
	return m[0].Value.Uint64() + m[1].Value.Uint64()
}

// discard removes data that a job with NoStore must not leave behind.
func (q *Queue) discard(ctx context.Context, t store.Task) {
	var j Job
	if q.o.Discard == nil || json.Unmarshal(t.Request, &j) != nil || !j.NoStore {
		return
	}
	if err := q.o.Discard(ctx, t.ID); err != nil {
		q.o.Logger.Error("discard what is not kept", "task", t.ID, "error", err)
	}
}

// renew keeps the task assigned to this worker until ctx ends, and stops the work if another worker takes the task.
func (q *Queue) renew(ctx context.Context, stop func(), t store.Task) {
	tick := time.NewTicker(queueLease / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := q.o.Store.Checks.RenewTask(ctx, t, queueLease)
		if errors.Is(err, store.ErrLease) || errors.Is(err, concordat.ErrNotFound) {
			stop()
			return
		}
		if err != nil && ctx.Err() == nil {
			q.o.Logger.Error("renew a task", "task", t.ID, "error", err)
		}
	}
}

// aside runs f alongside a task; a panic in it is logged and counted, and the task continues.
func (q *Queue) aside(t store.Task, f func()) {
	q.panics().Note(compare.Guard(func() error { f(); return nil }), "task", t.ID)
}

func (q *Queue) panics() compare.Panics {
	return compare.Panics{Logger: q.o.Logger, Counted: q.o.Panicked}
}

// guarded calls do; a panic in it fails only this task.
func (q *Queue) guarded(ctx context.Context, t store.Task) (out outcome) {
	err := compare.Guard(func() (err error) {
		out.state, out.cause, err = q.do(ctx, t)
		return err
	})
	if q.panics().Note(err, "task", t.ID) {
		return outcome{err: err}
	}
	out.err = err
	return out
}

// do performs the work of a task. If the work produces findings, do ends the task itself and returns no state.
func (q *Queue) do(ctx context.Context, t store.Task) (concordat.State, store.Cause, error) {
	var j Job
	if err := json.Unmarshal(t.Request, &j); err != nil {
		return "", store.Cause{}, fmt.Errorf("task: %w: %v", concordat.ErrCorrupt, err)
	}
	if !j.Fault.IsZero() {
		return concordat.TaskFailed, j.Fault, nil
	}
	q.tell(Event{Task: t.ID, State: concordat.TaskRunning, Progress: Progress{Stage: StageRead, Total: 1}})
	items := []Item{{Submission: Submission{ID: concordat.DocumentID(cmp.Or(j.Name, "text")), Title: j.Title, Text: j.Text, Flags: j.Flags}}}
	var err error
	switch {
	case j.From != "":
		items[0].Submission, err = q.site.caseSubmission(ctx, j.From, cmp.Or(j.Again, j.From))
	case len(j.Parts) > 0:
		items[0], err = q.readParts(ctx, j)
	case j.File != "":
		items, err = q.o.Read(ctx, j)
	}
	if err != nil {
		return "", store.Cause{}, err
	}
	for _, item := range items {
		if errors.Is(item.Err, store.ErrNoAnswer) {
			return "", store.Cause{}, item.Err
		}
	}
	if err := q.noteLeftOut(ctx, t, &j, items); err != nil {
		return "", store.Cause{}, err
	}
	if q.o.Admit != nil && j.Into == "" { // an addition is not a submission
		if err := q.o.Admit(ctx, t, j, items); err != nil {
			return "", store.Cause{}, err
		}
	}
	switch {
	case j.Into != "" && len(items) > 0:
		return q.add(ctx, t, j, items)
	case len(items) == 0:
		return concordat.TaskFailed, store.Cause{Code: store.CauseEmpty, Detail: "the file contains no documents"}, nil
	case len(items) > 1:
		return concordat.TaskDone, store.Cause{Code: store.CauseSplit, Numbers: []int{len(items)}}, q.split(ctx, t, j, items)
	case items[0].Err != nil:
		return concordat.TaskFailed, CauseOf(items[0].Err), nil
	}
	sub := items[0].Submission
	if sub.Authors = j.Authors; len(sub.Authors) == 0 {
		sub.Authors = concordat.ParseCreators(items[0].Author)
	}
	f, err := q.check(ctx, t, j, sub)
	if err != nil {
		return "", store.Cause{}, err
	}
	if j.NoStore {
		report.Withhold(f)
	}
	return "", store.Cause{}, q.site.Keep(ctx, t, f)
}

// noteLeftOut records, with a task, the files left out of its archives.
func (q *Queue) noteLeftOut(ctx context.Context, t store.Task, j *Job, items []Item) error {
	var all concordat.LeftOut
	for _, item := range items {
		all.Join(item.LeftOut)
	}
	if all.IsZero() {
		return nil
	}
	j.LeftOut = all
	request, err := json.Marshal(j)
	if err != nil {
		return fmt.Errorf("task %s: %w", t.ID, err)
	}
	return q.o.Store.Checks.RewriteTask(ctx, t, request)
}

// check performs the check of a task.
func (q *Queue) check(ctx context.Context, t store.Task, j Job, sub Submission) (*report.Findings, error) {
	if err := CheckName(string(sub.ID)); err != nil {
		return nil, err
	}
	if err := CheckText(sub.Text); err != nil {
		return nil, err
	}
	if j.Title == "" && sub.Title != "" && sub.Title != t.Title { // one name per document, because lists use the report's
		if err := q.o.Store.Checks.RetitleTask(ctx, t, sub.Title); err != nil {
			return nil, err
		}
	}
	sub.Title = cmp.Or(j.Title, sub.Title)
	o, done, err := q.o.Options(ctx, j)
	if err != nil {
		return nil, err
	}
	if done != nil {
		defer done()
	}
	o.NoStore, o.Standing = j.NoStore, j.Standing
	o.Progress = func(p Progress) { q.tell(Event{Task: t.ID, State: concordat.TaskRunning, Progress: p}) }
	libraries, err := q.site.Libraries(ctx, o.Libraries)
	if err != nil {
		return nil, err
	}
	own, err := q.site.CaseDocuments(ctx, cmp.Or(j.Again, t.ID), libraries)
	if err != nil {
		return nil, err
	}
	o.Exclude = slices.Concat(o.Exclude, own)
	f, err := q.site.find(ctx, t.ID, sub, o, libraries)
	if err != nil {
		return nil, err
	}
	f.Task, f.Made = t.ID, t.Made
	return f, nil
}

// split creates a task for each text in an archive. Repeating it creates no duplicates.
func (q *Queue) split(ctx context.Context, t store.Task, j Job, items []Item) error {
	for i, item := range items {
		id := concordat.TaskID(fmt.Sprintf("%s-%d", t.ID, i+1))
		one := j
		one.File, one.Name, one.Title, one.Text, one.Flags = "", string(item.ID), item.Title, item.Text, item.Flags
		one.LeftOut = concordat.LeftOut{} // it belongs to the archive
		if item.Err != nil {
			one.Fault = CauseOf(item.Err)
		}
		err := q.SubmitTask(ctx, id, t.Owner, cmp.Or(t.Batch, string(t.ID)), one)
		if err == nil && !one.Fault.IsZero() {
			err = q.o.Store.Checks.CancelTask(ctx, id, one.Fault)
		}
		if err != nil && !errors.Is(err, concordat.ErrExists) {
			return err
		}
	}
	return nil
}
