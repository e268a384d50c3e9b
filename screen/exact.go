package screen

import (
	"fmt"
	"math"
	"slices"
)

// Shared is a pair of sets A < B with Common common members, above zero.
type Shared struct{ A, B, Common int }

// ExactPairs calls emit with every pair of sets with a common member, ordered by A, then B. These are the true values that sketches
// estimate. Sets may contain repeats, which count once; ExactPairs sorts them in place. The work is the sum, over all members, of the
// squared number of sets that contain each; ExactPairs stops if emit returns false. sizes are the numbers of distinct members. It fails
// if there are more than 2^32-1 members in total.
func ExactPairs(sets [][]uint64, emit func(Shared) bool) (sizes []int, err error) {
	sizes = make([]int, len(sets))
	total := 0
	for i, s := range sets {
		slices.Sort(s)
		sets[i] = slices.Compact(s)
		sizes[i] = len(sets[i])
		total += sizes[i]
	}
	if int64(total) > math.MaxUint32 {
		return nil, fmt.Errorf("exact pairs: %w: cannot compare sets with %d members in total: the maximum is %d", ErrMemory, total, uint32(math.MaxUint32))
	}
	l := newLists(len(sets), func(i int) []uint64 { return sets[i] })
	counts := make([]int32, len(sets))
	for a := range sets {
		for _, x := range sets[a] {
			for _, b := range l.after(x, int32(a)) {
				counts[b]++
			}
		}
		for b := a + 1; b < len(sets); b++ {
			if n := counts[b]; n > 0 {
				counts[b] = 0
				if !emit(Shared{a, b, int(n)}) {
					return sizes, nil
				}
			}
		}
	}
	return sizes, nil
}
