package batch

import (
	"cmp"
	"slices"

	"concordat/screen"
)

// Cluster has the documents of a cluster of a batch, and the pairs that hold them together.
type Cluster struct {
	Documents []ClusterDocument // those that belong to it most strongly first
	Pairs     []ViewedPair      // those that count, of two of its documents; the largest share first
	Bridges   []ViewedPair      // those that count, of one of its documents and one of another cluster; sorted likewise
}

// ClusterDocument is how strongly a document belongs to its cluster.
type ClusterDocument struct {
	Member  int     // index into Members
	Pairs   int     // of the cluster that it is in
	Weight  float64 // the sum of their shares
	Largest float64 // of their shares
}

// Details returns the documents and pairs of each cluster, in the order of Clusters.
func (v *View) Details() []Cluster {
	out := make([]Cluster, len(v.Clusters))
	for n, c := range v.Clusters {
		for _, i := range c {
			out[n].Documents = append(out[n].Documents, ClusterDocument{Member: i})
		}
	}
	for _, p := range v.Pairs {
		if !p.Counted() {
			continue
		}
		a, b := v.cluster[p.A], v.cluster[p.B]
		if a != b {
			out[a-1].Bridges, out[b-1].Bridges = append(out[a-1].Bridges, p), append(out[b-1].Bridges, p)
			continue
		}
		one := &out[a-1]
		one.Pairs = append(one.Pairs, p)
		for _, i := range []int{p.A, p.B} {
			at, _ := slices.BinarySearch(v.Clusters[a-1], i)
			d := &one.Documents[at]
			d.Pairs, d.Weight, d.Largest = d.Pairs+1, d.Weight+p.Share(), max(d.Largest, p.Share())
		}
	}
	for _, c := range out {
		slices.SortStableFunc(c.Documents, func(a, b ClusterDocument) int { return cmp.Compare(b.Weight, a.Weight) })
	}
	return out
}

// PairCluster returns the number of the cluster that a pair holds together, from 1; 0: the pair does not count, or joins two
// clusters.
func (v *View) PairCluster(p ViewedPair) int {
	if n := v.cluster[p.A]; p.Counted() && n == v.cluster[p.B] {
		return n
	}
	return 0
}

// Cluster returns the number of the cluster of member i, from 1; 0: none.
func (v *View) Cluster(i int) int { return v.cluster[i] }

// group forms clusters from the pairs that count. Members are in order of name, so the order of submission does not matter.
func (v *View) group() {
	var links []screen.Link
	for _, p := range v.Pairs {
		if p.Counted() {
			links = append(links, screen.Link{A: p.A, B: p.B, Resemblance: p.Share()})
		}
	}
	v.Clusters = screen.Communities(len(v.Members), links)
	v.cluster = map[int]int{}
	for n, c := range v.Clusters {
		for _, i := range c {
			v.cluster[i] = n + 1
		}
	}
}
