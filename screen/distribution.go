package screen

import (
	"fmt"
	"math/bits"
	"slices"
	"strings"
)

// Buckets is the number of equal ranges of prints that a Distribution counts.
const Buckets = 128

// Distribution counts how prints spread (Manku, Jain and Das Sarma 2007, section 5.2): prints of real
// documents are not uniform, and a bucket far above the others holds hot prints, such as those of
// empty pages. The zero value has counted none.
type Distribution struct {
	Prints int
	// Lead[i] counts the prints whose highest set bit is bit i; of uniform prints half have the highest
	// bit, a quarter the next. Zero counts the prints that are 0.
	Lead [64]int
	Zero int
	// Bucket[i] counts the prints of range i of Buckets equal ones of all 64-bit numbers.
	Bucket [Buckets]int
}

// Add counts prints.
func (d *Distribution) Add(prints ...uint64) {
	d.Prints += len(prints)
	for _, p := range prints {
		if p == 0 {
			d.Zero++
		} else {
			d.Lead[bits.Len64(p)-1]++
		}
		d.Bucket[p>>57]++
	}
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

// String returns the buckets, then the leading bits, as lines of text, each with a bar; the longest of
// each has 60 marks.
func (d *Distribution) String() string {
	var b strings.Builder
	bars := func(counts []int, number func(i int) int) {
		most := max(1, slices.Max(counts))
		for i := range counts {
			n := counts[number(i)]
			fmt.Fprintf(&b, "%3d %9d %s\n", number(i), n, strings.Repeat("#", n*60/most))
		}
	}
	b.WriteString("bucket  prints\n")
	bars(d.Bucket[:], func(i int) int { return i })
	b.WriteString("leading bit  prints\n")
	bars(d.Lead[:], func(i int) int { return len(d.Lead) - 1 - i })
	fmt.Fprintf(&b, "%d prints, %d of them 0, spread %.2f (uniform 1)\n", d.Prints, d.Zero, d.Spread())
	return b.String()
}
