package screen

import (
	"cmp"
	"slices"
)

// Clusters joins documents into groups by pairs (union-find with path halving and union by size; Tarjan 1975). The zero value contains no
// documents. It is not safe for concurrent use.
type Clusters struct {
	parent []int32
	size   []int32
	links  []int32
}

// NewClusters returns n documents, each in its own group.
func NewClusters(n int) *Clusters {
	c := &Clusters{parent: make([]int32, n), size: make([]int32, n), links: make([]int32, n)}
	for i := range c.parent {
		c.parent[i], c.size[i] = int32(i), 1
	}
	return c
}

// Join unites the groups of a and b.
func (c *Clusters) Join(a, b int) {
	c.links[a]++
	c.links[b]++
	x, y := c.root(int32(a)), c.root(int32(b))
	if x == y {
		return
	}
	if c.size[x] < c.size[y] {
		x, y = y, x
	}
	c.parent[y] = x
	c.size[x] += c.size[y]
}

func (c *Clusters) root(i int32) int32 {
	for c.parent[i] != i {
		c.parent[i] = c.parent[c.parent[i]]
		i = c.parent[i]
	}
	return i
}

// Groups returns the groups of two or more documents, largest first, then by their first document. The first document of each group is
// its representative, which is the one with most pairs, or the earliest of these; the others follow in order.
func (c *Clusters) Groups() [][]int {
	by := map[int32]int{}
	var out [][]int
	for i := range c.parent {
		r := c.root(int32(i))
		if c.size[r] < 2 {
			continue
		}
		g, ok := by[r]
		if !ok {
			g = len(out)
			by[r] = g
			out = append(out, nil)
		}
		out[g] = append(out[g], i)
	}
	slices.SortStableFunc(out, func(a, b []int) int { return cmp.Compare(len(b), len(a)) })
	for _, g := range out {
		best := 0
		for i, d := range g {
			if c.links[d] > c.links[g[best]] {
				best = i
			}
		}
		d := g[best]
		copy(g[1:best+1], g[:best])
		g[0] = d
	}
	return out
}
