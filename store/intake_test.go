package store_test

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"testing"
	"time"

	"concordat"
	"concordat/store"
)

// testIntakes: documents being added are listed until the catalogue has them, and belong to the process that claims them.
func testIntakes(t *testing.T, p place) {
	db, clock := openPlace(t, p)
	ctx := t.Context()
	withLibraries(t, db, "a")
	odd := row("a", "1", "h1")
	odd.Title, odd.Short = "nul \x00 and \xff", []store.ShortPiece{}
	rows := []store.DocumentRow{odd, row("a", "2", "h2")}
	id, err := db.Catalogue.BeginIntake(ctx, "one", rows, clock.now())
	must(t, err)
	open, err := db.Catalogue.Intakes(ctx, "one")
	must(t, err)
	if len(open) != 1 || open[0].ID != id || open[0].Worker != "one" || !open[0].Made.Equal(clock.now()) || len(open[0].Rows) != 2 ||
		open[0].Rows[0].Hash != "h1" || open[0].Rows[0].Short == nil {
		t.Fatalf("intakes of one: %+v", open)
	}
	if other, err := db.Catalogue.Intakes(ctx, "two"); err != nil || len(other) != 0 {
		t.Errorf("intakes of two: %v, %v", other, err)
	}
	if early, err := db.Catalogue.IntakesBefore(ctx, clock.now()); err != nil || len(early) != 0 {
		t.Errorf("intakes before: %v, %v", early, err)
	}
	claimed, err := db.Catalogue.ClaimIntake(ctx, id)
	must(t, err)
	_, err = db.Catalogue.ClaimIntake(ctx, id)
	wantErr(t, err, store.ErrLease)
	wantErr(t, db.Catalogue.FinishIntake(ctx, id, rows), store.ErrLease)
	held, err := db.Catalogue.Catalogued(ctx, "a", []concordat.DocumentID{"1", "2"})
	must(t, err)
	if len(held) != 0 {
		t.Errorf("an intake that was claimed is noted by who began it: %v", held)
	}
	must(t, db.Catalogue.FinishIntake(ctx, claimed, open[0].Rows))
	held, err = db.Catalogue.Catalogued(ctx, "a", []concordat.DocumentID{"1", "2", "3"})
	must(t, err)
	if want := map[concordat.DocumentID]string{"1": "h1", "2": "h2"}; !maps.Equal(held, want) {
		t.Errorf("the catalogue has %v, want %v", held, want)
	}
	if left, err := db.Catalogue.IntakesBefore(ctx, clock.now().Add(time.Second)); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
	// A document that cannot be recorded stays listed as being added.
	id, err = db.Catalogue.BeginIntake(ctx, "one", []store.DocumentRow{row("nowhere", "1", "h")}, clock.now())
	must(t, err)
	wantErr(t, db.Catalogue.FinishIntake(ctx, id, []store.DocumentRow{row("nowhere", "1", "h")}), concordat.ErrNotFound)
	if left, err := db.Catalogue.Intakes(ctx, "one"); err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
}

// testDeletedNames: the store keeps only a hash of a deleted document's name.
func testDeletedNames(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx := t.Context()
	withLibraries(t, db, "a", "b")
	must(t, db.Catalogue.PutDocuments(ctx, []store.DocumentRow{row("a", "1", "h"), row("b", "1", "h")}))
	must(t, db.Catalogue.DeleteDocuments(ctx, "a", "1", "never"))
	must(t, db.Catalogue.DeleteDocuments(ctx, "a", "1")) // a second deletion
	for _, x := range []struct {
		lib  concordat.LibraryID
		id   concordat.DocumentID
		want bool
	}{{"a", "1", true}, {"a", "never", false}, {"b", "1", false}} {
		got, err := db.Catalogue.WasDeleted(ctx, x.lib, x.id)
		must(t, err)
		h := sha256.Sum256([]byte(string(x.lib) + "/" + string(x.id)))
		short, err := db.Catalogue.WasDeletedAs(ctx, hex.EncodeToString(h[:8]))
		must(t, err)
		if got != x.want || short != x.want {
			t.Errorf("%s/%s was deleted: %v, by the beginning of its name: %v, want %v", x.lib, x.id, got, short, x.want)
		}
	}
}
