package screen

import (
	"fmt"
	"math"
	"math/bits"
)

// Design defines how prints of F bits are permuted into tables so that any two prints at distance K or less agree in all leading bits of at
// least one table (Manku, Jain and Das Sarma 2007, section 3). It is immutable and safe for concurrent use.
type Design struct {
	F, K int
	// Levels holds the numbers of blocks into which all bits, and then the remaining bits, are divided.
	Levels []int
	Tables []Layout
}

// Layout is the permutation of one table. A permuted print begins at the highest bit of a uint64.
type Layout struct {
	fields []field
	// Lead is the number of leading bits in which two prints must agree to be compared.
	Lead int
	// mask has the leading bits at their positions in the print itself; word 1 holds bits 64 to 127.
	mask [2]uint64
}

// field is a run of bits of the print.
type field struct{ low, width int }

// NewDesign returns the design for f bits, 1 to 128, and distance k. It divides the bits into levels[0] blocks, puts every choice of
// levels[0]-k of them first, divides the remaining bits into levels[1] blocks, and so on. Among the paper's designs for f = 64 and k = 3,
// {6} has 20 tables with 31 to 33 leading bits, {4, 4} has 16 with 28, {5} has 10 with 25 or 26, and {4} has 4 with 16. It refuses levels
// that are not greater than k or that need more blocks than there are bits, and designs of more than 65,536 tables.
func NewDesign(f, k int, levels ...int) (*Design, error) {
	if f < 1 || f > maxBits || k < 0 || k >= f || len(levels) == 0 {
		return nil, fmt.Errorf("invalid design: %d bits, distance %d, %d levels; want 1 to 128 bits, a distance less than the number of bits, and at least one level", f, k,
			len(levels))
	}
	tables := 1
	for _, r := range levels {
		c := binomial(r, k)
		if r <= k || r > f || c > maxTables || tables*c > maxTables {
			return nil, fmt.Errorf("invalid design: %d bits, distance %d, level of %d blocks; want more than %d blocks per level, at most %d, and at most %d tables in total", f, k, r, k, f, maxTables)
		}
		tables *= c
	}
	d := &Design{F: f, K: k, Levels: levels}
	if err := d.divide(nil, []field{{0, f}}, levels); err != nil {
		return nil, err
	}
	return d, nil
}

const (
	maxTables = 1 << 16
	maxBits   = 128
)

// divide adds the tables in which the fields of lead come first, for all choices at the levels.
func (d *Design) divide(lead, rest []field, levels []int) error {
	if len(levels) == 0 {
		d.Tables = append(d.Tables, layout(lead, rest))
		return nil
	}
	blocks := split(rest, levels[0])
	if blocks == nil {
		return fmt.Errorf("invalid design of %d bits: only %d bits remain for %d blocks", d.F, width(rest), levels[0])
	}
	var err error
	choose(len(blocks), len(blocks)-d.K, func(chosen []bool) {
		first, others := append([]field(nil), lead...), []field(nil)
		for i, b := range blocks {
			if chosen[i] {
				first = append(first, b...)
			} else {
				others = append(others, b...)
			}
		}
		if err == nil {
			err = d.divide(first, others, levels[1:])
		}
	})
	return err
}

func width(fields []field) int {
	n := 0
	for _, f := range fields {
		n += f.width
	}
	return n
}

// split divides the bits of the fields into n blocks whose sizes differ by at most one, larger blocks first, or returns nil if there are
// fewer bits than blocks.
func split(fields []field, n int) [][]field {
	total := width(fields)
	if total < n {
		return nil
	}
	out := make([][]field, n)
	i, used := 0, 0
	for b := range out {
		want := total / n
		if b < total%n {
			want++
		}
		for want > 0 {
			take := min(want, fields[i].width-used)
			out[b] = append(out[b], field{fields[i].low + used, take})
			want -= take
			if used += take; used == fields[i].width {
				i, used = i+1, 0
			}
		}
	}
	return out
}

// choose calls each with every choice of k out of n.
func choose(n, k int, each func(chosen []bool)) {
	chosen := make([]bool, n)
	var rec func(i, left int)
	rec = func(i, left int) {
		if left == 0 {
			each(chosen)
			return
		}
		for ; i <= n-left; i++ {
			chosen[i] = true
			rec(i+1, left-1)
			chosen[i] = false
		}
	}
	rec(0, k)
}

func layout(lead, rest []field) Layout {
	l := Layout{Lead: width(lead)}
	for _, f := range lead {
		for b := f.low; b < f.low+f.width; b++ {
			l.mask[b>>6] |= 1 << (b & 63)
		}
	}
	// Move fields as one if they are adjacent in the print and remain adjacent in the same order.
	for i, f := range append(append([]field(nil), lead...), rest...) {
		if last := len(l.fields) - 1; i > 0 && f.low+f.width == l.fields[last].low && f.width+l.fields[last].width <= 64 {
			l.fields[last] = field{f.low, f.width + l.fields[last].width}
		} else {
			l.fields = append(l.fields, f)
		}
	}
	return l
}

func ones(n int) uint64 { return 1<<n - 1 } // for n = 64, Go evaluates 1<<64 as 0

// Permute returns a print of at most 64 bits in the table's order. Bits above the design's F must be zero.
func (l *Layout) Permute(print uint64) uint64 {
	var out uint64
	at := 64
	for _, f := range l.fields {
		at -= f.width
		out |= print >> f.low & ones(f.width) << at
	}
	return out
}

// PermuteWide returns the first 64 bits of a print of up to 128 bits in the table's order.
func (l *Layout) PermuteWide(print Wide) uint64 {
	var out uint64
	at := 64
	for _, f := range l.fields {
		v := print.bits(f.low, f.width)
		if f.width >= at {
			return out | v>>(f.width-at)
		}
		at -= f.width
		out |= v << at
	}
	return out
}

// Restore reverses Permute.
func (l *Layout) Restore(permuted uint64) uint64 {
	var out uint64
	at := 64
	for _, f := range l.fields {
		at -= f.width
		out |= permuted >> at & ones(f.width) << f.low
	}
	return out
}

// Lead returns the minimum number of leading bits in any table, p_min in the paper.
func (d *Design) Lead() int {
	least := d.F
	for i := range d.Tables {
		least = min(least, d.Tables[i].Lead)
	}
	return least
}

// Candidates returns the average number of prints, out of n random ones, that a query compares in all tables together.
func (d *Design) Candidates(n int) float64 {
	sum := 0.0
	for i := range d.Tables {
		sum += math.Ldexp(float64(n), -d.Tables[i].Lead)
	}
	return sum
}

// Bytes returns the memory of Tables over n prints, which is 8 bytes per print and table, and 12 for the print itself with its number.
// For more than 64 bits, it returns the memory of WideTables, which take 12 and 24 bytes.
func (d *Design) Bytes(n int) int64 { return bytesOf(d.F, len(d.Tables), n) }

// LeastBytes returns the memory per print with the fewest possible tables for prints of f bits and distance k.
func LeastBytes(f, k int) int64 { return bytesOf(f, k+1, 1) }

func bytesOf(f, tables, n int) int64 {
	if f > 64 {
		return int64(n) * int64(12*tables+24)
	}
	return int64(n) * int64(8*tables+12)
}

// binomial returns the binomial coefficient n over k, or some number above maxTables if it exceeds maxTables.
func binomial(n, k int) int {
	if k < 0 || k > n {
		return 0
	}
	c := 1
	for i := range min(k, n-k) {
		c = c * (n - i) / (i + 1)
		if c > maxTables {
			return c
		}
	}
	return c
}

// distance returns the number of bits in which two prints differ.
func distance(a, b uint64) int { return bits.OnesCount64(a ^ b) }
