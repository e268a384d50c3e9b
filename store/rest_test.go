package store_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/internal/storetest"
	"concordat/store"
)

func testFindings(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	queue(t, db, "t1")
	_, err := db.Checks.Findings(ctx, "t1")
	wantErr(t, err, concordat.ErrNotFound)
	wantErr(t, db.Checks.PutFindings(ctx, "none", []byte("x")), concordat.ErrNotFound)
	rng := rand.New(rand.NewPCG(1, 2))
	noise := make([]byte, 3<<20)
	for i := range noise {
		noise[i] = byte(rng.Uint32())
	}
	for _, want := range [][]byte{{}, {0}, []byte(`{"a":"中"}`), bytes.Repeat([]byte("again "), 2<<20), noise} {
		must(t, db.Checks.PutFindings(ctx, "t1", want))
		got, err := db.Checks.Findings(ctx, "t1")
		must(t, err)
		if !bytes.Equal(got, want) {
			t.Errorf("got %d bytes, want the %d that were put", len(got), len(want))
		}
	}
}

// testFindingsRevision: if two callers have read the same findings, only the first to write can replace them.
func testFindingsRevision(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	queue(t, db, "t1")
	_, err := db.Checks.FindingsRevision(ctx, "t1")
	wantErr(t, err, concordat.ErrNotFound)
	wantErr(t, db.Checks.ReplaceFindings(ctx, "t1", 1, []byte("x")), concordat.ErrNotFound)
	must(t, db.Checks.PutFindings(ctx, "t1", []byte("one")))
	_, revision, err := db.Checks.FindingsAt(ctx, "t1")
	must(t, err)
	replaced := make(chan error, 2)
	for _, by := range []string{"two", "three"} {
		go func() { replaced <- db.Checks.ReplaceFindings(ctx, "t1", revision, []byte(by)) }()
	}
	first, second := <-replaced, <-replaced
	if first == nil {
		first, second = second, first
	}
	must(t, second)
	wantErr(t, first, concordat.ErrChanged)
	data, next, err := db.Checks.FindingsAt(ctx, "t1")
	must(t, err)
	if string(data) != "two" && string(data) != "three" || next == revision {
		t.Errorf("%q of revision %d after %d", data, next, revision)
	}
	must(t, db.Checks.ReplaceFindings(ctx, "t1", next, []byte("four")))
	must(t, db.Checks.PutFindings(ctx, "t1", []byte("five")))
	if last, err := db.Checks.FindingsRevision(ctx, "t1"); err != nil || last != next+2 {
		t.Errorf("revision %d, %v, want %d", last, err, next+2)
	}
}

func result(i int) store.Result {
	return store.Result{
		Span: concordat.Span{Start: 100 * i, End: 100*i + 50}, Kind: concordat.KindNear, Similarity: 0.1 * float64(i%10),
		Source: concordat.Ref{Site: "north", Library: "laws", Document: concordat.DocumentID(fmt.Sprint("d", i))},
		Title:  "A \"title\", with; all 种", SourceSpan: concordat.Span{Start: i, End: i + 51}, Documents: i,
	}
}

func testResults(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	queue(t, db, "t1", "t2")
	var want []store.Result
	for i := range 30 {
		want = append(want, result((i*7)%30)) // in no particular order
	}
	check := func() {
		t.Helper()
		if d := cmp.Diff(want, storetest.Results(t, db, "t1")); d != "" {
			t.Error(d)
		}
	}
	must(t, db.Checks.PutResults(ctx, "t1", want))
	must(t, db.Checks.PutResults(ctx, "t2", want[:1]))
	check()
	want = want[5:20]
	must(t, db.Checks.PutResults(ctx, "t1", want))
	check()
	for _, s := range []float64{math.NaN(), -0.1, 1.1} {
		bad := result(1)
		bad.Similarity = s
		wantErr(t, db.Checks.PutResults(ctx, "t1", []store.Result{result(2), bad}), concordat.ErrInvalid)
	}
	check()
	want = nil
	must(t, db.Checks.PutResults(ctx, "t1", nil))
	check()
}

func testAudit(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	empty, err := db.Audit.VerifyAudit(ctx)
	must(t, err)
	if empty.Seq != 0 {
		t.Errorf("got head %v, want that of an empty audit", empty)
	}
	_, err = db.Audit.AppendAudit(ctx, "admin", "x", json.RawMessage(`{"a":`))
	wantErr(t, err, concordat.ErrInvalid)
	var want []store.AuditEntry
	var heads []store.AuditHead
	for i := range 12 {
		c.move(1500)
		detail := json.RawMessage(fmt.Sprintf(`{ "n": %d, "t": "中 `+"\xff"+`"}`, i))
		if i == 3 {
			detail = nil
		}
		e, err := db.Audit.AppendAudit(ctx, "admin\x00", "library.create", detail)
		must(t, err)
		want = append(want, e)
		heads = append(heads, store.AuditHead{Seq: e.Seq, Hash: e.Hash})
	}
	if got := string(want[1].Detail); got != `{"n":1,"t":"中 `+"\uFFFD"+`"}` {
		t.Errorf("got detail %s", got)
	}
	if got := string(want[3].Detail); got != `null` {
		t.Errorf("got detail %s, want null", got)
	}
	var got []store.AuditEntry
	for {
		var after int64
		if len(got) > 0 {
			after = got[len(got)-1].Seq
		}
		es, err := db.Audit.Audit(ctx, after, 5)
		must(t, err)
		got = append(got, es...)
		if len(es) < 5 {
			break
		}
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	head, err := db.Audit.VerifyAudit(ctx, heads...)
	must(t, err)
	if head != heads[11] {
		t.Errorf("got head %v, want %v", head, heads[11])
	}
	_, err = db.Audit.VerifyAudit(ctx, store.AuditHead{Seq: 5, Hash: heads[5].Hash})
	wantErr(t, err, concordat.ErrCorrupt)
	_, err = db.Audit.VerifyAudit(ctx, store.AuditHead{Seq: 13, Hash: heads[5].Hash})
	wantErr(t, err, concordat.ErrCorrupt)
	_, err = db.Audit.VerifyAudit(ctx, heads[5], store.AuditHead{Seq: heads[5].Seq, Hash: heads[4].Hash})
	wantErr(t, err, concordat.ErrCorrupt)
}

func testAuditConcurrent(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	other, err := p(store.Options{})
	must(t, err)
	defer other.Close()
	var wg sync.WaitGroup
	for w := range 6 {
		own := db
		if w%2 == 1 {
			own = other
		}
		wg.Go(func() {
			for i := range 10 {
				if _, err := own.Audit.AppendAudit(ctx, fmt.Sprint(w), fmt.Sprint(i), nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	head, err := db.Audit.VerifyAudit(ctx)
	must(t, err)
	if head.Seq != 60 {
		t.Errorf("got %d entries, want 60", head.Seq)
	}
}

// testReadWhileWriting: a reader sees either all of a change or none of it, and does not wait for the writer.
func testReadWhileWriting(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	withLibraries(t, db, "a")
	const size = 50
	batch := func(hash string) []store.DocumentRow {
		var rows []store.DocumentRow
		for i := range size {
			rows = append(rows, row("a", concordat.DocumentID(fmt.Sprintf("%03d", i)), hash))
		}
		return rows
	}
	must(t, db.Catalogue.PutDocuments(ctx, batch("0")))
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(done)
		for i := range 40 {
			if err := db.Catalogue.PutDocuments(ctx, batch(fmt.Sprint(i))); err != nil {
				t.Error(err)
			}
		}
	})
	for range 3 {
		wg.Go(func() {
			for stop := false; !stop; {
				select {
				case <-done:
					stop = true
				default:
				}
				ds, err := db.Catalogue.Documents(ctx, "a", "", 0)
				if err != nil || len(ds) != size {
					t.Errorf("got %d documents and %v, want %d", len(ds), err, size)
					return
				}
				for _, d := range ds {
					if d.Hash != ds[0].Hash {
						t.Errorf("one page holds texts %s and %s of two changes", ds[0].Hash, d.Hash)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

func testCancelled(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, err := range map[string]error{
		"write": db.Catalogue.CreateLibrary(ctx, store.Library{ID: "a"}),
		"read":  func() error { _, err := db.Catalogue.Libraries(ctx); return err }(),
		"claim": func() error { _, err := db.Checks.ClaimTask(ctx, allLanes, "w", lease); return err }(),
	} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, want the context's error", name, err)
		}
	}
	ls, err := db.Catalogue.Libraries(t.Context())
	must(t, err)
	if len(ls) != 0 {
		t.Errorf("a cancelled call made %v", ls)
	}
}

func testReopen(t *testing.T, p place) {
	ctx := t.Context()
	db, err := p(store.Options{})
	must(t, err)
	withLibraries(t, db, "a")
	must(t, db.Catalogue.PutDocuments(ctx, []store.DocumentRow{row("a", "1", "h")}))
	must(t, db.SetSetting(ctx, "site", "north"))
	queue(t, db, "t1", "t2")
	must(t, db.Checks.PutFindings(ctx, "t1", []byte("found")))
	must(t, db.Checks.PutResults(ctx, "t1", []store.Result{result(1)}))
	must(t, db.Checks.DeleteTask(ctx, "t2"))
	head, err := db.Audit.AppendAudit(ctx, "a", "b", nil)
	must(t, err)
	must(t, db.Close())
	if _, err := db.Catalogue.Libraries(ctx); err == nil {
		t.Error("a closed store answers")
	}

	db, _ = openPlace(t, p)
	l, err := db.Catalogue.Library(ctx, "a")
	must(t, err)
	site, err := db.Setting(ctx, "site")
	must(t, err)
	found, err := db.Checks.Findings(ctx, "t1")
	must(t, err)
	rs := storetest.Results(t, db, "t1")
	_, err = db.Audit.VerifyAudit(ctx, store.AuditHead{Seq: head.Seq, Hash: head.Hash})
	must(t, err)
	if l.Documents != 1 || site != "north" || string(found) != "found" || len(rs) != 1 {
		t.Errorf("after reopening got %+v, %q, %q, %v", l, site, found, rs)
	}
	queue(t, db, "t3") // a number is never assigned twice
	x, err := db.Checks.Task(ctx, "t3")
	must(t, err)
	if x.Seq != 3 {
		t.Errorf("got seq %d, want 3", x.Seq)
	}
}
