package batch

import (
	"cmp"
	"slices"

	"concordat/screen"
)

// Cluster contains the documents of a cluster in a batch and the pairs that connect them.
type Cluster struct {
	Documents []ClusterDocument // its documents, most strongly connected first
	Pairs     []ViewedPair      // counting pairs within the cluster, largest share first
	Bridges   []ViewedPair      // counting pairs between the cluster and others, in the same order
}

// ClusterDocument is a document of a cluster, with the strength of its connection.
type ClusterDocument struct {
	Member  int     // index into Members
	Pairs   int     // number of the cluster's pairs that involve it
	Weight  float64 // sum of their shares
	Largest float64 // largest of their shares
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

// PairCluster returns the number, from 1, of the cluster that contains a pair, or 0 if the pair does not count or connects two clusters.
func (v *View) PairCluster(p ViewedPair) int {
	if n := v.cluster[p.A]; p.Counted() && n == v.cluster[p.B] {
		return n
	}
	return 0
}

// Cluster returns the number, from 1, of member i's cluster, or 0 if it has none.
func (v *View) Cluster(i int) int { return v.cluster[i] }

// group forms clusters from the counting pairs. Members are ordered by name, so the order of submission does not matter.
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
