package screen_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"concordat/minhash"
	"concordat/screen"
	"concordat/segment"
)

// TestShingles: "a rose is a rose is a rose" has three different shingles of four words (Broder
// 1997, section 2).
func TestShingles(t *testing.T) {
	text, err := segment.Split("A rose is a rose is a rose.")
	if err != nil {
		t.Fatal(err)
	}
	got := screen.Shingling{Width: 4}.Append(text, nil)
	if len(got) != 5 {
		t.Fatalf("%d shingles, want 5", len(got))
	}
	if slices.Sort(got); len(slices.Compact(got)) != 3 {
		t.Errorf("%d different shingles, want 3", len(slices.Compact(got)))
	}
	for _, s := range []screen.Shingling{{Width: 99}, {Width: 99, Letters: true}} {
		if got := s.Append(text, nil); len(got) != 1 {
			t.Errorf("%+v: %d shingles of a short text, want 1", s, len(got))
		}
	}
	if got := (screen.Shingling{Width: 3, Letters: true}).Append(text, nil); len(got) != len("aroseisaroseisarose")-2 {
		t.Errorf("%d runs of three letters", len(got))
	}
	empty, err := segment.Split(" ... ")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []screen.Shingling{{Width: 2}, {Width: 2, Letters: true}} {
		if got := s.Append(empty, nil); len(got) != 0 {
			t.Errorf("%+v: %d shingles of nothing", s, len(got))
		}
	}
}

// library returns sets of shingles: some similar, some contained in others, some empty.
func library(rng *rand.Rand, n int) [][]uint64 {
	out := make([][]uint64, n)
	for i := range out {
		size := rng.IntN(300)
		if i > 0 && i%2 == 0 {
			from := out[rng.IntN(i)]
			out[i] = slices.Clone(from[:rng.IntN(len(from)+1)])
			size /= 4
		}
		for range size {
			out[i] = append(out[i], rng.Uint64())
		}
	}
	return out
}

// TestSketchPairsIsBruteForce compares the result with the estimates of all pairs, in one call and in parts.
func TestSketchPairsIsBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	s := minhash.NewShingler(nil)
	var sketches []minhash.MinSketch
	for _, set := range library(rng, 400) {
		sketches = append(sketches, s.Min(set, 100))
	}
	for _, o := range []screen.SketchOptions{{Threshold: 0.3}, {Threshold: 0.6, Contained: true}} {
		var want []screen.SketchPair
		for a := range sketches {
			for b := a + 1; b < len(sketches); b++ {
				p := screen.SketchPair{A: a, B: b}
				p.Resemblance, p.ContainedA, p.ContainedB = minhash.MinEstimates(sketches[a], sketches[b])
				v := p.Resemblance.Value()
				if o.Contained {
					v = max(p.ContainedA.Value(), p.ContainedB.Value())
				}
				if v >= o.Threshold {
					want = append(want, p)
				}
			}
		}
		var got []screen.SketchPair
		emit := func(p screen.SketchPair) bool { got = append(got, p); return true }
		for _, part := range [][2]int{{0, 133}, {133, 134}, {134, 400}} {
			if _, err := screen.SketchPairs(sketches, o, part[0], part[1], emit); err != nil {
				t.Fatal(err)
			}
		}
		if !slices.Equal(got, want) || len(want) < 30 {
			t.Errorf("%+v: got %d pairs, want %d, at least 30", o, len(got), len(want))
		}
	}
}

// TestCommonShingles: a group of more copies than Common remains one cluster.
func TestCommonShingles(t *testing.T) {
	s := minhash.NewShingler(nil)
	sketches := make([]minhash.MinSketch, 100)
	for i := range sketches {
		sketches[i] = s.Min([]uint64{1, 2, 3, uint64(10 + i)}, 100)
	}
	c := screen.NewClusters(len(sketches))
	n := 0
	common, err := screen.SketchPairs(sketches, screen.SketchOptions{Threshold: 0.5, Common: 10}, 0, 0, func(p screen.SketchPair) bool {
		n++
		c.Join(p.A, p.B)
		return true
	})
	if err != nil || common != 3 {
		t.Errorf("%d common values, want 3; %v", common, err)
	}
	if g := c.Groups(); len(g) != 1 || len(g[0]) != 100 || n > 1000 {
		t.Errorf("%d groups, %d pairs; want one group, at most 1000 pairs", len(g), n)
	}
}

// TestClusters compares the clusters with a flood fill.
func TestClusters(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const n = 300
	c := screen.NewClusters(n)
	edges := map[int][]int{}
	for range 200 {
		a, b := rng.IntN(n), rng.IntN(n)
		c.Join(a, b)
		edges[a], edges[b] = append(edges[a], b), append(edges[b], a)
	}
	label := make([]int, n)
	var fill func(i, l int)
	fill = func(i, l int) {
		if label[i] == 0 {
			label[i] = l
			for _, j := range edges[i] {
				fill(j, l)
			}
		}
	}
	sizes := map[int]int{}
	for i := range n {
		fill(i, i+1)
		sizes[label[i]]++
	}
	groups, in := c.Groups(), 0
	for gi, g := range groups {
		in += len(g)
		if gi > 0 && len(g) > len(groups[gi-1]) {
			t.Error("groups do not fall in size")
		}
		for _, d := range g {
			if label[d] != label[g[0]] || len(edges[d]) > len(edges[g[0]]) {
				t.Errorf("document %d of the group of %d: another group, or more pairs than the representative", d, g[0])
			}
		}
		if sizes[label[g[0]]] != len(g) {
			t.Errorf("group of %d documents, want %d", len(g), sizes[label[g[0]]])
		}
		if !slices.IsSorted(slices.DeleteFunc(slices.Clone(g), func(d int) bool { return d == g[0] })) {
			t.Error("members are out of order")
		}
	}
	for _, size := range sizes {
		if size > 1 {
			in -= size
		}
	}
	if in != 0 {
		t.Errorf("groups and fills differ by %d documents", in)
	}
}
