package retain_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/site"
	"concordat/site/retain"
	"concordat/store"
)

// away is an index on several machines, one of which is sometimes unavailable.
type away struct {
	concordat.Index
	away bool
}

func (p *away) Purge(context.Context) error {
	if p.away {
		return fmt.Errorf("node b is away: %w", concordat.ErrUnavailable)
	}
	return nil
}

// TestDeletionsDoNotWait: while a machine that stores the bytes is unavailable, deletions, including new ones, proceed until nothing can
// be found, and complete once the machine is back.
func TestDeletionsDoNotWait(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	ctx := t.Context()
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Title: "T", Text: sitetest.River}, site.Incoming{ID: "b", Text: sitetest.Winter})
	x := &away{Index: o.Index, away: true}
	here := sitetest.Open(site.Options{ID: "here", Index: x, Store: o.Store, Profiler: sitetest.Profiler(t), Now: o.Clock.Now})
	e := retain.New(here.Site, retain.Options{Store: o.Store})
	state := func(id string, want store.ErasureState) {
		t.Helper()
		row, err := o.Store.Retention.Erasure(ctx, id)
		if err != nil || row.State != want {
			t.Errorf("deletion %s is %s, %v; want %s", id, row.State, err, want)
		}
	}
	first, err := e.Erase(ctx, "ada", "", retain.Target{Library: "theses", Documents: []concordat.DocumentID{"a"}})
	if !errors.Is(err, concordat.ErrUnavailable) || first == nil || first.Deleted.IsZero() {
		t.Fatalf("while a machine is away: %+v, %v", first, err)
	}
	state(first.ID, store.ErasureDeleted)
	second, err := retain.Ask(ctx, here.Site, o.Store, "ada", "", retain.Target{Library: "theses", Documents: []concordat.DocumentID{"b"}})
	sitetest.Must(t, err)
	sitetest.Must(t, e.Advance(ctx))
	state(second, store.ErasureDeleted)
	if _, err := x.Document(ctx, here.Ref("theses", "b")); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("the index still has the document: %v", err)
	}
	if n, err := e.Resume(ctx); err == nil {
		t.Errorf("%d deletions are done while the machine is away", n)
	}
	x.away = false
	_, err = e.Resume(ctx)
	sitetest.Must(t, err)
	state(first.ID, store.ErasureDone)
	state(second, store.ErasureDone)
}

// slow is an index whose Purge waits until it is released.
type slow struct {
	concordat.Index
	begun, release chan struct{}
}

func (p *slow) Purge(context.Context) error {
	p.begun <- struct{}{}
	<-p.release
	return nil
}

// TestDeletionsDoNotWaitForBytes: while the bytes of one deletion are being erased, another proceeds until nothing can be found.
func TestDeletionsDoNotWaitForBytes(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	ctx := t.Context()
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Title: "T", Text: sitetest.River}, site.Incoming{ID: "b", Text: sitetest.Winter})
	x := &slow{Index: o.Index, begun: make(chan struct{}), release: make(chan struct{})}
	here := sitetest.Open(site.Options{ID: "here", Index: x, Store: o.Store, Profiler: sitetest.Profiler(t), Now: o.Clock.Now})
	e := retain.New(here.Site, retain.Options{Store: o.Store})
	type erased struct {
		r   *retain.Receipt
		err error
	}
	first := make(chan erased, 1)
	go func() {
		r, err := e.Erase(ctx, "ada", "", retain.Target{Library: "theses", Documents: []concordat.DocumentID{"a"}})
		first <- erased{r, err}
	}()
	<-x.begun
	second := make(chan erased, 1)
	go func() {
		r, err := e.Begin(ctx, "ada", "", retain.Target{Library: "theses", Documents: []concordat.DocumentID{"b"}})
		second <- erased{r, err}
	}()
	select {
	case got := <-second:
		sitetest.Must(t, got.err)
		if got.r.Deleted.IsZero() || !got.r.Done.IsZero() {
			t.Errorf("the second deletion: %+v", got.r)
		}
	case <-time.After(2 * time.Minute):
		t.Error("the second deletion waits for the bytes of the first")
	}
	if _, err := x.Document(ctx, here.Ref("theses", "b")); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("the index still has the document: %v", err)
	}
	close(x.release)
	got := <-first
	sitetest.Must(t, got.err)
	if got.r.Done.IsZero() {
		t.Errorf("the first deletion: %+v", got.r)
	}
	go func() { <-x.begun }()
	n, err := e.Resume(ctx)
	sitetest.Must(t, err)
	if n != 1 {
		t.Errorf("%d deletions are done, want the second", n)
	}
}
