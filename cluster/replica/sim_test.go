package replica

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"concordat/cluster/coord"
	"concordat/cluster/wal"
)

// The simulation has one shard on several nodes, a coordinator, clients and faults, all driven by one source of random numbers and one
// queue of events. It never waits, so a seed determines a history.

const ms = time.Millisecond

// simOptions selects the possible events.
type simOptions struct {
	nodes      int
	minISR     int
	without    rule
	rotten     bool // node 0 loses part of its log at each crash
	putBack    bool // node 0 is sometimes restored to an earlier state of its disk when it starts
	forced     bool // once, an operator makes a lagging node master while all others are down
	unchecked  bool // a restored node does not compare its log with the committed records
	spurious   bool // followers can suspect the master at any time
	additions  bool // the most common fault is that a single follower goes silent and returns
	forgetful  int  // revisions that a copy remembers; 0 means as many as a real copy
	delays     bool // messages are often very late, and answers are short
	faults     time.Duration
	healing    time.Duration
	writeEvery time.Duration
	persists   float64 // chance that the index reaches the disk with a change
}

func defaults(o simOptions) simOptions {
	if o.nodes == 0 {
		o.nodes = 3
	}
	if o.faults == 0 {
		o.faults = 12 * time.Second
	}
	if o.healing == 0 {
		o.healing = 8 * time.Second
	}
	if o.writeEvery == 0 {
		o.writeEvery = 25 * ms
	}
	if o.persists == 0 {
		o.persists = 0.3
	}
	return o
}

// outcome is the result of one history.
type outcome struct {
	violation string // the first violation
	stuck     bool   // the cluster did not recover, but nothing was lost
	acked     int
	asked     int // questions that a copy was sure it could answer correctly
	answering int // number of times that all copies answered after the faults
	elections int
	installs  int
	down      bool // in the end, every copy in sync had lost something, so an operator must choose
	broken    bool // an index was corrupted on purpose
	abandoned int  // acknowledged documents that a forced master lacked
}

type happening struct {
	at  time.Duration
	seq int // orders events with equal times
	do  func()
}

type queue []happening

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].at < q[j].at || q[i].at == q[j].at && q[i].seq < q[j].seq
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)   { *q = append(*q, x.(happening)) }
func (q *queue) Pop() any {
	old := *q
	h := old[len(old)-1]
	*q = old[:len(old)-1]
	return h
}

// stored is a document in an index. The highest rev wins, and a delete leaves a tombstone.
type stored struct {
	rev  uint64
	kind wal.Kind
	op   uint64 // the operation that wrote it
}

// simNode is a node with its disk.
type simNode struct {
	w    *world
	id   coord.NodeID
	inc  int // crashes so far; work in progress before the last crash is void
	r    *Replica
	down bool
	// paused until this time; arriving events wait
	paused time.Duration

	// These fields are on disk; log[i] is record base+i+1.
	meta            Meta
	base, baseEpoch uint64
	log             []wal.Record // survives a crash up to durable
	durable         uint64
	index           map[string]stored // in memory
	applied         uint64
	persisted       map[string]stored // on disk
	persistedAt     uint64

	earlier *disk // a snapshot; only node 0 makes snapshots
	away    bool  // it stays down until the operator has chosen a master
	// aside holds the newest revision of each document in the copies that were put aside.
	aside map[string]uint64

	gen     uint64 // generation of the log
	session coord.Incarnation
	viewed  int // number of the newest view that it received
	live    bool
	cut     time.Duration // cut off from the coordinator until this time
	heard   time.Duration // when the coordinator last heard from it
	syncing bool
}

// disk holds the files that a node finds when it starts.
type disk struct {
	meta            Meta
	base, baseEpoch uint64
	log             []wal.Record
	persisted       map[string]stored
	persistedAt     uint64
}

type op struct {
	id, rev uint64
	kind    wal.Kind
	doc     string
	acked   bool
	seq     uint64
}

type world struct {
	o     simOptions
	r     *rand.Rand
	now   time.Duration
	q     queue
	count int
	calm  bool // faults have ended
	quiet int  // at 1, the test examines which copies answer
	nodes []*simNode

	// coordinator
	shard    coord.Shard
	sessions int
	views    int
	zkDown   time.Duration

	cutLink map[[2]coord.NodeID]time.Duration

	ops       map[uint64]*op
	promised  map[string]uint64 // highest acknowledged revision of each document
	byDoc     map[string][]*op
	nextOp    uint64
	committed []wal.Record      // by record number; all copies must agree on it
	under     []uint64          // epoch of each record's commit
	chosen    bool              // records were committed under the forced master that contradict earlier ones
	abandoned map[string]uint64 // highest acknowledged revision of each document that the forced master lacked
	out       outcome
	trace     func(string, ...any)
}

func (w *world) fail(format string, args ...any) {
	if w.out.violation == "" {
		w.out.violation = fmt.Sprintf("%v: ", w.now) + fmt.Sprintf(format, args...)
		w.logf("VIOLATION %s", w.out.violation)
	}
}

func (w *world) logf(format string, args ...any) {
	if w.trace != nil {
		w.trace("%8v "+format, append([]any{w.now}, args...)...)
	}
}

func (w *world) after(d time.Duration, f func()) {
	w.count++
	heap.Push(&w.q, happening{w.now + d, w.count, f})
}

func (w *world) chance(p float64) bool { return w.r.Float64() < p }

func (w *world) upTo(d time.Duration) time.Duration { return time.Duration(w.r.Int64N(int64(d) + 1)) }

// simulate runs one history.
func simulate(seed uint64, o simOptions, trace func(string, ...any)) outcome {
	o = defaults(o)
	w := &world{o: o, r: rand.New(rand.NewPCG(seed, 77)), cutLink: map[[2]coord.NodeID]time.Duration{}, ops: map[uint64]*op{},
		promised: map[string]uint64{}, byDoc: map[string][]*op{}, abandoned: map[string]uint64{}, trace: trace}
	for i := range o.nodes {
		w.nodes = append(w.nodes, &simNode{w: w, id: coord.NodeID(rune('a' + i)), index: map[string]stored{}, persisted: map[string]stored{},
			aside: map[string]uint64{}})
		w.shard.ISR = append(w.shard.ISR, w.nodes[i].id)
	}
	w.shard.Replicas = slices.Clone(w.shard.ISR)
	for _, n := range w.nodes {
		n.start()
		n.ticks()
	}
	w.client()
	w.nemesis()
	w.watch()
	if o.forced {
		w.after(3*time.Second+w.upTo(4*time.Second), w.operator)
	}
	for w.now < o.faults+o.healing && w.out.violation == "" {
		if !w.calm && w.now > o.faults {
			w.heal()
		}
		if w.calm && w.quiet == 0 {
			w.beQuiet()
		}
		h := heap.Pop(&w.q).(happening)
		w.now = h.at
		h.do()
	}
	if w.out.violation == "" {
		w.judge()
	}
	return w.out
}

// epochOf returns the epoch of a committed record, or 0 for record 0, before the first.
func (w *world) epochOf(seq uint64) uint64 {
	if seq == 0 {
		return 0
	}
	return w.committed[seq-1].Epoch
}

func (w *world) node(id coord.NodeID) *simNode { return w.nodes[int(id[0]-'a')] }
