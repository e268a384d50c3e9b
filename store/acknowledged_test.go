package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"concordat/store"
)

// TestAcknowledged: an acknowledged state never moves backwards, and each cluster has its own state.
func TestAcknowledged(t *testing.T) {
	engines(t, func(t *testing.T, place string) {
		a := open(t, place, store.Options{}).Acknowledged
		note := func(cluster string, rs ...store.AcknowledgedRecord) {
			t.Helper()
			must(t, a.Note(t.Context(), cluster, rs))
		}
		note("x", store.AcknowledgedRecord{Shard: "01", Epoch: 3, Record: 10}, store.AcknowledgedRecord{Shard: "00", Epoch: 1, Record: 5})
		note("x", store.AcknowledgedRecord{Shard: "00", Epoch: 1, Record: 4})
		note("x", store.AcknowledgedRecord{Shard: "01", Epoch: 2, Record: 99})
		note("y", store.AcknowledgedRecord{Shard: "00", Epoch: 7, Record: 7})
		got, err := a.Noted(t.Context(), "x")
		must(t, err)
		want := []store.AcknowledgedRecord{{Shard: "00", Epoch: 1, Record: 5}, {Shard: "01", Epoch: 3, Record: 10}}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		note("x", store.AcknowledgedRecord{Shard: "01", Epoch: 4, Record: 2}, store.AcknowledgedRecord{Shard: "00", Epoch: 1, Record: 6})
		got, err = a.Noted(t.Context(), "x")
		must(t, err)
		want = []store.AcknowledgedRecord{{Shard: "00", Epoch: 1, Record: 6}, {Shard: "01", Epoch: 4, Record: 2}}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
		if got, err = a.Noted(t.Context(), "none"); err != nil || len(got) > 0 {
			t.Errorf("a cluster that noted nothing: %v, %v", got, err)
		}
		if err := a.Note(t.Context(), "", want); err == nil {
			t.Error("no cluster is named, and that is taken")
		}
	})
}
