package retain

import (
	"context"
	"encoding/json"
	"errors"
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

// TestTargets: a deletion names something, documents with their library, and at most 10,000 things of all kinds together.
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
		if strings.HasPrefix(name, "one more") && !strings.Contains(c.target.Validate().Error(), "of 10001 things") {
			t.Errorf("%s: %v, want that there are 10001", name, c.target.Validate())
		}
	}
}

// unpurged is an index whose bytes cannot be taken off the disk.
type unpurged struct{ *indextest.Oracle }

func (unpurged) Purge(context.Context) error { return errBroken }

// TestNotDoneUnpurged: a deletion whose bytes are still in the index is not told as done.
func TestNotDoneUnpurged(t *testing.T) {
	db := storetest.SQLite(t)
	s := site.New(site.Options{ID: "here", Store: db, Index: unpurged{&indextest.Oracle{Site: "here"}}})
	r := &Receipt{ID: "1", Documents: []ErasedDocument{{Library: "theses", Name: "a"}}}
	if err := New(s, Options{Store: db}).finish(t.Context(), r); !errors.Is(err, errBroken) || !r.Done.IsZero() {
		t.Errorf("done at %v, %v; want that the index keeps the bytes", r.Done, err)
	}
}

// TestReceiptHasWhatWas: a receipt has each document that was deleted, and none that was not there; what it has is gone.
func TestReceiptHasWhatWas(t *testing.T) {
	db := storetest.SQLite(t)
	p, err := profile.New(profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	index := &indextest.Oracle{Site: "here", Scheme: p.Scheme()}
	s := site.New(site.Options{ID: "here", Store: db, Index: index, Profiler: p})
	if err := db.CreateLibrary(t.Context(), store.Library{ID: "theses"}); err != nil {
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
		if _, err := db.DocumentRow(t.Context(), "theses", id); !errors.Is(err, want) {
			t.Errorf("%s in the catalogue: %v, want %v", id, err, want)
		}
	}
}

// findings is a store of checks with findings, or with some that cannot be read.
type findings struct {
	site.Store
	data []byte
	err  error
}

func (f *findings) FindingsAt(context.Context, concordat.TaskID) ([]byte, int64, error) {
	return f.data, 1, f.err
}

// TestThin: the text of a check is taken away when its time is over, and that of a check from the command line, which has no request,
// stays with its report; a report that cannot be read is told, and not taken for one without a text.
func TestThin(t *testing.T) {
	db := storetest.SQLite(t)
	kept := &findings{Store: db}
	var err error
	f := &report.Findings{Version: report.Version, Submission: concordat.Document{ID: "s", Text: "The harbour froze."}}
	if kept.data, err = json.Marshal(f); err != nil {
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
	for _, kept.err = range []error{errBroken, concordat.ErrNotFound} {
		_, err := e.withhold(t.Context(), "t", false)
		if errors.Is(kept.err, errBroken) != (err != nil) {
			t.Errorf("findings fail with %v: %v", kept.err, err)
		}
	}
}

// TestDiscardOfNothing: who takes away the text of a check that is not there is told so.
func TestDiscardOfNothing(t *testing.T) {
	db := storetest.SQLite(t)
	e := New(site.New(site.Options{ID: "here", Store: db}), Options{Store: db})
	if err := e.Discard(t.Context(), "task"); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("got %v, want ErrNotFound", err)
	}
}

// tidied is a store that notes what is forgotten.
type tidied struct {
	Store
	unjoined error
	quota    time.Time
}

func (s *tidied) DeleteUnjoined(context.Context, time.Time) (int, error) { return 0, s.unjoined }

func (s *tidied) ForgetQuota(_ context.Context, before time.Time) error {
	s.quota = before
	return nil
}

// TestRestIsForgotten: what was handed in is remembered for two days, and forgotten then whatever else fails, which is told.
func TestRestIsForgotten(t *testing.T) {
	now := time.Date(2026, 3, 4, 9, 0, 0, 0, time.UTC)
	db := storetest.SQLite(t)
	kept := &tidied{Store: db, unjoined: errBroken}
	e := New(site.New(site.Options{ID: "here", Store: db, Now: func() time.Time { return now }}), Options{Store: kept})
	if err := e.sweepRest(t.Context(), Retention{}, false, &Swept{}); !errors.Is(err, errBroken) || !kept.quota.Equal(now.Add(-48*time.Hour)) {
		t.Errorf("forgotten before %v, %v", kept.quota, err)
	}
}

// TestOtherProcessErases: a process beside one that carries deletions out carries none out itself, and goes on with them once it is alone,
// however often it is asked to.
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
