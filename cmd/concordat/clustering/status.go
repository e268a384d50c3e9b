package clustering

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"concordat"
	"concordat/cluster"
	"concordat/cluster/coord"
	"concordat/cmd/cli"
	"concordat/instance"
)

const (
	// statusTime is the maximum duration of cluster status, no matter what is down.
	statusTime = 2 * time.Second
	// nodesTime is the part of statusTime within which nodes must answer.
	nodesTime = 700 * time.Millisecond
)

func (a *commands) clusterStatus() *cobra.Command {
	return &cobra.Command{Use: "status", Short: "Show nodes and shards", Args: cobra.NoArgs,
		Long: `Status shows what this machine's server knows, or what the coordinator says if there is none, and asks every live
node for its state. It takes at most two seconds, even if machines are down.

Exit codes: 0 everything is in order; 1 something is wrong, and the output says what; 5 the state is unknown, since
neither this machine's server nor the coordinator answers.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			dir, err := a.Dir()
			if err != nil {
				return err
			}
			c, err := instance.ReadConfig(dir)
			if err != nil {
				return err
			}
			if c.Cluster.Coordinator == "" {
				return cli.Usagef("the site runs on one machine; to make it the first machine of a cluster, run concordat cluster init")
			}
			begun := time.Now()
			ctx, cancel := context.WithTimeout(cmd.Context(), statusTime-200*time.Millisecond)
			defer cancel()
			var st *instance.ClusterState
			here := &instance.ClusterState{}
			served, cancelServed := context.WithTimeout(ctx, statusTime*6/10)
			err = instance.CallServing(served, dir, "/cluster", nil, here)
			cancelServed()
			if st = here; err != nil {
				cause := err
				if st, err = instance.LookAtCluster(ctx, dir, c, min(nodesTime, statusTime-time.Since(begun))); err != nil {
					return &cli.Exit{Code: cli.Incomplete, Err: fmt.Errorf("cannot determine the state of the cluster: neither this machine's server (%w) nor the coordinator (%w) answered",
						cause, err)}
				}
			}
			return a.showCluster(st)
		}}
}

// nodeLine describes the state of a node.
type nodeLine struct {
	Node    coord.NodeID `json:"node"`
	Zone    string       `json:"zone,omitempty"`
	Live    bool         `json:"live"`
	Drained bool         `json:"drained,omitempty"`
	Address string       `json:"address,omitempty"`
	Free    uint64       `json:"free_bytes,omitempty"`
	// Asked reports whether the node answered. If it did, Free is current; otherwise, Free is as old as the node's announcement.
	Asked   bool   `json:"asked"`
	Silent  string `json:"silent,omitempty"` // the reason why it did not answer
	Version string `json:"version,omitempty"`
	Masters int    `json:"masters"`
	Copies  int    `json:"copies"`
	// State is the node's own report, if it answered.
	State *cluster.NodeState `json:"state,omitempty"`
}

func (a *commands) showCluster(st *instance.ClusterState) error {
	l, err := cluster.ParseLayout(st.View.Config)
	if err != nil {
		return &cli.Exit{Code: cli.Incomplete, Err: fmt.Errorf("cannot determine the state of the cluster: %w", err)}
	}
	nodes := linesOf(st, l)
	var shards []instance.ShardLine
	for _, id := range slices.Sorted(maps.Keys(st.View.Shards)) {
		s := instance.ShardState(&st.View, st.View.Shards[id])
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
	wrong := faults(st, nodes, shards)
	if a.JSON {
		err = a.Line(map[string]any{"cluster": l.Cluster, "site": l.Site, "copies": l.Copies, "nodes": slices.SortedFunc(maps.Values(nodes),
			func(x, y *nodeLine) int { return cmp.Compare(x.Node, y.Node) }), "shards": shards, "wrong": wrong})
		if err != nil {
			return err
		}
	} else {
		a.say(l, nodes, shards)
	}
	if len(wrong) == 0 {
		return nil
	}
	return &cli.Exit{Code: cli.Failed, Err: errors.New(strings.Join(wrong, "\n"))}
}

// linesOf returns the nodes of the layout and their known state.
func linesOf(st *instance.ClusterState, l *cluster.Layout) map[coord.NodeID]*nodeLine {
	nodes := map[coord.NodeID]*nodeLine{}
	for id, m := range l.Members {
		n := st.View.Live[id]
		nodes[id] = &nodeLine{Node: id, Zone: m.Zone, Live: n.ID != "", Drained: m.Drained, Address: n.Address, Free: n.FreeBytes,
			Version: n.Version, Silent: st.Silent[string(id)]}
	}
	for i := range st.Nodes {
		if n := nodes[st.Nodes[i].Node]; n != nil {
			n.State, n.Free, n.Asked = &st.Nodes[i], st.Nodes[i].Free, true
		}
	}
	return nodes
}

// say prints the lines.
func (a *commands) say(l *cluster.Layout, nodes map[coord.NodeID]*nodeLine, shards []instance.ShardLine) {
	a.Say("cluster %s of site %s: %d shards in %d copies", l.Cluster, l.Site, l.Shards, l.Copies)
	for _, id := range slices.Sorted(maps.Keys(nodes)) {
		n := nodes[id]
		state := "away"
		switch {
		case n.Asked:
			state = fmt.Sprintf("at %s, %d MiB free, version %s", n.Address, n.Free>>20, cmp.Or(n.Version, "unknown"))
			if r := n.State.Reached; !n.State.Online && !r.IsZero() {
				state += fmt.Sprintf(", cut off from the coordinator for %s", n.State.Time.Sub(r).Round(time.Second))
			}
		case n.Live:
			state = fmt.Sprintf("at %s, does not answer, %d MiB free when it started, version %s", n.Address, n.Free>>20, cmp.Or(n.Version, "unknown"))
		}
		if n.Drained {
			state += ", drained"
		}
		a.Say("node %s (zone %q): %s; %d copies in sync, master of %d shards", id, n.Zone, state, n.Copies, n.Masters)
	}
	for _, s := range shards {
		a.Say("shard %s: %s; master %s since epoch %d; in sync %s; wanted %s", s.Shard, s.State, cmp.Or(string(s.Master), "none"), s.Epoch,
			NodeNames(s.InSync), NodeNames(s.Wanted))
	}
}

// faults returns the problems, most severe first.
func faults(st *instance.ClusterState, nodes map[coord.NodeID]*nodeLine, shards []instance.ShardLine) []string {
	var out []string
	by := map[string]int{}
	for _, s := range shards {
		by[s.State]++
		if s.State == "down" && len(s.Hold) == len(s.InSync) {
			out = append(out, fmt.Sprintf("shard %s: every copy in sync has lost acknowledged documents or is out of date (%s); start a node with a newer folder, or choose a node with concordat cluster force; documents that only other nodes have are put aside, not deleted",
				s.Shard, hasOf(s.Shard, nodes)))
		}
	}
	if n := by["down"]; n > 0 {
		out = append(out, fmt.Sprintf("%d of %d shards have no master: their documents cannot be changed", n, len(shards)))
	}
	for _, n := range slices.Sorted(maps.Keys(nodes)) {
		line := nodes[n]
		switch s := line.State; {
		case s != nil && s.Fault != "":
			out = append(out, fmt.Sprintf("node %s: %s", n, s.Fault))
		case s != nil && !s.Online:
			out = append(out, fmt.Sprintf("node %s cannot reach the coordinator, so it answers queries but refuses changes", n))
		case s == nil && line.Live:
			out = append(out, fmt.Sprintf("node %s is live but does not answer: %s", n, cmp.Or(line.Silent, "the node was not asked")))
		case !line.Live:
			out = append(out, fmt.Sprintf("node %s is not live", n))
		}
		if line.State != nil && len(line.State.Asides) > 0 {
			out = append(out, asideOf(*line.State))
		}
	}
	for _, state := range []string{"degraded", "moving"} {
		if n := by[state]; n > 0 {
			out = append(out, fmt.Sprintf("%d of %d shards are %s: they have fewer copies in sync than they should", n, len(shards), state))
		}
	}
	if st.Store != "" {
		out = append(out, "the database is not responding: "+st.Store)
	}
	return out
}

// hasOf returns the position reached by each node's copy of the shard.
func hasOf(id concordat.ShardID, nodes map[coord.NodeID]*nodeLine) string {
	var out []string
	for _, n := range slices.Sorted(maps.Keys(nodes)) {
		if nodes[n].State == nil {
			continue
		}
		for _, c := range nodes[n].State.Copies {
			if c.Shard == id {
				out = append(out, fmt.Sprintf("%s: %d documents, up to record %d of epoch %d", n, c.Documents, c.Has.Seq, c.Has.Epoch))
			}
		}
	}
	return cmp.Or(strings.Join(out, "; "), "no node has reported its copies")
}
