package align

import (
	"math"
	"math/bits"
	"slices"
)

// cell is the comparison of unit row of A with unit col of B, which share some words.
type cell struct {
	row, col int32
	sim      float32 // cosine of the two units
	score    float32 // sim plus support from the cells around it
}

// Limits that keep the cost of a pair linear, whatever the texts contain. Normal pairs do not reach them.
const (
	// workPerUnit is the maximum number of products per unit of a pair; the most expensive stems are left out until the rest are below
	// the limit. These stems occur in the most units and so weigh the least.
	workPerUnit = 2000
	// maxCells is the number of cells kept per row or column, the most similar ones.
	maxCells = 48
)

// weights assigns a weight to every stem of both texts, and pairs the ranks of the stems they share.
type weights struct {
	a, b   []float32 // by rank in each text
	common []int32   // rank in A -> index of its postings, or -1
	ofB    []int32   // index of postings -> rank in B
	rare   float32   // weight of a stem found in only one unit of each text
}

// weigh computes ln(N / n) for each stem, where N is the number of units in both texts and n is the number that contain the stem (Salton
// and Buckley 1988 with the pair as the collection, as in Sanchez-Perez et al. 2014).
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
	for i := range t.units {
		out[i] = t.norm(&t.units[i], weight)
	}
	return out
}

func (t *Text) norm(u *unit, weight []float32) float32 {
	var sum float32
	for _, e := range t.entries[u.from:u.to] {
		v := float32(e.count) * weight[e.term]
		sum += v * v
	}
	return float32(math.Sqrt(float64(sum)))
}

// posting is a unit of B that contains a stem, and the stem's weight there.
type posting struct {
	unit   int32
	weight float32
}

// stemIn is a stem found in both texts, by its index, with its weight in a unit.
type stemIn struct {
	stem   int32
	weight float32
}

// postings lists, for each stem found in both texts, the units of B that contain it and, for each unit, these stems.
type postings struct {
	list   []posting // stem i has list[at[i]:at[i+1]]
	at     []int32
	stems  []stemIn // unit u has stems[from[u]:from[u+1]], in order
	from   []int32
	norms  []float32 // vector lengths of units
	most   []float32 // for each stem, the maximum ratio of its weight to a unit's vector length
	common []int32   // rank in A -> index of a stem, or -1
}

func (w *weights) postings(b *Text) *postings {
	p := &postings{at: make([]int32, len(w.ofB)+1), from: make([]int32, len(b.units)+1), norms: b.norms(w.b),
		most: make([]float32, len(w.ofB)), common: w.common}
	index := make([]int32, len(b.terms))
	for i := range index {
		index[i] = -1
	}
	for i, rb := range w.ofB {
		if w.b[rb] > 0 {
			index[rb] = int32(i)
		}
		p.at[i+1] = p.at[i]
		if w.b[rb] > 0 {
			p.at[i+1] += b.spread[rb]
		}
	}
	p.list, p.stems = make([]posting, p.at[len(w.ofB)]), make([]stemIn, 0, p.at[len(w.ofB)])
	next := slices.Clone(p.at)
	for u := range b.units {
		for _, e := range b.entries[b.units[u].from:b.units[u].to] {
			if i := index[e.term]; i >= 0 {
				weight := float32(e.count) * w.b[e.term]
				p.list[next[i]] = posting{int32(u), weight}
				next[i]++
				p.stems = append(p.stems, stemIn{i, weight})
				p.most[i] = max(p.most[i], weight/p.norms[u])
			}
		}
		p.from[u+1] = int32(len(p.stems))
	}
	return p
}

// row compares units of A, one at a time, with the units of B.
type row struct {
	*postings
	floor   float32
	here    []stemIn  // stems of the unit that also occur in B, in order
	rest    []stemIn  // stems of here with postings to read
	weights []float32 // weights of here by stem, 0 for all others
	dot     []float32 // product over the stems in rest, by unit of B
	touched []int32   // units of B with nonzero dot
}

const (
	// lowShare is the share of the floor that a unit's stems with the longest lists can contribute together. Their postings are not read,
	// since a unit of B that shares only these stems is below the floor (Bayardo, Ma and Srikant 2007, section 4.2).
	lowShare = 0.5
	// rounding relaxes a bound before it is used to rule anything out.
	rounding = 1.001
)

// compare returns the cells with cosine and Dice measure above the floor, ordered by row, then column.
func compare(a, b *Text, w *weights, o *Options) []cell {
	p := w.postings(b)
	r := &row{postings: p, floor: float32(o.Floor), weights: make([]float32, len(p.most)), dot: make([]float32, len(b.units)),
		touched: make([]int32, 0, len(b.units))}
	var cells []cell
	for i := range a.units {
		begin := len(cells)
		cells = r.cells(cells, a, int32(i), w.a)
		cells = append(cells[:begin], strongest(cells[begin:])...)
		slices.SortFunc(cells[begin:], byCol)
	}
	return thin(cells, len(b.units))
}

// cells appends the cells for unit i of A that are above the floor. If there are at least 4*maxCells, it appends only the most similar
// and a few others.
func (r *row) cells(out []cell, a *Text, i int32, weight []float32) []cell {
	u := &a.units[i]
	r.here = r.here[:0]
	for _, e := range a.entries[u.from:u.to] {
		if c := r.common[e.term]; c >= 0 && r.at[c] < r.at[c+1] {
			r.here = append(r.here, stemIn{c, float32(e.count) * weight[e.term]})
		}
	}
	if len(r.here) == 0 {
		return out
	}
	x := a.norm(u, weight)
	most := r.choose(x)
	if len(r.rest) == 0 {
		return out
	}
	r.multiply(r.rest)
	for _, s := range r.here {
		r.weights[s.stem] = s.weight
	}
	begin := len(out)
	for _, j := range r.touched {
		d, y := r.dot[j], r.norms[j]
		r.dot[j] = 0
		if most > 0 {
			if d = (d + most*y) * rounding; d <= r.floor*x*y || 2*d <= r.floor*(x*x+y*y) {
				continue
			}
			d = r.product(j)
		}
		if r.above(d, r.floor, x, y) {
			out = append(out, cell{row: i, col: j, sim: d / (x * y)})
		}
	}
	r.touched = r.touched[:0]
	for _, s := range r.here {
		r.weights[s.stem] = 0
	}
	if len(out)-begin >= 4*maxCells {
		out = r.crowded(out[:begin], i, x)
	}
	return out
}

// above reports whether the product of two vectors of lengths x and y exceeds a minimum cosine and the floor of the Dice measure, which
// on weighted vectors prevents a short unit from matching a long one.
func (r *row) above(d, least, x, y float32) bool { return d > least*x*y && 2*d > r.floor*(x*x+y*y) }

// choose sets rest for a unit with the given vector length, and returns the maximum that the other stems of here can add to the product
// with a unit vector.
func (r *row) choose(length float32) (most float32) {
	var sums [32]float32 // by binary logarithm of the list lengths
	size := func(s stemIn) int { return bits.Len32(uint32(r.at[s.stem+1] - r.at[s.stem])) }
	for _, s := range r.here {
		sums[size(s)] += s.weight * r.most[s.stem]
	}
	budget := lowShare * r.floor * length
	from := len(sums) - 1 // longer lists are not read
	for ; from > 1 && most+sums[from] <= budget; from-- {
		most += sums[from]
	}
	r.rest = r.rest[:0]
	for _, s := range r.here {
		n := size(s)
		if v := s.weight * r.most[s.stem]; n == from && n > 1 && most+v <= budget {
			most += v
		} else if n <= from {
			r.rest = append(r.rest, s)
		}
	}
	return most
}

// multiply adds the products of stems to dot.
func (r *row) multiply(stems []stemIn) {
	for _, s := range stems {
		for _, p := range r.list[r.at[s.stem]:r.at[s.stem+1]] {
			if r.dot[p.unit] == 0 {
				r.touched = append(r.touched, p.unit)
			}
			r.dot[p.unit] += s.weight * p.weight
		}
	}
}

// product returns the product of the unit with unit j of B, added up in the order of stems, as multiply does.
func (r *row) product(j int32) (d float32) {
	for _, s := range r.stems[r.from[j]:r.from[j+1]] {
		if v := r.weights[s.stem]; v > 0 {
			d += v * s.weight
		}
	}
	return d
}

// crowded replaces cells for a unit with so many similar units in B that only the most similar are kept along the way.
func (r *row) crowded(cells []cell, i int32, x float32) []cell {
	r.multiply(r.here)
	begin, least := len(cells), r.floor
	for _, j := range r.touched {
		d, y := r.dot[j], r.norms[j]
		r.dot[j] = 0
		if r.above(d, least, x, y) {
			cells = append(cells, cell{row: i, col: j, sim: d / (x * y)})
			if len(cells)-begin == 4*maxCells {
				cells = cells[:begin+len(strongest(cells[begin:]))]
				least = cells[len(cells)-1].sim
			}
		}
	}
	r.touched = r.touched[:0]
	return cells
}

// strongest moves the most similar cells of a row to the front, and returns up to maxCells of them.
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

// thin keeps the maxCells most similar cells of each column, in row order.
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

// support sets the score of every cell to its similarity plus a share of the best similarity above o.SupportOffset in each of the two
// rows before and after, within two columns. Reused text is rarely just one sentence long, whereas chance resemblance usually is.
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

// rowStarts returns the start of each nonempty row, followed by len(cells).
func rowStarts(cells []cell) []int {
	var starts []int
	for i := range cells {
		if i == 0 || cells[i].row != cells[i-1].row {
			starts = append(starts, i)
		}
	}
	return append(starts, len(cells))
}
