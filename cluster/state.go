package cluster

import (
	"context"
	"maps"
	"slices"
	"sync"
	"syscall"
	"time"

	"concordat"
	"concordat/cluster/coord"
)

// callState is the call that requests a node's state.
const callState = "state"

// NodeState is a node's report on its own state.
type NodeState struct {
	Node   coord.NodeID `json:"node"`
	Time   time.Time    `json:"time"`
	Free   uint64       `json:"free_bytes"` // current free space
	Online bool         `json:"coordinator"`
	// Reached is when the coordinator last confirmed the node's session; zero if it has not since the start.
	Reached time.Time   `json:"coordinator_reached,omitzero"`
	Copies  []CopyState `json:"copies"`
	Asides  []Aside     `json:"aside,omitempty"`
	// Fault is why the node stopped taking part; empty if it did not.
	Fault string `json:"fault,omitempty"`
}

// CopyState is a node's report on its copy of a shard.
type CopyState struct {
	Shard     concordat.ShardID `json:"shard"`
	Role      string            `json:"role"`
	Has       Position          `json:"has"` // end of its log
	InSync    bool              `json:"in_sync"`
	Damaged   bool              `json:"damaged,omitempty"` // it may lack acknowledged records, and does not count
	Documents int               `json:"documents"`
	Fault     string            `json:"fault,omitempty"`
}

// State returns what the node currently knows about itself. It sends no messages.
func (n *Node) State() NodeState {
	out := NodeState{Node: n.o.Node.ID, Time: time.Now().UTC(), Free: freeOn(n.o.Dir), Online: n.o.Session.Online()}
	n.mu.Lock()
	hs := make(map[concordat.ShardID]hosted, len(n.hosting.copies))
	for id, h := range n.hosting.copies {
		hs[id] = hosted{copy: h.copy, err: h.err} // run can close and reopen the copy after this
	}
	out.Reached = n.reached
	if n.fatal != nil {
		out.Fault = n.fatal.Error()
	}
	n.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(hs)) {
		out.Copies = append(out.Copies, hs[id].state(id))
	}
	out.Asides, _ = Asides(n.o.Dir) // an unreadable folder is a fault of all copies, which report it
	return out
}

func (h hosted) state(id concordat.ShardID) CopyState {
	s := CopyState{Shard: id, Role: "closed"}
	if h.copy == nil {
		if h.err != nil {
			s.Fault = h.err.Error()
		}
		return s
	}
	st, err := h.copy.Status()
	if err != nil {
		s.Fault = err.Error()
	}
	s.Role, s.InSync, s.Damaged = st.Role.String(), st.InSync, st.Meta.Damaged
	s.Has, _ = h.copy.lacks(Position{})
	s.Documents = h.copy.Index().Stats().Documents
	return s
}

// freeOn returns the free space on a folder's disk, in bytes; 0 if unknown.
func freeOn(dir string) uint64 {
	var st syscall.Statfs_t
	if syscall.Statfs(dir, &st) != nil {
		return 0
	}
	return st.Bavail * uint64(st.Bsize)
}

// StateOf requests another node's state.
func (p *HTTPPeers) StateOf(ctx context.Context, to coord.Node) (s NodeState, err error) {
	return s, p.exchange(ctx, to, "-", callState, true, &s)
}

// States requests the states of all live nodes in the view concurrently. It returns their answers and, for every other node, the reason
// why there is none.
func (p *HTTPPeers) States(ctx context.Context, v *coord.View) (map[coord.NodeID]NodeState, map[coord.NodeID]error) {
	var mu sync.Mutex // protects both
	states, silent := map[coord.NodeID]NodeState{}, map[coord.NodeID]error{}
	var wg sync.WaitGroup
	for id, to := range v.Live {
		wg.Go(func() {
			s, err := p.StateOf(ctx, to)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				silent[id] = err
				return
			}
			states[id] = s
		})
	}
	wg.Wait()
	return states, silent
}

// States requests the states of the other live nodes; the result includes this node's own.
func (n *Node) States(ctx context.Context) (map[coord.NodeID]NodeState, map[coord.NodeID]error) {
	v, _ := n.fan.now()
	others := coord.View{Live: maps.Clone(v.Live)}
	delete(others.Live, n.o.Node.ID)
	states, silent := n.peers.States(ctx, &others)
	states[n.o.Node.ID] = n.State()
	return states, silent
}
