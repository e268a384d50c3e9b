package screen

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// naiveJaccard counts runs of letters by their text.
func naiveJaccard(a, b string) float64 {
	count := func(s string) map[string]int {
		rs := []rune(s)
		sizes := []int{2, 3}
		if strings.ContainsAny(s, "数据共享平台研究") {
			sizes = []int{1, 2}
		}
		m := map[string]int{}
		for _, n := range sizes {
			for i := 0; i+n <= len(rs); i++ {
				m[string(rs[i:i+n])]++
			}
		}
		return m
	}
	x, y := count(a), count(b)
	common, all := 0, 0
	for g, n := range x {
		common += min(n, y[g])
		all += max(n, y[g])
	}
	for g, n := range y {
		if x[g] == 0 {
			all += n
		}
	}
	if all == 0 {
		return 0
	}
	return float64(common) / float64(all)
}

// Grams yield the same measure as counting runs of letters, and their bounds never exclude a similar text.
func TestGramsAgainstCounting(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, alphabet := range []string{"abcde", "数据共享平台研究"} {
		letters := []rune(alphabet)
		word := func() string {
			var b strings.Builder
			for range 3 + rnd.IntN(12) {
				b.WriteRune(letters[rnd.IntN(len(letters))])
			}
			return b.String()
		}
		for range 3000 {
			a, b := word(), word()
			g, h := GramsOf(a), GramsOf(b)
			got, want := g.Jaccard(h), naiveJaccard(a, b)
			if math.Abs(got-want) > 1e-12 {
				t.Fatalf("%s and %s: %v, want %v", a, b, got, want)
			}
			if want == 0 {
				continue
			}
			least, low, high := g.Bounds(want)
			common := int(math.Round(want * float64(len(g)+len(h)) / (1 + want)))
			if common < least || len(h) < low || len(h) > high {
				t.Fatalf("%s and %s, %v alike: %d in common of %d and %d, outside %d, %d to %d", a, b, want, common, len(g), len(h), least, low, high)
			}
		}
	}
}
