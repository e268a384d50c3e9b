package align

import "slices"

// cluster is a group of seeds in one passage: units [a0, a1) of A and [b0, b1) of B.
type cluster struct {
	a0, a1, b0, b1 int32
	seeds          []cell
	level          float64 // mean best similarity on acceptance, 0 to 1
	evidence       float32 // see Options.Evidence
}

// maxRounds is the maximum number of times one group is split. Human-written texts need about four.
const maxRounds = 32

// joined splits seeds into groups whose neighbours are at most gap units apart on both sides (Sanchez-Perez et al. 2014, section 3.2),
// and appends groups with at least the given number of seeds. It reorders seeds, which must be sorted by row.
func joined(seeds []cell, gap [2]int32, least int, out []cluster) []cluster {
	type group struct {
		seeds     []cell
		byB       bool // sorted by column
		undivided int  // consecutive rounds without a split
		round     int
	}
	todo := []group{{seeds: seeds}}
	for len(todo) > 0 {
		g := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if len(g.seeds) < least {
			continue
		}
		if g.undivided == 2 || g.round == maxRounds {
			out = append(out, newCluster(g.seeds))
			continue
		}
		key, order, most := rowOf, byRow, gap[0]+1
		if g.byB {
			key, order, most = colOf, byCol, gap[1]+1
		}
		if g.round > 0 {
			slices.SortFunc(g.seeds, order)
		}
		from := 0
		for i := 1; i <= len(g.seeds); i++ {
			if i < len(g.seeds) && key(g.seeds[i])-key(g.seeds[i-1]) <= most {
				continue
			}
			next := group{seeds: g.seeds[from:i], byB: !g.byB, round: g.round + 1}
			if from == 0 && i == len(g.seeds) {
				next.undivided = g.undivided + 1
			}
			todo = append(todo, next)
			from = i
		}
	}
	return out
}

func newCluster(seeds []cell) cluster {
	c := cluster{a0: seeds[0].row, a1: seeds[0].row + 1, b0: seeds[0].col, b1: seeds[0].col + 1, seeds: seeds}
	for i := range seeds {
		c.a0, c.a1 = min(c.a0, seeds[i].row), max(c.a1, seeds[i].row+1)
		c.b0, c.b1 = min(c.b0, seeds[i].col), max(c.b1, seeds[i].col+1)
	}
	return c
}

// sides returns, for each side, the mean over its units of their best seed similarity in c, weighted by length; a unit without a seed
// counts as 0.
func (p *pairing) sides(c *cluster) (a, b float64) {
	side := func(units []unit, first int32, at func(cell) int32) float64 {
		best := p.best[:0]
		for range units {
			best = append(best, 0)
		}
		p.best = best
		for i := range c.seeds {
			k := at(c.seeds[i]) - first
			best[k] = max(best[k], min(c.seeds[i].sim, 1))
		}
		var sum, chars float64
		for i := range units {
			n := float64(units[i].chars)
			sum += n * float64(best[i])
			chars += n
		}
		return sum / max(chars, 1)
	}
	a = side(p.a[c.a0:c.a1], c.a0, rowOf)
	b = side(p.b[c.b0:c.b1], c.b0, colOf)
	return a, b
}

// accepted splits seeds into groups whose neighbours are at most gap units apart. If the mean similarity of a group is too low, it is
// split again with the gap reduced by one unit, down to 0, after which it is dropped.
func (p *pairing) accepted(seeds []cell, gap [2]int32, level func(a, b float64) float64, accept float64) []cluster {
	least := p.o.LeastSeeds
	var out []cluster
	todo := joined(seeds, gap, least, nil)
	for ; gap[0] >= 0 && len(todo) > 0; gap[0], gap[1] = gap[0]-1, gap[1]-1 {
		var again []cluster
		for i := range todo {
			c := &todo[i]
			c.level = level(p.sides(c))
			switch {
			case c.level > accept:
				out = append(out, *c)
			case gap[0] > 0:
				slices.SortFunc(c.seeds, byRow)
				again = joined(c.seeds, [2]int32{gap[0] - 1, gap[1] - 1}, least, again)
			}
		}
		todo = again
	}
	return out
}

func rowOf(c cell) int32 { return c.row }
func colOf(c cell) int32 { return c.col }

func byCol(x, y cell) int {
	if x.col != y.col {
		return int(x.col - y.col)
	}
	return int(x.row - y.row)
}

func byRow(x, y cell) int {
	if x.row != y.row {
		return int(x.row - y.row)
	}
	return int(x.col - y.col)
}

// disjoint resolves overlaps of clusters on side A. The cluster with the higher level keeps the units (Sanchez-Perez et al. 2014, section
// 3.3), and the other keeps its longest remaining part. The result is in order of A.
func (p *pairing) disjoint(cs []cluster) []cluster {
	slices.SortFunc(cs, func(x, y cluster) int {
		switch {
		case x.level > y.level:
			return -1
		case x.level < y.level:
			return 1
		case x.a0 != y.a0:
			return int(x.a0 - y.a0)
		}
		return int(x.b0 - y.b0)
	})
	taken := make([]bool, len(p.a))
	kept := cs[:0]
	for _, c := range cs {
		from, to, best := c.a0, c.a0, c.a0
		length := int32(0)
		for i := c.a0; i <= c.a1; i++ {
			if i < c.a1 && !taken[i] {
				continue
			}
			if i-best > length {
				from, to, length = best, i, i-best
			}
			best = i + 1
		}
		if length < c.a1-c.a0 {
			var rest []cell
			for _, s := range c.seeds {
				if s.row >= from && s.row < to {
					rest = append(rest, s)
				}
			}
			if len(rest) < p.o.LeastSeeds {
				continue
			}
			level, evidence := c.level, c.evidence
			c = newCluster(rest)
			c.level, c.evidence = level, evidence
		}
		for i := c.a0; i < c.a1; i++ {
			taken[i] = true
		}
		kept = append(kept, c)
	}
	slices.SortFunc(kept, func(x, y cluster) int { return int(x.a0 - y.a0) })
	return kept
}
