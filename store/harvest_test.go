package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/store"
)

func harvestSource(id string) store.HarvestSource {
	return store.HarvestSource{ID: id, Kind: "oai", URL: "https://repo.example.edu/oai", Library: "l", Set: "s", Format: "oai_dc",
		Every:     24 * time.Hour,
		Withdrawn: store.HarvestDelete, Next: start, Made: start}
}

// testHarvestSources: one worker at a time can claim a source, and that worker owns its state.
func testHarvestSources(t *testing.T, p place) {
	db, c := openPlace(t, p)
	ctx, h := t.Context(), db.Harvest
	must(t, db.Catalogue.CreateLibrary(ctx, store.Library{ID: "l", Created: start}))
	want := harvestSource("repo")
	must(t, h.AddSource(ctx, want))
	wantErr(t, h.AddSource(ctx, want), concordat.ErrExists)
	nowhere := harvestSource("other")
	nowhere.Library = "nowhere"
	wantErr(t, h.AddSource(ctx, nowhere), concordat.ErrNotFound)
	wantErr(t, h.AddSource(ctx, harvestSource("")), concordat.ErrInvalid)
	_, err := h.Source(ctx, "other")
	wantErr(t, err, concordat.ErrNotFound)

	must(t, h.ClaimSource(ctx, "repo", "a", time.Minute))
	must(t, h.ClaimSource(ctx, "repo", "a", time.Minute)) // for a longer time
	wantErr(t, h.ClaimSource(ctx, "repo", "b", time.Minute), store.ErrLease)
	want.State = store.HarvestState{Run: 1, Phase: "listing", Token: "t\x00", Started: start}
	wantErr(t, h.KeepHarvest(ctx, "repo", "b", want.State, store.HarvestRecord{ID: "x"}), store.ErrLease)
	must(t, h.KeepHarvest(ctx, "repo", "a", want.State))
	got, err := h.Source(ctx, "repo")
	must(t, err)
	want.Running, want.State.Token = true, got.State.Token
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	must(t, h.PlanSource(ctx, "repo", start.Add(time.Hour), "whole"))
	wantErr(t, h.PlanSource(ctx, "other", start, ""), concordat.ErrNotFound)
	c.move(2 * time.Minute) // the worker's claim has expired
	must(t, h.ClaimSource(ctx, "repo", "b", time.Minute))
	wantErr(t, h.KeepHarvest(ctx, "repo", "a", want.State), store.ErrLease)
	wantErr(t, h.ReleaseSource(ctx, "repo", "a", want.State, time.Time{}), store.ErrLease)
	want.State.Ask = "whole"
	must(t, h.ReleaseSource(ctx, "repo", "b", want.State, start.Add(3*time.Hour)))
	all, err := h.Sources(ctx)
	must(t, err)
	if len(all) != 1 || all[0].Running || !all[0].Next.Equal(start.Add(3*time.Hour)) || all[0].State.Ask != "whole" {
		t.Errorf("got %+v", all)
	}
	must(t, h.RemoveSource(ctx, "repo"))
	wantErr(t, h.RemoveSource(ctx, "repo"), concordat.ErrNotFound)
}

// testHarvestRecords: records and state are stored together or not at all, and records can be found by their next step.
func testHarvestRecords(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx, h := t.Context(), db.Harvest
	must(t, db.Catalogue.CreateLibrary(ctx, store.Library{ID: "l", Created: start}))
	must(t, h.AddSource(ctx, harvestSource("repo")))
	must(t, h.ClaimSource(ctx, "repo", "a", time.Minute))
	full := store.HarvestRecord{ID: "oai:r:1", Stamp: "2026-01-01", Digest: "d", State: store.RecordWaiting,
		Documents: []concordat.DocumentID{"x", "y"},
		Files: []store.HarvestFile{{URL: "https://repo.example.edu/1.pdf", Type: "application/pdf"}, {Text: []byte("text"),
			Name: "a.xml"}},
		Work: concordat.Work{Title: "T", Creators: []concordat.Creator{{Name: "Roe"}}}, Tries: 1, Run: 2, Changed: start}
	state := func(id string, s store.HarvestRecordState, due time.Time, run int64) store.HarvestRecord {
		return store.HarvestRecord{ID: id, State: s, Due: due, Run: run}
	}
	must(t, h.KeepHarvest(ctx, "repo", "a", store.HarvestState{}, full, state("soon", store.RecordEmbargoed, start.Add(time.Hour), 2),
		state("now", store.RecordEmbargoed, start, 2), state("again", store.RecordFailed, start, 2), state("never", store.RecordFailed,
			time.Time{}, 2),
		state("kept", store.RecordKept, time.Time{}, 1), state("leaves", store.RecordWithdrawing, start.Add(time.Hour), 1),
		state("left", store.RecordWithdrawn, time.Time{}, 1)))
	wantErr(t, h.KeepHarvest(ctx, "repo", "a", store.HarvestState{Listed: 5}, state("half", store.RecordKept, time.Time{}, 9), state("",
		store.RecordKept,
		time.Time{}, 9)), concordat.ErrInvalid)
	due, err := h.DueRecords(ctx, "repo", start, 10)
	must(t, err)
	var ids []string
	for _, r := range due {
		ids = append(ids, r.ID)
	}
	if d := cmp.Diff([]string{"leaves", "oai:r:1", "again", "now"}, ids); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(full, due[1]); d != "" {
		t.Error(d)
	}
	some, err := h.HarvestRecords(ctx, "repo", []string{"kept", "half", "left"})
	must(t, err)
	if len(some) != 2 || some["kept"].State != store.RecordKept {
		t.Errorf("got %v", some)
	}
	many := make([]string, store.MaxPage, store.MaxPage+1)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	if some, err = h.HarvestRecords(ctx, "repo", append(many, "kept")); err != nil || len(some) != 1 {
		t.Errorf("behind %d others: got %v, %v", len(many), some, err)
	}
	n, err := h.UnseenRecords(ctx, "repo", 2, false)
	must(t, err)
	m, err := h.UnseenRecords(ctx, "repo", 2, true)
	must(t, err)
	counts, err := h.CountRecords(ctx, "repo")
	must(t, err)
	if n != 1 || m != 1 || counts[store.RecordWithdrawing] != 2 || counts[store.RecordWithdrawn] != 1 || counts[store.RecordKept] != 0 {
		t.Errorf("%d, %d unseen, then %v", n, m, counts)
	}
	list, err := h.ListRecords(ctx, "repo", store.RecordFailed, "again", 10)
	must(t, err)
	if len(list) != 1 || list[0].ID != "never" {
		t.Errorf("got %v", list)
	}
	must(t, h.RemoveSource(ctx, "repo"))
	if left, err := h.ListRecords(ctx, "repo", "", "", 0); err != nil || len(left) != 0 {
		t.Errorf("%d records stay, %v", len(left), err)
	}
}

// testWorks: a document's work exists as long as the document does.
func testWorks(t *testing.T, p place) {
	db, _ := openPlace(t, p)
	ctx, h := t.Context(), db.Harvest
	must(t, db.Catalogue.CreateLibrary(ctx, store.Library{ID: "l", Created: start}))
	must(t, db.Catalogue.PutDocuments(ctx, []store.DocumentRow{{Library: "l", ID: "a", Hash: "h", Scheme: "s@1", Added: start}}))
	w := concordat.Work{Title: "T", IDs: []concordat.WorkID{{Scheme: "doi", Value: "10.5072/1"}}, Embargo: "2026-05"}
	must(t, h.PutWorks(ctx, "l", map[concordat.DocumentID]concordat.Work{"a": {Title: "old"}, "absent": w}))
	must(t, h.PutWorks(ctx, "l", map[concordat.DocumentID]concordat.Work{"a": w}))
	works := func() map[concordat.DocumentID]concordat.Work {
		got, err := h.Works(ctx, "l", []concordat.DocumentID{"a", "absent"})
		must(t, err)
		return got
	}
	if d := cmp.Diff(map[concordat.DocumentID]concordat.Work{"a": w}, works()); d != "" {
		t.Error(d)
	}
	must(t, db.Catalogue.PutDocuments(ctx, []store.DocumentRow{{Library: "l", ID: "a", Hash: "h2", Scheme: "s@1", Added: start}}))
	if len(works()) != 1 {
		t.Error("the work went with the old text")
	}
	must(t, db.Catalogue.DeleteDocuments(ctx, "l", "a"))
	if got := works(); len(got) != 0 {
		t.Errorf("got %v", got)
	}
}
