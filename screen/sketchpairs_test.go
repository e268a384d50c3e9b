package screen

import (
	"fmt"
	"math"
	"slices"

	"concordat/minhash"
)

// SketchPairs calls emit with every pair of sketches that has a common value and whose estimate reaches the threshold, ordered by A, then
// B. It follows Broder 1997, section 3, but uses lists of each value's documents instead of sorting the pairs, so memory is needed only
// for the sketches and for the counts of one document, whatever the number of pairs. The sketches must come from one Shingler and have
// one size. It emits only pairs with split ≤ A < end, so several calls can divide the work; split and end of 0 mean all. It returns how
// many values were too common. If emit returns false, it stops.
func SketchPairs(sketches []minhash.MinSketch, o SketchOptions, split, end int, emit func(SketchPair) bool) (common int, err error) {
	if o.Threshold < 0 || o.Threshold > 1 || split < 0 || end > len(sketches) {
		return 0, fmt.Errorf("sketch pairs: threshold %v, documents %d to %d of %d", o.Threshold, split, end, len(sketches))
	}
	keys := make([][]uint64, len(sketches))
	total := 0
	for i := range sketches {
		keys[i] = o.keys(sketches[i])
		total += len(keys[i])
	}
	if int64(total) > math.MaxUint32 {
		return 0, fmt.Errorf("sketch pairs: %w: %d values, at most %d at once", ErrMemory, total, uint32(math.MaxUint32))
	}
	if o.Common == 0 {
		o.Common = maxSharing
	}
	if end == 0 {
		end = len(sketches)
	}
	l := newLists(len(sketches), func(i int) []uint64 { return keys[i] })
	var near []int32
	seen := make([]bool, len(sketches))
	for a := split; a < end; a++ {
		near = near[:0]
		for _, x := range keys[a] {
			after := l.after(x, int32(a))
			for _, b := range after[:min(len(after), o.Common)] {
				if !seen[b] {
					seen[b] = true
					near = append(near, b)
				}
			}
		}
		slices.Sort(near)
		for _, b := range near {
			seen[b] = false
			p := SketchPair{A: a, B: int(b)}
			if p.measure(sketches[a], sketches[b], o) && !emit(p) {
				return l.longer(o.Common), nil
			}
		}
	}
	return l.longer(o.Common), nil
}

// longer returns the number of values with more than n documents.
func (l *lists) longer(n int) int {
	out := 0
	for i := range l.values {
		if int(l.starts[i+1]-l.starts[i]) > n {
			out++
		}
	}
	return out
}
