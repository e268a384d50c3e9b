package screen

import (
	"cmp"
	"math"
	"slices"
)

// half is the proportion of the weight expected by chance between two documents that is subtracted from their link. With 1, which is
// modularity, a document would leave a group with most of its links for any other group (Fortunato and Barthélemy 2007).
// doc/evaluation/batch.md shows the effect of other values.
const half = 0.5

// Communities returns the groups of n documents joined by links, largest first, then by their first document; each group is in order.
// Every document with a link is in a group, and each group is connected by its links; but unlike [Clusters], it does not join two groups
// because of a few weak links.
//
// First, each document moves to the neighbours' community with which it has most weight beyond half the weight expected by chance. This
// is the first phase of Blondel, Guillaume, Lambiotte and Lefebvre 2008, section 2, with the resolution of Reichardt and Bornholdt 2006.
// 2006. A community that falls into unconnected parts, as Traag, Waltman and van Eck 2019 observed, is divided. The later phases of
// Blondel et al. consider all documents and therefore join small groups in a large set (Fortunato and Barthélemy 2007). Communities
// instead considers only the two communities in question. While the weight between any two exceeds half the weight expected by chance, it
// joins those with the largest ratio.
//
// The weight of a link is its Resemblance to six decimals; of several links between two documents, the largest counts. Links marked Aside
// are ignored. The order of links does not matter; the order of documents matters only among documents of equal weight and number of
// links. Communities takes as long as sorting the links a few times.
func Communities(n int, links []Link) [][]int {
	g := newWeighted(n, links)
	c := make([]int32, n) // community of each document, the number of a document that is or was in it
	for i := range c {
		c[i] = int32(i)
	}
	for again := true; again; {
		g.move(c)
		again = g.part(c)
	}
	g.join(c)
	by := make([][]int, n)
	for i, k := range c {
		by[k] = append(by[k], g.document[i])
	}
	var out [][]int
	for _, d := range by {
		if len(d) > 1 {
			slices.Sort(d)
			out = append(out, d)
		}
	}
	slices.SortFunc(out, func(a, b []int) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a[0], b[0])) })
	return out
}

// weighted is a graph of renumbered documents, heaviest first. Weights are whole millionths, so that sums do not depend on the order of
// addition.
type weighted struct {
	arcs     [][]arc // arcs of each document, ordered by the other document
	weight   []int64 // total weight of each document's arcs
	total    []int64 // total weight of all arcs in each document's connected part
	document []int   // the caller's numbers
}

type arc struct {
	to     int32
	weight int64
}

// bond is an edge between two documents or communities; x is the smaller number.
type bond struct {
	x, y   int32
	weight int64
}

func byEnds(a, b bond) int { return cmp.Or(cmp.Compare(a.x, b.x), cmp.Compare(a.y, b.y)) }

func newWeighted(n int, links []Link) *weighted {
	var bonds []bond
	for _, l := range links {
		if l.A != l.B && !l.Aside {
			w := int64(math.Round(1e6 * min(max(l.Resemblance, 0), 1)))
			bonds = append(bonds, bond{int32(min(l.A, l.B)), int32(max(l.A, l.B)), max(w, 1)})
		}
	}
	slices.SortFunc(bonds, func(a, b bond) int { return cmp.Or(byEnds(a, b), cmp.Compare(b.weight, a.weight)) })
	bonds = slices.CompactFunc(bonds, func(a, b bond) bool { return byEnds(a, b) == 0 })

	weight, count := make([]int64, n), make([]int, n)
	for _, b := range bonds {
		weight[b.x], weight[b.y] = weight[b.x]+b.weight, weight[b.y]+b.weight
		count[b.x], count[b.y] = count[b.x]+1, count[b.y]+1
	}
	g := &weighted{arcs: make([][]arc, n), weight: make([]int64, n), total: make([]int64, n), document: make([]int, n)}
	for i := range g.document {
		g.document[i] = i
	}
	slices.SortStableFunc(g.document, func(a, b int) int { return cmp.Or(cmp.Compare(weight[b], weight[a]), cmp.Compare(count[b], count[a])) })
	number := make([]int32, n)
	for i, d := range g.document {
		number[d], g.weight[i] = int32(i), weight[d]
	}
	together := NewClusters(n)
	for _, b := range bonds {
		x, y := number[b.x], number[b.y]
		g.arcs[x], g.arcs[y] = append(g.arcs[x], arc{y, b.weight}), append(g.arcs[y], arc{x, b.weight})
		together.Join(int(x), int(y))
	}
	sum := make([]int64, n)
	for i, w := range g.weight {
		slices.SortFunc(g.arcs[i], func(a, b arc) int { return cmp.Compare(a.to, b.to) })
		sum[together.root(int32(i))] += w
	}
	for i := range g.total {
		g.total[i] = sum[together.root(int32(i))]
	}
	return g
}

// move moves documents to a neighbour's community while their weight to it, beyond half the weight expected by chance (Newman and Girvan
// 2004, equation 5), exceeds their weight to their own community. A move must gain at least a billionth of the maximum possible gain, so
// that rounding cannot prolong the moves forever.
func (g *weighted) move(c []int32) {
	all, to := make([]int64, len(c)), make([]int64, len(c)) // by community: weight of its documents' arcs, and of the arcs to it
	for i, k := range c {
		all[k] += g.weight[i]
	}
	var near []int32
	for moved := true; moved; {
		moved = false
		for i, own := range c {
			near = near[:0]
			for _, a := range g.arcs[i] {
				k := c[a.to]
				if to[k] == 0 {
					near = append(near, k)
				}
				to[k] += a.weight
			}
			all[own] -= g.weight[i]
			w, total := float64(g.weight[i]), float64(g.total[i])
			// The conversions prevent compilers from fusing the products, which would make results differ between machines.
			gain := func(k int32) float64 { return float64(float64(to[k])*total) - float64(half*w*float64(all[k])) }
			best, most := own, gain(own)+float64(1e-9*w*total)
			for _, k := range near {
				if v := gain(k); v > most {
					best, most = k, v
				}
			}
			for _, k := range near {
				to[k] = 0
			}
			all[best] += g.weight[i]
			if best != own {
				c[i], moved = best, true
			}
		}
	}
}

// part divides communities with unconnected parts and reports whether there were any.
func (g *weighted) part(c []int32) bool {
	together := NewClusters(len(c))
	for i, arcs := range g.arcs {
		for _, a := range arcs {
			if c[i] == c[a.to] {
				together.Join(i, int(a.to))
			}
		}
	}
	before, after := map[int32]bool{}, map[int32]int32{} // communities before, and the first document of each part
	for i, k := range c {
		before[k] = true
		r := together.root(int32(i))
		first, ok := after[r]
		if !ok {
			first = int32(i)
			after[r] = first
		}
		c[i] = first
	}
	return len(after) > len(before)
}

// join unites pairs of communities while the weight between them exceeds the allowed one. Each round unites the pairs that are each
// other's best.
func (g *weighted) join(c []int32) {
	inner, into := make([]int64, len(c)), make([]int32, len(c))
	var bonds []bond
	for i, arcs := range g.arcs {
		into[i] = int32(i)
		for _, a := range arcs {
			switch x, y := c[i], c[a.to]; {
			case int(a.to) < i: // counted from the other end
			case x == y:
				inner[x] += a.weight
			default:
				bonds = append(bonds, bond{min(x, y), max(x, y), a.weight})
			}
		}
	}
	best := make([]int32, len(c)) // index in bonds, from 1, of each community's best bond
	for joined := true; joined; {
		joined = false
		bonds = summed(bonds)
		ratio := make([]float64, len(bonds))
		clear(best)
		for i, b := range bonds {
			ratio[i] = b.ratio(inner)
			for _, k := range []int32{b.x, b.y} {
				// The order is strict, so the best bond of all is the best for both its ends.
				if o := best[k] - 1; o < 0 || cmp.Or(cmp.Compare(ratio[i], ratio[o]), cmp.Compare(b.weight, bonds[o].weight)) > 0 {
					best[k] = int32(i) + 1
				}
			}
		}
		for i, b := range bonds {
			if n := int32(i) + 1; best[b.x] == n && best[b.y] == n && ratio[i] > half {
				into[b.y] = b.x
				inner[b.x] += inner[b.y] + b.weight
				joined = true
			}
		}
		for i, b := range bonds {
			x, y := into[b.x], into[b.y]
			bonds[i].x, bonds[i].y = min(x, y), max(x, y)
		}
		bonds = slices.DeleteFunc(bonds, func(b bond) bool { return b.x == b.y })
	}
	for i, k := range c {
		for into[k] != k {
			into[k] = into[into[k]]
			k = into[k]
		}
		c[i] = k
	}
}

// summed returns one bond per pair of communities.
func summed(bonds []bond) []bond {
	slices.SortFunc(bonds, byEnds)
	out := bonds[:0]
	for _, b := range bonds {
		if n := len(out); n > 0 && byEnds(out[n-1], b) == 0 {
			out[n-1].weight += b.weight
		} else {
			out = append(out, b)
		}
	}
	return out
}

// ratio returns the weight between two communities divided by the weight expected by chance if there were no others, which is the product
// of their documents' weights divided by the total weight.
func (b bond) ratio(inner []int64) float64 {
	between, x, y := float64(b.weight), float64(inner[b.x]), float64(inner[b.y])
	return between * (2 * (x + y + between)) / ((2*x + between) * (2*y + between))
}
