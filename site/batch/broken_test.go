package batch_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/internal/storetest"
	"concordat/site"
	"concordat/site/batch"
)

// TestBatchIndexFails makes each call of a batch's index fail. The batch fails instead of ending with fewer pairs, and when run again it
// ends with the pairs of an undisturbed batch.
func TestBatchIndexFails(t *testing.T) {
	p := sitetest.NewSite(t)
	first, second := sitetest.Prose(1, 6), sitetest.Prose(5, 6) // each in two documents; wording in all three is left to a person
	texts := map[string]string{"x.txt": first + sitetest.Prose(2, 8), "y.txt": first + second + sitetest.Prose(3, 8),
		"z.txt": second + sitetest.Prose(4, 8)}
	make := func() (*sitetest.BatchParts, *sitetest.BrokenIndex) {
		b := sitetest.NewBatch(t, p, texts, []string{"x.txt", "y.txt", "z.txt"}, batch.Job{NoLibraries: true})
		i := &sitetest.BrokenIndex{Index: b.Index, Fail: -1}
		b.BatchOptions.Index = i
		return b, i
	}
	whole, i := make()
	want := sitetest.Said(whole.Run(t))
	calls := i.Made()
	if len(want) == 0 || calls < 5 {
		t.Fatalf("%d pairs, %d calls of the index: too few for this test", len(want), calls)
	}
	for n := range calls {
		if testing.Short() && n%4 != 0 {
			continue
		}
		b, i := make()
		i.Begin(n)
		if err := batch.Run(t.Context(), b.Site, b.BatchID, b.BatchOptions); !errors.Is(err, sitetest.ErrIndex) {
			t.Errorf("call %d of %d failed: error %v, want that of the index", n, calls, err)
		}
		i.Begin(-1)
		if err := p.Store.Batches.ReopenBatch(t.Context(), b.BatchID, "test", false); err != nil {
			t.Fatal(err)
		}
		if got := sitetest.Said(b.Run(t)); !slices.Equal(got, want) {
			t.Errorf("call %d of %d failed, and the batch was run again: %q, want %q", n, calls, got, want)
		}
	}
}

// TestBatchNeedsItsLibraries: if the libraries cannot be read, a batch compared with them fails, and no report says that they contain no
// matches.
func TestBatchNeedsItsLibraries(t *testing.T) {
	p := sitetest.NewSite(t)
	b := sitetest.NewBatch(t, p, map[string]string{"x.txt": sitetest.Prose(1, 12)}, []string{"x.txt"}, batch.Job{})
	b.BatchOptions.Options = func(context.Context, batch.Job) (site.CheckOptions, func(), error) {
		return site.CheckOptions{Libraries: []concordat.LibraryID{"nowhere"}}, nil, nil
	}
	if err := batch.Run(t.Context(), b.Site, b.BatchID, b.BatchOptions); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("error %v, want ErrNotFound", err)
	}
	for _, m := range b.View(t).Members {
		if _, err := p.Findings(t.Context(), m.Task); err == nil {
			t.Errorf("%s has a report", m.Name)
		}
	}
}

// TestBatchOpensWhole makes each statement fail while a batch is read for its page. Each failure is reported, so no page shows a batch as
// if it had no pairs or wording.
func TestBatchOpensWhole(t *testing.T) {
	p := sitetest.NewSite(t)
	shared := sitetest.Prose(1, 12)
	b := sitetest.NewBatch(t, p, map[string]string{"x.txt": shared + sitetest.Prose(2, 8), "y.txt": shared + sitetest.Prose(3, 8)},
		[]string{"x.txt", "y.txt"},
		batch.Job{NoLibraries: true})
	if v := b.Run(t); len(v.Pairs) != 1 {
		t.Fatalf("%d pairs, want one", len(v.Pairs))
	}
	for n := 0; ; n++ {
		ctx := storetest.NewLosing(t.Context(), n)
		v, err := batch.Open(ctx, p.Store, b.BatchID)
		if !ctx.Lost() {
			if err != nil || len(v.Pairs) != 1 || n < 4 {
				t.Errorf("after %d statements: %v", n, err)
			}
			return
		}
		if !errors.Is(err, storetest.ErrLost) {
			t.Errorf("statement %d failed: error %v, want its own", n, err)
		}
	}
}
