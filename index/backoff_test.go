package index

import (
	"slices"
	"testing"
	"time"
)

func TestBackoff(t *testing.T) {
	var b backoff
	now := time.Now()
	var got []time.Duration
	for range 7 {
		d := b.next(now)
		got = append(got, d)
		now = now.Add(d + time.Millisecond)
	}
	const ms = time.Millisecond
	if want := []time.Duration{50 * ms, 100 * ms, 200 * ms, 400 * ms, 800 * ms, time.Second, time.Second}; !slices.Equal(got, want) {
		t.Errorf("pauses %v, want %v", got, want)
	}
	if d := b.next(now.Add(time.Minute)); d != leastRetry {
		t.Errorf("pause %v a minute after it worked, want %v", d, leastRetry)
	}
}
