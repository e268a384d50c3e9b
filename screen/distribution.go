package screen

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// Buckets is the number of equal ranges of prints that a Distribution counts.
const Buckets = 128

// Distribution counts how prints spread (Manku, Jain and Das Sarma 2007, section 5.2 and figure 2): prints of real
// documents are not uniform, and a bucket far above the others holds hot prints, for example those of
// empty pages. The zero value has counted none.
type Distribution struct {
	Prints int
	Zero   int // prints that are 0
	// Bucket[i] counts the prints of range i of Buckets equal ones of all 64-bit numbers: figure 2(b).
	Bucket [Buckets]int
	// Lead[i] counts the neighbours in sorted order whose exclusive or has bit i as its highest set bit: figure 2(a).
	// Such neighbours share 63-i leading bits, so the histogram says how many bits a table must lead by for few
	// candidates, and how small the prints pack. Equal counts the neighbours that are the same.
	Lead  [64]int
	Equal int

	ordered int    // prints given to AddSorted
	last    uint64 // of them
}

// Add counts prints in ranges.
func (d *Distribution) Add(prints ...uint64) {
	d.Prints += len(prints)
	for _, p := range prints {
		if p == 0 {
			d.Zero++
		}
		d.Bucket[p>>57]++
	}
}

// AddSorted compares neighbours. The prints of all calls together must ascend.
func (d *Distribution) AddSorted(prints ...uint64) {
	for _, p := range prints {
		switch {
		case d.ordered == 0:
		case p == d.last:
			d.Equal++
		default:
			d.Lead[bits.Len64(p^d.last)-1]++
		}
		d.ordered++
		d.last = p
	}
}

// FigureLine begins the first line of a Distribution as text whose neighbours were counted.
const FigureLine = "leading bit of the exclusive or of neighbours in sorted order"

// UniformLead returns how many neighbours of n uniform prints have bit i as the highest one in which they differ:
// as many as there are more distinct prefixes of 64-i bits than of 63-i.
func UniformLead(n, i int) float64 { return prefixes(n, 64-i) - prefixes(n, 63-i) }

// prefixes returns the expected number of distinct prefixes of so many bits among n uniform prints.
func prefixes(n, length int) float64 {
	if length == 0 {
		return float64(min(n, 1))
	}
	all := math.Ldexp(1, length)
	return -all * math.Expm1(float64(n)*math.Log1p(-1/all))
}

// Pieces divides the buckets into ranges, ascending, of at most most prints each, or of one bucket: what must be sorted
// at a time. A piece holds the prints p with from <= p>>57 < to.
func (d *Distribution) Pieces(most int) (pieces [][2]int) {
	from, n := 0, 0
	for i, c := range d.Bucket {
		if n += c; n > most && i > from {
			pieces = append(pieces, [2]int{from, i})
			from, n = i, c
		}
	}
	return append(pieces, [2]int{from, Buckets})
}

// Spread returns the chi-squared statistic of the buckets over its mean, 127, for uniform prints: near
// 1 for those, far above where prints crowd. 0 without prints.
func (d *Distribution) Spread() float64 {
	if d.Prints == 0 {
		return 0
	}
	want, sum := float64(d.Prints)/Buckets, 0.0
	for _, n := range d.Bucket {
		sum += (float64(n) - want) * (float64(n) - want) / want
	}
	return sum / (Buckets - 1)
}

// Crowding returns how many times as many pairs of prints share a bucket as pairs of uniform ones do: 1 for those, and
// unlike Spread the same for a part of a collection as for all of it. 0 without pairs.
func (d *Distribution) Crowding() float64 {
	if d.Prints < 2 {
		return 0
	}
	sum := 0.0
	for _, n := range d.Bucket {
		sum += float64(n) * float64(n-1)
	}
	return sum * Buckets / float64(d.Prints) / float64(d.Prints-1)
}

// String returns the leading bits of neighbours, where they were counted, then the buckets, as lines of text, each with
// a bar; the longest of each has 60 marks.
func (d *Distribution) String() string {
	var b strings.Builder
	bars := func(counts []int, number func(i int) int) {
		most := max(1, slices.Max(counts))
		for i := range counts {
			n := counts[number(i)]
			fmt.Fprintf(&b, "%3d %9d %s\n", number(i), n, strings.Repeat("#", n*60/most))
		}
	}
	if d.ordered > 0 {
		b.WriteString(FigureLine + ", pairs\n")
		bars(d.Lead[:], func(i int) int { return len(d.Lead) - 1 - i })
		fmt.Fprintf(&b, "equal neighbours: %d\n", d.Equal)
	}
	b.WriteString("bucket, prints\n")
	bars(d.Bucket[:], func(i int) int { return i })
	fmt.Fprintf(&b, "%d prints, %d of them 0, spread %.2f (uniform 1)\n", d.Prints, d.Zero, d.Spread())
	return b.String()
}
