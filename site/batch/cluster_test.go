package batch_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"concordat/internal/sitetest"

	"github.com/google/go-cmp/cmp"

	"concordat/site/batch"
	"concordat/store"
)

// bond is a pair of documents, by name, with their share.
type bond struct {
	a, b  string
	share float64
}

// everyTwo returns the bonds of every two names.
func everyTwo(share float64, names ...string) (out []bond) {
	for i, a := range names {
		for _, b := range names[i+1:] {
			out = append(out, bond{a, b, share})
		}
	}
	return out
}

// viewOf returns the view of a batch with the given pairs; r determines the order in which documents are submitted.
func viewOf(t *testing.T, p *sitetest.Parts, names []string, bonds []bond, r *rand.Rand) *batch.View {
	t.Helper()
	one, err := batch.New("Call", "ann", "test", batch.Job{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	id := one.ID
	names, bonds = slices.Clone(names), slices.Clone(bonds)
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	r.Shuffle(len(bonds), func(i, j int) { bonds[i], bonds[j] = bonds[j], bonds[i] })
	var inputs []store.BatchInput
	for i, name := range names {
		inputs = append(inputs, store.BatchInput{Number: i, Name: name, Place: name})
	}
	if err := p.Store.Batches.CreateBatch(t.Context(), one, inputs); err != nil {
		t.Fatal(err)
	}
	number := map[string]int{}
	for i, name := range names {
		number[name] = i
		if err := p.Store.Batches.PutBatchMembers(t.Context(), id, i,
			[]store.BatchMember{{Name: name, Title: name, Characters: 1000}}); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range bonds {
		a, b := number[min(x.a, x.b)], number[max(x.a, x.b)]
		found := store.BatchPair{A: a, B: b, Passages: []byte("[]")}
		if err := p.Store.Batches.PutCompared(t.Context(), id, a, []store.BatchPair{found}); err != nil {
			t.Fatal(err)
		}
		if err := p.Store.Batches.PutChecked(t.Context(), id, store.BatchMember{Number: a, Round: 1, Fresh: json.RawMessage("[]")},
			map[int]store.PairShare{b: {Share: x.share}}); err != nil {
			t.Fatal(err)
		}
	}
	v, err := batch.Open(t.Context(), p.Store, id)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestBatchClusters: two groups joined only by a weak pair stay two, whatever the order of submission and comparison. Every document of a
// pair is in a cluster, and the view explains each cluster.
func TestBatchClusters(t *testing.T) {
	p := sitetest.NewSite(t)
	ring := []string{"r1", "r2", "r3", "r4", "r5"}
	names := append([]string{"a1", "a2", "a3", "alone", "d1", "d2", "d3", "p1", "p2"}, ring...)
	bonds := slices.Concat(everyTwo(0.6, "a1", "a2", "a3"), everyTwo(0.4, ring...), // a ring with one shared block
		[]bond{{"a3", "r1", 0.35}, // a bridge between the groups
			{"d1", "d2", 0.8}, {"d2", "d3", 0.7}, // drafts, each copied from the previous one
			{"p1", "p2", 0.31}, {"p1", "alone", 0.2}}) // pairs below the threshold
	want := [][]string{ring, {"a1", "a2", "a3"}, {"d1", "d2", "d3"}, {"p1", "p2"}}
	for seed := range uint64(12) {
		v := viewOf(t, p, names, bonds, rand.New(rand.NewPCG(seed, 4)))
		var got [][]string
		for _, l := range v.ClusterLines() {
			got = append(got, l.Documents)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Fatalf("seed %d: %s", seed, d)
		}
		for _, x := range v.PairLines() {
			if bridge := x.A == "a3" && x.B == "r1"; bridge != (x.Cluster == 0) {
				t.Errorf("seed %d: pair %s, %s is of cluster %d", seed, x.A, x.B, x.Cluster)
			}
		}
		lines := v.ClusterLines()
		if l := lines[1]; l.Pairs != 3 || l.Bridges != 1 || len(l.Strongest) != 3 || len(lines[0].Strongest) != 5 {
			t.Errorf("seed %d: %+v", seed, l)
		}
		var drafts []string
		for _, m := range lines[2].Members {
			drafts = append(drafts, fmt.Sprintf("%s %d %.2f %.2f", m.Document, m.Pairs, m.Weight, m.Largest))
		}
		if d := cmp.Diff([]string{"d2 2 1.50 0.80", "d1 1 0.80 0.80", "d3 1 0.70 0.70"}, drafts); d != "" {
			t.Errorf("seed %d: %s", seed, d)
		}
		// A picture and a matrix contain the documents of one cluster without the bridge.
		nodes, links := v.Picture(2)
		if len(nodes) != 3 || len(links) != 3 || nodes[0].Label != "a1" || len(v.Matrix(2)) != 3 {
			t.Errorf("seed %d: picture of %v, %v", seed, nodes, links)
		}
	}
}
