package screen

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// Buckets is the number of equal ranges in which a Distribution counts prints.
const Buckets = 128

// Distribution measures how prints are distributed (Manku, Jain and Das Sarma 2007, section 5.2 and figure 2). Prints of real documents
// are not uniform, and a bucket far above the others contains hot prints, for example of empty pages. The zero value is empty.
type Distribution struct {
	Prints int
	Zero   int // prints that are 0
	// Bucket[i] counts the prints in range i of the Buckets equal ranges of 64-bit numbers, as in figure 2(b).
	Bucket [Buckets]int
	// Lead[i] counts neighbours in sorted order whose exclusive-or has bit i as its highest set bit, as in figure 2(a). Such neighbours
	// share 63-i leading bits, so the histogram shows how many leading bits a table needs for few candidates, and how tightly the prints
	// can be packed. Equal counts equal neighbours.
	Lead  [64]int
	Equal int

	ordered int    // prints given to AddSorted
	last    uint64 // last print given to AddSorted
}

// Add counts prints by range.
func (d *Distribution) Add(prints ...uint64) {
	d.Prints += len(prints)
	for _, p := range prints {
		if p == 0 {
			d.Zero++
		}
		d.Bucket[p>>57]++
	}
}

// AddSorted counts neighbours. The prints must ascend across all calls.
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

// FigureLine begins the first line of a Distribution's text form if it counted neighbours.
const FigureLine = "leading bit of the exclusive or of neighbours in sorted order"

// UniformLead returns the expected number of neighbours among n uniform prints whose highest differing bit is i, which is the number of
// distinct prefixes of 64-i bits minus the number of distinct prefixes of 63-i bits.
func UniformLead(n, i int) float64 { return prefixes(n, 64-i) - prefixes(n, 63-i) }

// prefixes returns the expected number of distinct prefixes of the given number of bits among n uniform prints.
func prefixes(n, length int) float64 {
	if length == 0 {
		return float64(min(n, 1))
	}
	all := math.Ldexp(1, length)
	return -all * math.Expm1(float64(n)*math.Log1p(-1/all))
}

// Pieces divides the buckets into ascending ranges of at most most prints each, or of one bucket, to be sorted one at a time. A piece
// contains the prints p with from <= p>>57 < to.
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

// Spread returns the buckets' chi-squared statistic divided by its mean for uniform prints, 127. It is near 1 for uniform prints, far
// above 1 for crowded ones, and 0 without prints.
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

// Crowding returns the number of print pairs that share a bucket, relative to uniform prints. It is 1 for uniform prints and 0 without
// pairs. Unlike Spread, it is about the same for a part of a collection as for the whole.
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

// String returns the leading bits of neighbours, if counted, and then the buckets, as lines of text with bars; the longest bar of each
// part has 60 marks.
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
	fmt.Fprintf(&b, "%d fingerprints, %d of them 0, spread %.2f (1 if uniform)\n", d.Prints, d.Zero, d.Spread())
	return b.String()
}
