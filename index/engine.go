package index

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	bleve "github.com/blevesearch/bleve_index_api"

	"concordat"
)

// This file has the code that is specific to scorch, Bleve's engine. It depends on scorch's types, and on
// behaviour that no interface promises. So bleve v2.6.1 and zapx v17.2.3 are pinned, and comments say what
// breaks without each peculiarity. (v2.6.0 corrupts frequency streams on merge: bleve issue 2393.)

// engine is one open scorch index.
type engine struct {
	dir     string // of Bleve's files
	scorch  *scorch.Scorch
	queue   *bleve.AnalysisQueue
	pacer   *pacer                 // nil: none
	cause   atomic.Pointer[string] // the reason why failed was closed
	failed  chan struct{}          // closed when a background goroutine of scorch has died
	failing sync.Once
	onFail  atomic.Pointer[func()] // called when failed was closed
	stored  storedState            // when it was opened
	warm    atomic.Bool            // the file of the table matches what is stored
	forgot  atomic.Bool            // there is no file of the table
	stained atomic.Bool            // a batch failed, but may still be applied
	retries backoff                // of scorch's background goroutines
	closing chan struct{}          // closed when close begins
	scrubs  sync.WaitGroup         // of scrub
	reads   bool                   // opened for reading only
	log     func(msg string, args ...any)
}

// Scorch reports errors of its background goroutines through a callback that it finds by name in a
// package variable when an index is made. The callback gets the index's folder, and engines finds
// the engine. Without the callback such errors are lost.
var (
	engines       sync.Map // folder → *engine
	registerOnce  sync.Once
	asyncCallback = "concordat/index"
)

func register() {
	registerOnce.Do(func() {
		scorch.RegistryAsyncErrorCallbacks[asyncCallback] = asyncError
		scorch.RegistryEventCallbacks[eventCallback] = onEvent
		registerPlugin()
	})
}

func asyncError(err error, path string) {
	v, ok := engines.Load(path)
	if !ok {
		return
	}
	e := v.(*engine)
	e.log("background error of the index", "error", err)
	if e.cause.Load() != nil { // the next attempt would find the same damage
		<-e.closing
		return
	}
	if errors.Is(err, scorch.ErrAsyncPanic) {
		// The goroutine has ended and will not come back; a Batch would wait for it forever.
		e.fail(err)
		return
	}
	// The persister and the merger retry at once and forever. They call this function themselves, so waiting
	// here keeps them from using up a processor, the disk and the log.
	select {
	case <-time.After(e.retries.next(time.Now())):
	case <-e.closing:
	}
}

// Pauses between attempts of a background goroutine that fails: each twice the previous one.
const (
	leastRetry = 50 * time.Millisecond
	maxRetry   = time.Second
)

// backoff says how long to pause after a failure. The zero value is ready and safe for concurrent use.
type backoff struct {
	mu    sync.Mutex
	pause time.Duration
	until time.Time
}

// next returns the pause after a failure at now. If nothing has failed for a while after a pause, the fault is
// considered repaired.
func (b *backoff) next(now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.until) > 10*maxRetry {
		b.pause = 0
	}
	b.pause = min(max(2*b.pause, leastRetry), maxRetry)
	b.until = now.Add(b.pause)
	return b.pause
}

func (e *engine) fail(err error) {
	e.failing.Do(func() {
		s := err.Error()
		e.cause.Store(&s)
		close(e.failed)
		if f := e.onFail.Load(); f != nil {
			(*f)()
		}
	})
}

// err returns an ErrUnavailable once the engine has failed.
func (e *engine) err() error {
	if s := e.cause.Load(); s != nil {
		return fmt.Errorf("%s: %s; open the shard again: %w", e.dir, *s, concordat.ErrUnavailable)
	}
	return nil
}

func isDiskFull(err error) bool {
	// Scorch formats most causes into text, so the chain is not enough.
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) ||
		err != nil && (strings.Contains(err.Error(), syscall.ENOSPC.Error()) || strings.Contains(err.Error(), syscall.EDQUOT.Error()))
}

// internalFormat is a key that the first batch of each of our indexes sets.
var internalFormat = []byte("concordat.format")

// engineOptions say how an engine runs.
type engineOptions struct {
	readOnly bool
	early    bool // batches are seen before they are on disk
	stock    bool // see Options.StockSegments
	log      func(msg string, args ...any)
}

func (s *Shard) engineOptions() engineOptions {
	return engineOptions{s.opt.ReadOnly, s.opt.Logged, s.opt.StockSegments, s.log.Warn}
}

// openEngine opens or, with create, makes the scorch index in dir.
func openEngine(dir string, create bool, o engineOptions) (*engine, error) {
	register() // before anything reads the variables that it sets
	if create {
		// These are the remains of an interrupted creation.
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
	}
	var stored storedState
	if !create {
		verify := int64(verifyAtOpen)
		if o.readOnly {
			verify = 0
		}
		var err error
		if stored, err = preflight(dir, verify); err != nil {
			return nil, err
		}
	}
	e, err := startEngine(dir, o)
	if err != nil {
		return nil, err
	}
	e.stored = stored
	e.scrubs.Go(e.scrub)
	if create {
		b := bleve.NewBatch()
		b.SetInternal(internalFormat, []byte{formatVersion})
		err := e.batchDurably(context.Background(), b) // the header, which says that there is an index, is written next
		if err != nil {
			return nil, errors.Join(err, e.close())
		}
	}
	return e, nil
}

func startEngine(dir string, o engineOptions) (*engine, error) {
	config := map[string]any{
		"path":                   dir,
		"read_only":              o.readOnly,
		"unsafe_batch":           o.early,
		"bolt_timeout":           "1s", // without this, a second process that opens the index waits forever
		"asyncErrorCallbackName": asyncCallback,
		"segmentConfig":          map[string]any{stockKey: o.stock},
	}
	if o.early {
		config["eventCallbackName"] = eventCallback
	}
	// Two workers: our documents are already analysed, so the queue only passes them on.
	e := &engine{dir: dir, queue: bleve.NewAnalysisQueue(2), failed: make(chan struct{}), closing: make(chan struct{}), log: o.log,
		reads: o.readOnly}
	index, err := scorch.NewScorch("scorch", config, e.queue)
	if err != nil {
		e.queue.Close()
		return nil, err
	}
	e.scorch = index.(*scorch.Scorch)
	engines.Store(dir, e)
	if o.early {
		e.pacer = pace(e.scorch)
	}
	err = guard(e.scorch.Open)
	if err != nil {
		e.pacer.end(e.scorch)
		engines.Delete(dir)
		e.queue.Close()
		if strings.HasSuffix(err.Error(), "timeout") { // bbolt's ErrTimeout
			return nil, fmt.Errorf("%s: %w", dir, concordat.ErrLocked)
		}
		if errors.Is(err, errPanic) {
			return nil, corrupt(dir, err)
		}
		return nil, err
	}
	return e, nil
}

// batch applies b as a unit and returns when it is durable. After an error, it may or may not be applied: if
// scorch could not persist a batch, it keeps it in memory and persists it later. The method has shows whether
// it was applied.
func (e *engine) batch(b *bleve.Batch) error {
	if err := e.err(); err != nil {
		return err
	}
	if len(b.IndexOps) > 0 { // otherwise segments and table do not change: every start applies a record that only names the writer
		e.forgetTable()
	}
	done := make(chan error, 1)
	// If the persister dies, Batch waits forever; then its goroutine is abandoned.
	go func() { done <- guard(func() error { return e.scorch.Batch(b) }) }()
	select {
	case err := <-done:
		if err != nil {
			e.stained.Store(true)
		}
		if isDiskFull(err) {
			return fmt.Errorf("%w: %w", err, concordat.ErrDiskFull)
		}
		return err
	case <-e.failed:
		return e.err()
	}
}

// forgetTable removes the file of the table, since the stored data is changing.
func (e *engine) forgetTable() {
	if e.reads || e.forgot.Swap(true) {
		return
	}
	e.warm.Store(false)
	for _, name := range []string{tableName, tableTemp} {
		path := filepath.Join(filepath.Dir(e.dir), name)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			e.log("a table on disk is out of date and cannot be removed", "path", path, "error", err)
		}
	}
}

// batchDurably is like batch, for an engine whose batches do not wait for the disk. It waits until ctx ends, since on a
// disk that stays full it would otherwise wait forever; the batch may then be stored all the same.
func (e *engine) batchDurably(ctx context.Context, b *bleve.Batch) error {
	persisted := make(chan error, 1)
	b.SetPersistedCallback(func(err error) { persisted <- err })
	if err := e.batch(b); err != nil {
		return err
	}
	e.pacer.wake()
	select {
	case err := <-persisted:
		return err
	case <-e.failed:
		return e.err()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// has reports whether the Bleve document is in the index, durable or not.
func (e *engine) has(id string) (found bool, err error) {
	s, err := e.snapshot()
	if err != nil {
		return false, err
	}
	defer s.Close()
	err = guard(func() error {
		for _, seg := range s.Segments() {
			n, err := seg.DocNumbers([]string{id})
			if err != nil {
				return err
			}
			found = found || !n.IsEmpty()
		}
		return nil
	})
	return found, err
}

// snapshot returns the current state for reading. The caller closes it; until then the files of
// replaced segments stay on disk.
func (e *engine) snapshot() (*scorch.IndexSnapshot, error) {
	r, err := e.scorch.Reader()
	if err != nil {
		return nil, err
	}
	s, ok := r.(*scorch.IndexSnapshot)
	if !ok || s == nil { // a closed scorch returns a nil snapshot
		return nil, fmt.Errorf("%s: closed: %w", e.dir, concordat.ErrUnavailable)
	}
	return s, nil
}

// merge reduces the index to one segment, or as few as concurrent writers allow.
func (e *engine) merge(ctx context.Context) error {
	if err := e.err(); err != nil {
		return err
	}
	e.forgetTable()
	done := make(chan error, 1)
	awake := make(chan struct{})
	defer close(awake)
	go e.pacer.while(awake) // the merger waits for it
	go func() { done <- e.scorch.ForceMerge(ctx, nil) }()
	select {
	case err := <-done:
		return errors.Join(err, context.Cause(ctx))
	case <-e.failed:
		return e.err()
	case <-ctx.Done():
		// ForceMerge heeds its context only while it merges, and the merger may fail again and again at a damaged segment.
		return context.Cause(ctx)
	}
}

// directory is the bleve.Directory that CopyTo needs. It has real files, named "store/...", and begins none
// after the end of its context.
type directory struct {
	ctx context.Context
	dir string
}

func (d directory) GetWriter(name string) (io.WriteCloser, error) {
	if err := d.ctx.Err(); err != nil {
		return nil, err
	}
	path := filepath.Join(d.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
}

// close waits for scorch's goroutines. Readers must have been closed.
func (e *engine) close() error {
	close(e.closing)
	e.scrubs.Wait()
	e.pacer.end(e.scorch)
	err := e.scorch.Close()
	e.queue.Close()
	engines.Delete(e.dir)
	return err
}
