package retain_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/internal/storetest"
	"concordat/site/batch"
	"concordat/site/retain"
)

// erasures are deletions of each kind: the eraser, its store, and a function that creates the next thing to delete and checks whether it
// is gone.
var erasures = map[string]func(t *testing.T) (e *retain.Eraser, b *storetest.Script, next func() (retain.Target, func())){
	"a document that a report cites": func(t *testing.T) (*retain.Eraser, *storetest.Script, func() (retain.Target, func())) {
		s := newErasureSite(t)
		db, b := storetest.Scripted(s.store)
		e := retain.New(s.Site, retain.Options{Answers: s.Answerer, Store: db, Areas: []retain.Area{s.files},
			Cited: func() retain.CitedPolicy { return retain.CitedWithhold }})
		n := 0
		return e, b, func() (retain.Target, func()) {
			n++
			id := concordat.DocumentID(fmt.Sprintf("%s-%d.txt", mark, n))
			s.add(id, marked)
			task := s.check(marked, nil)
			return retain.Target{Library: "theses", Documents: []concordat.DocumentID{id}}, func() {
				if _, err := s.store.Catalogue.DocumentRow(t.Context(), "theses", id); !errors.Is(err, concordat.ErrNotFound) {
					t.Errorf("the document: %v", err)
				}
				f, err := s.Findings(t.Context(), task)
				if err != nil || len(f.Passages) == 0 || strings.Contains(wording(f), mark) {
					t.Errorf("the report that cites it: %v, %q", err, wording(f))
				}
			}
		}
	},
	"a check": func(t *testing.T) (*retain.Eraser, *storetest.Script, func() (retain.Target, func())) {
		s := newErasureSite(t)
		db, b := storetest.Scripted(s.store)
		e := retain.New(s.Site, retain.Options{Store: db, Areas: []retain.Area{s.files}})
		return e, b, func() (retain.Target, func()) {
			task := s.check(marked, nil)
			return retain.Target{Tasks: []concordat.TaskID{task}}, func() {
				if _, err := s.store.Checks.Task(t.Context(), task); !errors.Is(err, concordat.ErrNotFound) {
					t.Errorf("the check: %v", err)
				}
				if in := s.holding([]byte(mark)); len(in) > 0 {
					t.Errorf("its text is still in %v", in)
				}
			}
		}
	},
	"a document of a batch": func(t *testing.T) (*retain.Eraser, *storetest.Script, func() (retain.Target, func())) {
		p := sitetest.NewSite(t)
		db, b := storetest.Scripted(p.Store)
		place := &onePlace{}
		e := retain.New(p.Site, retain.Options{Store: db, Batches: place})
		shared := sitetest.Prose(1, 12)
		return e, b, func() (retain.Target, func()) {
			x := sitetest.NewBatch(t, p, map[string]string{"x.txt": shared + sitetest.Prose(2, 8), "y.txt": shared + sitetest.Prose(3, 8)},
				[]string{"x.txt", "y.txt"},
				batch.Job{NoLibraries: true})
			place.index = x.Index
			tasks := map[string]concordat.TaskID{}
			for _, m := range x.Run(t).Members {
				tasks[m.Name] = m.Task
			}
			return retain.Target{Tasks: []concordat.TaskID{tasks["x.txt"]}}, func() {
				f, err := p.Findings(t.Context(), tasks["y.txt"])
				if err != nil || len(f.Passages) == 0 || strings.Contains(wording(f), "x.txt") {
					t.Errorf("the report of the other: %v, %q", err, wording(f))
				}
				ref := concordat.Ref{Site: "here", Library: concordat.BatchLibrary(x.BatchID), Document: "x.txt"}
				if _, err := x.Index.Document(t.Context(), ref); !errors.Is(err, concordat.ErrNotFound) {
					t.Errorf("its text: %v", err)
				}
			}
		}
	},
}

// resume continues open deletions, as the next start would. A deletion stays open while part of the index is in use.
func resume(t *testing.T, e *retain.Eraser) (done int, err error) {
	t.Helper()
	for range 4 {
		if done, err = e.Resume(t.Context()); !errors.Is(err, concordat.ErrUnavailable) {
			break
		}
	}
	return done, err
}

// TestErasureStoreFails makes each call of the store fail in a deletion of each kind. The requester gets an error, and the next start
// deletes everything, including quotations in other reports.
func TestErasureStoreFails(t *testing.T) {
	for name, kind := range erasures {
		t.Run(name, func(t *testing.T) {
			e, b, next := kind(t)
			target, gone := next()
			b.Begin(-1, false)
			if _, err := e.Erase(t.Context(), "ada", "asked", target); err != nil {
				t.Fatal(err)
			}
			calls := b.Made()
			gone()
			tried := map[string]bool{}
			for n, call := range calls {
				if testing.Short() && tried[call] {
					continue
				}
				tried[call] = true
				target, gone := next()
				b.Begin(n, false)
				_, err := e.Erase(t.Context(), "ada", "asked", target)
				b.Begin(-1, false)
				if !errors.Is(err, storetest.ErrScript) {
					t.Errorf("call %d, %s, failed: error %v, want that of the store", n, call, err)
				}
				if call == "AskErasure" { // the deletion was not begun
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

// TestErasureStatementsFail does the same for each statement, including statements in transactions.
func TestErasureStatementsFail(t *testing.T) {
	for name, kind := range erasures {
		t.Run(name, func(t *testing.T) {
			e, _, next := kind(t)
			for n := 0; ; n++ {
				target, gone := next()
				ctx := storetest.NewLosing(t.Context(), n)
				_, err := e.Erase(ctx, "ada", "asked", target)
				if !ctx.Lost() {
					sitetest.Must(t, err)
					gone()
					return
				}
				if !errors.Is(err, storetest.ErrLost) {
					t.Errorf("statement %d failed: error %v, want its own", n, err)
				}
				done, err := resume(t, e)
				sitetest.Must(t, err)
				if done == 0 { // either the deletion was not begun, or it was completed
					_, err = e.Erase(t.Context(), "ada", "asked", target)
					sitetest.Must(t, err)
				}
				gone()
			}
		})
	}
}
