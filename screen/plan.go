package screen

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// PlanOptions are the requirements for choosing a design.
type PlanOptions struct {
	F       int // bits of a print, 1 to 128; the default is 64
	K       int // maximum distance that must be found
	Prints  int // number of stored prints
	Bytes   int64
	Queries int // number of queries that share the cost of building; 0 means very many
	// Sample holds prints of the collection, of at most 64 bits, for counting candidates instead of assuming uniform prints; it may be
	// nil.
	Sample []uint64
	// Packed plans for packed rather than plain tables, for prints of at most 64 bits.
	Packed bool
	// Lead and Within request the fewest tables with at least this number of leading bits, or with this processor time per query, instead
	// of the fastest tables (X(f, k, d) of Manku, Jain and Das Sarma 2007, section 3.3). 0 means no such requirement.
	Lead   int
	Within time.Duration
}

// These are costs in nanoseconds of processor time, measured by BenchmarkNear with a million prints. They are the costs of entering a
// table (permuting, interpolation search), of comparing one candidate, and of sorting one print into a table.
const (
	costTable     = 1000
	costCandidate = 1.5
	costSort      = 60
)

const (
	maxTried   = 200 // maximum number of designs whose candidates are counted
	maxCrowded = 50  // a design is tried only if its cost for uniform prints is at most this multiple of the best
)

// NewPlan returns the design with the least processor time per query among those whose tables fit into the given memory, or the one with
// the fewest tables that meets Lead and Within. It fails if not even the smallest design, with K+1 tables, fits, or if none meets Lead
// and Within. The designs follow the recursion in Manku, Jain and Das Sarma 2007, section 3.3, which divides into r blocks, lets r-k
// lead, and continues with the others.
func NewPlan(o PlanOptions) (*Design, error) {
	if o.F == 0 {
		o.F = 64
	}
	if o.F < 1 || o.F > maxBits || o.K < 0 || o.K >= o.F || o.Prints < 0 || o.Bytes < 0 || o.Lead < 0 || o.Lead > o.F || o.Within < 0 ||
		o.F > 64 && (o.Packed || o.Sample != nil) {
		return nil, fmt.Errorf("plan: option out of range: %d bits, distance %d, %d fingerprints, %d bytes", o.F, o.K, o.Prints, o.Bytes)
	}
	fewest := o.Lead > 0 || o.Within > 0
	type trial struct {
		design *Design
		least  float64 // cost for uniform prints
	}
	var trials []trial
	few, enough := maxPlanned+1, math.Inf(1)
	if o.Within > 0 {
		enough = float64(o.Within) + 1
	}
	eachLevels(o.F, o.K, o.maxTables(), nil, func(levels []int) {
		tables := 1
		for _, r := range levels {
			tables *= binomial(r, o.K)
		}
		if tables >= few || float64(tables)*costTable >= enough {
			return // entering its tables alone costs more than the best design in total
		}
		d, err := NewDesign(o.F, o.K, levels...)
		if err != nil || d.Lead() < o.Lead {
			return // more blocks than remaining bits
		}
		cost := o.cost(d, d.Candidates(o.Prints))
		trials = append(trials, trial{d, cost})
		switch {
		case fewest && o.Within == 0:
			few = tables
		case !fewest && o.Sample == nil:
			enough = min(enough, cost)
		case !fewest:
			enough = min(enough, maxCrowded*cost)
		}
	})
	if len(trials) == 0 && o.maxTables() > o.K && o.Lead > 0 && o.Within == 0 {
		return nil, fmt.Errorf("plan: no design with at most %d tables has %d leading bits: %w", o.maxTables(), o.Lead, ErrMemory)
	}
	if len(trials) == 0 && o.maxTables() > o.K && o.Within > 0 {
		return nil, fmt.Errorf("plan: %w within %s per query: even looking up %d tables takes longer", ErrTime, o.Within, o.K+1)
	}
	slices.SortStableFunc(trials, func(a, b trial) int {
		if fewest {
			return cmp.Or(cmp.Compare(len(a.design.Tables), len(b.design.Tables)), cmp.Compare(a.least, b.least))
		}
		return cmp.Compare(a.least, b.least)
	})
	var best *Design
	least := math.Inf(1)
	for i, t := range trials {
		if !fewest && t.least >= least || i >= maxTried && o.Sample != nil {
			break
		}
		cost := t.least
		if o.Sample != nil {
			cost = o.cost(t.design, t.design.Counted(o.Sample, o.Prints))
		}
		if fewest && (o.Within == 0 || cost <= float64(o.Within)) {
			return t.design, nil
		}
		if cost < least {
			best, least = t.design, cost
		}
	}
	if fewest && best != nil {
		return nil, fmt.Errorf("plan: %w within %s per query: the fastest design tried takes %s", ErrTime, o.Within, time.Duration(least))
	}
	if best == nil {
		return nil, fmt.Errorf("plan for %d fingerprints in %d bytes: %w: even the smallest design has %d tables, which need %d bytes", o.Prints, o.Bytes,
			ErrMemory, o.K+1, o.bytes(o.K+1))
	}
	return best, nil
}

// Cost returns the processor time of a query with the given number of candidates, including its share of building.
func (o *PlanOptions) Cost(d *Design, candidates float64) time.Duration {
	return time.Duration(o.cost(d, candidates))
}

func (o *PlanOptions) cost(d *Design, candidates float64) float64 {
	cost := float64(len(d.Tables))*costTable + candidates*costCandidate
	if o.Queries > 0 {
		cost += float64(len(d.Tables)) * float64(o.Prints) * costSort / float64(o.Queries)
	}
	return cost
}

// maxTables returns the number of tables that fit into the memory.
func (o *PlanOptions) maxTables() int {
	n := int64(max(1, o.Prints))
	if o.Packed {
		return int(min(maxPlanned, float64(o.Bytes)/max(1, packedShare(o.Prints)*8*float64(n))))
	}
	each, fixed := int64(8), int64(12)
	if o.F > 64 {
		each, fixed = 12, 24
	}
	return int(min(maxPlanned, (o.Bytes/n-fixed)/each))
}

func (o *PlanOptions) bytes(tables int) int64 {
	if o.Packed {
		return int64(float64(tables) * packedShare(o.Prints) * 8 * float64(o.Prints))
	}
	return bytesOf(o.F, tables, o.Prints)
}

// PackedBytes returns the size of the design's packed tables for n prints, as measured on random prints; prints of real documents crowd
// and take less.
func (d *Design) PackedBytes(n int) int64 {
	return int64(float64(len(d.Tables)) * packedShare(n) * 8 * float64(n))
}

// packedShare returns the size of packed prints as a fraction of plain ones, which is the bound plus the overhead of blocks and of codes
// of whole bits, 0.042 to 0.045 from a million to 2^34 prints (doc/evaluation/screen.md).
func packedShare(n int) float64 { return min(1, PackedBound(n)+0.045) }

// Counted returns the average number of prints, out of n, that a query like those of the sample compares in all tables together, not
// counting itself, which is n times the proportion of sample pairs that agree in the leading bits. Prints have at most 64 bits. It takes
// as long as sorting the sample once per table.
func (d *Design) Counted(sample []uint64, n int) float64 {
	if len(sample) < 2 {
		return d.Candidates(n)
	}
	sum := 0.0
	leads := make([]uint64, len(sample))
	for i := range d.Tables {
		mask := d.Tables[i].mask[0]
		for j, p := range sample {
			leads[j] = p & mask
		}
		slices.Sort(leads)
		for from := 0; from < len(leads); {
			to := from + 1
			for to < len(leads) && leads[to] == leads[from] {
				to++
			}
			sum += float64(to-from) * float64(to-from-1)
			from = to
		}
	}
	return sum / float64(len(sample)) / float64(len(sample)-1) * float64(n)
}

// ErrTime means that no design is as fast as requested.
var ErrTime = errors.New("no design is fast enough to answer")

// ErrMemory means that the work does not fit into the allowed memory.
var ErrMemory = errors.New("not enough memory")

// maxPlanned is the maximum number of tables in a plan, because entering more would cost more than any candidates.
const maxPlanned = 2048

// eachLevels calls each with every division of f bits into at most most tables.
func eachLevels(f, k, most int, levels []int, each func([]int)) {
	for r := k + 1; r <= f; r++ {
		c := binomial(r, k)
		if c > most {
			break
		}
		next := append(levels[:len(levels):len(levels)], r)
		each(next)
		// With k = 0 or a single table, dividing the remaining bits gains nothing.
		if rest := f - f*(r-k)/r; c > 1 && rest > k {
			eachLevels(rest, k, most/c, next, each)
		}
	}
}
