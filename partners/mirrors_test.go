package partners

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"concordat"
	"concordat/instance"
	"concordat/site"
	"concordat/store"
)

// holdMirror stores a mirror of some documents, the last of which is also in the index of its epoch.
func holdMirror(t *testing.T, o *instance.Instance, lib concordat.LibraryID, e concordat.Epoch, documents int) {
	t.Helper()
	var docs []store.MirrorDocument
	for i := range documents {
		docs = append(docs, store.MirrorDocument{ID: concordat.DocumentID(fmt.Sprintf("%06d", i)), Sentences: 1})
	}
	key := store.MirrorKey{Site: "north", Library: lib, Epoch: e}
	m := store.Mirror{MirrorKey: key, Scheme: o.Profiler.Scheme(), Synced: time.Now(), Complete: true}
	if err := o.Store.Asks.PutMirror(t.Context(), m, docs, nil); err != nil {
		t.Fatal(err)
	}
	putMirrored(t, o, e, o.Asks.Mirrored(site.MirroredLibrary{Site: "north", Library: lib, Epoch: e}, docs[documents-1].ID))
}

// putMirrored adds a document to the index of an epoch.
func putMirrored(t *testing.T, o *instance.Instance, e concordat.Epoch, ref concordat.Ref) {
	t.Helper()
	pr, err := o.Profiler.ForIndex(concordat.Document{Library: ref.Library, ID: ref.Document, Added: time.Now(),
		Text: "The lamp burned rape oil, which was carried up one hundred and forty steps in copper cans every evening."})
	if err != nil {
		t.Fatal(err)
	}
	s, err := OpenMirrors(o, e, o.Profiler.Scheme(), true)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), pr); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestLargeMirrorStaysWhole: at startup, exactly the documents that belong to no mirror are removed, even if a mirror has more documents
// than the store lists at once.
func TestLargeMirrorStaysWhole(t *testing.T) {
	o := storeOnly(t)
	e := concordat.Epoch{Federation: "health", Number: 1}
	holdMirror(t, o, "theses", e, store.MaxPage+1)
	for _, left := range []int{0, 1} {
		if left > 0 {
			putMirrored(t, o, e, concordat.Ref{Library: "left", Document: "left"})
		}
		removed := 0
		if err := SettleMirrors(t.Context(), o, func(_ string, n int) { removed += n }); err != nil || removed != left {
			t.Errorf("%d documents were removed, %v; want %d", removed, err, left)
		}
		s, err := OpenMirrors(o, e, "", false)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Refs(); len(got) != 1 || got[0].Library == "left" {
			t.Errorf("the index has %v, want the last document of the mirror", got)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestNewMirrorTakesThePlaceOfOlder: a complete mirror replaces mirrors of the same library in earlier epochs of its federation; mirrors
// of other libraries, other federations and later epochs remain.
func TestNewMirrorTakesThePlaceOfOlder(t *testing.T) {
	o := storeOnly(t)
	at := func(federation concordat.FederationID, n uint32) concordat.Epoch {
		return concordat.Epoch{Federation: federation, Number: n}
	}
	for _, x := range []struct {
		lib concordat.LibraryID
		e   concordat.Epoch
	}{
		{"theses", at("health", 1)}, {"theses", at("health", 2)}, {"theses", at("health", 3)}, {"theses", at("law", 1)},
		{"papers", at("health", 1)},
	} {
		holdMirror(t, o, x.lib, x.e, 1)
	}
	ms := NewMirrorStore(o, func(string, ...any) {})
	if err := ms.DropOlder(t.Context(), site.MirroredLibrary{Site: "north", Library: "theses", Epoch: at("health", 2)}); err != nil {
		t.Fatal(err)
	}
	left, err := o.Asks.Mirrors(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, x := range left {
		got = append(got, fmt.Sprintf("%s of %s %d", x.Library, x.Epoch.Federation, x.Epoch.Number))
	}
	want := []string{"papers of health 1", "theses of health 2", "theses of health 3", "theses of law 1"}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("left are %q, want %q", got, want)
	}
}
