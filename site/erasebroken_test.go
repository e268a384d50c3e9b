package site_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/storetest"
	"concordat/site/batch"
	"concordat/site/retain"
	"concordat/store"
)

// failingErasure is a brokenStore for what deletions call besides.
type failingErasure struct{ *brokenStore }

var _ retain.Store = failingErasure{}

func (b failingErasure) AskErasure(ctx context.Context, e store.Erasure) error {
	return b.fails("AskErasure", func() error { return b.DB.AskErasure(ctx, e) })
}

func (b failingErasure) StepErasure(ctx context.Context, id string, state store.ErasureState, receipt json.RawMessage) error {
	return b.fails("StepErasure", func() error { return b.DB.StepErasure(ctx, id, state, receipt) })
}

func (b failingErasure) Erasure(ctx context.Context, id string) (v store.Erasure, err error) {
	err = b.fails("Erasure", func() error { v, err = b.DB.Erasure(ctx, id); return err })
	return v, err
}

func (b failingErasure) EraseTask(ctx context.Context, id concordat.TaskID) (v store.Erased, err error) {
	err = b.fails("EraseTask", func() error { v, err = b.DB.EraseTask(ctx, id); return err })
	return v, err
}

func (b failingErasure) EraseTraces(ctx context.Context, site concordat.SiteID, lib concordat.LibraryID,
	ids []concordat.DocumentID) (alerts, answers int64, err error) {
	err = b.fails("EraseTraces", func() error { alerts, answers, err = b.DB.EraseTraces(ctx, site, lib, ids); return err })
	return alerts, answers, err
}

func (b failingErasure) Originals(ctx context.Context, id concordat.TaskID) (v []string, err error) {
	err = b.fails("Originals", func() error { v, err = b.DB.Originals(ctx, id); return err })
	return v, err
}

func (b failingErasure) OriginalNeeded(ctx context.Context, hash string) (v bool, err error) {
	err = b.fails("OriginalNeeded", func() error { v, err = b.DB.OriginalNeeded(ctx, hash); return err })
	return v, err
}

func (b failingErasure) Citing(ctx context.Context, r concordat.Ref) (v []concordat.TaskID, err error) {
	err = b.fails("Citing", func() error { v, err = b.DB.Citing(ctx, r); return err })
	return v, err
}

func (b failingErasure) Purge(ctx context.Context, whole bool) (v bool, err error) {
	err = b.fails("Purge", func() error { v, err = b.DB.Purge(ctx, whole); return err })
	return v, err
}

func (b failingErasure) Batch(ctx context.Context, id string) (v store.Batch, err error) {
	err = b.fails("Batch", func() error { v, err = b.DB.Batch(ctx, id); return err })
	return v, err
}

func (b failingErasure) BatchMembers(ctx context.Context, id string) (v []store.BatchMember, err error) {
	err = b.fails("BatchMembers", func() error { v, err = b.DB.BatchMembers(ctx, id); return err })
	return v, err
}

func (b failingErasure) BatchOfTask(ctx context.Context, task concordat.TaskID) (id string, member int, err error) {
	err = b.fails("BatchOfTask", func() error { id, member, err = b.DB.BatchOfTask(ctx, task); return err })
	return id, member, err
}

func (b failingErasure) BatchInputs(ctx context.Context, id string, waiting bool) (v []store.BatchInput, err error) {
	err = b.fails("BatchInputs", func() error { v, err = b.DB.BatchInputs(ctx, id, waiting); return err })
	return v, err
}

func (b failingErasure) EraseBatchMember(ctx context.Context, id string, number int, request json.RawMessage) error {
	return b.fails("EraseBatchMember", func() error { return b.DB.EraseBatchMember(ctx, id, number, request) })
}

func (b failingErasure) DeleteBatch(ctx context.Context, id string) error {
	return b.fails("DeleteBatch", func() error { return b.DB.DeleteBatch(ctx, id) })
}

// erasures are deletions of each kind: the eraser, the store that it uses, and a function that makes the next thing to delete
// and looks whether it is gone.
var erasures = map[string]func(t *testing.T) (e *retain.Eraser, b *brokenStore, next func() (retain.Target, func())){
	"a document that a report cites": func(t *testing.T) (*retain.Eraser, *brokenStore, func() (retain.Target, func())) {
		s := newErasureSite(t)
		b := &brokenStore{DB: s.store, fail: -1}
		e := retain.New(s.Site, retain.Options{Answers: s.Answerer, Store: failingErasure{b}, Areas: []retain.Area{s.files},
			Cited: func() retain.CitedPolicy { return retain.CitedWithhold }})
		n := 0
		return e, b, func() (retain.Target, func()) {
			n++
			id := concordat.DocumentID(fmt.Sprintf("%s-%d.txt", mark, n))
			s.add(id, marked)
			task := s.check(marked, nil)
			return retain.Target{Library: "theses", Documents: []concordat.DocumentID{id}}, func() {
				if _, err := s.store.DocumentRow(t.Context(), "theses", id); !errors.Is(err, concordat.ErrNotFound) {
					t.Errorf("the document: %v", err)
				}
				f, err := s.Findings(t.Context(), task)
				if err != nil || len(f.Passages) == 0 || strings.Contains(wording(f), mark) {
					t.Errorf("the report that cites it: %v, %q", err, wording(f))
				}
			}
		}
	},
	"a check": func(t *testing.T) (*retain.Eraser, *brokenStore, func() (retain.Target, func())) {
		s := newErasureSite(t)
		b := &brokenStore{DB: s.store, fail: -1}
		e := retain.New(s.Site, retain.Options{Store: failingErasure{b}, Areas: []retain.Area{s.files}})
		return e, b, func() (retain.Target, func()) {
			task := s.check(marked, nil)
			return retain.Target{Tasks: []concordat.TaskID{task}}, func() {
				if _, err := s.store.Task(t.Context(), task); !errors.Is(err, concordat.ErrNotFound) {
					t.Errorf("the check: %v", err)
				}
				if in := s.holding([]byte(mark)); len(in) > 0 {
					t.Errorf("its text is still in %v", in)
				}
			}
		}
	},
	"a document of a batch": func(t *testing.T) (*retain.Eraser, *brokenStore, func() (retain.Target, func())) {
		p := newSite(t)
		b := &brokenStore{DB: p.store, fail: -1}
		place := &onePlace{}
		e := retain.New(p.Site, retain.Options{Store: failingErasure{b}, Batches: place})
		shared := prose(1, 12)
		return e, b, func() (retain.Target, func()) {
			x := newBatch(t, p, map[string]string{"x.txt": shared + prose(2, 8), "y.txt": shared + prose(3, 8)}, []string{"x.txt", "y.txt"},
				batch.Job{NoLibraries: true})
			place.index = x.index
			tasks := map[string]concordat.TaskID{}
			for _, m := range x.run(t).Members {
				tasks[m.Name] = m.Task
			}
			return retain.Target{Tasks: []concordat.TaskID{tasks["x.txt"]}}, func() {
				f, err := p.Findings(t.Context(), tasks["y.txt"])
				if err != nil || len(f.Passages) == 0 || strings.Contains(wording(f), "x.txt") {
					t.Errorf("the report of the other: %v, %q", err, wording(f))
				}
				ref := concordat.Ref{Site: "here", Library: concordat.BatchLibrary(x.id), Document: "x.txt"}
				if _, err := x.index.Document(t.Context(), ref); !errors.Is(err, concordat.ErrNotFound) {
					t.Errorf("its text: %v", err)
				}
			}
		}
	},
}

// resume goes on with open deletions, as the next start would. A part of the index may be in use, and then a deletion stays open.
func resume(t *testing.T, e *retain.Eraser) (done int, err error) {
	t.Helper()
	for range 4 {
		if done, err = e.Resume(t.Context()); !errors.Is(err, concordat.ErrUnavailable) {
			break
		}
	}
	return done, err
}

// TestErasureStoreFails lets each call of the store fail in a deletion of each kind: who asked is told, and with the next
// start all of it goes, also what other reports say in the words of what is deleted.
func TestErasureStoreFails(t *testing.T) {
	for name, kind := range erasures {
		t.Run(name, func(t *testing.T) {
			e, b, next := kind(t)
			target, gone := next()
			b.begin(-1, false)
			if _, err := e.Erase(t.Context(), "ada", "asked", target); err != nil {
				t.Fatal(err)
			}
			calls := b.made()
			gone()
			tried := map[string]bool{}
			for n, call := range calls {
				if testing.Short() && tried[call] {
					continue
				}
				tried[call] = true
				target, gone := next()
				b.begin(n, false)
				_, err := e.Erase(t.Context(), "ada", "asked", target)
				b.begin(-1, false)
				if !errors.Is(err, errStore) {
					t.Errorf("call %d, %s, failed: error %v, want that of the store", n, call, err)
				}
				if call == "AskErasure" { // nothing was begun
					if _, err := e.Erase(t.Context(), "ada", "asked", target); err != nil {
						t.Fatal(err)
					}
				} else {
					done, err := resume(t, e)
					if done != 1 || err != nil {
						t.Errorf("after call %d, %s, failed: went on with %d deletions, error %v", n, call, done, err)
					}
				}
				gone()
			}
			if len(calls) < 5 {
				t.Errorf("a deletion of %d calls of the store, too few for this test", len(calls))
			}
		})
	}
}

// TestErasureStatementsFail is the same with each statement, those of a transaction too.
func TestErasureStatementsFail(t *testing.T) {
	for name, kind := range erasures {
		t.Run(name, func(t *testing.T) {
			e, _, next := kind(t)
			for n := 0; ; n++ {
				target, gone := next()
				ctx := storetest.NewLosing(t.Context(), n)
				_, err := e.Erase(ctx, "ada", "asked", target)
				if !ctx.Lost() {
					must(t, err)
					gone()
					return
				}
				if !errors.Is(err, storetest.ErrLost) {
					t.Errorf("statement %d failed: error %v, want its own", n, err)
				}
				done, err := resume(t, e)
				must(t, err)
				if done == 0 { // nothing was begun, or all was done
					_, err = e.Erase(t.Context(), "ada", "asked", target)
					must(t, err)
				}
				gone()
			}
		})
	}
}
