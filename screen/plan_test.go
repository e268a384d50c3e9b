package screen_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"concordat/screen"
)

// TestFewestForLead tests X(f, k, d) of Manku, Jain and Das Sarma 2007, section 3.3, the fewest tables with at least d leading bits.
// Example 3.2 has 20 of 31 bits, 16 of 28 and 10 of 25 for 64 bits and distance 3, and 4 of 16 need no division beyond the first.
func TestFewestForLead(t *testing.T) {
	for lead, most := range map[int]int{16: 4, 25: 10, 28: 16, 31: 20} {
		d, err := screen.NewPlan(screen.PlanOptions{K: 3, Prints: 1e6, Bytes: 1 << 40, Lead: lead})
		if err != nil {
			t.Fatal(err)
		}
		if d.Lead() < lead || len(d.Tables) > most {
			t.Errorf("lead %d: %v with %d tables leads with %d, want at most %d tables", lead, d.Levels, len(d.Tables), d.Lead(), most)
		}
	}
	if _, err := screen.NewPlan(screen.PlanOptions{K: 3, Prints: 1e6, Bytes: 1 << 40, Lead: 60}); !errors.Is(err, screen.ErrMemory) {
		t.Errorf("lead 60: got %v, want too many tables", err)
	}
	slow, err := screen.NewPlan(screen.PlanOptions{K: 3, Prints: 1e9, Bytes: 1 << 40, Within: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	fast, err := screen.NewPlan(screen.PlanOptions{K: 3, Prints: 1e9, Bytes: 1 << 40, Within: 20 * time.Microsecond})
	if err != nil {
		t.Fatal(err)
	}
	if len(slow.Tables) >= len(fast.Tables) {
		t.Errorf("%d tables within 1 ms, %d within 20 µs", len(slow.Tables), len(fast.Tables))
	}
	_, err = screen.NewPlan(screen.PlanOptions{K: 3, Prints: 1e8, Bytes: 1 << 40, Within: time.Microsecond})
	if !errors.Is(err, screen.ErrTime) {
		t.Errorf("1 µs: got %v, want that nothing is as fast", err)
	}
}

// TestCounted compares the number of candidates for crowded prints with the number that Tables examine, and for uniform prints with the
// formula.
func TestCounted(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	prints := make([]uint64, 3000)
	for i := range prints {
		prints[i] = rng.Uint64() &^ (rng.Uint64() & 0xffff0000ffff0000) // some bits are rarely set
	}
	d, err := screen.NewDesign(64, 3, 4)
	if err != nil {
		t.Fatal(err)
	}
	pairs := 0
	for table := range 4 {
		for i, a := range prints {
			for _, b := range prints[:i] {
				if (a^b)>>(16*table)&0xffff == 0 {
					pairs += 2
				}
			}
		}
	}
	n := len(prints)
	if got, want := d.Counted(prints, n), float64(pairs)/float64(n-1); got < want*0.999 || got > want*1.001 {
		t.Errorf("counted %.4f candidates, want %.4f", got, want)
	}
	if got := d.Counted(prints, n); got < 3*d.Candidates(n) {
		t.Errorf("crowded prints have %.2f candidates, uniform ones %.2f", got, d.Candidates(n))
	}
	// Crowded prints justify more leading bits.
	o := screen.PlanOptions{K: 3, Prints: 1e8, Bytes: 1 << 40}
	uniform, err := screen.NewPlan(o)
	if err != nil {
		t.Fatal(err)
	}
	o.Sample = prints
	crowded, err := screen.NewPlan(o)
	if err != nil {
		t.Fatal(err)
	}
	if o.Cost(crowded, crowded.Counted(prints, o.Prints)) > o.Cost(uniform, uniform.Counted(prints, o.Prints)) {
		t.Errorf("the design %v for the collection is slower than %v for uniform prints", crowded.Levels, uniform.Levels)
	}
	packed, err := screen.NewPlan(screen.PlanOptions{K: 3, Prints: 1e6, Bytes: 20 * 6_200_000, Lead: 31, Packed: true})
	if err != nil || len(packed.Tables) != 20 {
		t.Errorf("20 packed tables do not fit where they are said to: %v", err)
	}
	if b := packed.PackedBytes(1e6); b >= packed.Bytes(1e6) || b < 20*5_700_000 {
		t.Errorf("%d packed bytes, %d as they are", b, packed.Bytes(1e6))
	}
}
