package retain_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/site"
	"concordat/site/retain"
	"concordat/store"
)

// purging counts how often an index was purged.
type purging struct {
	concordat.Index
	n int
}

func (p *purging) Purge(context.Context) error { p.n++; return nil }

// TestErasedFromEpochs: a deletion also removes the fingerprints from partner sets. A process that does not have these sets open reports
// that bytes remain, and the process that has them open completes the deletion.
func TestErasedFromEpochs(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	ctx := t.Context()
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Title: "T", Text: sitetest.River}, site.Incoming{ID: "b", Text: sitetest.Winter})
	set := o.NewSetOver(t, &purging{Index: o.Set})
	sitetest.Must(t, o.Sets.UseEpochs(ctx, set))
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Matches: 1})
	if got := o.Holds(t, sitetest.River); len(got) != 1 {
		t.Fatalf("%v hold the text before", got)
	}
	if tell := o.Told(t, "north", o.Question(t, sitetest.River, concordat.ShowMetadata, "theses")); !tell.Libraries[0].Exists {
		t.Fatal("the document is not told before")
	}

	// This is the command line while the site is not being served.
	alone := sitetest.Open(site.Options{ID: "here", Index: o.Index, Store: o.Store, Profiler: sitetest.Profiler(t), Now: o.Clock.Now})
	r, err := retain.New(alone.Site, retain.Options{Answers: alone.Answerer, Store: o.Store}).Erase(ctx, "ada", "",
		retain.Target{Library: "theses", Documents: []concordat.DocumentID{"a"}})
	if !errors.Is(err, concordat.ErrUnavailable) || r == nil || r.Deleted.IsZero() || !r.Done.IsZero() {
		t.Fatalf("without the sets: %+v, %v", r, err)
	}
	if _, err := o.Store.Catalogue.DocumentRow(ctx, "theses", "a"); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("the catalogue: %v", err)
	}

	// This is the serving process.
	e := retain.New(o.Site, retain.Options{Answers: o.Answerer, Store: o.Store})
	if n, err := e.Resume(ctx); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	row, err := o.Store.Retention.Erasure(ctx, r.ID)
	sitetest.Must(t, err)
	var done retain.Receipt
	sitetest.Must(t, json.Unmarshal(row.Receipt, &done))
	name := "epoch " + sitetest.TestEpoch.String()
	ok := false
	for _, p := range done.Places {
		ok = ok || p == retain.Place{Name: name, Items: 1, State: "purged"}
	}
	if row.State != store.ErasureDone || !ok || set.Index.(*purging).n != 1 {
		t.Errorf("state %s, places %+v, purged %d times", row.State, done.Places, set.Index.(*purging).n)
	}
	if got := o.Holds(t, sitetest.River); len(got) != 0 {
		t.Errorf("%v hold the text", got)
	}
	if got := o.Holds(t, sitetest.Winter); len(got) != 1 {
		t.Errorf("%v hold the other text", got)
	}
	if tell := o.Told(t, "north", o.Question(t, sitetest.River, concordat.ShowMetadata, "theses")); tell.Libraries[0].Exists {
		t.Errorf("what was deleted is told: %+v", tell)
	}

	// The sets are open from the start.
	r, err = e.Erase(ctx, "ada", "", retain.Target{Library: "theses", Whole: true})
	sitetest.Must(t, err)
	if r.Done.IsZero() || len(r.Documents) != 1 {
		t.Errorf("receipt %+v", r)
	}
	if got := o.Holds(t, sitetest.Winter); len(got) != 0 {
		t.Errorf("%v hold the text", got)
	}
}

// TestEmbargoForPartners: partners learn nothing about a hidden document before its date.
func TestEmbargoForPartners(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Title: "T", Text: sitetest.River})
	o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Matches: 1})
	exists := func() bool {
		t.Helper()
		return o.Told(t, "north", o.Question(t, sitetest.River, concordat.ShowMetadata, "theses")).Libraries[0].Exists
	}
	if !exists() {
		t.Fatal("not told before")
	}
	sitetest.Must(t, o.Store.Retention.SetTerm(t.Context(), store.Term{Library: "theses", Document: "a", Hidden: o.Clock.Now().Add(60e9)}))
	if exists() {
		t.Error("told under its embargo")
	}
	o.Clock.Move(61e9)
	if !exists() {
		t.Error("not told after its day")
	}
}
