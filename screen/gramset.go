package screen

import (
	"math"
	"slices"
	"unicode"
)

// Grams is the set of a short text's grams as hashes, ascending. The grams are runs of one and two letters if the text has letters of a
// script that writes words with few characters (Chinese, Japanese), otherwise runs of two and three. The k-th occurrence of a gram is a
// separate member, so repeats count.
type Grams []uint64

var (
	denseGrams  = []int{1, 2}
	sparseGrams = []int{2, 3}
)

// GramsOf returns the grams of a text in the form returned by [Letters].
func GramsOf(letters string) Grams {
	grams := (&Short{}).cut(letters).grams
	slices.Sort(grams)
	return grams
}

// gramsFor returns the gram lengths for a text, and the number of its letters in a script that writes words with few characters.
func gramsFor(letters []rune) (lengths []int, dense int) {
	for _, r := range letters {
		if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) {
			dense++
		}
	}
	if dense > 0 {
		return denseGrams, dense
	}
	return sparseGrams, 0
}

// Jaccard returns |g∩h| / |g∪h|, 0 to 1, or 0 if either set is empty.
func (g Grams) Jaccard(h Grams) float64 {
	common := 0
	for i, j := 0, 0; i < len(g) && j < len(h); {
		switch {
		case g[i] < h[j]:
			i++
		case g[i] > h[j]:
			j++
		default:
			common, i, j = common+1, i+1, j+1
		}
	}
	if common == 0 {
		return 0
	}
	return float64(common) / float64(len(g)+len(h)-common)
}

// Bounds returns bounds on any set whose Jaccard similarity to g is at least threshold, which must be above 0 and at most 1. The set must
// have at least least members in common with g (|g∩h| ≥ t·|g∪h| ≥ t·|g|; Chaudhuri, Ganti and Kaushik 2006), and low to high members in
// total.
func (g Grams) Bounds(threshold float64) (least, low, high int) {
	// The value is slightly reduced, so that rounding cannot raise the required number.
	least = int(math.Ceil(threshold*float64(len(g)) - 1e-9))
	return least, least, int(float64(len(g))/threshold + 1e-9)
}
