package align

import (
	"math"
	"slices"
)

// trim drops units from the edges of c whose words are already accounted for: every word of a
// passage can be evidence for one word of the other side only, so a unit that resembles a passage
// that has a better counterpart is no part of it.
func (p *pairing) trim(c *cluster) {
	a, b, gain := p.coverage(c)
	least := float32(p.o.Trim)
	a0, a1 := heaviest(p.a.units[c.a0:c.a1], a, least)
	b0, b1 := heaviest(p.b.units[c.b0:c.b1], b, least)
	a0, a1, b0, b1 = a0+c.a0, a1+c.a0, b0+c.b0, b1+c.b0
	c.evidence = min(p.worth(gain[0][a0-c.a0:a1-c.a0]), p.worth(gain[1][b0-c.b0:b1-c.b0]))
	if a0 == c.a0 && a1 == c.a1 && b0 == c.b0 && b1 == c.b1 {
		return
	}
	rest := c.seeds[:0]
	for _, s := range c.seeds {
		if s.row >= a0 && s.row < a1 && s.col >= b0 && s.col < b1 {
			rest = append(rest, s)
		}
	}
	c.seeds = rest
	c.a0, c.a1, c.b0, c.b1 = a0, a1, b0, b1
}

// coverage pairs the words of both sides of c, best seeds first and each word once, and returns for
// each unit of A and of B the share of its weight that is paired, 0 to 1.
func (p *pairing) coverage(c *cluster) (a, b []float32, gain [2][]float32) {
	ua, ub := p.a.units[c.a0:c.a1], p.b.units[c.b0:c.b1]
	baseA, baseB := ua[0].from, ub[0].from
	leftA := counts(p.a.entries[baseA:ua[len(ua)-1].to])
	leftB := counts(p.b.entries[baseB:ub[len(ub)-1].to])
	a, b = make([]float32, len(ua)), make([]float32, len(ub))
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
	for _, s := range order {
		x, y := p.a.units[s.row], p.b.units[s.col]
		j := y.from
		for i := x.from; i < x.to; i++ {
			k := p.w.common[p.a.entries[i].term]
			if k < 0 {
				continue
			}
			term := p.w.ofB[k]
			for j < y.to && p.b.entries[j].term < term {
				j++
			}
			if j == y.to {
				break
			}
			if p.b.entries[j].term != term {
				continue
			}
			if n := min(leftA[i-baseA], leftB[j-baseB]); n > 0 {
				leftA[i-baseA] -= n
				leftB[j-baseB] -= n
				v := float32(n) * p.w.b[term]
				a[s.row-c.a0] += v
				b[s.col-c.b0] += v
			}
		}
	}
	gain = [2][]float32{slices.Clone(a), slices.Clone(b)}
	for i, u := range ua {
		a[i] /= max(p.a.weight(u, p.w.a), 1e-6)
	}
	for i, u := range ub {
		b[i] /= max(p.b.weight(u, p.w.b), 1e-6)
	}
	return a, b, gain
}

func counts(es []entry) []int32 {
	out := make([]int32, len(es))
	for i := range es {
		out[i] = es[i].count
	}
	return out
}

// weight returns the sum of the weights of u's words.
func (t *Text) weight(u unit, of []float32) float32 {
	var sum float32
	for _, e := range t.entries[u.from:u.to] {
		sum += float32(e.count) * of[e.term]
	}
	return sum
}

// heaviest returns the stretch of units with the largest sum of (share - least) times length.
func heaviest(units []unit, share []float32, least float32) (from, to int32) {
	var best, sum float32
	best = -1e9
	start := 0
	for i := range units {
		if sum < 0 {
			sum, start = 0, i
		}
		sum += (share[i] - least) * float32(units[i].chars)
		if sum > best {
			best, from, to = sum, int32(start), int32(i)+1
		}
	}
	return from, to
}

// worth returns the sum of the gains in words that occur in two units only.
func (p *pairing) worth(gains []float32) float32 {
	var sum float32
	for _, v := range gains {
		sum += v
	}
	return sum / float32(math.Log(max(2, p.units()/2)))
}
