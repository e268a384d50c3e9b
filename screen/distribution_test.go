package screen_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"concordat/screen"
)

func TestDistribution(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var d screen.Distribution
	const n = 200_000
	for range n {
		d.Add(rng.Uint64())
	}
	// The statistic has a standard deviation of √(2/127) about 1.
	if s := d.Spread(); math.Abs(s-1) > 4*math.Sqrt(2.0/127) {
		t.Errorf("spread of uniform prints %.3f, want about 1", s)
	}
	for i, want := 63, n/2.0; i > 58; i, want = i-1, want/2 {
		if got := float64(d.Lead[i]); math.Abs(got-want) > 5*math.Sqrt(want) {
			t.Errorf("bit %d leads %v prints, want about %v", i, got, want)
		}
	}
	d.Add(make([]uint64, 10_000)...)
	if d.Zero != 10_000 || d.Prints != n+10_000 || d.Spread() < 100 {
		t.Errorf("%d zero, %d prints, spread %.1f", d.Zero, d.Prints, d.Spread())
	}
	if lines := strings.Split(d.String(), "\n"); !strings.HasSuffix(lines[1], strings.Repeat("#", 60)) || len(lines) != 196 {
		t.Errorf("%d lines, the second %q", len(lines), lines[1])
	}
	if (&screen.Distribution{}).Spread() != 0 {
		t.Error("no prints have a spread")
	}
}
