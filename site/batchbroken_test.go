package site_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"concordat"
	"concordat/internal/storetest"
	"concordat/site"
	"concordat/site/batch"
)

var errIndex = errors.New("the index is broken")

// brokenIndex is an index of which one call fails, by script, without doing anything.
type brokenIndex struct {
	concordat.Index

	mu    sync.Mutex // guards what follows
	calls int        // since the script began
	fail  int        // the call that fails, from 0; less: none
}

func (b *brokenIndex) begin(fail int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls, b.fail = 0, fail
}

func (b *brokenIndex) made() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.calls
}

func (b *brokenIndex) fails() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls++
	if b.calls-1 == b.fail {
		return errIndex
	}
	return nil
}

func (b *brokenIndex) Match(ctx context.Context, q *concordat.Query) (*concordat.Answer, error) {
	if err := b.fails(); err != nil {
		return nil, err
	}
	return b.Index.Match(ctx, q)
}

func (b *brokenIndex) SearchText(ctx context.Context, q *concordat.TextQuery) (*concordat.TextAnswer, error) {
	if err := b.fails(); err != nil {
		return nil, err
	}
	return b.Index.SearchText(ctx, q)
}

func (b *brokenIndex) Put(ctx context.Context, ps ...*concordat.Profile) error {
	if err := b.fails(); err != nil {
		return err
	}
	return b.Index.Put(ctx, ps...)
}

func (b *brokenIndex) Document(ctx context.Context, r concordat.Ref) (*concordat.Document, error) {
	if err := b.fails(); err != nil {
		return nil, err
	}
	return b.Index.Document(ctx, r)
}

// TestBatchIndexFails lets each call of a batch's index fail: the batch fails, and does not end with fewer pairs; run again
// it ends with those of one that was not disturbed.
func TestBatchIndexFails(t *testing.T) {
	p := newSite(t)
	first, second := prose(1, 6), prose(5, 6) // two documents hold each: what all three hold would be left to decide
	texts := map[string]string{"x.txt": first + prose(2, 8), "y.txt": first + second + prose(3, 8), "z.txt": second + prose(4, 8)}
	make := func() (*batchParts, *brokenIndex) {
		b := newBatch(t, p, texts, []string{"x.txt", "y.txt", "z.txt"}, batch.Job{NoLibraries: true})
		i := &brokenIndex{Index: b.index, fail: -1}
		b.options.Index = i
		return b, i
	}
	whole, i := make()
	want := said(whole.run(t))
	calls := i.made()
	if len(want) == 0 || calls < 5 {
		t.Fatalf("%d pairs, %d calls of the index: too few for this test", len(want), calls)
	}
	for n := range calls {
		if testing.Short() && n%4 != 0 {
			continue
		}
		b, i := make()
		i.begin(n)
		if err := batch.Run(t.Context(), b.Site, b.id, b.options); !errors.Is(err, errIndex) {
			t.Errorf("call %d of %d failed: error %v, want that of the index", n, calls, err)
		}
		i.begin(-1)
		if err := p.store.Batches.ReopenBatch(t.Context(), b.id, "test", false); err != nil {
			t.Fatal(err)
		}
		if got := said(b.run(t)); !slices.Equal(got, want) {
			t.Errorf("call %d of %d failed, and the batch was run again: %q, want %q", n, calls, got, want)
		}
	}
}

// TestBatchNeedsItsLibraries: where the libraries that a batch is compared with cannot be read, it fails, and no report says
// that nothing was found in them.
func TestBatchNeedsItsLibraries(t *testing.T) {
	p := newSite(t)
	b := newBatch(t, p, map[string]string{"x.txt": prose(1, 12)}, []string{"x.txt"}, batch.Job{})
	b.options.Options = func(context.Context, batch.Job) (site.CheckOptions, func(), error) {
		return site.CheckOptions{Libraries: []concordat.LibraryID{"nowhere"}}, nil, nil
	}
	if err := batch.Run(t.Context(), b.Site, b.id, b.options); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("error %v, want ErrNotFound", err)
	}
	for _, m := range b.view(t).Members {
		if _, err := p.Findings(t.Context(), m.Task); err == nil {
			t.Errorf("%s has a report", m.Name)
		}
	}
}

// TestBatchOpensWhole lets each statement fail while a batch is read for its page: none of them is passed over, so that no page
// shows a batch without its pairs or its wording as if it had none.
func TestBatchOpensWhole(t *testing.T) {
	p := newSite(t)
	shared := prose(1, 12)
	b := newBatch(t, p, map[string]string{"x.txt": shared + prose(2, 8), "y.txt": shared + prose(3, 8)}, []string{"x.txt", "y.txt"},
		batch.Job{NoLibraries: true})
	if v := b.run(t); len(v.Pairs) != 1 {
		t.Fatalf("%d pairs, want one", len(v.Pairs))
	}
	for n := 0; ; n++ {
		ctx := storetest.NewLosing(t.Context(), n)
		v, err := batch.Open(ctx, p.store, b.id)
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
