package retain

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/internal/indextest"
	"concordat/internal/storetest"
	"concordat/profile"
	"concordat/report"
	"concordat/site"
	"concordat/store"
)

var errBroken = errors.New("the disk is broken")

// TestTargets: a deletion names at least one thing, names a library along with its documents, and names at most 10,000 things in all.
func TestTargets(t *testing.T) {
	documents := func(n int) (out []concordat.DocumentID) {
		for i := range n {
			out = append(out, concordat.DocumentID(strconv.Itoa(i)))
		}
		return out
	}
	tasks := func(n int) []concordat.TaskID { return make([]concordat.TaskID, n) }
	for name, c := range map[string]struct {
		target Target
		good   bool
	}{
		"nothing":                 {Target{}, false},
		"nothing of a library":    {Target{Library: "a"}, false},
		"a task":                  {Target{Tasks: tasks(1)}, true},
		"a document":              {Target{Library: "a", Documents: documents(1)}, true},
		"a document of nowhere":   {Target{Documents: documents(1)}, false},
		"a batch":                 {Target{Batches: []string{"b"}}, true},
		"a library":               {Target{Library: "a", Whole: true}, true},
		"all of no library":       {Target{Whole: true}, false},
		"as many as may be":       {Target{Library: "a", Tasks: tasks(4000), Documents: documents(5000), Batches: make([]string, 1000)}, true},
		"one more task":           {Target{Library: "a", Tasks: tasks(4001), Documents: documents(5000), Batches: make([]string, 1000)}, false},
		"one more document":       {Target{Library: "a", Tasks: tasks(4000), Documents: documents(5001), Batches: make([]string, 1000)}, false},
		"one more batch":          {Target{Library: "a", Tasks: tasks(4000), Documents: documents(5000), Batches: make([]string, 1001)}, false},
		"too many tasks by far":   {Target{Tasks: tasks(MaxTargets + 1)}, false},
		"tasks beside no library": {Target{Tasks: tasks(1), Documents: documents(1)}, false},
	} {
		if err := c.target.Validate(); (err == nil) != c.good || err != nil && !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%s: %v, is to be taken: %v", name, err, c.good)
		}
		if strings.HasPrefix(name, "one more") && !strings.Contains(c.target.Validate().Error(), "of 10001 items") {
			t.Errorf("%s: %v, want that there are 10001", name, c.target.Validate())
		}
	}
}

// unpurged is an index that cannot remove its bytes from the disk.
type unpurged struct{ *indextest.Oracle }

func (unpurged) Purge(context.Context) error { return errBroken }

// TestNotDoneUnpurged: a deletion is not reported as done while its bytes are still in the index.
func TestNotDoneUnpurged(t *testing.T) {
	db := storetest.SQLite(t)
	s := site.New(site.Options{ID: "here", Store: db, Index: unpurged{&indextest.Oracle{Site: "here"}}})
	r := &Receipt{ID: "1", Documents: []ErasedDocument{{Library: "theses", Name: "a"}}}
	if err := New(s, Options{Store: db}).finish(t.Context(), r); !errors.Is(err, errBroken) || !r.Done.IsZero() {
		t.Errorf("done at %v, %v; want that the index keeps the bytes", r.Done, err)
	}
}

// TestReceiptHasWhatWas: a receipt lists exactly the documents that existed and were deleted, and everything listed is gone.
func TestReceiptHasWhatWas(t *testing.T) {
	db := storetest.SQLite(t)
	p, err := profile.New(profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	index := &indextest.Oracle{Site: "here", Scheme: p.Scheme()}
	s := site.New(site.Options{ID: "here", Store: db, Index: index, Profiler: p})
	if err := db.Catalogue.CreateLibrary(t.Context(), store.Library{ID: "theses"}); err != nil {
		t.Fatal(err)
	}
	err = s.Ingest(t.Context(), "theses", func(yield func(site.Incoming, error) bool) {
		_ = yield(site.Incoming{ID: "a", Text: "The harbour froze."}, nil) && yield(site.Incoming{ID: "b", Text: "The bridge held."}, nil)
	}, func(site.Ingested) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	e := New(s, Options{Store: db})
	for _, c := range []struct {
		id   concordat.DocumentID
		want int
	}{{"never there", 0}, {"a", 1}, {"a", 0}} {
		r, err := e.Erase(t.Context(), "ada", "", Target{Library: "theses", Documents: []concordat.DocumentID{c.id}})
		if err != nil || len(r.Documents) != c.want || r.Done.IsZero() {
			t.Errorf("deletion of %s: %+v, %v; want %d documents", c.id, r, err, c.want)
		}
	}
	for id, want := range map[concordat.DocumentID]error{"a": concordat.ErrNotFound, "b": nil} {
		if _, err := index.Document(t.Context(), s.Ref("theses", id)); !errors.Is(err, want) {
			t.Errorf("%s in the index: %v, want %v", id, err, want)
		}
		if _, err := db.Catalogue.DocumentRow(t.Context(), "theses", id); !errors.Is(err, want) {
			t.Errorf("%s in the catalogue: %v, want %v", id, err, want)
		}
	}
}

// TestThin: the text of a check is removed when it expires. A check from the command line, which has no request, keeps its text along
// with its report. An unreadable report causes an error and is not treated as one without text.
func TestThin(t *testing.T) {
	db := storetest.SQLite(t)
	kept, script := storetest.Scripted(db)
	f := &report.Findings{Version: report.Version, Submission: concordat.Document{ID: "s", Text: "The harbour froze."}}
	data, err := json.Marshal(f)
	if err == nil {
		err = db.Checks.CreateTask(t.Context(), store.Task{Task: concordat.Task{ID: "t"}})
	}
	if err == nil {
		err = db.Checks.PutFindings(t.Context(), "t", data)
	}
	if err != nil {
		t.Fatal(err)
	}
	e := New(site.New(site.Options{ID: "here", Store: kept}), Options{Store: db})
	for request, want := range map[string]int{"": 0, "no request": 0, "{}": 1} {
		var out Swept
		task := store.Task{Task: concordat.Task{ID: "t"}, Request: []byte(request)}
		err := e.thin(t.Context(), Retention{Texts: time.Hour}, task, 2*time.Hour, true, &out)
		if err != nil || out.Texts != want {
			t.Errorf("request %q: %d texts, %v; want %d", request, out.Texts, err, want)
		}
	}
	for _, fault := range []error{errBroken, concordat.ErrNotFound} {
		script.On("FindingsAt", func() error { return fault })
		_, err := e.withhold(t.Context(), "t", false)
		if errors.Is(fault, errBroken) != (err != nil) {
			t.Errorf("findings fail with %v: %v", fault, err)
		}
	}
}

// TestDiscardWhileRunning: the text of a check that is not stored is kept until the check has ended, even if a worker that lost the check
// to another has finished with it.
func TestDiscardWhileRunning(t *testing.T) {
	db := storetest.SQLite(t)
	e := New(site.New(site.Options{ID: "here", Store: db}), Options{Store: db})
	request := []byte(`{"name":"a","text":"The harbour froze.","no_store":true}`)
	task := store.Task{Task: concordat.Task{ID: "t"}, Request: request}
	if err := db.Checks.CreateTask(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	kept := func(when string, want bool) {
		t.Helper()
		if err := e.Discard(t.Context(), "t"); err != nil {
			t.Fatal(err)
		}
		got, err := db.Checks.Task(t.Context(), "t")
		if err != nil || strings.Contains(string(got.Request), "harbour") != want {
			t.Errorf("%s: %s, %v; want the text: %v", when, got.Request, err, want)
		}
	}
	kept("queued", true)
	task, err := db.Checks.ClaimTask(t.Context(), store.LaneChecks, "another", time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	kept("running", true)
	if err := db.Checks.FinishTask(t.Context(), task, concordat.TaskFailed, store.Cause{Detail: "damaged"}); err != nil {
		t.Fatal(err)
	}
	kept("ended", false)
}

// TestDiscardOfNothing: removing the text of a nonexistent check is an error.
func TestDiscardOfNothing(t *testing.T) {
	db := storetest.SQLite(t)
	e := New(site.New(site.Options{ID: "here", Store: db}), Options{Store: db})
	if err := e.Discard(t.Context(), "task"); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}

// TestRestIsForgotten: submissions are remembered for two days and then forgotten, even if other steps fail; failures are reported.
func TestRestIsForgotten(t *testing.T) {
	now := time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC)
	at := now
	db, err := store.Options{Now: func() time.Time { return at }}.Open(t.Context(), filepath.Join(t.TempDir(), "site.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	charge := func(amount int64) error {
		return db.People.Charge(t.Context(), store.Charge{Who: "ada", Kind: "checks", Amount: amount, Most: 1, Within: 1000 * time.Hour})
	}
	for remembered, forgotten := range map[time.Duration]bool{48*time.Hour - store.SpendSlot: false, 48*time.Hour + 3*store.SpendSlot: true} {
		at = now.Add(-remembered)
		if err := charge(1); err != nil {
			t.Fatal(err)
		}
		at = now
		kept, script := storetest.Scripted(db)
		script.On("DeleteUnjoined", func() error { return errBroken })
		e := New(site.New(site.Options{ID: "here", Store: db, Now: func() time.Time { return now }}), Options{Store: kept})
		if err := e.sweepRest(t.Context(), Retention{}, false, &Swept{}); !errors.Is(err, errBroken) {
			t.Errorf("got %v, want %v", err, errBroken)
		}
		if got := charge(0) == nil; got != forgotten {
			t.Errorf("what was handed in %s ago is forgotten: %v", remembered, got)
		}
		if err := db.People.ForgetQuota(t.Context(), now); err != nil {
			t.Fatal(err)
		}
	}
}

// TestReceiptNamesTheLog: a receipt says whether the store's log still contains deleted data, as PostgreSQL's does and SQLite's does not.
func TestReceiptNamesTheLog(t *testing.T) {
	for name, place := range map[string]func(t *testing.T) string{
		"SQLite":     func(t *testing.T) string { return filepath.Join(t.TempDir(), "site.db") },
		"PostgreSQL": func(t *testing.T) string { return storetest.Postgres(t).Database(t) },
	} {
		t.Run(name, func(t *testing.T) {
			db, err := store.Open(t.Context(), place(t))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = db.Close() })
			s := site.New(site.Options{ID: "here", Store: db, Index: &indextest.Oracle{Site: "here"}})
			if err := db.Checks.CreateTask(t.Context(), store.Task{Task: concordat.Task{ID: "t"}}); err != nil {
				t.Fatal(err)
			}
			r, err := New(s, Options{Store: db}).Erase(t.Context(), "ada", "asked", Target{Tasks: []concordat.TaskID{"t"}})
			if err != nil {
				t.Fatal(err)
			}
			if got, want := slices.Contains(r.Stays, "log"), name == "PostgreSQL"; got != want {
				t.Errorf("the receipt says of what stays %v", r.Stays)
			}
		})
	}
}

func TestMain(m *testing.M) {
	code := m.Run()
	storetest.StopPostgres()
	os.Exit(code)
}

// TestOtherProcessErases: a process carries out no deletions while another process does, however often it is asked, and takes over once
// it is the only one.
func TestOtherProcessErases(t *testing.T) {
	db := storetest.SQLite(t)
	s := site.New(site.Options{ID: "here", Store: db, Index: &indextest.Oracle{Site: "here"}})
	other := true
	e := New(s, Options{Store: db, OtherProcess: func() bool { return other }})
	for range 2 {
		if _, err := Ask(t.Context(), s, db, "ada", "", Target{Tasks: []concordat.TaskID{"t"}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		other bool
		want  int
	}{{true, 0}, {false, 2}, {false, 0}} {
		other = c.other
		if n, err := e.Resume(t.Context()); n != c.want || err != nil {
			t.Errorf("another process is at work: %v: %d deletions, %v; want %d", c.other, n, err, c.want)
		}
	}
}
