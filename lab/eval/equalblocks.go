package eval

import "slices"

// equalBlock is a run of n elements of one sequence, starting at a, that equal the elements of another, starting at b.
type equalBlock struct{ a, b, n int }

// equalBlocks returns the equal blocks of two sequences, in order on both sides: the longest one (the first if there are several), and
// recursively the longest ones before and after it (Ratcliff and Metzener 1988). It merges blocks that touch on both sides. It keeps both
// sequences in memory; its time grows with the number of pairs of equal elements.
func equalBlocks[T comparable](a, b []T) []equalBlock {
	at := map[T][]int{}
	for j, x := range b {
		at[x] = append(at[x], j)
	}
	f := &blockFinder[T]{a, at, make([]int, len(b)+1), make([]int, len(b)+1)}
	var found []equalBlock
	open := [][4]int{{0, len(a), 0, len(b)}}
	for len(open) > 0 {
		s := open[len(open)-1]
		open = open[:len(open)-1]
		x := f.longest(s)
		if x.n == 0 {
			continue
		}
		found = append(found, x)
		if s[0] < x.a && s[2] < x.b {
			open = append(open, [4]int{s[0], x.a, s[2], x.b})
		}
		if x.a+x.n < s[1] && x.b+x.n < s[3] {
			open = append(open, [4]int{x.a + x.n, s[1], x.b + x.n, s[3]})
		}
	}
	slices.SortFunc(found, func(x, y equalBlock) int { return x.a - y.a })
	var out []equalBlock
	for _, x := range found {
		if n := len(out); n > 0 && out[n-1].a+out[n-1].n == x.a && out[n-1].b+out[n-1].n == x.b {
			out[n-1].n += x.n
			continue
		}
		out = append(out, x)
	}
	return out
}

// blockFinder finds longest blocks; at holds each element's positions in the second sequence, ascending.
type blockFinder[T comparable] struct {
	a  []T
	at map[T][]int
	// here and before are the lengths of the blocks that end at an element of the first sequence, and at the preceding element, indexed
	// by the element of the second sequence after them. All are 0 between calls.
	here, before []int
}

// longest returns the longest block within the bounds s of both sides.
func (f *blockFinder[T]) longest(s [4]int) equalBlock {
	var best equalBlock
	var last []int // positions where before is set
	for i := s[0]; i < s[1]; i++ {
		places := f.at[f.a[i]]
		from, _ := slices.BinarySearch(places, s[2])
		to, _ := slices.BinarySearch(places, s[3])
		places = places[from:to]
		for _, j := range places {
			n := f.before[j] + 1
			f.here[j+1] = n
			if n > best.n {
				best = equalBlock{i - n + 1, j - n + 1, n}
			}
		}
		for _, j := range last {
			f.before[j+1] = 0
		}
		f.here, f.before, last = f.before, f.here, places
	}
	for _, j := range last {
		f.before[j+1] = 0
	}
	return best
}
