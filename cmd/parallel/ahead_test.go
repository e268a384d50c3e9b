package parallel

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
)

func TestAhead(t *testing.T) {
	var running, most atomic.Int64
	double := func(_ context.Context, x int) int {
		n := running.Add(1)
		defer running.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		return 2 * x
	}
	numbers := func(yield func(int) bool) {
		for i := range 500 {
			if !yield(i) {
				return
			}
		}
	}
	want := 0
	for got := range Ahead(t.Context(), Ahead(t.Context(), numbers, double), double) {
		if got != 4*want {
			t.Fatalf("result %d is %d, want %d", want, got, 4*want)
		}
		want++
	}
	if want != 500 || running.Load() != 0 {
		t.Errorf("%d results, %d still at work", want, running.Load())
	}
	if got := slices.Collect(Ahead(t.Context(), slices.Values([]int(nil)), double)); got != nil {
		t.Errorf("of nothing: %v", got)
	}
}

// TestAheadStops: when ahead returns because its receiver has stopped or its context has ended, all work has ended.
func TestAheadStops(t *testing.T) {
	var running atomic.Int64
	wait := func(ctx context.Context, x int) int {
		running.Add(1)
		defer running.Add(-1)
		if x > 0 {
			<-ctx.Done()
		}
		return x
	}
	endless := func(yield func(int) bool) {
		for i := 0; yield(i); i++ {
		}
	}
	for x := range Ahead(t.Context(), endless, wait) {
		if x != 0 {
			t.Errorf("got %d first", x)
		}
		break
	}
	if n := running.Load(); n != 0 {
		t.Errorf("%d still at work", n)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	for range Ahead(ctx, endless, wait) {
		n++
		cancel()
	}
	if n == 0 || running.Load() != 0 {
		t.Errorf("%d results, %d still at work", n, running.Load())
	}
}
