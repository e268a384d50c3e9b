package screen

import (
	"errors"
	"fmt"
	"math"
)

// PlanOptions are the requirements for which a design is chosen.
type PlanOptions struct {
	F       int // bits of a print, 1 to 128; 0: 64
	K       int // largest distance that must be found
	Prints  int // number of stored prints
	Bytes   int64
	Queries int // how many queries share the cost of building; 0: very many
}

// Costs in nanoseconds of processor time, measured by BenchmarkNear at a million prints: entering a
// table (permuting, interpolation search), comparing one candidate, sorting one print into a table.
const (
	costTable     = 1000
	costCandidate = 1.5
	costSort      = 60
)

// NewPlan returns the design that answers queries with the least processor time among those whose
// tables fit into the given memory. It fails if not even the smallest does, which has K+1 tables.
// The designs are those of the recursion of Manku, Jain and Das Sarma 2007, section 3.3: divide
// into r blocks, let r-k lead, and go on with the others.
func NewPlan(o PlanOptions) (*Design, error) {
	if o.F == 0 {
		o.F = 64
	}
	if o.F < 1 || o.F > mostBits || o.K < 0 || o.K >= o.F || o.Prints < 0 || o.Bytes < 0 {
		return nil, fmt.Errorf("plan of %d bits, distance %d, %d prints, %d bytes: out of range", o.F, o.K, o.Prints, o.Bytes)
	}
	var best *Design
	least := math.Inf(1)
	each, fixed := int64(8), int64(12)
	if o.F > 64 {
		each, fixed = 12, 24
	}
	most := int(min(mostPlanned, (o.Bytes/int64(max(1, o.Prints))-fixed)/each))
	eachLevels(o.F, o.K, most, nil, func(levels []int) {
		tables := 1
		for _, r := range levels {
			tables *= binomial(r, o.K)
		}
		if float64(tables)*costTable >= least {
			return // entering them costs more than all of the best
		}
		d, err := NewDesign(o.F, o.K, levels...)
		if err != nil {
			return // more blocks than bits are left
		}
		cost := float64(len(d.Tables))*costTable + d.Candidates(o.Prints)*costCandidate
		if o.Queries > 0 {
			cost += float64(len(d.Tables)) * float64(o.Prints) * costSort / float64(o.Queries)
		}
		if cost < least {
			best, least = d, cost
		}
	})
	if best == nil {
		return nil, fmt.Errorf("plan for %d prints in %d bytes: %w: the %d tables of the smallest design need %d", o.Prints, o.Bytes,
			ErrMemory, o.K+1,
			bytesOf(o.F, o.K+1, o.Prints))
	}
	return best, nil
}

// ErrMemory: the work does not fit into the memory that was allowed.
var ErrMemory = errors.New("not enough memory")

// mostPlanned bounds the tables of a plan: with more, entering them costs more than any candidates.
const mostPlanned = 2048

// eachLevels calls each with every division of f bits whose tables number at most most.
func eachLevels(f, k, most int, levels []int, each func([]int)) {
	for r := k + 1; r <= f; r++ {
		c := binomial(r, k)
		if c > most {
			break
		}
		next := append(levels[:len(levels):len(levels)], r)
		each(next)
		// With k = 0 or a single table the remaining bits can lead no better.
		if rest := f - f*(r-k)/r; c > 1 && rest > k {
			eachLevels(rest, k, most/c, next, each)
		}
	}
}
