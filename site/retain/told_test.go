package retain_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"concordat"
	"concordat/internal/storetest"
	"concordat/site/retain"
)

// untidy is a set of files that cannot be tidied.
type untidy struct{ err error }

func (untidy) Name() string { return "untidy" }

func (untidy) Erase(context.Context, concordat.TaskID, []string) (int, error) { return 0, nil }

func (u untidy) Tidy(context.Context, time.Time, func(string) (bool, error)) (int, error) {
	return 2, u.err
}

// TestDeletionNeedsItsRemains: a deletion is done only when the remains of interrupted work are gone.
func TestDeletionNeedsItsRemains(t *testing.T) {
	s := newErasureSite(t)
	fault := errors.New("the folder cannot be read")
	e := retain.New(s.Site, retain.Options{Store: s.store, Areas: []retain.Area{s.files}, Remains: func() error { return fault }})
	task := s.check(marked, nil)
	if _, err := e.Erase(t.Context(), "ada", "asked", retain.Target{Tasks: []concordat.TaskID{task}}); !errors.Is(err, fault) {
		t.Errorf("with remains: got %v, want %v", err, fault)
	}
	open, err := s.store.Retention.OpenErasures(t.Context())
	if err != nil || len(open) != 1 {
		t.Errorf("open deletions %+v, %v, want the one", open, err)
	}
	fault = nil
	if n, err := e.Resume(t.Context()); n != 1 || err != nil {
		t.Errorf("without remains: went on with %d, %v", n, err)
	}
}

// TestSweepTells: a sweep reports files that cannot be tidied and a store that cannot list the open deletions, and still counts what it
// removed.
func TestSweepTells(t *testing.T) {
	s := newErasureSite(t)
	db, script := storetest.Scripted(s.store)
	fault := errors.New("a file cannot be removed")
	e := retain.New(s.Site, retain.Options{Answers: s.Answerer, Store: db, Areas: []retain.Area{untidy{fault}, untidy{}}})
	got, err := e.Sweep(t.Context(), retain.Retention{}, false)
	if !errors.Is(err, fault) || got.Files != 4 {
		t.Errorf("got %+v, %v, want 4 files and %v", got, err, fault)
	}
	want := errors.New("the store does not answer")
	script.On("OpenErasures", func() error { return want })
	if _, err := e.Sweep(t.Context(), retain.Retention{}, false); !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
}
