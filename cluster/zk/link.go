package zk

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	zkclient "github.com/go-zookeeper/zk"

	"concordat"
	"concordat/cluster/coord"
)

// Errors of a call.
var (
	errDead    = errors.New("the session with ZooKeeper has ended")
	errDown    = errors.New("no ZooKeeper server is connected")
	errTimeout = errors.New("timed out waiting for ZooKeeper")
)

// Limits of one link.
const (
	maxCalls  = 64      // concurrent calls; any others wait
	maxAnswer = 4 << 20 // bytes per answer, which is a list of names or a znode
	maxDirty  = 4096    // paths waiting to be reread; if there are more, everything is reread
)

// link is one session with ZooKeeper through one client of the library. When a session expires, the library's client automatically begins
// another, and sends requests meant for the old session in the new one. A link prevents that, because its dialer refuses to connect once
// it is dead.
type link struct {
	conn   *zkclient.Conn
	me     coord.Incarnation // set once the session is known
	begun  time.Time         // when the request that first confirmed the session was sent
	wanted time.Duration
	tls    *tls.Config
	open   func(ctx context.Context, network, address string) (net.Conn, error)
	log    *slog.Logger

	granted  atomic.Int64  // session timeout in nanoseconds
	up       atomic.Bool   // connected, according to the library
	connects atomic.Int64  // number of connections so far
	deaf     atomic.Bool   // watches report nothing; for tests
	slots    chan struct{} // contains one value per call that the library has not ended

	dead     chan struct{}
	deadOnce sync.Once
	ended    chan struct{} // closed when the library's client is closed
	endOnce  sync.Once

	wake  chan struct{} // signals that something became dirty, or that the link came up or died
	mu    sync.Mutex    // protects the following fields
	dirty map[string]struct{}
	all   bool // everything is dirty
}

// newLink starts connecting.
func newLink(o *Options) (*link, error) {
	l := &link{
		wanted: o.Timeout, tls: o.TLS, open: o.dial, log: o.Log, slots: make(chan struct{}, maxCalls),
		dead: make(chan struct{}), ended: make(chan struct{}), wake: make(chan struct{}, 1), dirty: map[string]struct{}{},
	}
	l.granted.Store(int64(o.Timeout))
	servers := append([]string(nil), o.Servers...) // the library shuffles its argument
	conn, _, err := zkclient.Connect(servers, o.Timeout,
		zkclient.WithDialer(l.dial), zkclient.WithHostProvider(new(hosts)), zkclient.WithEventCallback(l.onEvent),
		zkclient.WithMaxBufferSize(maxAnswer), zkclient.WithLogger(libraryLog{o.Log}), zkclient.WithLogInfo(false))
	if err != nil {
		return nil, fmt.Errorf("ZooKeeper: %w", err)
	}
	l.conn = conn
	return l, nil
}

// libraryLog writes the library's messages to the log at debug level.
type libraryLog struct{ log *slog.Logger }

// Printf implements zkclient.Logger.
func (l libraryLog) Printf(format string, args ...any) {
	l.log.Debug("ZooKeeper client", "says", fmt.Sprintf(format, args...))
}

// onEvent records what the library reports. It is called from the library's own goroutines and must not block. It receives every event,
// whereas the library's channel drops those that do not fit.
func (l *link) onEvent(e zkclient.Event) {
	if e.Type != zkclient.EventSession {
		if !l.deaf.Load() {
			l.soil(e.Path)
		}
		return
	}
	switch e.State {
	case zkclient.StateHasSession:
		l.connects.Add(1)
		l.up.Store(true)
		l.soilAll() // restored watches may have been lost
	case zkclient.StateExpired:
		l.up.Store(false)
		l.kill()
	case zkclient.StateDisconnected, zkclient.StateConnecting:
		l.up.Store(false)
	}
}

// soil marks a znode to be reread.
func (l *link) soil(path string) {
	l.mu.Lock()
	if len(l.dirty) < maxDirty {
		l.dirty[path] = struct{}{}
	} else {
		l.all = true
	}
	l.mu.Unlock()
	l.nudge()
}

// soilAll marks everything to be reread.
func (l *link) soilAll() {
	l.mu.Lock()
	l.all = true
	l.mu.Unlock()
	l.nudge()
}

func (l *link) nudge() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// take returns what is dirty and clears the marks.
func (l *link) take() (dirty map[string]struct{}, all bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	dirty, all = l.dirty, l.all
	l.dirty, l.all = map[string]struct{}{}, false
	return dirty, all
}

// takeBelow returns what is dirty at or below the path and clears those marks.
func (l *link) takeBelow(path string) (below []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for p := range l.dirty {
		if p == path || strings.HasPrefix(p, path+"/") {
			below = append(below, p)
			delete(l.dirty, p)
		}
	}
	return below
}

func (l *link) timeout() time.Duration { return time.Duration(l.granted.Load()) }

func (l *link) isDead() bool {
	select {
	case <-l.dead:
		return true
	default:
		return false
	}
}

// kill makes the link dead; a dead link sends nothing more.
func (l *link) kill() { l.deadOnce.Do(func() { close(l.dead) }) }

// close kills the link and ends its session, if ZooKeeper is reachable. The library's Close has been known to hang, so the caller need
// not wait for the returned channel, which is closed when everything is done.
func (l *link) close() <-chan struct{} {
	l.endOnce.Do(func() {
		go func() {
			defer close(l.ended)
			l.conn.Close()
			l.kill()
			for range maxCalls {
				l.slots <- struct{}{} // wait until every call has ended
			}
		}()
	})
	return l.ended
}

// call runs f, which queries ZooKeeper, with a time limit of one session timeout; the library has no time limits. With errDown and
// errDead, f did not run. With errTimeout, or the error of ctx, the effect of f is unknown.
func call[T any](ctx context.Context, l *link, f func(*zkclient.Conn) (T, error)) (T, error) {
	var none T
	if l.isDead() {
		return none, errDead
	}
	if !l.up.Load() {
		return none, errDown
	}
	limit := time.NewTimer(l.timeout())
	defer limit.Stop()
	select {
	case l.slots <- struct{}{}:
	case <-ctx.Done():
		return none, fmt.Errorf("%w: %w", errDown, ctx.Err())
	case <-limit.C:
		return none, errDown
	case <-l.dead:
		return none, errDead
	}
	type answer struct {
		v   T
		err error
	}
	got := make(chan answer, 1)
	go func() {
		v, err := f(l.conn)
		got <- answer{v, err}
		<-l.slots
	}()
	select {
	case a := <-got:
		return a.v, a.err
	case <-ctx.Done():
		return none, ctx.Err()
	case <-limit.C:
		return none, errTimeout
	case <-l.dead:
		return none, errTimeout
	}
}

// run1 is like call, for functions that return only an error.
func run1(ctx context.Context, l *link, f func(*zkclient.Conn) error) error {
	_, err := call(ctx, l, func(c *zkclient.Conn) (struct{}, error) { return struct{}{}, f(c) })
	return err
}

// confirm asks the ensemble's leader whether the session is alive, using a Sync, which passes through the leader. It returns the time
// when the request was sent.
func (l *link) confirm(ctx context.Context, path string) (time.Time, error) {
	sent := time.Now()
	err := run1(ctx, l, func(c *zkclient.Conn) error { _, err := c.Sync(path); return err })
	return sent, err
}

// waitUp waits until the library has a session.
func (l *link) waitUp(ctx context.Context) error {
	for !l.up.Load() {
		select {
		case <-l.wake:
		case <-l.dead:
			return errDead
		case <-ctx.Done():
			return errDown
		}
	}
	return nil
}

// establish waits for the session, authenticates with the account, and confirms both.
func (l *link) establish(ctx context.Context, o *Options, root string) error {
	if err := l.waitUp(ctx); err != nil {
		return err
	}
	if o.Account.User != "" {
		err := run1(ctx, l, func(c *zkclient.Conn) error {
			return c.AddAuth("digest", []byte(o.Account.User+":"+o.Account.password))
		})
		if errors.Is(err, zkclient.ErrAuthFailed) {
			return fmt.Errorf("ZooKeeper does not support digest accounts: %w: %w", concordat.ErrRefused, err)
		}
		if err != nil {
			return err
		}
	}
	sent, err := l.confirm(ctx, root)
	if err != nil {
		return err
	}
	// The session number alone is insufficient, because it could recur if ZooKeeper lost its data.
	var draw [4]byte
	_, _ = rand.Read(draw[:]) // this never fails
	l.me = coord.Incarnation(fmt.Sprintf("%s:%016x.%s", o.Node, uint64(l.conn.SessionID()), hex.EncodeToString(draw[:])))
	l.begun = sent
	return nil
}

// readError converts the error of a failed read for callers.
func readError(what string, err error) error {
	switch {
	case errors.Is(err, zkclient.ErrNoNode):
		return fmt.Errorf("%s: %w", what, concordat.ErrNotFound)
	case errors.Is(err, zkclient.ErrNoAuth):
		return fmt.Errorf("%s: ZooKeeper denied access to this account: %w: %w", what, concordat.ErrUnavailable, err)
	case errors.Is(err, concordat.ErrCorrupt), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: %w", what, err)
	}
	return fmt.Errorf("%s: %w: %w", what, concordat.ErrUnavailable, err)
}

// changeError reports whether a failed change may have been made; it may, unless it was not sent or ZooKeeper itself refused it.
func changeError(what string, err error) error {
	switch {
	case errors.Is(err, errDown), errors.Is(err, errDead), errors.Is(err, zkclient.ErrNoServer), errors.Is(err, zkclient.ErrNoAuth),
		errors.Is(err, zkclient.ErrAuthFailed), errors.Is(err, zkclient.ErrInvalidACL), errors.Is(err, zkclient.ErrInvalidPath),
		errors.Is(err, zkclient.ErrBadArguments):
		return fmt.Errorf("%s: %w: %w", what, concordat.ErrUnavailable, err)
	}
	return fmt.Errorf("%s: %w: %w", what, coord.ErrUnknown, err)
}
