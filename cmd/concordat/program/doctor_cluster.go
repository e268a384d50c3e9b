package program

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"concordat/cluster"
	"concordat/instance"
	"concordat/instance/config"
)

// On a site with several machines, doctor examines this machine's membership and the state of the others.

// doctor warns this long before a certificate expires. A node renews its certificate eight months before it expires.
const (
	certificateWarning = 180 * 24 * time.Hour
	authorityWarning   = 2 * 365 * 24 * time.Hour
)

func (d *doctor) cluster(ctx context.Context, c *config.Config) {
	if c.Cluster.Coordinator == "" {
		return
	}
	t, err := cluster.LoadTrust(filepath.Join(d.dir, instance.ClusterName))
	if err != nil {
		d.fault("certificate", "to rejoin the cluster, run concordat cluster replace "+c.Cluster.Node+" on another node, then concordat cluster join here in an empty folder", err)
		return
	}
	d.certificate(t)
	ctx, cancel := context.WithTimeout(ctx, d.o.timeout)
	defer cancel()
	err = d.a.WithCluster(ctx, func(_ *instance.Instance, w *instance.Observer, l *cluster.Layout) error {
		d.nodes(w, l, t)
		d.shards(w)
		d.asides(ctx, w, t)
		return nil
	})
	if err != nil {
		d.fault("cluster", "check whether ZooKeeper is running with concordat cluster zookeeper status; see \"ZooKeeper is lost\" in doc/zookeeper.md", err)
	}
}

func (d *doctor) certificate(t *cluster.Trust) {
	ends, authority := t.Ends()
	left := func(end time.Time) time.Duration { return end.Sub(d.now) }
	switch {
	case left(ends) <= 0:
		d.fault("certificate", "rejoin the cluster from this machine with a token",
			fmt.Errorf("the certificate of node %s expired on %s", t.Node, ends.Format(time.DateOnly)))
	case left(authority) < authorityWarning:
		d.warning("certificate", "create a new cluster from a backup before the authority expires", "the cluster's authority expires on %s",
			authority.Format(time.DateOnly))
	case left(ends) < certificateWarning:
		d.warning("certificate", "start the node with the authority's key and run concordat cluster renew",
			"the certificate of node %s expires on %s and has not been renewed", t.Node, ends.Format(time.DateOnly))
	default:
		d.ok("certificate", "the certificate of node %s is valid until %s, and the cluster's authority until %s", t.Node, ends.Format(time.DateOnly), authority.Format(time.DateOnly))
	}
}

// nodes examines the members: absent nodes, running versions, and the holder of the authority's key.
func (d *doctor) nodes(w *instance.Observer, l *cluster.Layout, t *cluster.Trust) {
	m, ok := l.Members[t.Node]
	switch {
	case !ok:
		d.fault("nodes", "rejoin the cluster from this machine, using an empty folder",
			fmt.Errorf("node %s was removed from the cluster", t.Node))
		return
	case m.Key != "" && m.Key != t.Key():
		d.fault("nodes", "rejoin the cluster from this machine under another name", fmt.Errorf("the node name %s belongs to another machine", t.Node))
		return
	}
	var away []string
	versions := map[string]bool{}
	authority := false
	for _, id := range slices.Sorted(maps.Keys(l.Members)) {
		n, live := w.Seen.Live[id]
		if !live {
			away = append(away, string(id))
			continue
		}
		versions[n.Version] = true
		authority = authority || l.Members[id].Authority
	}
	switch {
	case len(away) > 0:
		d.warning("nodes", "start these nodes, or remove them with concordat cluster drain NODE --wait and concordat cluster remove NODE",
			"%d of %d nodes are away: %s", len(away), len(l.Members), strings.Join(away, ", "))
	case len(versions) > 1:
		d.warning("nodes", "finish the upgrade with concordat cluster upgrade", "the nodes run different versions of the program: %s",
			strings.Join(slices.Sorted(maps.Keys(versions)), ", "))
	case !authority:
		d.warning("nodes", "copy ca-key.pem into the cluster folder of a node and restart that node",
			"no node has the key of the cluster's authority: machines cannot join, and certificates cannot be renewed")
	default:
		d.ok("nodes", "%d nodes, all live", len(l.Members))
	}
}

// asides looks for copies that were set aside, both here and on the nodes that answer.
func (d *doctor) asides(ctx context.Context, w *instance.Observer, t *cluster.Trust) {
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: t.ClientTLS()}}
	defer client.CloseIdleConnections()
	states, _ := (&cluster.HTTPPeers{Client: client, Cluster: t.Cluster}).States(ctx, &w.Seen) // cluster status shows silent nodes
	own, err := instance.AsidesOf(d.dir)
	if err != nil {
		d.fault("put aside", "check the folder and its permissions", err)
		return
	}
	states[t.Node] = cluster.NodeState{Node: t.Node, Asides: own}
	var all []string
	for _, id := range slices.Sorted(maps.Keys(states)) {
		for _, a := range states[id].Asides {
			all = append(all, fmt.Sprintf("shard %s of node %s on %s: %s", a.Shard, id, a.Time.Format(time.DateOnly), a.Reason))
		}
	}
	if len(all) > 0 {
		d.fault("put aside", "to restore these documents, run concordat cluster salvage on the nodes that hold the copies",
			fmt.Errorf("shard copies that the cluster replaced may contain documents that the site is missing: %s", strings.Join(all, "; ")))
	}
}

// shards examines the copies.
func (d *doctor) shards(w *instance.Observer) {
	by := map[string][]string{}
	for _, id := range slices.Sorted(maps.Keys(w.Seen.Shards)) {
		line := instance.ShardState(&w.Seen, w.Seen.Shards[id])
		by[line.State] = append(by[line.State], string(id))
	}
	switch {
	case len(by["down"]) > 0:
		d.fault("cluster", "start the nodes that have in-sync copies of these shards (see concordat cluster status); as a last resort, use concordat cluster force",
			fmt.Errorf("shards without a master: %s", strings.Join(by["down"], ", ")))
	case len(by["degraded"]) > 0:
		d.warning("cluster", "start the nodes that are away, or run concordat cluster balance",
			"shards with a copy on a node that is away: %s", strings.Join(by["degraded"], ", "))
	case len(by["moving"]) > 0:
		d.warning("cluster", "wait; if a copy stays out of sync, look for the reason in its node's log",
			"shards with a copy that is catching up: %s", strings.Join(by["moving"], ", "))
	default:
		d.ok("cluster", "%d shards, every copy in sync", len(w.Seen.Shards))
	}
}
