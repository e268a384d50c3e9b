package instance_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"concordat"
	"concordat/instance"
	"concordat/site"
	"concordat/store"
)

// TestFitMeaning: once the index by meaning is switched on in a running site, new documents have cells, and earlier ones get them one
// after another, even after an interruption. The site reports the progress, and stops when the index is switched off.
func TestFitMeaning(t *testing.T) {
	t.Setenv("CONCORDAT_MEANING_INDEX", "false")
	o := open(t, create(t), instance.WithIndex)
	const prose = "The guild of glass workers moved its furnaces to the island, because the officials were afraid of fire, number %d."
	ingest := func(from, to int) {
		t.Helper()
		err := o.Site.Ingest(t.Context(), "theses", func(yield func(site.Incoming, error) bool) {
			for i := from; i < to; i++ {
				if !yield(site.Incoming{ID: concordat.DocumentID(fmt.Sprint(i)), Text: fmt.Sprintf(prose, i)}, nil) {
					return
				}
			}
		}, func(site.Ingested) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
	}
	lacking := func() int {
		t.Helper()
		st, err := o.Index.TextStats(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		return st.Documents - st.Meant
	}
	if err := o.Store.Catalogue.CreateLibrary(t.Context(), store.Library{ID: "theses", Created: time.Now()}); err != nil {
		t.Fatal(err)
	}
	const many = 120 // more than fit into one group
	ingest(0, many)
	if err := instance.FitMeaning(t.Context(), o, func(int, int) {}); err != nil || lacking() != many {
		t.Fatalf("switched off: %v, %d lack cells", err, lacking())
	}
	if err := o.Profiler.SetMeaning(true); err != nil {
		t.Fatal(err)
	}
	ingest(many, many+10)
	if n := lacking(); n != many {
		t.Fatalf("%d lack cells, want the %d from before", n, many)
	}
	ctx, stop := context.WithCancel(t.Context())
	first := 0
	err := instance.FitMeaning(ctx, o, func(done, all int) {
		if first = done; all != many {
			t.Errorf("%d to do, want %d", all, many)
		}
		if done > 0 {
			stop()
		}
	})
	if !errors.Is(err, context.Canceled) || first == 0 || lacking() != many-first {
		t.Fatalf("interrupted after %d: %v, %d lack cells", first, err, lacking())
	}
	last := 0
	if err := instance.FitMeaning(t.Context(), o, func(done, _ int) { last = done }); err != nil || last != many-first || lacking() != 0 {
		t.Errorf("continued with %d of %d: %v, %d lack cells", last, many-first, err, lacking())
	}
	if err := instance.FitMeaning(t.Context(), o, func(_, all int) {
		if all != 0 {
			t.Errorf("nothing is left, and %d are to do", all)
		}
	}); err != nil {
		t.Error(err)
	}
}
