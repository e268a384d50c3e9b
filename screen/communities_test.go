package screen_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"concordat/screen"
)

// links returns the links between consecutive documents, or between any two if all is set.
func links(all bool, share float64, docs ...int) (out []screen.Link) {
	for i, a := range docs {
		for j, b := range docs[i+1:] {
			if all || j == 0 {
				out = append(out, screen.Link{A: a, B: b, Resemblance: share})
			}
		}
	}
	return out
}

func clique(share float64, docs ...int) []screen.Link { return links(true, share, docs...) }
func chain(share float64, docs ...int) []screen.Link  { return links(false, share, docs...) }

// span returns the numbers from a up to, but excluding, b.
func span(a, b int) (out []int) {
	for i := a; i < b; i++ {
		out = append(out, i)
	}
	return out
}

func TestCommunities(t *testing.T) {
	joined := slices.Concat[[]screen.Link]
	for _, c := range []struct {
		name  string
		links []screen.Link
		want  [][]int
	}{
		{"nothing", nil, nil},
		{"a pair", chain(0.3, 4, 2), [][]int{{2, 4}}},
		{"a weak pair beside a strong group", joined(clique(0.9, 0, 1, 2), chain(0.1, 3, 4)), [][]int{{0, 1, 2}, {3, 4}}},
		{"drafts copied on", chain(0.8, 0, 1, 2), [][]int{{0, 1, 2}}},
		{"drafts copied on, with the first in the last", joined(chain(0.8, 0, 1, 2, 3), chain(0.4, 0, 2), chain(0.4, 1, 3), chain(0.3, 0, 3)),
			[][]int{{0, 1, 2, 3}}},
		{"five in a row", chain(0.6, 0, 1, 2, 3, 4), [][]int{span(0, 5)}},
		{"a ring, each with two others", chain(0.5, 0, 1, 2, 3, 4, 0), [][]int{span(0, 5)}},
		{"a ring with one block", clique(0.34, 0, 1, 2, 3, 4), [][]int{span(0, 5)}},
		{"one source of many", joined(chain(0.5, 9, 0), chain(0.6, 9, 1), chain(0.7, 9, 2), chain(0.4, 9, 3)), [][]int{{0, 1, 2, 3, 9}}},
		{"all of fifty", clique(0.5, span(0, 50)...), [][]int{span(0, 50)}},
		{"two groups and a bridge", joined(clique(0.5, 0, 1, 2), clique(0.5, 3, 4, 5), chain(0.5, 2, 3)), [][]int{{0, 1, 2}, {3, 4, 5}}},
		{"two groups and a strong bridge", joined(clique(0.4, 0, 1, 2, 3, 4), clique(0.4, 5, 6, 7, 8, 9), chain(0.95, 4, 5)),
			[][]int{span(0, 5), span(5, 10)}},
		{"two pairs and a weak bridge", joined(chain(0.9, 0, 1), chain(0.9, 2, 3), chain(0.3, 1, 2)), [][]int{{0, 1}, {2, 3}}},
		{"a large group, a small one and a bridge", joined(clique(0.5, span(0, 40)...), clique(0.5, 40, 41, 42), chain(0.5, 0, 40)),
			[][]int{span(0, 40), {40, 41, 42}}},
		{"a group and a pair that hangs on it", joined(clique(0.5, 0, 1, 2, 3), chain(0.5, 4, 5), chain(0.5, 3, 4)),
			[][]int{{0, 1, 2, 3}, {4, 5}}},
		{"a document that has a little of two groups", joined(clique(0.9, span(0, 6)...), clique(0.9, span(6, 12)...), chain(0.4, 0, 12),
			chain(0.3, 12, 6)),
			[][]int{{0, 1, 2, 3, 4, 5, 12}, span(6, 12)}},
		{"a pair said twice, aside, or with itself", []screen.Link{{A: 0, B: 1, Resemblance: 0.2}, {A: 1, B: 0, Resemblance: 0.9},
			{A: 1, B: 2, Resemblance: 1, Aside: true}, {A: 3, B: 3, Resemblance: 1}},
			[][]int{{0, 1}}},
	} {
		if d := cmp.Diff(c.want, screen.Communities(60, c.links)); d != "" {
			t.Errorf("%s: %s", c.name, d)
		}
	}
}

// TestCommunitiesManySmall tests the limit of Fortunato and Barthélemy 2007: groups in a ring, each joined to the next by one link. With
// many groups, maximising the modularity of the whole joins neighbours.
func TestCommunitiesManySmall(t *testing.T) {
	var all []screen.Link
	var want [][]int
	const groups, size = 200, 4
	for k := range groups {
		docs := span(k*size, k*size+size)
		all = append(append(all, clique(0.5, docs...)...), chain(0.5, docs[size-1], (k+1)%groups*size)...)
		want = append(want, docs)
	}
	if d := cmp.Diff(want, screen.Communities(groups*size, all)); d != "" {
		t.Error(d)
	}
}

// plan describes how documents in groups are linked.
type plan struct {
	name           string
	size           func(r *rand.Rand, first bool) int // size of the next group
	within, across float64                            // probability of a link between two documents
	most           float64                            // maximum across groups; the minimum is 0.3, and the maximum within groups is 1
	drafts         bool                               // within a group, each draft keeps 0.7 of the previous one, and no link is random
}

func fixed(size int) func(*rand.Rand, bool) int { return func(*rand.Rand, bool) int { return size } }

// mixed returns sizes of 1 to 60 documents, mostly small.
func mixed(r *rand.Rand, _ bool) int {
	if r.Float64() < 0.03 {
		return 20 + r.IntN(30)
	}
	size := 1
	for size < 60 && r.Float64() < 0.7 {
		size++
	}
	return size
}

// links returns the group of each of n documents, and links according to the plan.
func (p plan) links(r *rand.Rand, n int) (group []int, out []screen.Link) {
	for k := 0; len(group) < n; k++ {
		for range p.size(r, k == 0) {
			group = append(group, k)
		}
	}
	group = group[:n]
	for a := range n {
		for b := range a {
			same := group[a] == group[b]
			if p.drafts && same {
				if share := math.Pow(0.7, float64(a-b)); share >= 0.3 {
					out = append(out, screen.Link{A: a, B: b, Resemblance: share})
				}
				continue
			}
			chance, most := p.across, p.most
			if same {
				chance, most = p.within, 1
			}
			if r.Float64() < chance {
				out = append(out, screen.Link{A: a, B: b, Resemblance: 0.3 + r.Float64()*(most-0.3)})
			}
		}
	}
	return group, out
}

// TestCommunitiesInvariants: for any links, each document with a link is in a group, each group is connected, and the order of links, the
// order of documents and the direction of a link do not matter.
func TestCommunitiesInvariants(t *testing.T) {
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		const n = 150
		_, all := plan{size: mixed, within: r.Float64(), across: r.Float64() * r.Float64() * 0.1, most: r.Float64()}.links(r, n)
		got := screen.Communities(n, all)
		in := map[int]int{}
		for k, docs := range got {
			for _, d := range docs {
				in[d] = k + 1
			}
		}
		hang := screen.NewClusters(n)
		for _, l := range all {
			if in[l.A] == 0 || in[l.B] == 0 {
				t.Fatalf("seed %d: %v is in no group", seed, l)
			}
			if in[l.A] == in[l.B] {
				hang.Join(l.A, l.B)
			}
		}
		if parts := hang.Groups(); len(parts) != len(got) {
			t.Fatalf("seed %d: %d groups hang together as %d", seed, len(got), len(parts))
		}
		number := r.Perm(n) // number of each document in a different order
		other := make([]screen.Link, len(all))
		for i, j := range r.Perm(len(all)) {
			l := all[j]
			other[i] = screen.Link{A: number[l.A], B: number[l.B], Resemblance: l.Resemblance}
			if r.IntN(2) == 0 {
				other[i].A, other[i].B = other[i].B, other[i].A
			}
		}
		want := make([][]int, len(got))
		for k, docs := range got {
			for _, d := range docs {
				want[k] = append(want[k], number[d])
			}
			slices.Sort(want[k])
		}
		again := screen.Communities(n, other)
		slices.SortFunc(want, slices.Compare)
		slices.SortFunc(again, slices.Compare)
		if d := cmp.Diff(want, again); d != "" {
			t.Fatalf("seed %d, in another order: %s", seed, d)
		}
	}
}

// TestCommunitiesPlanted: planted groups are recovered among links that join arbitrary documents.
func TestCommunitiesPlanted(t *testing.T) {
	const n, rounds = 400, 8
	for _, c := range []struct {
		plan
		least float64 // minimum mean Rand index, adjusted for chance
	}{
		{plan{"of five", fixed(5), 0.9, 0.5 / n, 0.5, false}, 0.99},
		{plan{"of one to three", func(r *rand.Rand, _ bool) int { return 1 + r.IntN(3) }, 0.9, 0.5 / n, 0.5, false}, 0.8},
		{plan{"mixed", mixed, 0.9, 0.5 / n, 0.5, false}, 0.94},
		{plan{"mixed, half of the links within", mixed, 0.5, 0.5 / n, 0.5, false}, 0.88},
		{plan{"mixed, three times the bridges", mixed, 0.9, 1.5 / n, 0.4, false}, 0.92},
		{plan{"mixed, three times the bridges, any share", mixed, 0.9, 1.5 / n, 1, false}, 0.8},
		{plan{"one of 200, others of one to five", func(r *rand.Rand, first bool) int {
			if first {
				return n / 2
			}
			return 1 + r.IntN(5)
		}, 0.9, 0.5 / n, 0.5, false}, 0.96},
		{plan{"drafts, 3 to 12 of each", func(r *rand.Rand, _ bool) int { return 3 + r.IntN(10) }, 0, 0.5 / n, 0.5, true}, 0.94},
	} {
		found, single := 0.0, 0.0
		for seed := range uint64(rounds) {
			group, all := c.links(rand.New(rand.NewPCG(seed, 9)), n)
			found += randIndex(group, screen.Communities(n, all))
			joined := screen.NewClusters(n)
			for _, l := range all {
				joined.Join(l.A, l.B)
			}
			single += randIndex(group, joined.Groups())
		}
		t.Logf("%-42s %.3f, of single linkage %.3f", c.name, found/rounds, single/rounds)
		if found/rounds < c.least {
			t.Errorf("%s: adjusted Rand index %.3f, want %.2f", c.name, found/rounds, c.least)
		}
	}
}

// randIndex compares groups with the planted ones: 1 if they are equal, 0 if they agree only by chance (Hubert and Arabie 1985).
func randIndex(group []int, groups [][]int) float64 {
	pairs := func(k int) float64 { return float64(k) * float64(k-1) / 2 }
	both, found, truth := 0.0, 0.0, 0.0
	size := map[int]int{}
	for _, k := range group {
		size[k]++
	}
	for _, k := range size {
		truth += pairs(k)
	}
	for _, docs := range groups {
		at := map[int]int{}
		for _, d := range docs {
			at[group[d]]++
		}
		for _, k := range at {
			both += pairs(k)
		}
		found += pairs(len(docs))
	}
	chance := found * truth / pairs(len(group))
	return (both - chance) / ((found+truth)/2 - chance)
}

func BenchmarkCommunities(b *testing.B) {
	for _, n := range []int{400, 2000, 10000} {
		_, all := plan{size: mixed, within: 0.9, across: 2 / float64(n), most: 0.5}.links(rand.New(rand.NewPCG(1, 3)), n)
		b.Run(fmt.Sprintf("documents=%d/links=%d", n, len(all)), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				screen.Communities(n, all)
			}
		})
	}
	for _, n := range []int{400, 2000} {
		all := clique(0.5, span(0, n)...)
		b.Run(fmt.Sprintf("alike=%d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				screen.Communities(n, all)
			}
		})
	}
	var star []screen.Link // a source, with several pairs joined to it
	for k := range 3000 {
		star = append(star, screen.Link{A: 0, B: 2*k + 1, Resemblance: 0.5}, screen.Link{A: 2*k + 1, B: 2*k + 2, Resemblance: 0.5})
	}
	b.Run("star=6001", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			screen.Communities(6001, star)
		}
	})
}
