package store_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/store"
)

// oldCauses contains causes in English, as stores before schema versions 115 and 116 contain them.
var oldCauses = map[string]store.Cause{
	"added: 3 new, 2 replaced, 1 unchanged, 0 not readable": {Code: store.CauseAdded, Numbers: []int{3, 2, 1, 0}},
	"split into 12 checks":                     {Code: store.CauseSplit, Numbers: []int{12}},
	"1 of 6 documents could not be read":       {Code: store.CauseUnread, Numbers: []int{1, 6}},
	"cancelled by ada: (b)":                    {Code: store.CauseCancelled, Who: "ada: (b)"},
	"given up: stopped without a word 3 times": {Code: store.CauseGivenUp, Numbers: []int{3}},
	"limit: 5 pages (at most 3 (or 4))":        {Code: store.CauseLimit, Detail: "5 pages", Advice: "at most 3 (or 4)"},
	"empty":                                    {Code: store.CauseEmpty},
	"deleted":                                  {Code: store.CauseDeleted},
	"damaged: it ends (in time)":               {Code: "damaged", Detail: "it ends", Advice: "in time"},
	// Unknown text is kept unchanged.
	"added: some new":                     {Detail: "added: some new"},
	"split into pieces":                   {Detail: "split into pieces"},
	"split into 3 checks and more":        {Detail: "split into 3 checks and more"},
	"something else)":                     {Detail: "something else)"},
	"site south did not answer: (closed)": {Detail: "site south did not answer: (closed)"},
	"它的":                                  {Detail: "它的"},
}

// TestOldCauses: the migration converts older stores' English causes into data, for tasks, batches and their members, on every engine.
func TestOldCauses(t *testing.T) {
	engines(t, func(t *testing.T, place string) {
		db := open(t, place, store.Options{})
		i := 0
		ids := map[string]string{}
		var statements []string
		for text := range oldCauses {
			id := fmt.Sprint("t", i)
			ids[text], i = id, i+1
			must(t, db.Checks.CreateTask(t.Context(), store.Task{Task: concordat.Task{ID: concordat.TaskID(id)}}))
			must(t, db.Batches.CreateBatch(t.Context(), store.Batch{ID: id, Made: time.Now()}, []store.BatchInput{{Name: "a.zip"}}))
			must(t, db.Batches.PutBatchMembers(t.Context(), id, 0, []store.BatchMember{{Name: "read"}, {Name: "unread"}}))
			statements = append(statements, "UPDATE batch_member SET reason = '"+text+"' WHERE name = 'unread' AND batch = '"+id+"'")
			for _, table := range []string{"task", "batch"} {
				statements = append(statements, "UPDATE "+table+" SET state = 'failed', cause = '"+text+"' WHERE id = '"+id+"'")
			}
		}
		must(t, db.Close())
		raw(t, place, append(statements, `DELETE FROM schema_version WHERE version_id IN (115, 116)`)...) // the two migrations of causes
		db = open(t, place, store.Options{})
		for text, want := range oldCauses {
			task, err := db.Checks.Task(t.Context(), concordat.TaskID(ids[text]))
			must(t, err)
			b, err := db.Batches.Batch(t.Context(), ids[text])
			must(t, err)
			members, err := db.Batches.BatchMembers(t.Context(), ids[text])
			must(t, err)
			if !members[0].Cause.IsZero() {
				t.Errorf("what was read has the cause %q", members[0].Cause)
			}
			for _, got := range []store.Cause{task.Cause, b.Cause, members[1].Cause} {
				if d := cmp.Diff(want, got); d != "" {
					t.Errorf("%q: %s", text, d)
				}
				if got.String() != text {
					t.Errorf("%q is written as %q", text, got)
				}
			}
		}
		must(t, db.Close())
		raw(t, place, `UPDATE task SET cause = 'words' WHERE id = 't0'`)
		raw(t, place, `UPDATE batch_member SET reason = 'words' WHERE batch = 't0'`)
		db = open(t, place, store.Options{})
		_, err := db.Checks.Task(t.Context(), "t0")
		wantErr(t, err, concordat.ErrCorrupt)
		_, err = db.Batches.BatchMembers(t.Context(), "t0")
		wantErr(t, err, concordat.ErrCorrupt)
	})
}

// TestCauseOfJob: in a job queued by an earlier version, the fault is a JSON string.
func TestCauseOfJob(t *testing.T) {
	for text, want := range map[string]store.Cause{
		`"limit: too large"`:                     {Detail: "limit: too large"},
		`{"code": "limit", "detail": "too big"}`: {Code: store.CauseLimit, Detail: "too big"},
		`{}`:                                     {},
	} {
		var got store.Cause
		must(t, json.Unmarshal([]byte(text), &got))
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", text, d)
		}
	}
}

// TestCauseText: bytes from outside in a cause are converted into text that every engine can store.
func TestCauseText(t *testing.T) {
	engines(t, func(t *testing.T, place string) {
		db := open(t, place, store.Options{})
		must(t, db.Checks.CreateTask(t.Context(), store.Task{Task: concordat.Task{ID: "t"}}))
		must(t, db.Checks.CancelTask(t.Context(), "t", store.Cause{Code: "damaged", Detail: "a\x00b\xff", Who: strings.Repeat("x", 3)}))
		got, err := db.Checks.Task(t.Context(), "t")
		must(t, err)
		if d := cmp.Diff(store.Cause{Code: "damaged", Detail: "a\ufffdb\ufffd", Who: "xxx"}, got.Cause); d != "" {
			t.Error(d)
		}
	})
}
