package index

import (
	"testing"

	"concordat"
)

// TestCountersOf: counters set from a table equal the ones implied by its fingerprints, except for repeats.
func TestCountersOf(t *testing.T) {
	fps, occs := skewedOccurrences(2, 3000)
	l := newLevel(fps, occs)
	got, want := new(counters), new(counters)
	got.of(l)
	for _, f := range l.all() {
		for band := range concordat.Bands {
			want.next(band, f.Band(band))
		}
	}
	if *got != *want {
		t.Error("counters differ")
	}
}
