package site_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"concordat"
	"concordat/site/retain"
	"concordat/store"
)

// reluctant is a store whose log keeps what was deleted, or that cannot say once which deletions are open.
type reluctant struct {
	*store.DB
	keeps bool
	open  error
}

func (r *reluctant) Purge(ctx context.Context, whole bool) (bool, error) {
	if r.keeps {
		return false, nil
	}
	return r.DB.Purge(ctx, whole)
}

func (r *reluctant) OpenErasures(ctx context.Context) ([]store.Erasure, error) {
	if err := r.open; err != nil {
		r.open = nil
		return nil, err
	}
	return r.DB.OpenErasures(ctx)
}

// untidy is a place for files that cannot be tidied.
type untidy struct{ err error }

func (untidy) Name() string { return "untidy" }

func (untidy) Erase(context.Context, concordat.TaskID, []string) (int, error) { return 0, nil }

func (u untidy) Tidy(context.Context, time.Time, func(string) (bool, error)) (int, error) {
	return 2, u.err
}

// TestDeletionNeedsItsRemains: a deletion is done once what work that was cut short had left is gone, and not before.
func TestDeletionNeedsItsRemains(t *testing.T) {
	s := newErasureSite(t)
	fault := errors.New("the folder cannot be read")
	e := retain.New(s.Site, retain.Options{Store: s.store, Areas: []retain.Area{s.files}, Remains: func() error { return fault }})
	task := s.check(marked, nil)
	if _, err := e.Erase(t.Context(), "ada", "asked", retain.Target{Tasks: []concordat.TaskID{task}}); !errors.Is(err, fault) {
		t.Errorf("with remains: got %v, want %v", err, fault)
	}
	open, err := s.store.OpenErasures(t.Context())
	if err != nil || len(open) != 1 {
		t.Errorf("open deletions %+v, %v, want the one", open, err)
	}
	fault = nil
	if n, err := e.Resume(t.Context()); n != 1 || err != nil {
		t.Errorf("without remains: went on with %d, %v", n, err)
	}
}

// TestReceiptNamesTheLog: a receipt says that the store's log still holds what was deleted where it does, and only there.
func TestReceiptNamesTheLog(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		s := newErasureSite(t)
		e := retain.New(s.Site, retain.Options{Store: &reluctant{DB: s.store, keeps: keeps}, Areas: []retain.Area{s.files}})
		r, err := e.Erase(t.Context(), "ada", "asked", retain.Target{Tasks: []concordat.TaskID{s.check(marked, nil)}})
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(r.Stays, "log"); got != keeps {
			t.Errorf("the log keeps it: %v; the receipt says of what stays %v", keeps, r.Stays)
		}
	}
}

// TestSweepTells: a place that cannot be tidied, and a store that cannot say which deletions are open, is told; what was
// removed all the same is counted.
func TestSweepTells(t *testing.T) {
	s := newErasureSite(t)
	db, fault := &reluctant{DB: s.store}, errors.New("a file cannot be removed")
	e := retain.New(s.Site, retain.Options{Answers: s.Answerer, Store: db, Areas: []retain.Area{untidy{fault}, untidy{}}})
	got, err := e.Sweep(t.Context(), retain.Retention{}, false)
	if !errors.Is(err, fault) || got.Files != 4 {
		t.Errorf("got %+v, %v, want 4 files and %v", got, err, fault)
	}
	db.open = errors.New("the store does not answer")
	want := db.open
	if _, err := e.Sweep(t.Context(), retain.Retention{}, false); !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
}
