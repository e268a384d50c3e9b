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
	zkDown   time.Duration

	cutLink map[[2]coord.NodeID]time.Duration

	ops       map[uint64]*op
	byDoc     map[string][]*op
	nextOp    uint64
	committed []wal.Record // by number: what every copy has to agree on
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
	w := &world{o: o, r: rand.New(rand.NewPCG(seed, 77)), cutLink: map[[2]coord.NodeID]time.Duration{}, ops: map[uint64]*op{}, byDoc: map[string][]*op{}, trace: trace}
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

func (w *world) node(id coord.NodeID) *simNode { return w.nodes[int(id[0]-'a')] }

// --- nodes

// start begins a life of the node: what its disk holds is what there is.
func (n *simNode) start() {
	n.down, n.inc, n.gen, n.syncing = false, n.inc+1, n.gen+1, false
	n.log = n.log[:n.durable-n.base]
	n.index, n.applied = maps.Clone(n.persisted), n.persistedAt
	if n.durable < n.applied { // the log lost more than the index
		n.base, n.baseEpoch, n.log, n.durable = n.applied, n.w.committed[n.applied-1].Epoch, nil, n.applied
	}
	cfg := Config{Me: n.id, MinISR: n.w.o.minISR, Lag: 400 * ms, Patience: 300 * ms, Wait: 100 * ms, Retry: 40 * ms, FetchBytes: 2000, without: n.w.o.without}
	if n.w.o.delays {
		cfg.FetchBytes = 120
	}
	n.r = New(cfg, n.meta, n.extent(), n.applied)
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

func (n *simNode) ticks() {
	var tick func()
	tick = func() {
		n.w.after(20*ms, tick)
		if n.down || n.paused > n.w.now {
			return
		}
		n.step(Contact{Online: n.w.now-n.heard < 800*ms})
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
		if n.w.o.without == 0 && uint64(len(n.w.committed)) > n.base+uint64(len(n.log)) {
			n.w.fail("master %s of epoch %d has %d records, %d are committed", n.id, n.r.shard.Epoch, n.base+uint64(len(n.log)), len(n.w.committed))
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
		n.send(w.node(a.To), a.Fetch)
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
		n.log = slices.Clone(n.log[to-n.base:])
		n.base, n.baseEpoch = to, epoch
		n.step(Trimmed{Base: to, Epoch: epoch})
	}
}

// applyTo is the rule of revisions: an older one changes nothing.
func applyTo(index map[string]stored, rec *wal.Record) {
	if rec.Kind == wal.Noop || rec.Rev <= index[rec.ID].rev {
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
		if from.down || from.inc != inc || w.severed(from.id, n.id) || from.applied == 0 {
			n.step(Installed{Gen: gen, Failed: true})
			return
		}
		n.index, n.applied = maps.Clone(from.index), from.applied
		n.persisted, n.persistedAt = maps.Clone(n.index), n.applied
		n.base, n.baseEpoch, n.log, n.durable = n.applied, w.committed[n.applied-1].Epoch, nil, n.applied
		w.logf("%s installs %d", n.id, n.applied)
		n.step(Installed{Gen: gen, Seq: n.base, Epoch: n.baseEpoch})
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

// --- network

func (w *world) severed(a, b coord.NodeID) bool { return w.cutLink[[2]coord.NodeID{a, b}] > w.now }

// send delivers an event to another node: late, twice or never.
func (n *simNode) send(to *simNode, e Event) {
	w := n.w
	for copies := 1; copies > 0; copies-- {
		if w.severed(n.id, to.id) || !w.calm && w.chance(0.02) {
			continue
		}
		d := ms/4 + w.upTo(2*ms)
		if !w.calm {
			switch {
			case w.chance(0.02) || w.o.delays && w.chance(0.15):
				d = w.upTo(2500 * ms)
				copies++ // and once more: the caller tried again
			case w.chance(0.1):
				d = w.upTo(40 * ms)
			}
			if copies > 3 {
				copies = 3
			}
		}
		// A message survives the death of its receiver's process: it finds the next one.
		var deliver func()
		deliver = func() {
			switch {
			case to.down || w.severed(n.id, to.id):
			case to.paused > w.now:
				w.after(to.paused-w.now+w.upTo(3*ms), deliver)
			default:
				to.step(e)
			}
		}
		w.after(d, deliver)
	}
}

func (n *simNode) reply(a SendReply) {
	if a.First > 0 {
		if a.First <= n.base {
			return // trimmed meanwhile: the follower asks again
		}
		size := 0
		for s := a.First; s <= a.Last && s <= n.base+uint64(len(n.log)); s++ {
			rec := n.log[s-n.base-1]
			if size += rec.Size(); size > a.MaxBytes && len(a.Reply.Records) > 0 {
				break
			}
			a.Reply.Records = append(a.Reply.Records, rec)
		}
	}
	n.send(n.w.node(a.To), a.Reply)
}

// --- coordinator

// reaches reports whether the node can talk to the coordinator.
func (n *simNode) reaches() bool {
	return !n.down && n.paused <= n.w.now && n.cut <= n.w.now && n.w.zkDown <= n.w.now
}

// watch keeps sessions: who was silent for a second is gone.
func (w *world) watch() {
	for _, n := range w.nodes {
		switch {
		case n.reaches():
			if n.session == "" {
				n.newSession() // it expired meanwhile
			}
			n.heard = w.now
		case w.zkDown <= w.now && w.now-n.heard > 1000*ms && n.session != "":
			w.logf("session of %s expires", n.id)
			n.session, n.live = "", false
			w.tell()
		}
	}
	if w.chance(0.2) {
		w.tell()
	}
	w.after(50*ms, w.watch)
}

// tell sends the present view to everybody, each with its own delay.
func (w *world) tell() {
	live := map[coord.NodeID]coord.Incarnation{}
	for _, n := range w.nodes {
		if n.live {
			live[n.id] = n.session
		}
	}
	for _, n := range w.nodes {
		v := View{Shard: coord.Shard{Version: w.shard.Version, State: w.shard.Clone()}, Me: n.session, Live: live}
		if n.r == nil || n.session == "" {
			continue
		}
		d := w.upTo(5 * ms)
		if !w.calm && w.chance(0.1) {
			d = w.upTo(300 * ms)
		}
		n.later(d, func() {
			if n.reaches() && v.Me == n.session { // late views of an older session are the link's business
				n.step(v)
			}
		})
	}
}

func (n *simNode) sendCAS(a CAS) {
	w := n.w
	answer := func(o Outcome) {
		n.later(w.upTo(3*ms), func() { n.step(CASResult{ID: a.ID, Outcome: o}) })
	}
	if !n.reaches() {
		answer(Unsent)
		return
	}
	d := w.upTo(4 * ms)
	lost := !w.calm && w.chance(0.1) // the answer
	if !w.calm && w.chance(0.05) {
		d, lost = w.upTo(900*ms), true // the request hangs somewhere
	}
	w.after(d, func() {
		if w.zkDown > w.now || !w.calm && w.chance(0.03) {
			return // the request is lost
		}
		o := w.cas(a)
		if !lost {
			answer(o)
		}
	})
	if lost {
		n.later(20*ms+w.upTo(60*ms), func() { n.step(CASResult{ID: a.ID, Outcome: Unknown}) })
	} else {
		n.later(150*ms, func() { n.step(CASResult{ID: a.ID, Outcome: Unknown}) }) // ignored if answered
	}
}

func (w *world) cas(a CAS) Outcome {
	if a.By != "" && !slices.ContainsFunc(w.nodes, func(n *simNode) bool { return n.live && n.session == a.By }) {
		return Over
	}
	if a.Version != w.shard.Version {
		return Stale
	}
	if err := a.State.Validate(); err != nil {
		w.fail("invalid state %+v: %v", a.State, err)
	}
	w.logf("shard: version %d epoch %d isr %v hold %v leader %s", w.shard.Version+1, a.State.Epoch, a.State.ISR, a.State.Hold, a.State.Leader)
	w.shard = coord.Shard{Version: w.shard.Version + 1, State: a.State}
	w.tell()
	return Made
}

// --- clients

func (w *world) client() {
	if w.now < w.o.faults+w.o.healing/2 {
		w.after(w.upTo(2*w.o.writeEvery), w.client)
	}
	n := w.nodes[w.r.IntN(len(w.nodes))]
	if w.chance(0.8) {
		n = w.node(w.shard.ISR[0])
	}
	if n.down || n.paused > w.now {
		return
	}
	doc := fmt.Sprint("d", w.r.IntN(40))
	w.nextOp++
	o := &op{id: w.nextOp, rev: w.nextOp, kind: wal.Put, doc: doc}
	if w.chance(0.25) {
		o.kind = wal.Delete
	}
	if old := w.byDoc[doc]; len(old) > 0 && w.chance(0.2) {
		// A repetition of an operation whose answer was lost, or is late.
		o = old[len(old)-1]
	} else {
		w.ops[o.id] = o
		w.byDoc[doc] = append(old, o)
	}
	id := []byte{byte(o.id >> 24), byte(o.id >> 16), byte(o.id >> 8), byte(o.id)}
	n.step(Write{ID: o.id, Record: wal.Record{Kind: o.kind, Rev: o.rev, ID: doc, Payload: id}})
}

// acknowledged remembers a promise, and reads from some copy that claims to have it.
func (w *world) acknowledged(a Acknowledge) {
	o := w.ops[a.ID]
	if !o.acked {
		o.acked, o.seq = true, a.Seq
		w.out.acked++
	}
	n := w.nodes[w.r.IntN(len(w.nodes))]
	if n.down || n.r.quarantined || n.applied < a.Seq {
		return // it would answer "stale", not "nothing found"
	}
	if got := n.index[o.doc]; got.rev < o.rev {
		w.fail("read at %s with everything up to %d: document %s has revision %d, acknowledged was %d", n.id, n.applied, o.doc, got.rev, o.rev)
	}
}

// --- faults

func (w *world) nemesis() {
	if w.calm {
		return
	}
	w.after(50*ms+w.upTo(700*ms), w.nemesis)
	n := w.nodes[w.r.IntN(len(w.nodes))]
	if w.chance(0.4) {
		n = w.node(w.shard.ISR[0])
	}
	if w.o.additions && w.chance(0.6) {
		if n.id != w.shard.ISR[0] {
			n.paused = w.now + 300*ms + w.upTo(700*ms)
		} else if w.chance(0.3) {
			n.crash()
		}
		return
	}
	if w.o.spurious && w.chance(0.4) && !n.down && n.paused <= w.now {
		n.r.shortcut = 0
		n.step(Unreachable{Node: w.shard.ISR[0]})
		return
	}
	switch w.r.IntN(11) {
	case 0, 1, 2:
		if !n.down {
			n.crash()
		}
	case 3, 4:
		n.paused = w.now + w.upTo(3*time.Second)
		w.logf("%s pauses until %v", n.id, n.paused)
	case 5:
		other := w.nodes[w.r.IntN(len(w.nodes))]
		until := w.now + w.upTo(3*time.Second)
		w.cutLink[[2]coord.NodeID{n.id, other.id}] = until
		if w.chance(0.7) {
			w.cutLink[[2]coord.NodeID{other.id, n.id}] = until
		}
	case 6:
		until := w.now + w.upTo(3*time.Second)
		for _, other := range w.nodes {
			w.cutLink[[2]coord.NodeID{n.id, other.id}], w.cutLink[[2]coord.NodeID{other.id, n.id}] = until, until
		}
		if w.chance(0.5) {
			n.cut = until
		}
	case 7:
		n.cut = w.now + w.upTo(2*time.Second)
		w.logf("%s is cut from the coordinator until %v", n.id, n.cut)
	case 8:
		w.zkDown = w.now + w.upTo(1500*ms)
		w.logf("coordinator down until %v", w.zkDown)
	case 9:
		if !n.down && n.paused <= w.now {
			n.step(Disk{Full: true})
			w.after(w.upTo(1500*ms), func() {
				n.later(0, func() { n.step(Disk{}) })
			})
		}
	case 10:
		switch {
		case n.down || n.paused > w.now:
		case w.chance(0.3):
			if w.spared(n) {
				w.out.broken = true
				n.step(Broken{Reason: "a segment of the index"})
			}
		case w.chance(0.5):
			n.step(StepDown{})
		default: // the session is taken away although the node is well
			n.newSession()
		}
	}
}

// spared reports whether the shard survives the loss of the copy: whatever protocol is used, the only
// good copy must not be destroyed.
func (w *world) spared(n *simNode) bool {
	return slices.ContainsFunc(w.shard.ISR, func(m coord.NodeID) bool {
		o := w.node(m)
		return o != n && !o.meta.Damaged && !o.down && o.paused <= w.now
	})
}

// heal ends all faults.
func (w *world) heal() {
	w.calm = true
	w.zkDown = 0
	clear(w.cutLink)
	for _, n := range w.nodes {
		n.paused, n.cut = min(n.paused, w.now), 0
		if n.down {
			n.start()
		}
		n.step(Disk{})
	}
	w.logf("healed")
}

// judge looks at the end: every copy by itself.
func (w *world) judge() {
	var master *simNode
	for _, n := range w.nodes {
		if n.r.role == Master && w.shard.Leader == n.session {
			master = n
		}
	}
	for _, n := range w.nodes {
		w.logf("%s: %+v fetch %+v change %+v live %v session %s", n.id, n.r.Status(), n.r.fetch, n.r.cas, n.r.live, n.session)
	}
	held := 0
	for _, m := range w.shard.ISR {
		if n := w.node(m); slices.Contains(w.shard.Hold, m) || n.r.meta.Damaged {
			held++
		}
	}
	if master == nil {
		if held == len(w.shard.ISR) {
			w.out.down = true // an operator has to choose
			return
		}
		w.fail("no master at the end: %+v", w.shard)
		w.out.stuck = true
		return
	}
	if len(w.shard.ISR) != len(w.nodes) || len(w.shard.Hold) > 0 {
		w.fail("not all copies in sync at the end: %+v", w.shard)
		w.out.stuck = true
		return
	}
	for _, n := range w.nodes {
		if n.applied != master.applied || !maps.Equal(n.index, master.index) {
			w.fail("copy %s differs at the end: applied %d and %d", n.id, n.applied, master.applied)
			return
		}
	}
	for _, doc := range slices.Sorted(maps.Keys(w.byDoc)) {
		var promised *op
		for _, o := range w.byDoc[doc] {
			if o.acked {
				promised = o
			}
		}
		got := master.index[doc]
		if promised != nil && got.rev < promised.rev {
			w.fail("document %s: revision %d was acknowledged, %d is there", doc, promised.rev, got.rev)
		} else if got.rev > 0 && (w.ops[got.op] == nil || w.ops[got.op].rev != got.rev || w.ops[got.op].kind != got.kind) {
			w.fail("document %s: %+v was never asked for", doc, got)
		}
	}
}
