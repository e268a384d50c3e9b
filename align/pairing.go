package align

import (
	"math"
	"slices"
)

// pairing is one comparison of the units on two sides. It determines how similar they are and which of them form passages. It knows
// nothing about words.
type pairing struct {
	a, b  []unit
	o     *Options
	cells []cell // cells above the floor with their scores, by row and column
	// account starts accounting for a cluster. The returned function returns, for a cell, how much the two units share that no earlier
	// cell has claimed.
	account func(c *cluster) func(cell) float32
	// totalA and totalB return the total word weights of units [from, to); unit is the weight of one rare word.
	totalA, totalB func(from, to int32) []float32
	unit           float32
	prints         bool // similarities are estimates from fingerprints

	best []float32 // scratch space for sides
}

// found is a passage in units: [a0, a1) of A and [b0, b1) of B.
type found struct {
	a0, a1, b0, b1 int32
	summary        bool
}

// newPairing returns the comparison of two texts, or of two sketches.
func newPairing(a, b *Text, o *Options) *pairing {
	w := weigh(a, b, o)
	p := &pairing{a: a.units, b: b.units, o: o, unit: w.rare}
	p.totalA = func(from, to int32) []float32 { return a.totals(w.a, from, to) }
	p.totalB = func(from, to int32) []float32 { return b.totals(w.b, from, to) }
	p.account = func(c *cluster) func(cell) float32 { return newUnusedWords(a, b, w, c).claim }
	p.cells = compare(a, b, w, o)
	support(p.cells, o)
	return p
}

// reworded returns the passages formed by seeds, in order of A without overlaps there.
func (p *pairing) reworded() []found {
	var seeds []cell
	for _, c := range p.cells {
		if float64(c.score) > p.o.Seed {
			seeds = append(seeds, c)
		}
	}
	if len(seeds) < p.o.LeastSeeds {
		return nil
	}
	mean := func(a, b float64) float64 { return (a + b) / 2 }
	gap := int32(p.o.Gap)
	kept := p.accepted(slices.Clone(seeds), [2]int32{gap, gap}, mean, p.o.Accept)
	for i := range kept {
		p.trim(&kept[i])
	}
	kept = slices.DeleteFunc(kept, func(c cluster) bool { return float64(c.evidence) <= p.enough() })
	plain := slices.DeleteFunc(p.disjoint(kept), p.short)
	return p.withSummaries(seeds, plain)
}

// short reports whether c is below the minimum length on either side.
func (p *pairing) short(c cluster) bool {
	least := int32(p.o.LeastChars)
	return charsOf(p.a[c.a0:c.a1]) < least || charsOf(p.b[c.b0:c.b1]) < least
}

func charsOf(units []unit) int32 {
	n := int32(0)
	for i := range units {
		n += units[i].chars
	}
	return n
}

// withSummaries returns plain, in which each passage that is only part of a summary of a much longer source is replaced by that summary.
// plain must be in order of A without overlaps there.
func (p *pairing) withSummaries(seeds []cell, plain []cluster) []found {
	larger := func(a, b float64) float64 { return max(a, b) }
	cs := p.accepted(seeds, [2]int32{int32(p.o.Gap), int32(p.o.SummaryGap)}, larger, p.o.SummaryAccept)
	var out []found
	replaced := make([]bool, len(plain))
	for _, c := range slices.DeleteFunc(p.disjoint(cs), p.short) {
		na, nb := charsOf(p.a[c.a0:c.a1]), charsOf(p.b[c.b0:c.b1])
		if float64(nb) < p.o.SummaryRatio*float64(na) || p.outside(&c, plain) < p.o.SummaryOutside {
			continue
		}
		if shared, _ := p.coverage(&c); float64(p.worth(shared)) < p.enough() {
			continue
		}
		if p.o.WholeSource && 2*nb >= charsOf(p.b) {
			c.b0, c.b1 = 0, int32(len(p.b))
		}
		for i := after(plain, c.a0); i < len(plain) && plain[i].a0 < c.a1; i++ {
			replaced[i] = true
		}
		out = append(out, found{c.a0, c.a1, c.b0, c.b1, true})
	}
	for i, c := range plain {
		if !replaced[i] {
			out = append(out, found{c.a0, c.a1, c.b0, c.b1, false})
		}
	}
	slices.SortFunc(out, func(x, y found) int { return int(x.a0 - y.a0) })
	return out
}

// after returns the index of the first of cs that ends after row. cs must be in order of A without overlaps there.
func after(cs []cluster, row int32) int {
	i, _ := slices.BinarySearchFunc(cs, row, func(c cluster, row int32) int {
		if c.a1 <= row {
			return -1
		}
		return 1
	})
	return i
}

// outside returns the share of c outside the plain passage that contains most of it, judging by the best seed of each unit of A.
func (p *pairing) outside(c *cluster, plain []cluster) float64 {
	best := make([]cell, c.a1-c.a0)
	for _, s := range c.seeds {
		if b := &best[s.row-c.a0]; s.score > b.score {
			*b = s
		}
	}
	var all, most, in float64
	at := -1
	for _, s := range best {
		if s.score == 0 {
			continue
		}
		v := float64(s.sim) * float64(p.a[s.row].chars)
		all += v
		i := after(plain, s.row)
		if i == len(plain) || s.row < plain[i].a0 || s.col < plain[i].b0 || s.col >= plain[i].b1 {
			continue
		}
		if i != at {
			at, in = i, 0
		}
		in += v
		most = max(most, in)
	}
	return (all - most) / all
}

// enough returns the minimum worth of a passage.
func (p *pairing) enough() float64 {
	units := float64(len(p.a)+len(p.b)) + p.o.Background
	return min(p.o.Evidence, p.o.EvidencePerLog*math.Log(units))
}
