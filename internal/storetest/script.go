package storetest

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"

	"concordat/store"
)

// ErrScript is the error of a call that a script causes to fail.
var ErrScript = errors.New("the store is broken")

// Script makes calls of a store fail without doing anything. Its methods are safe for concurrent use.
type Script struct {
	mu    sync.Mutex // guards the fields below
	calls []string   // calls since Begin, by name
	fail  int        // number of the call that fails, from 0; none if negative
	since bool       // whether all later calls fail too
	on    map[string]func() error
}

// Scripted returns a store like db that follows a script; initially, no call fails.
func Scripted(db *store.DB) (*store.DB, *Script) {
	s := &Script{fail: -1, on: map[string]func() error{}}
	return db.Scripted(s), s
}

// Begin forgets earlier calls. The call numbered fail fails with ErrScript, as do all later ones if stays is set; if fail is negative,
// none does. A transaction is one call, as is each statement outside a transaction.
func (s *Script) Begin(fail int, stays bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls, s.fail, s.since = nil, fail, stays
}

// Made returns the calls since Begin, each by the name of the store's method.
func (s *Script) Made() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls)
}

// On runs f before each call of a method; an error from f becomes the call's error. f may panic and wait, and must use a store other than
// the scripted one. A nil f ends this.
func (s *Script) On(method string, f func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on[method] = f
}

// Next implements engine.Script.
func (s *Script) Next(context.Context) error {
	method := calledMethod()
	s.mu.Lock()
	n := len(s.calls)
	s.calls = append(s.calls, method)
	bad, f := s.fail >= 0 && (n == s.fail || s.since && n > s.fail), s.on[method]
	s.mu.Unlock()
	if bad {
		return ErrScript
	}
	if f != nil {
		return f()
	}
	return nil
}

// calledMethod returns the store method called by the test.
func calledMethod() (method string) {
	const pkg = "concordat/store"
	var stack [64]uintptr
	frames := runtime.CallersFrames(stack[:runtime.Callers(3, stack[:])])
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		name, within := strings.CutPrefix(f.Function, pkg+".")
		if within {
			method, _, _ = strings.Cut(name[strings.IndexByte(name, '.')+1:], ".")
		} else if method != "" && !strings.HasPrefix(f.Function, pkg+"/engine.") {
			break
		}
	}
	return method
}
