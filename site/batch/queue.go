package batch

import (
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
	"concordat/site"
	"concordat/site/compare"
	"concordat/store"
)

// Runner is the name of the runner whose batches the server process runs.
const Runner = "serve"

// QueueOptions configure a Queue. All but Logger are mandatory.
type QueueOptions struct {
	Store *store.DB
	// Queue runs repeated checks.
	Queue *site.Queue
	// Open opens the index of a batch, which no other process can have open.
	Open    func(ctx context.Context, id string) (concordat.Index, func() error, error)
	Read    func(ctx context.Context, in store.BatchInput) ([]site.Item, error)
	Options func(ctx context.Context, j Job) (site.CheckOptions, func(), error)
	Rules   func() report.Rules // rules for batches that have none
	Leads   func() bool         // whether all batches look for leads; nil means only batches that request them
	Logger  *slog.Logger        // nil disables logging
}

// Queue runs submitted batches one at a time, and also runs repetitions. It survives restarts of the process and resumes interrupted
// work. Its methods are safe for concurrent use.
type Queue struct {
	site *site.Site
	o    QueueOptions
	wake chan struct{}

	mu      sync.Mutex // protects the following fields
	running map[string]*batchAtWork
}

// NewQueue returns the queue for the batches of s. Run starts running them.
func NewQueue(s *site.Site, o QueueOptions) *Queue {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return &Queue{site: s, o: o, wake: make(chan struct{}, 1), running: map[string]*batchAtWork{}}
}

// New returns a batch to be created, with a new ID, the given job and the default lineage rules.
func New(title, owner, runner string, j Job, made time.Time) (store.Batch, error) {
	request, err := json.Marshal(j)
	if err != nil {
		return store.Batch{}, err
	}
	lineage, err := json.Marshal(DefaultLineage())
	return store.Batch{ID: strings.ToLower(rand.Text()), Title: title, Owner: owner, Runner: runner, Request: request, Lineage: lineage,
		Made: made}, err
}

// Submit appends a batch to the queue and returns its ID. The batch is durable once Submit returns. A job without rules gets the current
// ones, so that later changes to the configuration do not affect its reports and shares.
func (b *Queue) Submit(ctx context.Context, owner, title string, j Job, inputs []store.BatchInput,
	also func(tx *store.DB, id string) error) (string, error) {
	if len(inputs) == 0 {
		return "", fmt.Errorf("the batch has no files: %w", concordat.ErrInvalid)
	}
	if j.Threshold != 0 && !(j.Threshold > 0 && j.Threshold <= 1) {
		return "", fmt.Errorf("threshold %v: %w: want a number above 0 and at most 1", j.Threshold, concordat.ErrInvalid)
	}
	if j.Rules == nil {
		rules := b.o.Rules()
		j.Rules = &rules
	}
	j.Leads = j.Leads || b.o.Leads != nil && b.o.Leads()
	UniqueNames(inputs)
	one, err := New(title, owner, Runner, j, b.site.Options().Now())
	if err == nil {
		err = b.o.Store.Atomic(ctx, func(tx *store.DB) error {
			if err := tx.Batches.CreateBatch(ctx, one, inputs); err != nil || also == nil {
				return err
			}
			return also(tx, one.ID)
		})
	}
	b.wakeUp()
	return one.ID, err
}

// UniqueNames numbers the inputs and renames duplicates.
func UniqueNames(inputs []store.BatchInput) {
	taken := map[string]bool{}
	for i := range inputs {
		in := &inputs[i]
		in.Number = i
		name := in.Name
		for n := 2; taken[in.Name]; n++ {
			in.Name = fmt.Sprintf("%s (%d)", name, n)
		}
		taken[in.Name] = true
	}
}

// noted changes the store and writes the corresponding audit entries in one transaction.
func noted(ctx context.Context, db *store.DB, notes []store.AuditNote, change func(*store.DB) error) error {
	if len(notes) == 0 {
		return change(db)
	}
	return db.Atomic(ctx, func(tx *store.DB) error {
		if err := change(tx); err != nil {
			return err
		}
		return tx.Audit.Notes(ctx, notes...)
	})
}

// wakeUp makes Run look for batches.
func (b *Queue) wakeUp() {
	select {
	case b.wake <- struct{}{}:
	default: // a worker will check soon anyway
	}
}

// Again requeues a batch that has ended, either for another round against the current libraries or, if it failed, to resume it.
func (b *Queue) Again(ctx context.Context, id string, notes ...store.AuditNote) error {
	one, err := b.o.Store.Batches.Batch(ctx, id)
	if err == nil {
		err = b.o.Store.Atomic(ctx, func(tx *store.DB) error {
			if err := tx.Batches.ReopenBatch(ctx, id, Runner, one.State != concordat.TaskFailed); err != nil {
				return err
			}
			return tx.Audit.Notes(ctx, notes...)
		})
	}
	b.wakeUp()
	return err
}

// Cancel ends a waiting or running batch; findings obtained so far remain stored. It has no effect on a batch that has ended.
func (b *Queue) Cancel(ctx context.Context, id string, cause store.Cause, notes ...store.AuditNote) error {
	err := noted(ctx, b.o.Store, notes, func(db *store.DB) error { return db.Batches.FinishBatch(ctx, id, concordat.TaskFailed, cause, nil) })
	if errors.Is(err, store.ErrLease) {
		return nil
	}
	b.mu.Lock()
	at := b.running[id]
	b.mu.Unlock()
	if at != nil {
		at.stop()
	}
	return err
}

// Await waits until no worker in this process is running a cancelled batch.
func (b *Queue) Await(ctx context.Context, id string) error {
	b.mu.Lock()
	at := b.running[id]
	b.mu.Unlock()
	if at == nil {
		return nil
	}
	select {
	case <-at.ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// batchAtWork is a running batch.
type batchAtWork struct {
	stop  context.CancelFunc
	ended chan struct{} // closed after its index is closed
}

// recheckPoll is how often Run checks for due repetitions.
const recheckPoll = 20 * time.Second

// Run runs batches and repetitions until ctx ends. Only one process of a site can call it.
func (b *Queue) Run(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error {
		b.loop(ctx, site.QueuePoll, b.wake, b.next)
		return nil
	})
	g.Go(func() error {
		b.loop(ctx, recheckPoll, nil, func(ctx context.Context) bool {
			if err := b.Rechecks(ctx); err != nil && ctx.Err() == nil {
				b.o.Logger.Error("check again", "error", err)
			}
			return false
		})
		return nil
	})
	return g.Wait()
}

// loop calls do until ctx ends. It calls do again at once if do asks for it, and otherwise after the given time or a wake-up.
func (b *Queue) loop(ctx context.Context, every time.Duration, wake <-chan struct{}, do func(context.Context) bool) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for ctx.Err() == nil {
		again := false
		b.site.NotePanic(compare.Guard(func() error { again = do(ctx); return nil }))
		if again {
			continue
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		case <-wake:
		}
	}
}

// next runs the next batch, and reports whether there was one.
func (b *Queue) next(ctx context.Context) bool {
	one, err := b.o.Store.Batches.NextBatch(ctx, Runner)
	if err != nil {
		if !errors.Is(err, concordat.ErrNotFound) && ctx.Err() == nil {
			b.o.Logger.Error("next batch", "error", err)
		}
		return false
	}
	began := time.Now()
	err = compare.Guard(func() error { return b.run(ctx, one.ID) })
	b.site.NotePanic(err, "batch", one.ID)
	switch {
	case ctx.Err() != nil:
		return false
	case errors.Is(err, concordat.ErrLocked):
		b.o.Logger.Info("batch waits for another process", "batch", one.ID)
		return false
	case err != nil && !errors.Is(err, store.ErrLease) && !errors.Is(err, context.Canceled):
		b.o.Logger.Error("batch", "batch", one.ID, "error", err)
		// A batch that failed before the run could record it must not be retried forever.
		if end := b.o.Store.Batches.FinishBatch(ctx, one.ID, concordat.TaskFailed, site.CauseOf(err), nil); end != nil &&
			!errors.Is(end, store.ErrLease) && !errors.Is(end, concordat.ErrNotFound) {
			b.o.Logger.Error("end a batch", "batch", one.ID, "error", end)
			return false
		}
	default:
		b.o.Logger.Info("batch", "batch", one.ID, "took", time.Since(began))
	}
	return true
}

// run runs one batch.
func (b *Queue) run(ctx context.Context, id string) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	b.mu.Lock()
	at := &batchAtWork{stop, make(chan struct{})}
	b.running[id] = at
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		delete(b.running, id)
		b.mu.Unlock()
		close(at.ended)
	}()
	index, closing, err := b.o.Open(ctx, id)
	if err != nil {
		return err
	}
	err = Run(ctx, b.site, id, Options{Store: b.o.Store, Index: index, Read: b.o.Read, Options: b.o.Options, Rules: b.o.Rules(),
		Logger: b.o.Logger})
	return errors.Join(err, closing())
}
