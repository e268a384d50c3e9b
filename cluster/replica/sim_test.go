package replica

import (
	"container/heap"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"concordat/cluster/coord"
	"concordat/cluster/wal"
)

// The simulation: one shard on several nodes, a coordinator, clients and faults, all driven by one
// source of random numbers and one queue of events. Nothing in it waits, so that a seed is a history.

const ms = time.Millisecond

// simOptions say what may happen.
type simOptions struct {
	nodes      int
	minISR     int
	without    rule
	rotten     bool // node 0 loses a part of its log at each crash
	spurious   bool // followers suspect the master at any time
	additions  bool // silence and return of single followers is the commonest fault
	forgetful  int  // revisions that a copy remembers; 0: as many as it does
	delays     bool // messages are often very late, and answers short
	faults     time.Duration
	healing    time.Duration
	writeEvery time.Duration
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
	return o
}

// outcome of one history.
type outcome struct {
	violation string // the first one
	stuck     bool   // it is that the cluster did not recover; nothing was lost
	acked     int
	asked     int // questions that a copy was sure to answer rightly
	elections int
	installs  int
	down      bool // every copy in sync had lost something at the end: an operator has to choose
	broken    bool // an index was damaged on purpose
}

type happening struct {
	at  time.Duration
	seq int // of equal times
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

// stored is a document in an index: rev decides, a delete leaves a tombstone.
type stored struct {
	rev  uint64
	kind wal.Kind
	op   uint64 // that wrote it
}

// simNode is a node with its disk.
type simNode struct {
	w    *world
	id   coord.NodeID
	inc  int // crashes so far: what was under way inside an older life is void
	r    *Replica
	down bool
	// paused until then; what arrives waits.
	paused time.Duration

	// On disk. log[i] is record base+i+1.
	meta            Meta
	base, baseEpoch uint64
	log             []wal.Record // the first durable-base of it survive
	durable         uint64
	index           map[string]stored // in memory
	applied         uint64
	persisted       map[string]stored // on disk
	persistedAt     uint64

	gen     uint64 // of the log
	session coord.Incarnation
	viewed  int // number of the newest view that came
	live    bool
	cut     time.Duration // from the coordinator, until then
	heard   time.Duration // by the coordinator
	syncing bool
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
	calm  bool // faults are over
	nodes []*simNode

	// coordinator
	shard    coord.Shard
	sessions int
	views    int
	zkDown   time.Duration

	cutLink map[[2]coord.NodeID]time.Duration

	ops       map[uint64]*op
	promised  map[string]uint64 // highest revision of a document that was acknowledged
	byDoc     map[string][]*op
	nextOp    uint64
	committed []wal.Record // by number: what every copy has to agree on
	under     []uint64     // epoch in which each was committed
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
	w := &world{o: o, r: rand.New(rand.NewPCG(seed, 77)), cutLink: map[[2]coord.NodeID]time.Duration{}, ops: map[uint64]*op{}, promised: map[string]uint64{}, byDoc: map[string][]*op{}, trace: trace}
	for i := range o.nodes {
		w.nodes = append(w.nodes, &simNode{w: w, id: coord.NodeID(rune('a' + i)), index: map[string]stored{}, persisted: map[string]stored{}})
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
	for w.now < o.faults+o.healing && w.out.violation == "" {
		if !w.calm && w.now > o.faults {
			w.heal()
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

// epochOf returns the epoch of a committed record; 0 is before all.
func (w *world) epochOf(seq uint64) uint64 {
	if seq == 0 {
		return 0
	}
	return w.committed[seq-1].Epoch
}

func (w *world) node(id coord.NodeID) *simNode { return w.nodes[int(id[0]-'a')] }

// --- nodes

// start begins a life of the node: what its disk holds is what there is.
func (n *simNode) start() {
	n.down, n.inc, n.gen, n.syncing = false, n.inc+1, n.gen+1, false
	n.log = n.log[:n.durable-n.base]
	n.index, n.applied = maps.Clone(n.persisted), n.persistedAt
	if n.durable < n.applied { // the log lost more than the index
		n.base, n.baseEpoch, n.log, n.durable = n.applied, n.w.epochOf(n.applied), nil, n.applied
	}
	cfg := Config{Me: n.id, MinISR: n.w.o.minISR, Lag: 400 * ms, Patience: 300 * ms, Wait: 100 * ms, Retry: 40 * ms, FetchBytes: 2000, without: n.w.o.without}
	if n.w.o.delays {
		cfg.FetchBytes = 120
	}
	revs := NewRevisions(n.meta.Horizon)
	revs.most = n.w.o.forgetful
	for i := range n.log {
		revs.Add(&n.log[i])
	}
	n.r = New(cfg, n.meta, n.extent(), revs, n.applied)
	n.r.gen = n.gen
	n.r.now, n.r.lastTick = n.w.now, n.w.now
	n.newSession()
	n.w.logf("%s starts: base %d durable %d applied %d damaged %v", n.id, n.base, n.durable, n.applied, n.meta.Damaged)
}

func (n *simNode) newSession() {
	n.w.sessions++
	n.session, n.live, n.heard = coord.Incarnation(fmt.Sprint(n.id, n.w.sessions)), false, n.w.now
	n.w.tell()
}

func (n *simNode) extent() wal.Extent {
	x := wal.Extent{Base: n.base, BaseEpoch: n.baseEpoch, End: n.base}
	for i := range n.log {
		x.Extend(n.log[i].Epoch)
	}
	x.Durable = n.durable
	return x
}

// later runs f after d if the node still lives the same life, and not while it is paused.
func (n *simNode) later(d time.Duration, f func()) {
	inc := n.inc
	var try func()
	try = func() {
		switch {
		case n.down || n.inc != inc:
		case n.paused > n.w.now:
			n.w.after(n.paused-n.w.now+n.w.upTo(ms), try)
		default:
			f()
		}
	}
	n.w.after(d, try)
}

// contact is what the coordinator's client says: its own count of the session ends before the coordinator's.
func (n *simNode) contact() Contact {
	if n.w.now-n.heard < 800*ms {
		return Contact{n.session}
	}
	return Contact{}
}

func (n *simNode) ticks() {
	var tick func()
	tick = func() {
		n.w.after(20*ms, tick)
		if n.down || n.paused > n.w.now {
			return
		}
		n.step(n.contact())
		n.step(Tick{})
	}
	n.w.after(n.w.upTo(20*ms), tick)
}

// step gives the replica an event and does what it says.
func (n *simNode) step(e Event) {
	was := n.r.role
	for _, a := range n.r.Step(n.w.now, e) {
		n.act(a)
	}
	if n.r.role == Master && was != Master {
		n.w.out.elections++
		n.w.logf("%s leads epoch %d: %v hold %v, log %d", n.id, n.r.shard.Epoch, n.r.shard.ISR, n.r.shard.Hold, n.r.log.End)
		// A candidate that stood still may learn that it has won when others have long followed it; what
		// they committed it need not have, and it can commit nothing.
		before, _ := slices.BinarySearch(n.w.under, n.r.shard.Epoch)
		if end := n.base + uint64(len(n.log)); n.w.o.without == 0 && uint64(before) > end {
			n.w.fail("master %s of epoch %d has %d records, %d were committed before", n.id, n.r.shard.Epoch, end, before)
		}
	}
}

func (n *simNode) act(a Action) {
	w := n.w
	switch a := a.(type) {
	case Save:
		n.meta = a.Meta
	case Append:
		if a.Gen != n.gen || a.Records[0].Seq != n.base+uint64(len(n.log))+1 {
			w.fail("%s appends %d of generation %d behind %d of %d", n.id, a.Records[0].Seq, a.Gen, n.base+uint64(len(n.log)), n.gen)
			return
		}
		n.log = append(n.log, a.Records...)
		n.sync()
	case Truncate:
		if a.Seq < n.applied {
			w.fail("%s truncates to %d, its index holds %d", n.id, a.Seq, n.applied)
			return
		}
		w.logf("%s truncates to %d", n.id, a.Seq)
		n.gen = a.Gen
		n.log = slices.Clip(n.log[:a.Seq-n.base])
		n.durable, n.syncing = min(n.durable, a.Seq), false
	case Apply:
		n.commits(a.Seq)
	case SendFetch:
		to := w.node(a.To)
		if to.down && !w.severed(n.id, to.id) && w.chance(0.3) {
			n.later(150*ms, func() { n.step(Unreachable{Node: a.To, ID: a.Fetch.ID}) }) // connections are refused
			return
		}
		n.send(to, a.Fetch)
	case SendReply:
		n.reply(a)
	case CAS:
		n.sendCAS(a)
	case Acknowledge:
		w.acknowledged(a)
	case Install:
		n.install(a)
	case Ready:
		var publish func()
		publish = func() {
			switch {
			case a.Incarnation != n.session:
			case !n.reaches():
				n.later(30*ms, publish)
			default:
				n.live = true
				w.tell()
			}
		}
		n.later(w.upTo(5*ms), publish)
	case Alarm:
		w.logf("%s ALARM %s", n.id, a.Reason)
	}
}

// sync brings the log to the disk after a while, or fails.
func (n *simNode) sync() {
	if n.syncing {
		return
	}
	n.syncing = true
	gen, target := n.gen, n.base+uint64(len(n.log))
	d := ms + n.w.upTo(4*ms)
	if !n.w.calm && n.w.chance(0.002) {
		d = n.w.upTo(600 * ms) // a slow disk
	}
	n.later(d, func() {
		if gen != n.gen {
			return
		}
		n.syncing = false
		if !n.w.calm && n.w.chance(0.0005) {
			n.w.logf("%s: log fails", n.id)
			n.gen++
			n.log = n.log[:n.durable-n.base]
			n.step(Reopened{Gen: n.gen, Log: n.extent()})
			return
		}
		n.durable = target
		if target < n.base+uint64(len(n.log)) {
			n.sync()
		}
		n.step(Durable{Gen: gen, Seq: target})
	})
}

// commits checks what the copy holds for committed against what others did, and applies it.
func (n *simNode) commits(seq uint64) {
	w := n.w
	for s := n.applied + 1; s <= seq; s++ {
		if s <= n.base || s > n.durable {
			w.fail("%s commits %d, its log on disk is %d to %d", n.id, s, n.base, n.durable)
			return
		}
		rec := n.log[s-n.base-1]
		if s <= uint64(len(w.committed)) {
			if c := w.committed[s-1]; c.Epoch != rec.Epoch || c.Slot != rec.Slot || c.Rev != rec.Rev || c.ID != rec.ID {
				w.fail("%s commits record %d of epoch %d, another copy one of epoch %d", n.id, s, rec.Epoch, c.Epoch)
				return
			}
		} else {
			w.committed = append(w.committed, rec)
			w.under = append(w.under, n.r.shard.Epoch)
		}
	}
	gen := n.gen
	n.later(w.upTo(6*ms), func() {
		if seq <= n.applied || seq <= n.base || gen != n.gen && n.durable < seq {
			return
		}
		for s := n.applied + 1; s <= seq; s++ {
			applyTo(n.index, &n.log[s-n.base-1])
		}
		n.applied = seq
		if w.chance(0.3) {
			n.persist()
		}
		n.step(Applied{Seq: seq})
	})
}

// persist brings the index to the disk, and may trim the log.
func (n *simNode) persist() {
	n.persisted, n.persistedAt = maps.Clone(n.index), n.applied
	if n.w.chance(0.05) && n.persistedAt > n.base {
		to := n.base + n.w.r.Uint64N(n.persistedAt-n.base+1)
		epoch := n.baseEpoch
		if to > n.base {
			epoch = n.log[to-n.base-1].Epoch
		}
		n.step(Trimming{Seq: to})
		n.log = slices.Clone(n.log[to-n.base:])
		n.base, n.baseEpoch = to, epoch
		n.step(Trimmed{Base: to, Epoch: epoch})
	}
}

// applyTo makes the change, whatever there was: the log holds no write that came too late.
func applyTo(index map[string]stored, rec *wal.Record) {
	if rec.Kind == wal.Noop {
		return
	}
	index[rec.ID] = stored{rec.Rev, rec.Kind, opOf(rec)}
}

func opOf(rec *wal.Record) uint64 {
	var id uint64
	for _, b := range rec.Payload {
		id = id<<8 | uint64(b)
	}
	return id
}

func (n *simNode) install(a Install) {
	w := n.w
	from := w.node(a.From)
	w.out.installs++
	n.gen = a.Gen
	n.syncing = false
	gen, inc := n.gen, from.inc
	n.later(30*ms+w.upTo(200*ms), func() {
		if gen != n.gen {
			return
		}
		if from.down || from.inc != inc || w.severed(from.id, n.id) {
			n.step(Installed{Gen: gen, Failed: true})
			return
		}
		n.index, n.applied = maps.Clone(from.index), from.applied
		n.persisted, n.persistedAt = maps.Clone(n.index), n.applied
		n.base, n.baseEpoch, n.log, n.durable = n.applied, w.epochOf(n.applied), nil, n.applied
		w.logf("%s installs %d", n.id, n.applied)
		n.step(Installed{Gen: gen, Seq: n.base, Epoch: n.baseEpoch, Newest: from.r.NewestRevision()})
	})
}

func (n *simNode) crash() {
	w := n.w
	w.logf("%s crashes: durable %d of %d", n.id, n.durable, n.base+uint64(len(n.log)))
	n.down = true
	if w.o.rotten && n == w.nodes[0] && n.durable > n.base {
		lose := min(w.r.Uint64N(31), n.durable-n.base)
		if lose > 0 {
			n.durable -= lose
			n.meta.Damaged = n.meta.Damaged || w.o.without&r7 == 0
		}
	}
	w.after(100*ms+w.upTo(1500*ms), func() {
		if n.down {
			n.start()
		}
	})
}
