package screen

import (
	"cmp"
	"slices"
)

// Link is a document pair and its resemblance, 0 to 1.
type Link struct {
	A, B        int
	Resemblance float64
	Aside       bool // the link is shown but marked as not counting
}

// Lineage returns, for each of n documents, the earlier document from which it most likely comes. This is the most similar earlier
// document linked to it, or the earliest of these if several tie. It is -1 if there is none. before reports whether one document is
// earlier than another and must be a strict order.
func Lineage(n int, links []Link, before func(a, b int) bool) []int {
	from, best := make([]int, n), make([]float64, n)
	for i := range from {
		from[i] = -1
	}
	for _, l := range links {
		early, late := l.A, l.B
		if before(late, early) {
			early, late = late, early
		}
		if from[late] < 0 || l.Resemblance > best[late] || l.Resemblance == best[late] && before(early, from[late]) {
			from[late], best[late] = early, l.Resemblance
		}
	}
	return from
}

// Removable returns, for each of n documents, the kept document that replaces it, or -1 if it is kept itself. In order of preference, it
// removes a document if its resemblance to a kept one is at least least. Unlike chains of pairs, this never removes a document because of
// an indirect resemblance or in favour of one that is itself removed.
func Removable(n int, links []Link, least float64, preferred func(a, b int) bool) []int {
	near := make([][]Link, n)
	for _, l := range links {
		if l.Resemblance >= least {
			near[l.A] = append(near[l.A], l)
			near[l.B] = append(near[l.B], Link{A: l.B, B: l.A, Resemblance: l.Resemblance})
		}
	}
	order, kept := make([]int, n), make([]int, n)
	for i := range order {
		order[i], kept[i] = i, -1
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case preferred(a, b):
			return -1
		case preferred(b, a):
			return 1
		}
		return cmp.Compare(a, b)
	})
	done := make([]bool, n) // documents already kept
	for _, i := range order {
		best := -1.0
		for _, l := range near[i] {
			if done[l.B] && (l.Resemblance > best || l.Resemblance == best && preferred(l.B, kept[i])) {
				best, kept[i] = l.Resemblance, l.B
			}
		}
		done[i] = kept[i] < 0
	}
	return kept
}
