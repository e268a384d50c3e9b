package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"concordat"
	"concordat/index"
)

// frozenTime is how long an index that was not fetched is kept.
const frozenTime = time.Hour

// frozenIndexes are the indexes of a copy as of the moments of backups, kept until they are fetched.
type frozenIndexes struct {
	mu *sync.Mutex             // the copy's mu; protects by
	by map[string]*frozenIndex // by name of the moment
}

// frozenIndex is an index as of some moment.
type frozenIndex struct {
	mu     sync.Mutex // protects the following fields
	frozen *index.Frozen
	closed bool
}

var errGivenUp = fmt.Errorf("the snapshot of the index was abandoned, because copying took too long or the index was recreated; start again: %w", concordat.ErrUnavailable)

// close waits until a copy in progress is complete.
func (s *frozenIndex) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return s.frozen.Close()
}

// keep keeps the index as of the moment, for frozenTime at most.
func (f *frozenIndexes) keep(moment string, at *index.Frozen) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.by == nil {
		f.by = map[string]*frozenIndex{}
	}
	f.by[moment] = &frozenIndex{frozen: at}
	time.AfterFunc(frozenTime, func() { _ = f.thaw(moment) }) // otherwise already closed or released
}

// thaw releases the index of a moment, or of all moments if the name is empty.
func (f *frozenIndexes) thaw(moment string) error {
	f.mu.Lock()
	var all []*frozenIndex
	for m, s := range f.by {
		if moment == "" || m == moment {
			all = append(all, s)
			delete(f.by, m)
		}
	}
	f.mu.Unlock()
	var errs []error
	for _, s := range all {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}

// copyTo writes the index of a moment to folder dir, which must not exist; this works only once.
func (f *frozenIndexes) copyTo(ctx context.Context, moment, dir string) error {
	s, err := f.of(moment)
	if err != nil {
		return err
	}
	s.mu.Lock()
	err = errGivenUp
	if !s.closed {
		err = s.frozen.CopyTo(ctx, dir)
	}
	s.mu.Unlock()
	return errors.Join(err, f.thaw(moment))
}

// of returns the index of the moment, or errGivenUp.
func (f *frozenIndexes) of(moment string) (*frozenIndex, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.by[moment]
	if s == nil {
		return nil, errGivenUp
	}
	return s, nil
}

// use calls do with the index of a moment, and releases it afterwards.
func (f *frozenIndexes) use(moment string, do func(*index.Frozen) error) error {
	s, err := f.of(moment)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer func() {
		s.mu.Unlock()
		_ = f.thaw(moment) // the index itself reports any problem
	}()
	if s.closed {
		return errGivenUp
	}
	return do(s.frozen)
}
