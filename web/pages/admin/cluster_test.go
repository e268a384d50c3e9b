package admin_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/webtest"
	"concordat/store"
	"concordat/web"
	"concordat/web/pages/admin"
)

// TestCluster: the page and the API agree on a cluster, a single machine, and a silent coordinator.
func TestCluster(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	p := d.SignedIn(t, "axel", store.RoleAuditor)
	body := p.Get("/admin/cluster", http.StatusOK)
	for _, want := range []string{"Shards without a master: 1.", "Shards with too few copies: 1.", "10.0.0.1:7000", "3.0 GiB",
		`Away</span> <span class="state">Drained`, "to n2; away from n9",
		"Shards whose copies are being moved: 1.", "different versions of the program: v1, v2",
		"0011aabb", "version 7, set on", "never set"} {
		if !strings.Contains(body, want) {
			t.Errorf("%q is not on the page", want)
		}
	}
	var got admin.Cluster
	p.Program("read").Call("GET", "/api/v1/admin/cluster", http.StatusOK, &got)
	if len(got.Shards) != 2 || got.Shards[1].State != admin.ShardNoMaster || got.Alone {
		t.Errorf("got %+v", got)
	}

	d = webtest.NewWith(t, false, func(o *web.Options) { o.Nodes = nil })
	p = d.SignedIn(t, "axel", store.RoleAuditor)
	if body := p.Get("/admin/cluster", http.StatusOK); !strings.Contains(body, "runs on one machine") {
		t.Error("one machine does not say so")
	}
	got = admin.Cluster{}
	if p.Program("read").Call("GET", "/api/v1/admin/cluster", http.StatusOK, &got); !got.Alone {
		t.Errorf("got %+v", got)
	}

	d = webtest.NewWith(t, false, func(o *web.Options) {
		o.Nodes = webtest.Nodes(func() (admin.Cluster, error) {
			return admin.Cluster{}, fmt.Errorf("ZooKeeper: %w", concordat.ErrUnavailable)
		})
	})
	p = d.SignedIn(t, "axel", store.RoleAuditor)
	p.Get("/admin/cluster", http.StatusServiceUnavailable)
	p.Program("read").Call("GET", "/api/v1/admin/cluster", http.StatusServiceUnavailable, nil)
}
