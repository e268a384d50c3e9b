package store_test

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/store"
)

func testSettings(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	_, err := db.Setting(ctx, "site")
	wantErr(t, err, concordat.ErrNotFound)
	for _, v := range []string{"north", "", "北京 ✓"} {
		must(t, db.SetSetting(ctx, "site", v))
		got, err := db.Setting(ctx, "site")
		must(t, err)
		if got != v {
			t.Errorf("got %q, want %q", got, v)
		}
	}
	wantErr(t, db.SetSetting(ctx, "", "x"), concordat.ErrInvalid)
}

func testLibraries(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	ls, err := db.Catalogue.Libraries(ctx)
	must(t, err)
	if len(ls) != 0 {
		t.Fatalf("got %v, want none", ls)
	}
	b := store.Library{ID: "b", Title: "法规 \x00\xff", Created: start.Add(1234567 * time.Nanosecond), Policy: store.Policy{
		Forward: "none", Template: "grant",
		Embargo: start.Add(time.Hour), Expires: start.Add(time.Hour * 1000)}}
	must(t, db.Catalogue.CreateLibrary(ctx, b))
	wantErr(t, db.Catalogue.CreateLibrary(ctx, store.Library{ID: "b"}), concordat.ErrExists)
	withLibraries(t, db, "a")
	must(t, db.Catalogue.PutDocuments(ctx, []store.DocumentRow{row("b", "1", "h1"), row("b", "2", "h2")}))

	want := b
	want.Title, want.Created, want.Documents = "法规 \uFFFD\uFFFD", start.Add(1234*time.Microsecond), 2
	got, err := db.Catalogue.Library(ctx, "b")
	must(t, err)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	ls, err = db.Catalogue.Libraries(ctx)
	must(t, err)
	if d := cmp.Diff([]store.Library{{ID: "a", Title: "a", Created: start}, want}, ls); d != "" {
		t.Error(d)
	}

	want.Title, want.Policy = "new", store.Policy{}
	must(t, db.Catalogue.UpdateLibrary(ctx, store.Library{ID: "b", Title: "new", Created: start.Add(time.Hour), Documents: 99}))
	got, err = db.Catalogue.Library(ctx, "b")
	must(t, err)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	wantErr(t, db.Catalogue.UpdateLibrary(ctx, store.Library{ID: "c"}), concordat.ErrNotFound)
	_, err = db.Catalogue.Library(ctx, "c")
	wantErr(t, err, concordat.ErrNotFound)
}

func testLibraryDelete(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	withLibraries(t, db, "a")
	must(t, db.Catalogue.PutDocuments(ctx, []store.DocumentRow{row("a", "1", "h1")}))
	must(t, db.Catalogue.PutSourceState(ctx, store.SourceState{Library: "a", Path: "other.pdf", Code: "encrypted"}))
	wantErr(t, db.Catalogue.DeleteLibrary(ctx, "a"), concordat.ErrInvalid)
	_, err := db.Catalogue.DocumentRow(ctx, "a", "1")
	must(t, err)
	must(t, db.Catalogue.DeleteDocuments(ctx, "a", "1"))
	must(t, db.Catalogue.DeleteLibrary(ctx, "a"))
	wantErr(t, db.Catalogue.DeleteLibrary(ctx, "a"), concordat.ErrNotFound)
	withLibraries(t, db, "a")
	_, err = db.Catalogue.SourceState(ctx, "a", "other.pdf")
	wantErr(t, err, concordat.ErrNotFound)
}

func testLibraryInvalid(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	for _, l := range []store.Library{
		{ID: "", Title: "no id"},
		{ID: "a\x00b"},
		{ID: "a\xff"},
		{ID: concordat.LibraryID(strings.Repeat("x", 5000))},
		{ID: "a", Policy: store.Policy{Forward: "some"}},
	} {
		wantErr(t, db.Catalogue.CreateLibrary(t.Context(), l), concordat.ErrInvalid)
	}
}

func testDocuments(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	withLibraries(t, db, "a", "b")
	must(t, db.Catalogue.PutDocuments(ctx, nil))
	must(t, db.Catalogue.PutDocuments(ctx, []store.DocumentRow{row("a", "1", "h1"), row("a", "2", "same"), row("a", "0", "same"),
		row("b", "1", "h1")}))
	want := row("a", "1", "h1")
	want.Changed, want.Revision = start, 1
	got, err := db.Catalogue.DocumentRow(ctx, "a", "1")
	must(t, err)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	_, err = db.Catalogue.DocumentRow(ctx, "b", "2")
	wantErr(t, err, concordat.ErrNotFound)
	listed, all, err := db.Catalogue.ListDocuments(ctx, "a", store.DocumentFilter{Skip: 1, Limit: 1})
	must(t, err)
	if all != 3 || len(listed) != 1 || listed[0].ID != "1" || listed[0].SameAs != "" {
		t.Errorf("the second of %d documents is %+v", all, listed)
	}
	listed, all, err = db.Catalogue.ListDocuments(ctx, "a", store.DocumentFilter{Query: "0", Order: store.BySentences})
	must(t, err)
	if all != 1 || listed[0].ID != "0" || listed[0].SameAs != "2" {
		t.Errorf("found %d: %+v", all, listed)
	}
	_, _, err = db.Catalogue.ListDocuments(ctx, "a", store.DocumentFilter{Order: "luck"})
	wantErr(t, err, concordat.ErrInvalid)
}

func testDocumentsReplace(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	withLibraries(t, db, "a")
	first := row("a", "1", "h1")
	must(t, db.Catalogue.PutDocuments(ctx, []store.DocumentRow{first}))

	again := first // the same text under another name, later
	again.Title, again.Scheme, again.Added = "renamed", "packed@0123456789abcdef", start.Add(time.Hour)
	must(t, db.Catalogue.PutDocuments(ctx, []store.DocumentRow{again}))
	want := again
	want.Added, want.Changed, want.Revision = start, start, 1
	check := func() {
		t.Helper()
		got, err := db.Catalogue.DocumentRow(ctx, "a", "1")
		must(t, err)
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	check()

	h2, h3 := again, again // two new texts in one call; the later one is stored
	h2.Hash, h3.Hash = "h2", "h3"
	h3.Added, h3.Bytes = start.Add(2*time.Hour), 77
	must(t, db.Catalogue.PutDocuments(ctx, []store.DocumentRow{h2, h3}))
	want = h3
	want.Added, want.Changed, want.Revision = start, start.Add(2*time.Hour), 3
	check()
}

// testDocumentsRenew: data recomputed from a text affects only that text's row and does not restore a deleted row.
func testDocumentsRenew(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	withLibraries(t, db, "a")
	must(t, db.Catalogue.PutDocuments(ctx, []store.DocumentRow{row("a", "same", "h1"), row("a", "other", "h2")}))
	var anew []store.DocumentRow
	for _, id := range []concordat.DocumentID{"same", "other", "gone"} {
		anew = append(anew, store.DocumentRow{Library: "a", ID: id, Hash: "h1", Sentences: 5, Characters: 6, Scheme: "packed@1",
			Short: []store.ShortPiece{}})
	}
	must(t, db.Catalogue.RenewDocuments(ctx, anew))
	same, other := row("a", "same", "h1"), row("a", "other", "h2")
	same.Sentences, same.Characters, same.Scheme, same.ShortKnown = 5, 6, "packed@1", true
	for _, want := range []store.DocumentRow{same, other} {
		want.Changed, want.Revision = start, 1
		got, err := db.Catalogue.DocumentRow(ctx, "a", want.ID)
		must(t, err)
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	_, err := db.Catalogue.DocumentRow(ctx, "a", "gone")
	wantErr(t, err, concordat.ErrNotFound)
	wantErr(t, db.Catalogue.RenewDocuments(ctx, []store.DocumentRow{{Library: "a", ID: "same"}}), concordat.ErrInvalid)
}

func testDocumentsRollback(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	withLibraries(t, db, "a")
	must(t, db.Catalogue.PutDocuments(ctx, []store.DocumentRow{row("a", "1", "h1")}))
	err := db.Catalogue.PutDocuments(ctx, []store.DocumentRow{row("a", "1", "new"), row("a", "2", "h2"), row("nowhere", "3", "h3")})
	wantErr(t, err, concordat.ErrNotFound)
	ds, err := db.Catalogue.Documents(ctx, "a", "", 0)
	must(t, err)
	if len(ds) != 1 || ds[0].Hash != "h1" || ds[0].Revision != 1 {
		t.Errorf("after a failed call got %v, want the one document from before", ds)
	}
	err = db.Catalogue.PutSourceState(ctx, store.SourceState{Library: "a", Path: "x"}, store.SourceState{Library: "nowhere", Path: "y"})
	wantErr(t, err, concordat.ErrNotFound)
	_, err = db.Catalogue.SourceState(ctx, "a", "x")
	wantErr(t, err, concordat.ErrNotFound)
	for _, bad := range []store.DocumentRow{row("a", "", "h"), row("", "1", "h"), row("a", "1", ""), row("a", "x\x00", "h"),
		{Library: "a", ID: "1", Hash: "h"}} {
		wantErr(t, db.Catalogue.PutDocuments(ctx, []store.DocumentRow{bad}), concordat.ErrInvalid)
	}
}

// testDocumentsPaging: pages contain each remaining document exactly once, whatever is added or removed in the meantime.
func testDocumentsPaging(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	withLibraries(t, db, "a", "b")
	var rows []store.DocumentRow
	stays := map[concordat.DocumentID]bool{}
	for i := range 100 {
		id := concordat.DocumentID(fmt.Sprintf("d%03d", i*2))
		rows = append(rows, row("a", id, "h"), row("b", id, "h"))
		stays[id] = i%3 != 0
	}
	must(t, db.Catalogue.PutDocuments(ctx, rows))
	seen := map[concordat.DocumentID]int{}
	var after concordat.DocumentID
	for n := 0; ; n++ {
		ds, err := db.Catalogue.Documents(ctx, "a", after, 8)
		must(t, err)
		for _, d := range ds {
			if d.Library != "a" || d.ID <= after {
				t.Fatalf("got %s/%s after %s", d.Library, d.ID, after)
			}
			after = d.ID
			seen[d.ID]++
		}
		if len(ds) < 8 {
			break
		}
		// For some pages, the last row is removed, and a row is added before it and after it.
		if !stays[after] {
			must(t, db.Catalogue.DeleteDocuments(ctx, "a", after))
		}
		must(t, db.Catalogue.PutDocuments(ctx, []store.DocumentRow{
			row("a", concordat.DocumentID(fmt.Sprintf("a%d", n)), "h"), row("a", after+"+", "h")}))
	}
	for id, s := range stays {
		if s && seen[id] != 1 {
			t.Errorf("document %s was listed %d times, want once", id, seen[id])
		}
	}
	for id, n := range seen {
		if n > 1 {
			t.Errorf("document %s was listed %d times", id, n)
		}
	}
}

// testDocumentsOrder: IDs are ordered and compared by their bytes, not by the collation of a language.
func testDocumentsOrder(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	withLibraries(t, db, "a")
	ids := []string{"a", "B", "b", "A", "a ", " a", "é", "e\u0301", "中", "国", "Z", "_", "-", "10", "9", "a%", "a_b", "'; --", "?"}
	var rows []store.DocumentRow
	for _, id := range ids {
		rows = append(rows, row("a", concordat.DocumentID(id), "h"))
	}
	must(t, db.Catalogue.PutDocuments(ctx, rows))
	ds, err := db.Catalogue.Documents(ctx, "a", "", 0)
	must(t, err)
	var got []string
	for _, d := range ds {
		got = append(got, string(d.ID))
	}
	sort.Strings(ids)
	if d := cmp.Diff(ids, got); d != "" {
		t.Error(d)
	}
}

func testDocumentsDelete(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	withLibraries(t, db, "a", "b")
	must(t, db.Catalogue.PutDocuments(ctx, []store.DocumentRow{row("a", "1", "h"), row("a", "2", "h"), row("b", "1", "h")}))
	for _, lib := range []concordat.LibraryID{"a", "b"} {
		must(t, db.Catalogue.PutSourceState(ctx, store.SourceState{Library: lib, Path: "in/1.txt"},
			store.SourceState{Library: lib, Path: "in/2.txt"}))
	}
	must(t, db.Catalogue.DeleteDocuments(ctx, "a"))
	must(t, db.Catalogue.DeleteDocuments(ctx, "a", "1", "nothing", "1"))
	must(t, db.Catalogue.DeleteDocuments(ctx, "nowhere", "1"))
	for _, tt := range []struct {
		lib  concordat.LibraryID
		id   concordat.DocumentID
		want bool
	}{{"a", "1", false}, {"a", "2", true}, {"b", "1", true}} {
		_, err := db.Catalogue.DocumentRow(ctx, tt.lib, tt.id)
		if (err == nil) != tt.want {
			t.Errorf("document %s/%s: got %v, want it there: %v", tt.lib, tt.id, err, tt.want)
		}
		_, err = db.Catalogue.SourceState(ctx, tt.lib, "in/"+string(tt.id)+".txt")
		if (err == nil) != tt.want {
			t.Errorf("source of %s/%s: got %v, want it there: %v", tt.lib, tt.id, err, tt.want)
		}
	}
}

// testSentenceVectors: vectors can be read back and are limited in number. They are deleted with the document or check that contains
// their sentence, and with a document's former text.
func testSentenceVectors(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	withLibraries(t, db, "a", "b")
	must(t, db.Catalogue.PutDocuments(ctx, []store.DocumentRow{row("a", "1", "h"), row("a", "2", "h"), row("b", "1", "h")}))
	queue(t, db, "t")
	vector := func(n byte, x float32) concordat.SentenceVector {
		return concordat.SentenceVector{Digest: [32]byte{n}, Vector: []float32{x, -1, 0.5}}
	}
	of := func(v concordat.SentenceVector, lib concordat.LibraryID, id concordat.DocumentID) concordat.SentenceVector {
		v.Of = concordat.Ref{Site: "here", Library: lib, Document: id}
		return v
	}
	task := vector(4, 0.4)
	task.Task = "t"
	gone := vector(5, 0.5)
	gone.Task = "none"
	must(t, db.Checks.PutSentenceVectors(ctx, []concordat.SentenceVector{of(vector(1, 0.1), "a", "1"), of(vector(2, 0.2), "a", "2"),
		of(vector(3, 0.3), "b", "1"), task, gone, of(vector(6, 0.6), "a", "none"), vector(7, 0.7)}, 100))
	there := func(want ...byte) {
		t.Helper()
		all := make([][32]byte, 600)
		for i := range all {
			all[i] = [32]byte{byte(i), byte(i >> 8)}
		}
		got, err := db.Checks.SentenceVectors(ctx, all)
		must(t, err)
		for n := range byte(10) {
			v := got[[32]byte{n}]
			if (v != nil) != slices.Contains(want, n) {
				t.Errorf("vector %d: %v, want those of %v", n, v, want)
			}
			if v != nil && (len(v) != 3 || math.Abs(float64(v[0])-float64(n)/10) > 2e-5 || v[1] != -1) {
				t.Errorf("vector %d is %v", n, v)
			}
		}
	}
	there(1, 2, 3, 4, 7)
	must(t, db.Catalogue.PutDocuments(ctx, []store.DocumentRow{row("a", "2", "h")})) // stores the same text again
	there(1, 2, 3, 4, 7)
	must(t, db.Catalogue.PutDocuments(ctx, []store.DocumentRow{row("a", "2", "other")}))
	there(1, 3, 4, 7)
	must(t, db.Catalogue.DeleteDocuments(ctx, "a", "1"))
	there(3, 4, 7)
	_, err := db.Retention.EraseTask(ctx, "t")
	must(t, err)
	there(3, 7)
	must(t, db.Catalogue.DeleteDocuments(ctx, "b", "1"))
	there(7)
	again := vector(7, 0.7) // replaces the existing vector without making it newer
	must(t, db.Checks.PutSentenceVectors(ctx, []concordat.SentenceVector{again, vector(8, 0.8), vector(9, 0.9)}, 2))
	there(8, 9)
	must(t, db.Checks.PutSentenceVectors(ctx, nil, 2))
	there(8, 9)
}

// testNames: text from outside is cleaned and never makes a call fail.
func testNames(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	withLibraries(t, db, "a")
	d := row("a", "1", "h")
	d.Title, d.Source = "a\x00b\xffc", "dir/\xff\x00.txt"
	must(t, db.Catalogue.PutDocuments(ctx, []store.DocumentRow{d}))
	got, err := db.Catalogue.DocumentRow(ctx, "a", "1")
	must(t, err)
	if want := "a\uFFFDb\uFFFDc"; got.Title != want {
		t.Errorf("got title %q, want %q", got.Title, want)
	}
	must(t, db.Catalogue.PutSourceState(ctx, store.SourceState{Library: "a", Path: d.Source, Size: 1}))
	must(t, db.Catalogue.PutSourceState(ctx, store.SourceState{Library: "a", Path: "dir/\xfe\x00.txt", Size: 2}))
	s, err := db.Catalogue.SourceState(ctx, "a", d.Source)
	must(t, err)
	if s.Size != 1 || s.Path != `"dir/\xff\x00.txt"` {
		t.Errorf("got %+v, want the file of size 1 under its quoted name", s)
	}
	must(t, db.Catalogue.DeleteDocuments(ctx, "a", "1"))
	_, err = db.Catalogue.SourceState(ctx, "a", d.Source)
	wantErr(t, err, concordat.ErrNotFound)
}

func testSources(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	withLibraries(t, db, "a")
	_, err := db.Catalogue.SourceState(ctx, "a", "x.pdf")
	wantErr(t, err, concordat.ErrNotFound)
	want := store.SourceState{Library: "a", Path: "x.pdf", Size: 5, Modified: start, Hash: "abc", Code: "encrypted",
		Detail: "The file needs a password.", Handled: start.Add(time.Minute)}
	must(t, db.Catalogue.PutSourceState(ctx, want, store.SourceState{Library: "a", Path: "y.pdf"}))
	check := func() {
		t.Helper()
		got, err := db.Catalogue.SourceState(ctx, "a", "x.pdf")
		must(t, err)
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	check()
	if want.Unchanged(5, start) {
		t.Error("a file that failed counts as handled")
	}
	want.Code, want.Detail, want.Size, want.Documents, want.Modified = "", "", 1<<40, 3, start.Add(1500*time.Nanosecond)
	must(t, db.Catalogue.PutSourceState(ctx, want))
	if !want.Unchanged(1<<40, want.Modified) || want.Unchanged(1<<40, start) || want.Unchanged(5, want.Modified) {
		t.Error("Unchanged does not follow size and time")
	}
	modified := want.Modified
	want.Modified = start.Add(time.Microsecond)
	check()
	if !want.Unchanged(1<<40, modified) {
		t.Error("a time that was rounded by the store counts as changed")
	}
	wantErr(t, db.Catalogue.PutSourceState(ctx, store.SourceState{Library: "a"}), concordat.ErrInvalid)
}
