package align

import (
	"math"
	"slices"
)

// trim drops units at the edges of c whose words are already accounted for. A word of a passage can be evidence for only one word on the
// other side. A unit whose words have better counterparts therefore does not belong to a passage merely because it resembles one.
func (p *pairing) trim(c *cluster) {
	sharedA, sharedB := p.coverage(c)
	a0, a1 := p.heaviest(p.a[c.a0:c.a1], sharedA, p.totalA(c.a0, c.a1))
	b0, b1 := p.heaviest(p.b[c.b0:c.b1], sharedB, p.totalB(c.b0, c.b1))
	c.evidence = min(p.worth(sharedA[a0:a1]), p.worth(sharedB[b0:b1]))
	a0, a1, b0, b1 = a0+c.a0, a1+c.a0, b0+c.b0, b1+c.b0
	if a0 == c.a0 && a1 == c.a1 && b0 == c.b0 && b1 == c.b1 {
		return
	}
	c.seeds = slices.DeleteFunc(c.seeds, func(s cell) bool {
		return s.row < a0 || s.row >= a1 || s.col < b0 || s.col >= b1
	})
	c.a0, c.a1, c.b0, c.b1 = a0, a1, b0, b1
}

// coverage pairs the words shared by both sides of c, best seeds first and each word once, and returns the weight credited to each unit
// of A and B.
func (p *pairing) coverage(c *cluster) (a, b []float32) {
	a, b = make([]float32, c.a1-c.a0), make([]float32, c.b1-c.b0)
	order := slices.Clone(c.seeds)
	slices.SortFunc(order, func(x, y cell) int {
		switch {
		case x.score > y.score:
			return -1
		case x.score < y.score:
			return 1
		}
		return byRow(x, y)
	})
	claim := p.account(c)
	for _, s := range order {
		v := claim(s)
		a[s.row-c.a0] += v
		b[s.col-c.b0] += v
	}
	return a, b
}

// heaviest returns the stretch of units with the largest sum of weights. A unit weighs its length times (share − Options.Trim), where
// share is the shared fraction of its total.
func (p *pairing) heaviest(units []unit, shared, total []float32) (from, to int32) {
	least := float32(p.o.Trim)
	best, sum := float32(-math.MaxFloat32), float32(0)
	start := 0
	for i := range units {
		if sum < 0 {
			sum, start = 0, i
		}
		sum += (shared[i]/max(total[i], 1e-6) - least) * float32(units[i].chars)
		if sum > best {
			best, from, to = sum, int32(start), int32(i)+1
		}
	}
	return from, to
}

// worth returns the shared weight in rare words; see Options.Evidence.
func (p *pairing) worth(shared []float32) float32 {
	var sum float32
	for _, v := range shared {
		sum += v
	}
	return sum / p.unit
}

// unusedWords tracks which words of two passages can still be evidence.
type unusedWords struct {
	a, b         *Text
	w            *weights
	fromA, fromB int32   // first entry on each side
	leftA, leftB []int32 // words remaining, by entry
}

func newUnusedWords(a, b *Text, w *weights, c *cluster) *unusedWords {
	k := &unusedWords{a: a, b: b, w: w, fromA: a.units[c.a0].from, fromB: b.units[c.b0].from}
	k.leftA = counts(a.entries[k.fromA:a.units[c.a1-1].to])
	k.leftB = counts(b.entries[k.fromB:b.units[c.b1-1].to])
	return k
}

// claim consumes the words that both units of s still share, and returns their weight.
func (k *unusedWords) claim(s cell) float32 {
	x, y := k.a.units[s.row], k.b.units[s.col]
	var sum float32
	j := y.from
	for i := x.from; i < x.to; i++ {
		common := k.w.common[k.a.entries[i].term]
		if common < 0 {
			continue
		}
		term := k.w.ofB[common]
		for j < y.to && k.b.entries[j].term < term {
			j++
		}
		if j == y.to {
			break
		}
		if k.b.entries[j].term != term {
			continue
		}
		if n := min(k.leftA[i-k.fromA], k.leftB[j-k.fromB]); n > 0 {
			k.leftA[i-k.fromA] -= n
			k.leftB[j-k.fromB] -= n
			sum += float32(n) * k.w.b[term]
		}
	}
	return sum
}

func counts(es []entry) []int32 {
	out := make([]int32, len(es))
	for i := range es {
		out[i] = es[i].count
	}
	return out
}

// totals returns the total word weight of each unit in [from, to).
func (t *Text) totals(weight []float32, from, to int32) []float32 {
	out := make([]float32, to-from)
	for i, u := range t.units[from:to] {
		for _, e := range t.entries[u.from:u.to] {
			out[i] += float32(e.count) * weight[e.term]
		}
	}
	return out
}
