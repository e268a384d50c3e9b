package cluster

import (
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"concordat/cluster/coord"
)

// This file chooses which copy to ask, and when to ask a second one.

// asking tracks the latencies and loads of other nodes, as observed by this node.
type asking struct {
	mu     sync.Mutex // protects the following fields
	nodes  map[coord.NodeID]*load
	recent [128]time.Duration // latencies of the most recent answers, as a ring buffer
	count  int                // total number of answers so far
	sent   int
	second int
}

type load struct {
	time   time.Duration // weighted mean in which newer answers count more
	flying int
	silent bool // the node is not answering
}

func (a *asking) of(n coord.NodeID) *load {
	if a.nodes == nil {
		a.nodes = map[coord.NodeID]*load{}
	}
	if a.nodes[n] == nil {
		a.nodes[n] = &load{}
	}
	return a.nodes[n]
}

// choose returns the less loaded of two random candidates (Mitzenmacher 2001).
func (a *asking) choose(from []coord.NodeID) coord.NodeID {
	a.mu.Lock()
	defer a.mu.Unlock()
	var heard []coord.NodeID
	for _, n := range from {
		if !a.of(n).silent {
			heard = append(heard, n)
		}
	}
	if len(heard) > 0 {
		from = heard
	}
	if len(from) == 1 {
		return from[0]
	}
	i := rand.IntN(len(from))
	j := (i + 1 + rand.IntN(len(from)-1)) % len(from)
	cost := func(n coord.NodeID) time.Duration { l := a.of(n); return l.time * time.Duration(l.flying+1) }
	if cost(from[j]) < cost(from[i]) {
		return from[j]
	}
	return from[i]
}

// silence records whether the node is silent, and reports whether that changed.
func (a *asking) silence(n coord.NodeID, silent bool) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.of(n)
	was := l.silent
	l.silent = silent
	return was != silent
}

// begin counts a message; end records its outcome.
func (a *asking) begin(n coord.NodeID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.of(n).flying++
	a.sent++
}

func (a *asking) end(n coord.NodeID, took time.Duration, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	l := a.of(n)
	l.flying--
	if !ok {
		took = max(took, 2*l.time)
	}
	l.time += (took - l.time) / 8
	if ok {
		a.recent[a.count%len(a.recent)] = took
		a.count++
	}
}

// patience returns how long to wait before asking a second copy, which is the 95th percentile of latencies.
func (a *asking) patience() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := min(a.count, len(a.recent))
	if n < 20 {
		return firstHedge
	}
	s := slices.Clone(a.recent[:n])
	slices.Sort(s)
	return max(leastHedge, s[n*95/100])
}

// mayHedge counts a hedge if one is allowed, and reports whether it is.
func (a *asking) mayHedge() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.second*hedgeShare > a.sent+hedgeShare {
		return false
	}
	a.second++
	return true
}
