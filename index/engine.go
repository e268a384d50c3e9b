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

// This file contains the code specific to scorch, Bleve's engine. It depends on scorch's types and on undocumented behaviour. Therefore
// bleve v2.6.1 and zapx v17.2.3 are pinned, and comments explain what depends on each peculiarity. (v2.6.0 corrupts frequency streams on
// merge: bleve issue 2393.)

// engine is one open scorch index.
type engine struct {
	dir     string // folder of Bleve's files
	scorch  *scorch.Scorch
	queue   *bleve.AnalysisQueue
	pacer   *pacer                 // nil for no pauses
	cause   atomic.Pointer[string] // why failed was closed
	failed  chan struct{}          // closed when a background goroutine of scorch dies
	failing sync.Once
	onFail  atomic.Pointer[func()] // called after failed is closed
	stored  storedState            // the state at opening
	warm    atomic.Bool            // the table file matches the stored data
	forgot  atomic.Bool            // the table file does not exist
	stained atomic.Bool            // a failed batch might still be applied
	retries backoff                // pauses of scorch's background goroutines
	closing chan struct{}          // closed at the start of close
	scrubs  sync.WaitGroup         // goroutine running scrub
	reads   bool                   // opened read-only
	log     func(msg string, args ...any)
}

// Scorch reports errors of its background goroutines to a callback. An index's configuration contains the callback's name, and a package
// variable maps names to callbacks. The callback receives the index's folder; engines maps it to the engine. Without a callback, such
// errors are lost.
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
	e.log("the index failed in the background", "error", err)
	if e.cause.Load() != nil { // another attempt would hit the same damage
		<-e.closing
		return
	}
	if errors.Is(err, scorch.ErrAsyncPanic) {
		// The goroutine has ended for good; a Batch would wait for it forever.
		e.fail(err)
		return
	}
	// The persister and the merger retry immediately and forever. They call this function themselves, so waiting here prevents them from
	// exhausting a processor, the disk and the log.
	select {
	case <-time.After(e.retries.next(time.Now())):
	case <-e.closing:
	}
}

// Pauses between attempts of a failing background goroutine double up to a maximum.
const (
	leastRetry = 50 * time.Millisecond
	maxRetry   = time.Second
)

// backoff computes the pause after a failure. The zero value is ready and safe for concurrent use.
type backoff struct {
	mu    sync.Mutex
	pause time.Duration
	until time.Time
}

// next returns the pause after a failure at now. If no failure follows within a while after a pause, it considers the fault repaired.
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

// err returns an ErrUnavailable if the engine has failed.
func (e *engine) err() error {
	if s := e.cause.Load(); s != nil {
		return fmt.Errorf("%s: %s; open the shard again: %w", e.dir, *s, concordat.ErrUnavailable)
	}
	return nil
}

func isDiskFull(err error) bool {
	// Scorch formats most causes into text, so checking the error chain is not enough.
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) ||
		err != nil && (strings.Contains(err.Error(), syscall.ENOSPC.Error()) || strings.Contains(err.Error(), syscall.EDQUOT.Error()))
}

// internalFormat is a key written with the first batch of every index of ours.
var internalFormat = []byte("concordat.format")

// engineOptions control how an engine runs.
type engineOptions struct {
	readOnly bool
	early    bool // batches are visible before they are on disk
	stock    bool // as in Options.StockSegments
	log      func(msg string, args ...any)
}

// openEngine opens the scorch index in dir or, if create is set, creates it.
func openEngine(dir string, create bool, o engineOptions) (*engine, error) {
	register() // must precede all reads of the variables that it sets
	if create {
		// An interrupted creation leaves this behind.
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
		err := e.batchDurably(context.Background(), b) // the header, which marks a complete index, is written next
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
		"bolt_timeout":           "1s", // otherwise a second process opening the index waits forever
		"asyncErrorCallbackName": asyncCallback,
		"segmentConfig":          map[string]any{stockKey: o.stock},
	}
	if o.early {
		config["eventCallbackName"] = eventCallback
	}
	// Two workers suffice, because our documents are already analysed, and the queue only passes them on.
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
		if strings.HasSuffix(err.Error(), "timeout") { // matches bbolt's ErrTimeout
			return nil, fmt.Errorf("%s: %w", dir, concordat.ErrLocked)
		}
		if errors.Is(err, errPanic) {
			return nil, corrupt(dir, err)
		}
		return nil, err
	}
	return e, nil
}

// batch applies b atomically and returns once it is durable. After an error, b might still be applied, because scorch keeps a batch in
// memory if it cannot persist it, and persists it later. The method has tells whether it was applied.
func (e *engine) batch(b *bleve.Batch) error {
	if err := e.err(); err != nil {
		return err
	}
	if len(b.IndexOps) > 0 { // without operations, segments and table do not change; each start applies such a batch
		e.forgetTable()
	}
	done := make(chan error, 1)
	// If the persister dies, Batch waits forever, and its goroutine is abandoned.
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

// forgetTable removes the table file, because the stored data is about to change.
func (e *engine) forgetTable() {
	if e.reads || e.forgot.Swap(true) {
		return
	}
	e.warm.Store(false)
	for _, name := range []string{tableName, tableTemp} {
		path := filepath.Join(filepath.Dir(e.dir), name)
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			e.log("cannot remove an outdated table from the disk", "path", path, "error", err)
		}
	}
}

// batchDurably is like batch, for an engine whose batches do not wait for the disk. It stops waiting when ctx ends, since a disk that
// remains full would block it forever; the batch might still be stored later.
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

// has reports whether the Bleve document is in the index, durably or not.
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

// snapshot returns the current state for reading. The caller must close it; until then, replaced segments stay on disk.
func (e *engine) snapshot() (*scorch.IndexSnapshot, error) {
	r, err := e.scorch.Reader()
	if err != nil {
		return nil, err
	}
	s, ok := r.(*scorch.IndexSnapshot)
	if !ok || s == nil { // a closed scorch returns a nil snapshot
		return nil, fmt.Errorf("%s is closed: %w", e.dir, concordat.ErrUnavailable)
	}
	return s, nil
}

// merge reduces the index to one segment, or to as few as concurrent writers allow.
func (e *engine) merge(ctx context.Context) error {
	if err := e.err(); err != nil {
		return err
	}
	e.forgetTable()
	done := make(chan error, 1)
	awake := make(chan struct{})
	defer close(awake)
	go e.pacer.while(awake) // the merger waits for the persister
	go func() { done <- e.scorch.ForceMerge(ctx, nil) }()
	select {
	case err := <-done:
		return errors.Join(err, context.Cause(ctx))
	case <-e.failed:
		return e.err()
	case <-ctx.Done():
		// ForceMerge checks its context only while it merges, and the merger may fail repeatedly at a damaged segment.
		return context.Cause(ctx)
	}
}

// directory implements the bleve.Directory that CopyTo requires. It creates real files, named "store/...", and none after its context has
// ended.
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

// close waits for scorch's goroutines. All readers must be closed first.
func (e *engine) close() error {
	close(e.closing)
	e.scrubs.Wait()
	e.pacer.end(e.scorch)
	err := e.scorch.Close()
	e.queue.Close()
	engines.Delete(e.dir)
	return err
}
