package index_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/index"
	"concordat/internal/indextest"
)

// TestUnfit: even after being reopened, a shard knows for each document whether its cells are known and whether it has any, and lists a
// library's documents in the wrong state.
func TestUnfit(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "shard")
	open := func() *index.Shard {
		x, err := index.Open(dir, index.Options{Site: indextest.Site, Scheme: indextest.Scheme, Shard: "00"})
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	x := open()
	g := indextest.NewGenerator(1, 20)
	put := func(lib concordat.LibraryID, id concordat.DocumentID, cells []concordat.Cell) {
		t.Helper()
		p := g.Profile(lib, id, 3)
		p.Cells = cells
		if err := x.Put(t.Context(), p); err != nil {
			t.Fatal(err)
		}
	}
	none, some := []concordat.Cell{}, []concordat.Cell{3, 4}
	put("l", "unknown 2", nil)
	put("l", "unknown 1", nil)
	put("l", "none", none)
	put("l", "some", some)
	put("l", "made", nil)
	put("l", "made", some)
	put("l", "gone", nil)
	put("other", "unknown 3", nil)
	if err := x.Delete(t.Context(), concordat.Ref{Site: indextest.Site, Library: "l", Document: "gone"}); err != nil {
		t.Fatal(err)
	}
	names := func(ids ...concordat.DocumentID) (out []index.UnfitDocument) {
		for _, id := range ids {
			out = append(out, index.UnfitDocument{ID: id})
		}
		return out
	}
	bare := append([]index.UnfitDocument{{ID: "none", Bare: true}}, names("unknown 1", "unknown 2")...)
	for range 2 {
		for _, c := range []struct {
			q    index.UnfitQuery
			want index.Unfit
		}{
			{index.UnfitQuery{Library: "l", Want: index.MeantCells, Limit: 9}, index.Unfit{Lacking: 2, Bare: 1, Documents: bare}},
			{index.UnfitQuery{Library: "l", Want: index.MeantCells, Limit: 1, After: "none"},
				index.Unfit{Lacking: 2, Documents: names("unknown 1")}},
			{index.UnfitQuery{Library: "l", Want: index.MeantNone, Limit: 9}, index.Unfit{Lacking: 2, Superfluous: 2,
				Documents: names("made", "some", "unknown 1", "unknown 2")}},
			{index.UnfitQuery{Library: "l", Want: index.MeantUnknown, Limit: 9},
				index.Unfit{Superfluous: 3, Documents: names("made", "none", "some")}},
			{index.UnfitQuery{Library: "l", Want: index.MeantUnknown}, index.Unfit{Superfluous: 3}},
			{index.UnfitQuery{Library: "other", Want: index.MeantUnknown, Limit: 9}, index.Unfit{}},
		} {
			got, err := x.Unfit(&c.q)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Documents) == 0 {
				got.Documents = nil
			}
			if d := cmp.Diff(&c.want, got); d != "" {
				t.Errorf("%+v: %s", c.q, d)
			}
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		x = open()
	}
	if err := x.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := x.Unfit(&index.UnfitQuery{Library: "l"}); err == nil {
		t.Error("a shard that is closed answers")
	}
}
