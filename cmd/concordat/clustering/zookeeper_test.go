//go:build linux

package clustering_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/zk"
	"concordat/cmd/cli"
	"concordat/cmd/concordat/clustering"
	"concordat/cmd/concordat/program"
	"concordat/daemon"
	"concordat/internal/zktest"
	"concordat/web/pages/admin"
)

// TestClusterCommands shows and changes a cluster of two nodes in a real ZooKeeper.
func TestClusterCommands(t *testing.T) {
	e := zktest.Start(t, 1)
	t.Setenv(clustering.ZookeeperVariable, e.Addresses()[0])
	t.Setenv(zk.AccountVariable, "site:secret9")
	account, err := zk.ReadAccount("")
	if err != nil {
		t.Fatal(err)
	}
	cluster := func(code int, args ...string) string {
		t.Helper()
		var out, errs bytes.Buffer
		got := program.Run(t.Context(), append([]string{"cluster", "zookeeper", "--site", "alpha", "--zookeeper-wait", "60s"}, args...),
			strings.NewReader(`{"expires":"2030-01-01T00:00:00Z"}`), &out, &errs)
		if got != code {
			t.Fatalf("%v: exit %d, want %d: %s%s", args, got, code, &out, &errs)
		}
		all := out.String() + errs.String()
		if strings.Contains(all, "secret9") {
			t.Errorf("%v shows the password: %s", args, all)
		}
		return all
	}
	has := func(text string, parts ...string) {
		t.Helper()
		for _, p := range parts {
			if !strings.Contains(text, p) {
				t.Errorf("%q is not in:\n%s", p, text)
			}
		}
	}
	has(cluster(cli.Failed, "status"), "no cluster at /concordat/alpha")

	node := func(id coord.NodeID) (*zk.Session, coord.Incarnation) {
		t.Helper()
		s, err := zk.Open(t.Context(), zk.Options{Servers: e.Addresses(), Site: "alpha", Scheme: "natural", Node: id, Found: true,
			Identity: filepath.Join(t.TempDir(), "identity.json"), Account: account, Timeout: 20 * time.Second})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		me := (<-s.View()).Me
		if err := s.Announce(t.Context(), coord.Node{ID: id, Incarnation: me, Address: string(id) + ":7000", Version: "v1", Zone: "east",
			FreeBytes: 3 << 29}); err != nil {
			t.Fatal(err)
		}
		return s, me
	}
	n1, me := node("n1")
	n2, _ := node("n2")
	both := []coord.NodeID{"n1", "n2"}
	if err := n1.Create(t.Context(), map[concordat.ShardID]coord.State{"00": {ISR: both, Replicas: both},
		"01": {ISR: both[:1], Replicas: both}}); err != nil {
		t.Fatal(err)
	}
	has(cluster(cli.Failed, "status"), "2 of 2 shards have no master", "n1    east  live   n1:7000  2       0      1.5       v1")
	for _, id := range []concordat.ShardID{"00", "01"} {
		s, err := n1.Read(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		s.Epoch, s.Leader = 4, me
		if _, err := n1.CAS(t.Context(), id, 0, s.State, me); err != nil {
			t.Fatal(err)
		}
	}
	has(cluster(cli.Done, "status"), "00     healthy       n1      4      n1, n2", "01     fewer copies  n1      4      n1 ",
		"configuration: never set")
	var st admin.Cluster
	if err := json.Unmarshal([]byte(cluster(cli.Done, "--json", "status")), &st); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(admin.ClusterShard{ID: "00", State: admin.ShardHealthy, Master: "n1", Epoch: 4, InSync: daemon.Texts(both),
		Replicas: daemon.Texts(both)}, st.Shards[0]); d != "" {
		t.Error(d)
	}
	if st.Nodes[0].Leads != 2 || st.Nodes[1].Copies != 2 || !st.Nodes[1].Live {
		t.Errorf("got %+v", st.Nodes)
	}

	has(cluster(cli.Failed, "forget", "n2"), "n2 is live")
	if err := n2.Close(); err != nil {
		t.Fatal(err)
	}
	has(cluster(cli.Failed, "forget", "n2"), "in sync of shard 00")
	has(cluster(cli.Done, "status"), "n2    -     away", "00     fewer copies")

	has(cluster(cli.Misused, "set", "check.treshold=0.2", "site.id=beta", "check.probe=many"), "unknown key", "must be set on each node",
		"check.probe")
	has(cluster(cli.Misused, "set"), "nothing to set")
	cluster(cli.Done, "set", "check.threshold=0.25", "check.probe=exact")
	cluster(cli.Done, "set", "--unset", "check.probe", "--policy", "theses=-")
	has(cluster(cli.Failed, "set", "--if-version", "1", "check.threshold=0.5"), "version 2, not 1")
	has(cluster(cli.Done, "settings"), "version 2", "check.threshold = 0.25", "library theses", "2030-01-01")
	has(cluster(cli.Done, "history"), `{"check.probe":"exact","check.threshold":"0.25"}`)
	cluster(cli.Done, "revert", "1")
	has(cluster(cli.Done, "settings"), "version 3", "check.probe = exact")
	has(cluster(cli.Failed, "revert", "9"), "not found")
	if n := strings.Count(cluster(cli.Done, "--json", "history"), "\n"); n != 3 {
		t.Errorf("%d versions, want 3", n)
	}
	has(cluster(cli.Misused, "--zookeeper", "nowhere", "status"), "must have the form host:port")
}
