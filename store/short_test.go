package store_test

import (
	"slices"
	"testing"

	"concordat"
	"concordat/store"
)

func withPieces(id string, pieces ...store.ShortPiece) store.DocumentRow {
	r := documentRow(id)
	r.Short = append([]store.ShortPiece{}, pieces...)
	return r
}

func documentRow(id string) store.DocumentRow {
	return store.DocumentRow{Library: "a", ID: concordat.DocumentID(id), Title: "T" + id, Hash: "h" + id, Scheme: "natural@0"}
}

func piece(letters string, start int, grams ...uint32) store.ShortPiece {
	return store.ShortPiece{ShortPiece: concordat.ShortPiece{Span: concordat.Span{Start: start, End: start + len(letters)},
		Letters: letters, Text: letters}, Grams: grams}
}

// TestShortPiecesFollowDocuments: short pieces follow their documents when these are added, replaced or deleted, and across a restart.
// Pieces no longer contained in any document leave nothing behind.
func TestShortPiecesFollowDocuments(t *testing.T) { engines(t, testShortPiecesFollowDocuments) }

func testShortPiecesFollowDocuments(t *testing.T, path string) {
	db := open(t, path, store.Options{})
	ctx := t.Context()
	found := func(db *store.DB, grams []uint32, least int) []string {
		t.Helper()
		var out []string
		must(t, db.Catalogue.ShortCandidates(ctx, grams, least, 1, 100, func(s store.ShortText) bool {
			places, n, err := db.Catalogue.ShortPlaces(ctx, s.ID, []concordat.LibraryID{"a"}, 10)
			must(t, err)
			for _, p := range places {
				out = append(out, s.Letters+" in "+string(p.Document))
			}
			if len(places) != n {
				t.Errorf("%d places in %d documents", len(places), n)
			}
			return true
		}))
		slices.Sort(out)
		return out
	}
	expect := func(got []string, want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("found %q, want %q", got, want)
		}
	}
	must(t, db.Catalogue.PutDocuments(ctx, []store.DocumentRow{withPieces("1", piece("abc", 0, 1, 2, 3), piece("xyz", 10, 7, 8, 0xffffffff)),
		withPieces("2", piece("abc", 5, 1, 2, 3)), documentRow("3")}))
	expect(found(db, []uint32{1, 2, 9}, 2), "abc in 1", "abc in 2")
	expect(found(db, []uint32{0xffffffff}, 1), "xyz in 1")
	if n, err := db.Catalogue.ShortUnknown(ctx, []concordat.LibraryID{"a"}); err != nil || n != 1 {
		t.Errorf("%d documents unknown, %v, want 1", n, err)
	}
	must(t, db.Catalogue.PutDocuments(ctx, []store.DocumentRow{withPieces("1", piece("new", 0, 4, 5))}))
	must(t, db.Close())
	db = open(t, path, store.Options{})
	expect(found(db, []uint32{1, 2, 3}, 1), "abc in 2")
	expect(found(db, []uint32{7, 8}, 1))
	expect(found(db, []uint32{4}, 1), "new in 1")
	must(t, db.Catalogue.DeleteDocuments(ctx, "a", "1", "2", "3"))
	expect(found(db, []uint32{1, 2, 3, 4, 5}, 1))
	must(t, db.Check(ctx))
	must(t, db.Close())
	for _, table := range []string{"short_text", "short_place", "short_gram"} {
		if n := rows(t, path, table); n != 0 {
			t.Errorf("%d rows of %s stay", n, table)
		}
	}
}

func TestShortPiecesAreBounded(t *testing.T) { engines(t, testShortPiecesAreBounded) }

func testShortPiecesAreBounded(t *testing.T, place string) {
	db := open(t, place, store.Options{})
	wantErr(t, db.Catalogue.PutDocuments(t.Context(), []store.DocumentRow{withPieces("1", piece(string(make([]byte, 5000)), 0, 1))}),
		concordat.ErrInvalid)
	wantErr(t, db.Catalogue.PutDocuments(t.Context(), []store.DocumentRow{withPieces("1", piece("abc", 0))}), concordat.ErrInvalid)
	wantErr(t, db.Catalogue.ShortCandidates(t.Context(), []uint32{1}, 2, 1, 9, func(store.ShortText) bool { return true }),
		concordat.ErrInvalid)
}

func TestTemplates(t *testing.T) { engines(t, testTemplates) }

func testTemplates(t *testing.T, place string) {
	db := open(t, place, store.Options{})
	ctx := t.Context()
	must(t, db.Catalogue.PutTemplate(ctx, store.Template{Library: "a", Name: "form", Text: "x"}))
	must(t, db.Catalogue.PutTemplate(ctx, store.Template{Library: "a", Name: "form", Text: "y", Counts: true}))
	wantErr(t, db.Catalogue.PutTemplate(ctx, store.Template{Library: "a", Name: "empty"}), concordat.ErrInvalid)
	wantErr(t, db.Catalogue.PutTemplate(ctx, store.Template{Library: "nowhere", Name: "form", Text: "x"}), concordat.ErrNotFound)
	wantErr(t, db.Catalogue.PutTemplate(ctx, store.Template{Library: "a", Name: "long", Text: string(make([]byte, store.MaxTemplate+1))}),
		concordat.ErrInvalid)
	ts, err := db.Catalogue.Templates(ctx, "a")
	must(t, err)
	if len(ts) != 1 || ts[0].Text != "y" || !ts[0].Counts {
		t.Errorf("templates %+v", ts)
	}
	must(t, db.Catalogue.DeleteTemplate(ctx, "a", "form"))
	wantErr(t, db.Catalogue.DeleteTemplate(ctx, "a", "form"), concordat.ErrNotFound)
	must(t, db.Catalogue.PutTemplate(ctx, store.Template{Library: "a", Name: "form", Text: "x"}))
	must(t, db.Catalogue.DeleteLibrary(ctx, "a")) // its templates are deleted with it
}

func TestDatesOfDocuments(t *testing.T) { engines(t, testDatesOfDocuments) }

func testDatesOfDocuments(t *testing.T, place string) {
	db := open(t, place, store.Options{})
	r := documentRow("1")
	r.Dated, r.DatedBy = "2019-03", concordat.DateOfFile
	must(t, db.Catalogue.PutDocuments(t.Context(), []store.DocumentRow{r}))
	got, err := db.Catalogue.DocumentRow(t.Context(), "a", "1")
	must(t, err)
	if got.Dated != r.Dated || got.DatedBy != r.DatedBy {
		t.Errorf("dated %q by %q", got.Dated, got.DatedBy)
	}
	r.Dated = "yesterday"
	wantErr(t, db.Catalogue.PutDocuments(t.Context(), []store.DocumentRow{r}), concordat.ErrInvalid)
}

// rows counts the rows of a table, bypassing the store.
func rows(t *testing.T, path, table string) int {
	t.Helper()
	n := 0
	must(t, behind(t, path).QueryRow("SELECT count(*) FROM "+table).Scan(&n))
	return n
}
