package screen_test

import (
	"crypto/sha1"
	"encoding/binary"
	"slices"
	"testing"

	"concordat/screen"
	"concordat/simhash"
)

// TestIMatch (Chowdhury et al. 2002, section 3): the signature is the SHA-1 of the sorted distinct terms within the window of the inverse
// document frequency, so terms found in most documents or in almost none do not matter, and every other term does.
func TestIMatch(t *testing.T) {
	const frequent, rare, middle = 1, 10000, 100
	df := &simhash.Frequencies{}
	for i := range uint64(3000) {
		// frequent is in every document, middle+i%20 in one of twenty, and rare+i in only one.
		df.Add([]uint64{frequent, middle + i%20, rare + i})
	}
	of := func(features ...uint64) [4]uint64 { return screen.IMatch(slices.Clone(features), df) }

	h := sha1.New()
	for _, f := range []uint64{middle + 2, middle + 5, middle + 7} {
		var b [8]byte
		binary.BigEndian.PutUint64(b[:], f)
		h.Write(b[:])
	}
	sum := h.Sum(nil)
	want := [4]uint64{binary.BigEndian.Uint64(sum), binary.BigEndian.Uint64(sum[8:])}
	for name, features := range map[string][]uint64{
		"the terms":                  {middle + 2, middle + 5, middle + 7},
		"in another order, repeated": {middle + 7, middle + 2, middle + 2, middle + 5, middle + 7},
		"with a frequent one":        {frequent, middle + 2, middle + 5, middle + 7},
		"with rare ones":             {middle + 2, middle + 5, middle + 7, rare + 3, 77777},
	} {
		if got := of(features...); got != want {
			t.Errorf("%s: %x, want %x", name, got, want)
		}
	}
	for name, features := range map[string][]uint64{
		"one more":   {middle + 2, middle + 5, middle + 7, middle + 8},
		"one less":   {middle + 2, middle + 5},
		"another":    {middle + 2, middle + 5, middle + 9},
		"none of it": {frequent, rare},
	} {
		if of(features...) == want {
			t.Errorf("%s: the same signature", name)
		}
	}
	if of(frequent) != of(rare, rare+1) {
		t.Error("documents without a term in the window have different signatures")
	}
}
