package site_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"testing"
	"time"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/internal/storetest"
	"concordat/profile"
	"concordat/report"
	"concordat/site"
	"concordat/site/retain"
	"concordat/store"
)

// dying returns the store of p for a process that ends before it records the contents of the index; no later call reaches the store.
func dying(p *sitetest.Parts) *store.DB {
	db, script := storetest.Scripted(p.Store)
	ended := func() error { return storetest.ErrScript }
	script.On("FinishIntake", ended)
	script.On("ClaimIntake", ended)
	return db
}

// over returns another process of p's site, with p's index and the given store.
func over(t *testing.T, p *sitetest.Parts, db *store.DB, worker string) *site.Site {
	t.Helper()
	pr, err := profile.New(profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return site.New(site.Options{ID: "here", Index: p.Index, Store: db, Profiler: pr, Worker: worker})
}

func take(s *site.Site, d site.Incoming) error {
	return s.Ingest(context.Background(), "l", sitetest.Docs(d), func(site.Ingested) error { return nil })
}

// TestNeverAcknowledgedIsNotEvidence: a document that reached the index but not the catalogue is not cited, and is removed from the index
// after the next process has settled; a replacement that got that far is completed.
func TestNeverAcknowledgedIsNotEvidence(t *testing.T) {
	p := sitetest.NewSite(t, "l")
	text, other := sitetest.Prose(1, 12), sitetest.Prose(2, 12)
	p.Add(t, "l", site.Incoming{ID: "old", Title: "Old", Text: other})
	dies := dying(p)
	for _, d := range []site.Incoming{{ID: "never", Title: "Never", Text: text}, {ID: "old", Title: "Newer", Text: sitetest.Prose(3, 12)}} {
		if err := take(over(t, p, dies, "one"), d); !errors.Is(err, storetest.ErrScript) {
			t.Fatalf("took %s: %v", d.ID, err)
		}
	}
	never := concordat.Ref{Site: "here", Library: "l", Document: "never"}
	if _, err := p.Index.Document(t.Context(), never); err != nil {
		t.Fatalf("the index does not have it, so it shows nothing: %v", err)
	}
	if got := p.Cited(t, text); len(got) != 0 {
		t.Errorf("before it is settled %v is cited", got)
	}

	next := over(t, p, p.Store, "two")
	if sum, err := next.Settle(t.Context(), "two"); sum != (site.Settled{}) || err != nil {
		t.Errorf("what another process is at was settled: %+v, %v", sum, err)
	}
	if sum, err := next.Settle(t.Context(), "one"); sum != (site.Settled{Removed: 1, Completed: 1}) || err != nil {
		t.Errorf("settled %+v, %v", sum, err)
	}
	if _, err := p.Index.Document(t.Context(), never); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("after it was settled the index has it: %v", err)
	}
	row, err := p.Store.Catalogue.DocumentRow(t.Context(), "l", "old")
	if err != nil || row.Title != "Newer" || row.Revision != 2 {
		t.Errorf("the replaced document: %+v, %v", row, err)
	}
	if got := p.Cited(t, sitetest.Prose(3, 12)); !slices.Contains(got, "old") {
		t.Errorf("its new text is found in %v", got)
	}
	if left, err := p.Store.Catalogue.IntakesBefore(t.Context(), time.Now().Add(time.Hour)); len(left) != 0 || err != nil {
		t.Errorf("left %v, %v", left, err)
	}
	if got := p.Add(t, "l", site.Incoming{ID: "never", Title: "Never", Text: text}); !slices.Equal(got, []string{"never:added"}) {
		t.Errorf("taken in again: %v", got)
	}
}

// TestAcknowledgedStays: whatever was interrupted, settling keeps every acknowledged document in the index and the catalogue, and
// searches find it as before.
func TestAcknowledgedStays(t *testing.T) {
	p := sitetest.NewSite(t, "l")
	text := sitetest.Prose(1, 12)
	p.Add(t, "l", site.Incoming{ID: "a", Title: "A", Text: text}, site.Incoming{ID: "b", Title: "B", Text: sitetest.Prose(2, 12)})
	dies := dying(p)
	for _, end := range []struct {
		name     string
		put      error
		incoming site.Incoming
		sum      site.Settled
	}{
		{"before the index heard of a replacement", errors.New("it has ended"), site.Incoming{ID: "a", Title: "A", Text: sitetest.Prose(3, 12)},
			site.Settled{}},
		{"before the index heard of a new title", errors.New("it has ended"), site.Incoming{ID: "a", Title: "Other", Text: text},
			site.Settled{}},
		{"beside it", nil, site.Incoming{ID: "c", Text: sitetest.Prose(4, 12)}, site.Settled{Removed: 1}},
	} {
		t.Run(end.name, func(t *testing.T) {
			p.Index.PutErr = end.put
			if err := take(over(t, p, dies, "one"), end.incoming); err == nil {
				t.Fatal("it did not end")
			}
			p.Index.PutErr = nil
			if left, err := p.Store.Catalogue.Intakes(t.Context(), "one"); len(left) != 1 || err != nil {
				t.Fatalf("cut short: %v, %v", left, err)
			}
			if sum, err := over(t, p, p.Store, "one").Settle(t.Context(), "one"); sum != end.sum || err != nil {
				t.Errorf("settled %+v, %v, want %+v", sum, err, end.sum)
			}
			for _, id := range []concordat.DocumentID{"a", "b"} {
				row, err := p.Store.Catalogue.DocumentRow(t.Context(), "l", id)
				if err != nil || row.Revision != 1 {
					t.Errorf("%s in the catalogue: %+v, %v", id, row, err)
				}
				d, err := p.Index.Document(t.Context(), concordat.Ref{Site: "here", Library: "l", Document: id})
				if err != nil || store.TextHash(d.Text) != row.Hash {
					t.Errorf("%s in the index: %v", id, err)
				}
			}
			if got := p.Cited(t, text); !slices.Contains(got, "a") {
				t.Errorf("it is found in %v", got)
			}
		})
	}
}

// TestHalfTakenIsTakenBack: a process that cannot record a document's arrival in the index removes it from there.
func TestHalfTakenIsTakenBack(t *testing.T) {
	p := sitetest.NewSite(t, "l")
	fails, script := storetest.Scripted(p.Store)
	noted := false
	script.On("FinishIntake", func() error {
		if noted {
			return nil // the document is removed again
		}
		noted = true
		return storetest.ErrScript
	})
	if err := take(over(t, p, fails, "one"), site.Incoming{ID: "half", Text: sitetest.Prose(1, 12)}); !errors.Is(err, storetest.ErrScript) {
		t.Fatal(err)
	}
	half := concordat.Ref{Site: "here", Library: "l", Document: "half"}
	if _, err := p.Index.Document(t.Context(), half); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("the index has it: %v", err)
	}
	if left, err := p.Store.Catalogue.Intakes(t.Context(), "one"); len(left) != 0 || err != nil {
		t.Errorf("left %v, %v", left, err)
	}
}

// TestSettledUnderItsHands: a process that was taken for dead does not record a document that was removed from the index.
func TestSettledUnderItsHands(t *testing.T) {
	p := sitetest.NewSite(t, "l")
	db, script := storetest.Scripted(p.Store)
	script.On("FinishIntake", func() error { // another process takes it for dead
		script.On("FinishIntake", nil)
		if sum, err := over(t, p, p.Store, "two").Settle(context.Background(), "one"); sum.Removed != 1 || err != nil {
			t.Errorf("settled %+v, %v", sum, err)
		}
		return nil
	})
	if err := take(over(t, p, db, "one"), site.Incoming{ID: "slow", Text: sitetest.Prose(1, 12)}); !errors.Is(err, store.ErrLease) {
		t.Errorf("it was told to be in: %v", err)
	}
	_, noted := p.Store.Catalogue.DocumentRow(t.Context(), "l", "slow")
	_, held := p.Index.Document(t.Context(), concordat.Ref{Site: "here", Library: "l", Document: "slow"})
	if !errors.Is(noted, concordat.ErrNotFound) || !errors.Is(held, concordat.ErrNotFound) {
		t.Errorf("catalogue: %v, index: %v", noted, held)
	}
}

// TestDeletedIsSaidOfDeleted: if a report names a source that was never in the catalogue, the source is not reported as deleted.
func TestDeletedIsSaidOfDeleted(t *testing.T) {
	p := sitetest.NewSite(t, "l")
	p.Add(t, "l", site.Incoming{ID: "source", Text: sitetest.Prose(1, 12)})
	f := p.Found(t, sitetest.Prose(1, 12), site.CheckOptions{})
	deleted := func() int {
		t.Helper()
		got, err := p.Findings(t.Context(), f.Task)
		if err != nil {
			t.Fatal(err)
		}
		for _, flag := range got.Flags {
			if flag.Code == report.FlagDeleted {
				return flag.Count
			}
		}
		return 0
	}
	named := func(id concordat.DocumentID) {
		t.Helper()
		for i := range f.Passages {
			f.Passages[i].Source.Document = id
		}
		b, err := json.Marshal(f)
		if err != nil {
			t.Fatal(err)
		}
		_, revision, err := p.Store.Checks.FindingsAt(t.Context(), f.Task)
		if err == nil {
			err = p.Store.Checks.ReplaceFindings(t.Context(), f.Task, revision, b)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(f.Passages) == 0 || deleted() != 0 {
		t.Fatalf("%d passages, %d deleted", len(f.Passages), deleted())
	}
	named("never")
	if n := deleted(); n != 0 {
		t.Errorf("a document that was never taken in is called deleted (%d)", n)
	}
	named("source")
	if err := p.DeleteDocuments(t.Context(), "l", "source"); err != nil {
		t.Fatal(err)
	}
	if n := deleted(); n != 1 {
		t.Errorf("%d sources are called deleted, want 1", n)
	}
	named(concordat.DocumentID("deleted-" + retain.DocumentName("l", "source")[:16]))
	if n := deleted(); n != 1 {
		t.Errorf("without its name %d sources are called deleted, want 1", n)
	}
	named("deleted-0123456789abcdef")
	if n := deleted(); n != 0 {
		t.Errorf("%d sources are called deleted, of which no deletion tells", n)
	}
}
