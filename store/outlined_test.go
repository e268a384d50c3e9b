package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/store"
)

// testOutlined: units that were shown can be shown again, and further units up to the limit. After a year the count starts afresh, and a
// deleted document leaves nothing behind.
func testOutlined(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	x := store.Outlined{Partner: "north", Library: "a", Document: "d"}
	outline := func(what string, x store.Outlined, most int, want []bool, units ...int) {
		t.Helper()
		got, err := db.Asks.Outline(ctx, x, c.now().Add(-24*time.Hour), most, units)
		must(t, err)
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
	outline("none", x, 3, []bool{})
	outline("the first", x, 3, []bool{true, true}, 4, 5)
	outline("one more", x, 3, []bool{true, true, true, false}, 4, 5, 6, 7)
	outline("without a limit", x, -1, []bool{true}, 8)
	outline("known ones", x, 0, []bool{false, true}, 3, 8)
	south := x
	south.Partner = "south"
	outline("another partner", south, 1, []bool{true, false}, 4, 5)
	_, _, err := db.Retention.EraseTraces(ctx, "here", "a", []concordat.DocumentID{"d"})
	must(t, err)
	outline("of a deleted document", south, 1, []bool{true}, 5)
	c.move(25 * time.Hour)
	must(t, db.Asks.ForgetOutlined(ctx, c.now().Add(-24*time.Hour)))
	outline("after their time", south, 1, []bool{true}, 6)
}

// testMuchShown: a partner is listed if the given share of a library was disclosed to it, or outlines of that share were shown to it.
func testMuchShown(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx := t.Context()
	withLibraries(t, db, "a")
	var rows []store.DocumentRow
	for i := range 20 {
		rows = append(rows, store.DocumentRow{Library: "a", ID: concordat.DocumentID(fmt.Sprint("d", i)), Hash: "h", Scheme: "s"})
	}
	must(t, db.Catalogue.PutDocuments(ctx, rows))
	much := func(what, want string) {
		t.Helper()
		as, err := db.Asks.MuchShown(ctx, c.now().Add(-24*time.Hour), store.Part{Of: 5, Least: 3}, store.Part{Of: 10, Least: 2})
		must(t, err)
		var got []string
		for _, x := range as {
			if x.Kind != store.AlarmLibrary {
				t.Errorf("%s: %+v", what, x)
			}
			got = append(got, fmt.Sprintf("%s/%s", x.Partner, x.Library))
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %q, want %q", what, got, want)
		}
	}
	tell := func(partner concordat.SiteID, from, to int) {
		for i := from; i < to; i++ {
			must(t, db.Asks.Show(ctx, store.Showing{Partner: partner, Hash: fmt.Sprint("h", i), Form: store.FormMatches, Library: "a",
				Document: concordat.DocumentID(fmt.Sprint("d", i)), Epoch: epoch, Sentences: 1}))
		}
	}
	outline := func(partner concordat.SiteID, n int) {
		for i := range n {
			_, err := db.Asks.Outline(ctx, store.Outlined{Partner: partner, Library: "a", Document: concordat.DocumentID(fmt.Sprint("d", i))},
				time.Time{}, -1, []int{1, 2})
			must(t, err)
		}
	}
	tell("north", 0, 3)
	outline("south", 1)
	much("less than a part", "")
	tell("north", 3, 4)
	much("a fifth told", "north/a")
	outline("south", 2)
	outline("north", 2)
	much("a tenth outlined too", "north/a south/a")
	for want := range 2 {
		raised, err := db.Partners.RaiseAlarm(ctx, store.PartnerAlarm{Partner: "north", Kind: store.AlarmLibrary, Library: "a"})
		must(t, err)
		if raised != (want == 0) {
			t.Errorf("alarm %d is raised: %v", want, raised)
		}
		c.move(25 * time.Hour)
	}
	much("after their time", "")
}
