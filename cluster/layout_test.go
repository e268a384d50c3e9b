package cluster_test

import (
	"fmt"
	"slices"
	"testing"

	"concordat/cluster"
	"concordat/cluster/coord"
)

func layoutOf(shards, copies int, zones ...string) *cluster.Layout {
	l := &cluster.Layout{Shards: shards, Copies: copies, Members: map[coord.NodeID]cluster.Member{}}
	for i, z := range zones {
		l.Members[coord.NodeID(fmt.Sprint("n", i))] = cluster.Member{Zone: z}
	}
	return l
}

// TestPlace: the requested number of copies is spread evenly over nodes and zones, and nothing moves unnecessarily.
func TestPlace(t *testing.T) {
	for _, c := range []struct {
		shards, copies int
		zones          []string
	}{
		{8, 3, []string{"", "", ""}}, {8, 3, []string{"x"}}, {8, 2, []string{"x", "x", "y", "y"}}, {16, 3, []string{"x", "y", "z", "x", "y"}},
		{7, 2, []string{"x", "y", "z"}}, {256, 3, []string{"", "", "", "", ""}},
	} {
		l := layoutOf(c.shards, c.copies, c.zones...)
		p := cluster.Place(l, nil)
		checkPlaces(t, l, p)
		if again := cluster.Place(l, p); !samePlaces(p, again) {
			t.Errorf("%+v: moved without need: %v, then %v", c, p, again)
		}
		l.Members["new"] = cluster.Member{Zone: "new"}
		next := cluster.Place(l, p)
		checkPlaces(t, l, next)
		m := l.Members["n0"]
		m.Drained = true
		l.Members["n0"] = m
		checkPlaces(t, l, cluster.Place(l, next))
	}
}

func samePlaces(a, b [][]coord.NodeID) bool {
	return slices.EqualFunc(a, b, func(x, y []coord.NodeID) bool {
		return slices.Equal(slices.Sorted(slices.Values(x)), slices.Sorted(slices.Values(y)))
	})
}

func checkPlaces(t *testing.T, l *cluster.Layout, p [][]coord.NodeID) {
	t.Helper()
	nodes, zones := 0, map[string]bool{}
	for _, m := range l.Members {
		if !m.Drained {
			nodes++
			zones[m.Zone] = true
		}
	}
	load := map[coord.NodeID]int{}
	for i, ns := range p {
		if len(ns) != min(l.Copies, nodes) {
			t.Errorf("shard %d has copies at %v, want %d", i, ns, min(l.Copies, nodes))
		}
		seen := map[string]bool{}
		for j, n := range ns {
			if slices.Contains(ns[:j], n) || l.Members[n].Drained {
				t.Errorf("shard %d: %v", i, ns)
			}
			seen[l.Members[n].Zone] = true
			load[n]++
		}
		if len(seen) < min(len(zones), len(ns)) {
			t.Errorf("shard %d: copies %v in %d zones of %d", i, ns, len(seen), len(zones))
		}
	}
	if len(zones) > 1 {
		return // with zones of different sizes, an even load is impossible
	}
	for n, c := range load {
		if most := (l.Shards*min(l.Copies, nodes) + nodes - 1) / nodes; c > most {
			t.Errorf("node %s has %d copies, want at most %d", n, c, most)
		}
	}
}
