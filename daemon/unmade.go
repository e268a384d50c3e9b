package daemon

import (
	"errors"
	"sync"
	"time"

	"concordat/extract"
)

const (
	// maxUnmade bounds the number of remembered failures; the oldest is forgotten first.
	maxUnmade = 256
	// lateAgain is how long a timeout is remembered. LibreOffice is then tried again, since the machine may have been busy.
	lateAgain = time.Hour
)

// unmade remembers files that LibreOffice failed to convert, so that no one waits for the same failure again. The zero value is empty. It
// is safe for concurrent use.
type unmade struct {
	mu    sync.Mutex // guards the fields below
	why   map[string]failedMaking
	order []string // keys of why, oldest first
}

// failedMaking is the reason why a file could not be converted, and the time until which it is remembered; zero means forever.
type failedMaking struct {
	err   error
	until time.Time
}

// put remembers a failure if the file caused it.
func (u *unmade) put(key string, err error, now time.Time) {
	var bad *extract.Error
	if !errors.As(err, &bad) {
		return
	}
	one := failedMaking{err: err}
	if bad.Code == extract.Timeout {
		one.until = now.Add(lateAgain)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.why == nil {
		u.why = map[string]failedMaking{}
	}
	if _, ok := u.why[key]; !ok {
		u.order = append(u.order, key)
	}
	u.why[key] = one
	if len(u.order) > maxUnmade {
		delete(u.why, u.order[0])
		u.order = u.order[1:]
	}
}

// get returns why a file cannot be converted, or nil if no failure is known.
func (u *unmade) get(key string, now time.Time) error {
	u.mu.Lock()
	defer u.mu.Unlock()
	one, ok := u.why[key]
	if !ok || !one.until.IsZero() && !now.Before(one.until) {
		return nil
	}
	return one.err
}
