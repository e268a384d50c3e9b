package instance_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/index"
	"concordat/instance"
	"concordat/site"
	"concordat/store"
)

// TestCheckMeaning: the check of the index counts documents that lack meaning cells or have superfluous ones, according to the libraries'
// policies. For documents known to have no cells, it examines the texts, some of which contain no prose.
func TestCheckMeaning(t *testing.T) {
	dir := create(t)
	opened := func(meaning string) *instance.Instance {
		t.Helper()
		t.Setenv("CONCORDAT_MEANING_INDEX", meaning)
		return open(t, dir, instance.WithIndex)
	}
	o := opened("false")
	const prose = "The guild of glass workers moved its furnaces to the island, because the officials were afraid of fire, number %d."
	ingest := func(lib concordat.LibraryID, texts ...string) {
		t.Helper()
		err := o.Site.Ingest(t.Context(), lib, func(yield func(site.Incoming, error) bool) {
			for i, text := range texts {
				if !yield(site.Incoming{ID: concordat.DocumentID(fmt.Sprint("doc-", i, len(text))), Text: text}, nil) {
					return
				}
			}
		}, func(site.Ingested) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	policy := func(lib concordat.LibraryID, meaning string) {
		t.Helper()
		l, err := o.Store.Catalogue.Library(t.Context(), lib)
		if err == nil {
			l.Policy.Meaning = meaning
			err = o.Store.Catalogue.UpdateLibrary(t.Context(), l)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	check := func(when string, quick bool, want instance.IndexState) {
		t.Helper()
		got, err := o.CheckIndex(t.Context(), quick)
		if err != nil {
			t.Fatal(err)
		}
		got = &instance.IndexState{Lacking: got.Lacking, Stale: got.Stale, MayLack: got.MayLack, Superfluous: got.Superfluous}
		if d := cmp.Diff(&want, got); d != "" {
			t.Errorf("%s: %s", when, d)
		}
	}
	for _, lib := range []concordat.LibraryID{"theses", "essays"} {
		if err := o.Store.Catalogue.CreateLibrary(t.Context(), store.Library{ID: lib, Created: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	ingest("theses", fmt.Sprintf(prose, 1), fmt.Sprintf(prose, 22))
	check("without meaning", false, instance.IndexState{})
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	o = opened("true")
	check("meaning turned on", true, instance.IndexState{Lacking: 2})
	ingest("essays", fmt.Sprintf(prose, 3), "17 18 19, 23 24 25, 26 27 28, 29 30 31, 17 18 19, 23 24 25, 26 27 28, 29 30 31.")
	check("with new documents", false, instance.IndexState{Lacking: 2})
	policy("essays", store.MeaningOff)
	check("a library without", false, instance.IndexState{Lacking: 2, Superfluous: 1})
	ingest("essays", fmt.Sprintf(prose, 4444))
	policy("essays", "")
	check("a library with again, quick", true, instance.IndexState{Lacking: 2})
	check("a library with again", false, instance.IndexState{Lacking: 3})
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	o = opened("false")
	check("meaning turned off", false, instance.IndexState{Superfluous: 3})
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestPresentCells: the index knows by which definition this program computes cells. If the definition changes, so must index.PresentCells
// and, with it, the version of the stored metadata.
func TestPresentCells(t *testing.T) {
	t.Setenv("CONCORDAT_MEANING_INDEX", "true")
	o := open(t, create(t), instance.WithIndex)
	if got := instance.CellsMade(o.Profiler); got != index.PresentCells {
		t.Errorf("index.PresentCells is %s, but cells are computed by definition %s", index.PresentCells, got)
	}
}
