package bench

import "testing"

// TestCluster: documents added to a site of several nodes can be found through all of them.
func TestCluster(t *testing.T) {
	sizes := []int{}
	o := ClusterOptions{Nodes: 3, Shards: 2, Copies: 2, Sizes: []int{1000, 2000}, Questions: 200, Writers: 2, Seed: 1}
	err := Cluster(t.Context(), t.TempDir(), o, func(r ClusterResult) error {
		sizes = append(sizes, r.Sentences)
		if r.Missed != 0 || r.Missing != 0 || r.CPU <= 0 || r.Bytes < 30 || r.PutP50 <= 0 || r.ExactP50 <= 0 {
			t.Errorf("%+v", r)
		}
		return nil
	})
	if err != nil || len(sizes) != 2 {
		t.Errorf("sizes %v, %v", sizes, err)
	}
}
