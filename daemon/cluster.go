package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/cluster/zk"
	"concordat/instance"
	"concordat/web/pages/admin"
)

// nodesOf returns a description of the site's machines for the cluster page. It returns nil for a site of one machine.
func nodesOf(o *instance.Instance) admin.Nodes {
	if !o.Config.Clustered() {
		return nil
	}
	return nodes{o}
}

// nodes queries the coordinator in a new session each time, so that it shows what others see instead of this process's own view.
type nodes struct{ o *instance.Instance }

// Cluster implements admin.Nodes.
func (n nodes) Cluster(ctx context.Context) (c admin.Cluster, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	s, err := instance.Observe(ctx, n.o.Config)
	if err != nil {
		return c, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	select {
	case v := <-s.View():
		if z, ok := s.(*zk.Session); ok {
			return ClusterStatus(ctx, z, v)
		}
		c = clusterStatus(v, nil)
		c.Site = n.o.Site.ID()
		return c, nil
	case <-ctx.Done():
		return c, fmt.Errorf("coordinator: %w: %w", concordat.ErrUnavailable, ctx.Err())
	}
}

// clusterStatus returns a status from a view and the nodes known to the cluster.
func clusterStatus(v coord.View, known []coord.NodeID) admin.Cluster {
	nodes := map[coord.NodeID]*admin.ClusterNode{}
	at := func(id coord.NodeID) *admin.ClusterNode {
		if nodes[id] == nil {
			nodes[id] = &admin.ClusterNode{ID: string(id)}
		}
		return nodes[id]
	}
	for _, id := range known {
		at(id)
	}
	for id, n := range v.Live {
		s := at(id)
		s.Live, s.Zone, s.Address, s.Version, s.Free = true, n.Zone, n.Address, n.Version, int64(min(n.FreeBytes, math.MaxInt64))
	}
	if l, err := cluster.ParseLayout(v.Config); err == nil {
		for id, m := range l.Members {
			n := at(id)
			n.Zone, n.Drained = cmp.Or(n.Zone, m.Zone), m.Drained
		}
	}
	out := admin.Cluster{Nodes: []admin.ClusterNode{}, Shards: []admin.ClusterShard{}}
	for _, id := range slices.Sorted(maps.Keys(v.Shards)) {
		sh := v.Shards[id]
		s := admin.ClusterShard{ID: id, State: admin.ShardNoMaster, Epoch: sh.Epoch, InSync: Texts(sh.ISR), Hold: Texts(sh.Hold),
			Replicas: Texts(sh.Replicas)}
		if v.Leads(sh.State) {
			s.State, s.Master = admin.ShardHealthy, string(sh.ISR[0])
			at(sh.ISR[0]).Leads++
		}
		for _, n := range sh.ISR {
			if !slices.Contains(sh.Replicas, n) {
				s.Leaving = append(s.Leaving, string(n))
			}
		}
		for _, n := range sh.Replicas {
			if !slices.Contains(sh.ISR, n) {
				s.Coming = append(s.Coming, string(n))
			}
			at(n).Copies++
			_, live := v.Live[n]
			if s.State == admin.ShardHealthy && (!live || !slices.Contains(sh.ISR, n)) {
				s.State = admin.ShardFewer
			}
		}
		out.Shards = append(out.Shards, s)
	}
	for _, id := range slices.Sorted(maps.Keys(nodes)) {
		out.Nodes = append(out.Nodes, *nodes[id])
	}
	return out
}

// ClusterStatus queries ZooKeeper for the status.
func ClusterStatus(ctx context.Context, s *zk.Session, v coord.View) (admin.Cluster, error) {
	known, err := s.Nodes(ctx)
	if err != nil {
		return admin.Cluster{}, err
	}
	st := clusterStatus(v, known)
	st.Site, st.Cluster = s.Site(), s.Cluster()
	if st.Config, err = lastOf(ctx, s, zk.Config); err != nil {
		return st, err
	}
	st.Settings, err = lastOf(ctx, s, zk.Settings)
	return st, err
}

// lastOf returns the newest version of a document, or nil if there is none.
func lastOf(ctx context.Context, s *zk.Session, d zk.Document) (*admin.ClusterVersion, error) {
	all, err := s.History(ctx, d, 1)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &admin.ClusterVersion{Version: all[0].Version, Set: all[0].Set.UTC()}, nil
}

// Texts converts node IDs to strings for the pages.
func Texts(nodes []coord.NodeID) []string {
	var all []string
	for _, n := range nodes {
		all = append(all, string(n))
	}
	return all
}
