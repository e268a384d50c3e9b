package limit_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"concordat"
	"concordat/web/limit"
)

// TestLine: the lowest rank is next, equal ranks keep their order of arrival, and the highest rank leaves if the line is full.
func TestLine(t *testing.T) {
	l := &limit.Line{Running: 1, Waiting: 3}
	if err := l.Enter(t.Context(), 9); err != nil {
		t.Fatal(err)
	}
	type result struct {
		who string
		err error
	}
	results := make(chan result)
	stand := func(ctx context.Context, who string, rank, want int) {
		t.Helper()
		go func() { results <- result{who, l.Enter(ctx, rank)} }()
		for l.Waiters() != want {
			time.Sleep(time.Millisecond) // nothing else indicates it
		}
	}
	gone, leave := context.WithCancel(t.Context())
	stand(t.Context(), "five", 5, 1)
	stand(gone, "gone", 7, 2)
	leave()
	if r := <-results; r.who != "gone" || !errors.Is(r.err, context.Canceled) {
		t.Errorf("%s: %v", r.who, r.err)
	}
	stand(t.Context(), "seven", 7, 2)
	stand(t.Context(), "first zero", 0, 3)
	if err := l.Enter(t.Context(), 7); !errors.Is(err, concordat.ErrUnavailable) { // same rank as the last
		t.Errorf("no room: %v", err)
	}
	go func() { results <- result{"second zero", l.Enter(t.Context(), 0)} }()
	if r := <-results; r.who != "seven" || !errors.Is(r.err, concordat.ErrUnavailable) {
		t.Errorf("%s gave way: %v", r.who, r.err)
	}
	for _, want := range []string{"first zero", "second zero", "five"} {
		l.Leave()
		if r := <-results; r.who != want || r.err != nil {
			t.Errorf("next is %s (%v), want %s", r.who, r.err, want)
		}
	}
	l.Leave()
	if err := l.Enter(t.Context(), 0); err != nil {
		t.Errorf("a free line: %v", err)
	}
}
