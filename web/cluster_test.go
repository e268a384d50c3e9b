package web_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/store"
	"concordat/web"
	"concordat/web/pages/admin"
)

// clusterOfTests is a cluster with a bit of everything.
func clusterOfTests() (admin.Cluster, error) {
	set := &admin.ClusterVersion{Version: 7, Set: time.Date(2026, 5, 4, 3, 2, 1, 0, time.UTC)}
	return admin.Cluster{Site: "alpha", Cluster: "0011aabb", Config: set,
		Nodes: []admin.ClusterNode{{ID: "n1", Live: true, Zone: "east", Address: "10.0.0.1:7000", Version: "v1", Free: 3 << 30, Copies: 2,
			Leads: 1}, {ID: "n2", Copies: 2, Drained: true}, {ID: "n3", Live: true, Version: "v2"}},
		Shards: []admin.ClusterShard{{ID: "00", State: admin.ShardFewer, Master: "n1", Epoch: 5, InSync: []string{"n1"},
			Replicas: []string{"n1", "n2"}, Coming: []string{"n2"}, Leaving: []string{"n9"}},
			{ID: "01", State: admin.ShardNoMaster, Epoch: 9, InSync: []string{"n2"}, Hold: []string{"n2"}, Replicas: []string{"n1", "n2"}}}}, nil
}

// nodesOfTests describes the machines of a site.
type nodesOfTests func() (admin.Cluster, error)

// Cluster implements admin.Nodes.
func (n nodesOfTests) Cluster(context.Context) (admin.Cluster, error) { return n() }

// TestCluster: the page and the API agree about a cluster, a single machine, and a silent coordinator.
func TestCluster(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, false)
	p := d.signedIn(t, "axel", store.RoleAuditor)
	body := p.get("/admin/cluster", http.StatusOK)
	for _, want := range []string{"Shards without a master: 1.", "Shards with too few copies: 1.", "10.0.0.1:7000", "3.0 GiB",
		`Away</span> <span class="state">Drained`, "to n2; away from n9",
		"Shards whose copies are being moved: 1.", "several versions of the program: v1, v2",
		"0011aabb", "version 7 of", "never set"} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	var got admin.Cluster
	p.program("read").call("GET", "/api/v1/admin/cluster", http.StatusOK, &got)
	if len(got.Shards) != 2 || got.Shards[1].State != admin.ShardNoMaster || got.Alone {
		t.Errorf("got %+v", got)
	}

	d = newTestSiteOf(t, false, func(o *web.Options) { o.Nodes = nil })
	p = d.signedIn(t, "axel", store.RoleAuditor)
	if body := p.get("/admin/cluster", http.StatusOK); !strings.Contains(body, "runs on one machine") {
		t.Error("one machine does not say so")
	}
	got = admin.Cluster{}
	if p.program("read").call("GET", "/api/v1/admin/cluster", http.StatusOK, &got); !got.Alone {
		t.Errorf("got %+v", got)
	}

	d = newTestSiteOf(t, false, func(o *web.Options) {
		o.Nodes = nodesOfTests(func() (admin.Cluster, error) {
			return admin.Cluster{}, fmt.Errorf("ZooKeeper: %w", concordat.ErrUnavailable)
		})
	})
	p = d.signedIn(t, "axel", store.RoleAuditor)
	p.get("/admin/cluster", http.StatusServiceUnavailable)
	p.program("read").call("GET", "/api/v1/admin/cluster", http.StatusServiceUnavailable, nil)
}
