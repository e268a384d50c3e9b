package cluster

import (
	"context"
	"errors"
	"testing"

	"concordat"
	"concordat/index"
)

// TestOperations: an operation runs once, however many messages request it, and not at all after it has ended.
func TestOperations(t *testing.T) {
	var o operations
	runs := 0
	hold := make(chan struct{})
	run := func(context.Context) (uint64, error) { runs++; <-hold; return 7, nil }
	first := operation{Sender: "s", Number: 1, Done: 1, Epoch: 1}
	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan error, 1)
	go func() { _, err := o.do(ctx, first, run); gone <- err }()
	second := make(chan uint64, 1)
	go func() {
		cancel() // the first message's caller leaves, and the work continues
		if err := <-gone; !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		close(hold)
		seq, err := o.do(t.Context(), first, run)
		if err != nil {
			t.Error(err)
		}
		second <- seq
	}()
	if seq := <-second; seq != 7 || runs > 2 {
		t.Errorf("record %d after %d runs", seq, runs)
	}
	if _, err := o.do(t.Context(), operation{Sender: "s", Number: 2, Done: 2},
		func(context.Context) (uint64, error) { return 8, nil }); err != nil {
		t.Error(err)
	}
	before := runs
	if _, err := o.do(t.Context(), first, run); !errors.Is(err, concordat.ErrUnavailable) || runs != before {
		t.Errorf("a late message of an operation that is over: %v, %d runs", err, runs-before)
	}
	fails := errors.New("fails")
	third := operation{Sender: "s", Number: 3, Done: 3}
	if _, err := o.do(t.Context(), third, func(context.Context) (uint64, error) { return 0, fails }); !errors.Is(err, fails) {
		t.Error(err)
	}
	if seq, err := o.do(t.Context(), third, func(context.Context) (uint64, error) { return 9, nil }); err != nil || seq != 9 {
		t.Errorf("again after a failure: %d, %v", seq, err)
	}
}

func TestNumbers(t *testing.T) {
	var n numbers
	a, b := n.begin(), n.begin()
	if n.done() != a {
		t.Errorf("all below %d are over, want %d", n.done(), a)
	}
	n.end(a)
	if n.done() != b {
		t.Errorf("all below %d are over, want %d", n.done(), b)
	}
	n.end(b)
	if n.done() <= b {
		t.Errorf("all below %d are over, %d is too", n.done(), b)
	}
}

func FuzzUnpackChanges(f *testing.F) {
	p := &concordat.Profile{Scheme: "s", Document: concordat.Document{Library: "l", ID: "d", Text: "x"}}
	b, err := packChanges([]index.Change{{Put: p}, {Delete: concordat.Ref{Site: "s", Library: "l", Document: "e"}}}, Payload)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	if b, err = packChanges([]index.Change{{Put: meant(5, 300)}, {Put: by(index.UnknownCells, meant(5))}}, Payload); err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		changes, err := unpackChanges(b, "s")
		if err != nil {
			return
		}
		again, err := packChanges(changes, Payload)
		if err != nil {
			t.Fatal(err)
		}
		if more, err := unpackChanges(again, "s"); err != nil || len(more) != len(changes) {
			t.Errorf("%d changes became %d: %v", len(changes), len(more), err)
		}
	})
}
