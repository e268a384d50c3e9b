package cluster_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"concordat"
	"concordat/cluster/coord"
)

// answerTime is far more than a silent node costs healthy nodes, even on a busy machine, and far less than the limit for a question.
const answerTime = 8 * time.Second

// TestSilentNode: a node that accepts messages but never answers costs callers of other nodes little time, and is not asked again until
// it answers.
func TestSilentNode(t *testing.T) {
	t.Parallel()
	s := newSite(t, 4, 3, "a", "b", "c")
	want := map[string]string{}
	s.write(want, 0, 40)
	s.settle(60)
	s.nodes["b"].silent.Store(true)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for i := range 3 {
		for _, n := range []coord.NodeID{"a", "c"} {
			begun := time.Now()
			st, err := s.nodes[n].TextStats(ctx, []concordat.Term{1})
			took := time.Since(begun)
			if err != nil || len(st.Missing) > 0 || st.Documents != len(want) {
				t.Fatalf("question %d at node %s: %+v, %v", i, n, st, err)
			}
			if took > answerTime {
				t.Errorf("question %d at node %s took %s beside a silent node", i, n, took)
			}
			t.Log(n, i, took)
		}
	}
	s.nodes["b"].silent.Store(false)
	s.settle(60)
	for i := range want {
		for _, n := range s.nodes {
			if d, err := n.Document(ctx, refOf(fmt.Sprint(i))); err != nil || d.Text != "x" {
				t.Errorf("document %s: %v, %v", i, d, err)
			}
		}
	}
}
