package clustering

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/cmd/cli"
	"concordat/instance"
)

func (a *commands) clusterStatus() *cobra.Command {
	return &cobra.Command{Use: "status", Short: "Show nodes and shards", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.WithCluster(cmd.Context(), func(_ *instance.Instance, w *instance.Observer, l *cluster.Layout) error {
				return a.showCluster(w, l)
			})
		}}
}

type nodeLine struct {
	Node    coord.NodeID `json:"node"`
	Zone    string       `json:"zone,omitempty"`
	Live    bool         `json:"live"`
	Drained bool         `json:"drained,omitempty"`
	Address string       `json:"address,omitempty"`
	Free    uint64       `json:"free_bytes,omitempty"`
	Version string       `json:"version,omitempty"`
	Masters int          `json:"masters"`
	Copies  int          `json:"copies"`
}

func (a *commands) showCluster(w *instance.Observer, l *cluster.Layout) error {
	nodes := map[coord.NodeID]*nodeLine{}
	for id, m := range l.Members {
		n := w.Seen.Live[id]
		nodes[id] = &nodeLine{Node: id, Zone: m.Zone, Live: n.ID != "", Drained: m.Drained, Address: n.Address, Free: n.FreeBytes,
			Version: n.Version}
	}
	var shards []instance.ShardLine
	for _, id := range slices.Sorted(maps.Keys(w.Seen.Shards)) {
		s := instance.ShardState(&w.Seen, w.Seen.Shards[id])
		s.Shard = id
		shards = append(shards, s)
		for _, n := range s.InSync {
			if nodes[n] != nil {
				nodes[n].Copies++
			}
		}
		if nodes[s.Master] != nil {
			nodes[s.Master].Masters++
		}
	}
	down := 0
	for _, s := range shards {
		if s.State == "down" {
			down++
		}
	}
	var without error
	if down > 0 {
		without = &cli.Exit{Code: cli.Failed, Err: fmt.Errorf("%d of %d shards have no master: what they hold cannot be changed", down,
			len(shards))}
	}
	if a.JSON {
		return errors.Join(without, a.Line(map[string]any{"cluster": l.Cluster, "site": l.Site, "copies": l.Copies,
			"nodes": slices.SortedFunc(maps.Values(nodes), func(x, y *nodeLine) int { return cmp.Compare(x.Node, y.Node) }), "shards": shards}))
	}
	a.Say("cluster %s of site %s: %d shards in %d copies", l.Cluster, l.Site, l.Shards, l.Copies)
	for _, id := range slices.Sorted(maps.Keys(nodes)) {
		n := nodes[id]
		state := "away"
		if n.Live {
			state = fmt.Sprintf("at %s, %d MiB free, version %s", n.Address, n.Free>>20, cmp.Or(n.Version, "unknown"))
		}
		if n.Drained {
			state += ", drained"
		}
		a.Say("node %s (zone %q): %s; %d copies in sync, master of %d", id, n.Zone, state, n.Copies, n.Masters)
	}
	for _, s := range shards {
		a.Say("shard %s: %s; master %s since epoch %d; in sync %s; wanted %s", s.Shard, s.State, cmp.Or(string(s.Master), "none"), s.Epoch,
			NodeNames(s.InSync), NodeNames(s.Wanted))
	}
	return without
}
