package align

import (
	"math/bits"
	"slices"
)

// run is a stretch of equal words: [a, a+n) of A and [b, b+n) of B.
type run struct{ a, b, n int32 }

const (
	// gram is the minimum number of words in a run that can be found.
	gram = 5
	// maxPlaces is the maximum number of places in B tried for one word of A.
	maxPlaces = 8
	// maxBack is the maximum distance that a run is followed backwards into the previous one.
	maxBack = 64
)

// places finds the positions in B where a gram of words starts.
type places struct {
	head []int32 // bucket of a hash -> first position + 1
	next []int32 // position -> next position + 1 in the bucket
	mask uint64
}

const gramBase = 0x9e3779b97f4a7c15

// gramHashes calls f in order with the hash of every gram of words.
func gramHashes(words []token, f func(i int, h uint64)) {
	var h uint64
	top := uint64(1)
	for range gram {
		top *= gramBase
	}
	for i := range words {
		h = h*gramBase + words[i].hash
		if i >= gram {
			h -= top * words[i-gram].hash
		}
		if i >= gram-1 {
			f(i-gram+1, h)
		}
	}
}

func placesOf(words []token) *places {
	size := uint64(1) << bits.Len(uint(len(words)|15))
	p := &places{head: make([]int32, size), next: make([]int32, len(words)), mask: size - 1}
	gramHashes(words, func(i int, h uint64) {
		k := (h ^ h>>32) & p.mask
		p.next[i] = p.head[k]
		p.head[k] = int32(i) + 1
	})
	return p
}

// gramsOf returns the hashes of the grams starting at each word, folded for a table of places.
func gramsOf(words []token) []uint64 {
	if len(words) < gram {
		return nil
	}
	out := make([]uint64, len(words)-gram+1)
	gramHashes(words, func(i int, h uint64) { out[i] = h ^ h>>32 })
	return out
}

// runs returns, in order of A, the runs of equal words in both texts that have at least least letters. It considers only the lengths of
// A's words, which equal B's; grams are those of A. At every word of A, it takes the longest run among the last maxPlaces places in B and
// continues after it, so that each word is compared a bounded number of times.
func runs(a []token, grams []uint64, b []token, least int32) []run {
	if len(a) < gram || len(b) < gram {
		return nil
	}
	p := placesOf(b)
	var out []run
	for i := 0; i < len(grams); {
		best := run{}
		tried := 0
		for j := p.head[grams[i]&p.mask]; j != 0 && tried < maxPlaces; j = p.next[j-1] {
			tried++
			n := equal(a[i:], b[j-1:])
			if n > best.n {
				best = run{int32(i), j - 1, n}
			}
		}
		if best.n < gram {
			i++
			continue
		}
		i += int(best.n)
		for k := 0; k < maxBack && best.a > 0 && best.b > 0 && a[best.a-1].hash == b[best.b-1].hash && a[best.a-1].hash != mutedHash; k++ {
			best.a, best.b, best.n = best.a-1, best.b-1, best.n+1
		}
		if letters(b[best.b:best.b+best.n]) >= least {
			out = append(out, best)
		}
	}
	return out
}

func equal(a, b []token) int32 {
	n := min(len(a), len(b))
	for i := range n {
		if a[i].hash != b[i].hash || a[i].hash == mutedHash {
			return int32(i)
		}
	}
	return int32(n)
}

// letters returns the number of letters in words, with a Han character counting as two, because 40 letters agree by chance about as
// rarely as 20 Han characters do, although the latter say more.
func letters(words []token) int32 {
	n := int32(0)
	for i := range words {
		c := words[i].chars
		if words[i].flags&hanWord != 0 {
			c = c * 2 / hanWeight
		}
		n += c
	}
	return n
}

// copied is a stretch of equal words with a few exceptions: [a0, a1) of A and [b0, b1) of B.
type copied struct {
	a0, a1, b0, b1 int32
	longest        int32 // letters in its longest run
}

// bridge joins consecutive runs with at most differ words between them on both sides, none of them muted.
func bridge(a, b []token, rs []run, differ int32) []copied {
	var out []copied
	for _, r := range rs {
		n := letters(b[r.b : r.b+r.n])
		if k := len(out) - 1; k >= 0 {
			c := &out[k]
			if da, db := r.a-c.a1, r.b-c.b1; da <= differ && db <= differ && da >= -differ && db >= -differ &&
				!anyMuted(a[min(c.a1, r.a):r.a]) && !anyMuted(b[min(c.b1, r.b):r.b]) {
				c.a1, c.b1 = r.a+r.n, r.b+r.n
				c.longest = max(c.longest, n)
				continue
			}
		}
		out = append(out, copied{r.a, r.a + r.n, r.b, r.b + r.n, n})
	}
	return out
}

func anyMuted(words []token) bool {
	return slices.ContainsFunc(words, func(w token) bool { return w.hash == mutedHash })
}
