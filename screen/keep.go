package screen

import (
	"cmp"
	"slices"
)

// Link is a pair of documents with how much they resemble each other, 0 to 1.
type Link struct {
	A, B        int
	Resemblance float64
	Aside       bool // shown, and drawn as one that does not count
}

// Lineage returns for each of n documents from which earlier one it most likely comes: of those linked
// to it the most resembling, of several the earliest; -1 for one without. before reports which of two
// documents is the earlier, a strict order.
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

// Removable returns for each of n documents which kept one replaces it, or -1 if it is kept itself:
// going through the documents in the order of preference, one goes if a document kept before
// resembles it by at least least. So nothing goes for a document that goes, as chains of pairs
// would have it, nor for a likeness of a likeness.
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
	done := make([]bool, n) // and kept
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
