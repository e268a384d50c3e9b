package align

import (
	"math"
	"slices"
)

// cell is one comparison of unit row of A with unit col of B that shares something.
type cell struct {
	row, col int32
	sim      float32 // cosine of the two units
	score    float32 // sim with the support of the cells around it
}

// Bounds that keep a pair linear, whatever the texts hold. Ordinary pairs reach none of them.
const (
	// workPerUnit bounds the products of one pair: the stems that cost most, which are those held by
	// most units and so weigh least, are left out until the rest keeps below this many for each unit.
	workPerUnit = 2000
	// maxCells is how many cells a row or a column keeps, the most similar.
	maxCells = 48
)

// weights gives every stem of both texts its weight and pairs the ranks of the stems they share.
type weights struct {
	a, b   []float32 // by rank of each text
	common []int32   // rank in A -> index of its postings, or -1
	ofB    []int32   // index of postings -> rank in B
	rare   float32   // weight of a stem that one unit of each text holds and nothing else
}

// weigh computes ln(N / n) for each stem, N being the units of both texts and n those that hold the
// stem (Salton and Buckley 1988 with the pair for collection, as Sanchez-Perez et al. 2014 do).
func weigh(a, b *Text, o *Options) *weights {
	w := &weights{
		a: make([]float32, len(a.terms)), b: make([]float32, len(b.terms)),
		common: make([]int32, len(a.terms)),
	}
	n := float64(len(a.units)+len(b.units)) + o.Background
	w.rare = float32(math.Log(max(n/2, 2)))
	idf := func(held int32, stop bool) float32 {
		if stop {
			return float32(math.Log(n / (float64(held) + o.Background/2)))
		}
		return float32(math.Log(n / float64(held)))
	}
	type costly struct{ cost, ra int }
	var costs []costly
	total := 0
	j := 0
	for i, h := range a.terms {
		for ; j < len(b.terms) && b.terms[j] < h; j++ {
			w.b[j] = idf(b.spread[j], b.stops[j])
		}
		w.common[i] = -1
		if j == len(b.terms) || b.terms[j] != h {
			w.a[i] = idf(a.spread[i], a.stops[i])
			continue
		}
		v := idf(a.spread[i]+b.spread[j], a.stops[i] || b.stops[j])
		w.a[i], w.b[j] = v, v
		if v > 0 {
			w.common[i] = int32(len(w.ofB))
			w.ofB = append(w.ofB, int32(j))
			cost := int(a.spread[i]) * int(b.spread[j])
			costs = append(costs, costly{cost, i})
			total += cost
		}
		j++
	}
	for ; j < len(b.terms); j++ {
		w.b[j] = idf(b.spread[j], b.stops[j])
	}
	if most := workPerUnit * (len(a.units) + len(b.units)); total > most {
		slices.SortFunc(costs, func(x, y costly) int {
			if x.cost != y.cost {
				return y.cost - x.cost
			}
			return x.ra - y.ra
		})
		for _, c := range costs {
			if total <= most {
				break
			}
			total -= c.cost
			w.b[w.ofB[w.common[c.ra]]] = 0
			w.a[c.ra], w.common[c.ra] = 0, -1
		}
	}
	return w
}

// norms returns the length of each unit's vector.
func (t *Text) norms(weight []float32) []float32 {
	out := make([]float32, len(t.units))
	for i, u := range t.units {
		var sum float32
		for _, e := range t.entries[u.from:u.to] {
			v := float32(e.count) * weight[e.term]
			sum += v * v
		}
		out[i] = float32(math.Sqrt(float64(sum)))
	}
	return out
}

// posting is one unit of B that holds a stem, with the stem's weight in it.
type posting struct {
	unit   int32
	weight float32
}

// postings lists the units of B for each shared stem; those of stem i are list[at[i]:at[i+1]].
func (w *weights) postings(b *Text) (list []posting, at []int32) {
	at = make([]int32, len(w.ofB)+1)
	index := make([]int32, len(b.terms))
	for i := range index {
		index[i] = -1
	}
	for i, rb := range w.ofB {
		if w.b[rb] > 0 {
			index[rb] = int32(i)
		}
		at[i+1] = at[i]
		if w.b[rb] > 0 {
			at[i+1] += b.spread[rb]
		}
	}
	list = make([]posting, at[len(w.ofB)])
	next := slices.Clone(at)
	for u := range b.units {
		for _, e := range b.entries[b.units[u].from:b.units[u].to] {
			if i := index[e.term]; i >= 0 {
				list[next[i]] = posting{int32(u), float32(e.count) * w.b[e.term]}
				next[i]++
			}
		}
	}
	return list, at
}

// compare returns the cells whose cosine and dice measure are above the floor, by row, then column.
func compare(a, b *Text, w *weights, o *Options) []cell {
	list, at := w.postings(b)
	na, nb := a.norms(w.a), b.norms(w.b)
	dot := make([]float32, len(b.units))
	touched := make([]int32, 0, len(b.units))
	floor := float32(o.Floor)
	var cells []cell
	for i, u := range a.units {
		for _, e := range a.entries[u.from:u.to] {
			c := w.common[e.term]
			if c < 0 {
				continue
			}
			v := float32(e.count) * w.a[e.term]
			for _, p := range list[at[c]:at[c+1]] {
				if dot[p.unit] == 0 {
					touched = append(touched, p.unit)
				}
				dot[p.unit] += v * p.weight
			}
		}
		begin, least := len(cells), floor
		for _, j := range touched {
			d := dot[j]
			dot[j] = 0
			x, y := na[i], nb[j]
			// Dice's measure on weighted vectors keeps a short unit from matching a long one.
			if d > least*x*y && 2*d > floor*(x*x+y*y) {
				cells = append(cells, cell{row: int32(i), col: j, sim: d / (x * y)})
				if len(cells)-begin == 4*maxCells {
					cells = cells[:begin+len(strongest(cells[begin:]))]
					least = cells[len(cells)-1].sim
				}
			}
		}
		touched = touched[:0]
		cells = append(cells[:begin], strongest(cells[begin:])...)
		slices.SortFunc(cells[begin:], byCol)
	}
	return thin(cells, len(b.units))
}

// strongest moves the most similar cells of a row to its front and returns at most maxCells.
func strongest(row []cell) []cell {
	if len(row) <= maxCells {
		return row
	}
	slices.SortFunc(row, func(x, y cell) int {
		switch {
		case x.sim > y.sim:
			return -1
		case x.sim < y.sim:
			return 1
		}
		return int(x.col - y.col)
	})
	return row[:maxCells]
}

// thin leaves each column at most maxCells cells, the most similar, in the order of rows.
func thin(cells []cell, cols int) []cell {
	held := make([]int32, cols)
	over := false
	for i := range cells {
		held[cells[i].col]++
		over = over || held[cells[i].col] > maxCells
	}
	if !over {
		return cells
	}
	byCol := slices.Clone(cells)
	slices.SortFunc(byCol, func(x, y cell) int {
		switch {
		case x.col != y.col:
			return int(x.col - y.col)
		case x.sim > y.sim:
			return -1
		case x.sim < y.sim:
			return 1
		}
		return int(x.row - y.row)
	})
	kept := cells[:0]
	for i := range byCol {
		if i < maxCells || byCol[i-maxCells].col != byCol[i].col {
			kept = append(kept, byCol[i])
		}
	}
	slices.SortFunc(kept, func(x, y cell) int {
		if x.row != y.row {
			return int(x.row - y.row)
		}
		return int(x.col - y.col)
	})
	return kept
}

// support sets the score of every cell: its similarity and a share of the best similarity above
// o.SupportOffset in each of the two rows before and after, within two columns. Reused text is rarely one sentence
// long, chance likeness mostly is.
func support(cells []cell, o *Options) {
	const reach = 2
	starts := rowStarts(cells)
	type row struct{ from, to, at int }
	for r := range starts[:len(starts)-1] {
		from, to := starts[r], starts[r+1]
		here := cells[from].row
		var around [2 * reach]row
		n := 0
		for q := r - reach; q <= r+reach; q++ {
			if q == r || q < 0 || q >= len(starts)-1 {
				continue
			}
			d := cells[starts[q]].row - here
			if d >= -reach && d <= reach {
				around[n] = row{starts[q], starts[q+1], starts[q]}
				n++
			}
		}
		for i := from; i < to; i++ {
			c := &cells[i]
			sum := 0.0
			for k := range around[:n] {
				q := &around[k]
				d := cells[q.from].row - here
				lo, hi := c.col-reach, c.col+reach
				if o.SupportInOrder {
					if d > 0 {
						lo = c.col
					} else {
						hi = c.col
					}
				}
				for q.at < q.to && cells[q.at].col < lo {
					q.at++
				}
				best := float32(0)
				for x := q.at; x < q.to && cells[x].col <= hi; x++ {
					best = max(best, cells[x].sim)
				}
				if v := float64(best) - o.SupportOffset; v > 0 {
					if d == 1 || d == -1 {
						sum += v
					} else {
						sum += v * o.SupportFar
					}
				}
			}
			c.score = c.sim + float32(o.Support*sum)
		}
	}
}

// rowStarts returns where each row that has cells begins, and len(cells).
func rowStarts(cells []cell) []int {
	var starts []int
	for i := range cells {
		if i == 0 || cells[i].row != cells[i-1].row {
			starts = append(starts, i)
		}
	}
	return append(starts, len(cells))
}
