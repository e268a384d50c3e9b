package replica

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"concordat/cluster/coord"
	"concordat/cluster/wal"
)

// This file simulates a node and its disk.

// start restarts the node with only the contents of its disk.
func (n *simNode) start() {
	n.down, n.inc, n.gen, n.syncing = false, n.inc+1, n.gen+1, false
	n.log = n.log[:n.durable-n.base]
	if n.w.o.putBack && n.earlier != nil && n.w.chance(0.4) {
		d := n.earlier
		n.meta, n.base, n.baseEpoch, n.log, n.durable = d.meta, d.base, d.baseEpoch, d.log, d.base+uint64(len(d.log))
		n.persisted, n.persistedAt, n.earlier = d.persisted, d.persistedAt, nil
		n.w.logf("%s is put back to %d", n.id, n.durable)
	}
	if n.w.o.putBack && !n.w.o.unchecked && n.durable < uint64(len(n.w.committed)) {
		n.meta.Damaged = true // a Copy learns this from the record kept outside the nodes, which is at or after the last commit
	}
	n.index, n.applied = maps.Clone(n.persisted), n.persistedAt
	lost := n.durable < n.applied // it has lost more of the log than of the index
	if lost {
		n.base, n.baseEpoch, n.log, n.durable = n.applied, n.w.epochOf(n.applied), nil, n.applied
	}
	cfg := Config{Me: n.id, MinISR: n.w.o.minISR, Lag: 400 * ms, Patience: 300 * ms, Wait: 100 * ms, Retry: 40 * ms, FetchBytes: 2000,
		without: n.w.o.without}
	if n.w.o.delays {
		cfg.FetchBytes = 120
	}
	revs := NewRevisions(n.meta.Horizon)
	revs.most = n.w.o.forgetful
	for i := range n.log {
		revs.Add(&n.log[i])
	}
	if lost {
		revs.Raise(n.w.nextOp) // a Copy takes this from its clock
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

// later runs f after d if the node has not restarted by then, and not while it is paused.
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

// contact returns the state that the coordinator's client reports; the client's own session timer expires before the coordinator's.
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

// step passes an event to the replica and carries out the resulting actions.
func (n *simNode) step(e Event) {
	was := n.r.role
	for _, a := range n.r.Step(n.w.now, e) {
		n.act(a)
	}
	if n.r.role == Master && was != Master {
		n.w.out.elections++
		n.w.logf("%s leads epoch %d: %v hold %v, log %d", n.id, n.r.shard.Epoch, n.r.shard.ISR, n.r.shard.Hold, n.r.log.End)
		// A paused candidate can learn that it has won long after others have taken over. It may lack the records that they committed,
		// and it can commit nothing.
		before, _ := slices.BinarySearch(n.w.under, n.r.shard.Epoch)
		if end := n.base + uint64(len(n.log)); n.w.o.without == 0 && n.w.shard.Forced == 0 && uint64(before) > end {
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
			n.later(150*ms, func() { n.step(Unreachable{Node: a.To, ID: a.Fetch.ID}) }) // as when connections are refused
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

// sync writes the log to disk after some time, or fails.
func (n *simNode) sync() {
	if n.syncing {
		return
	}
	n.syncing = true
	gen, target := n.gen, n.base+uint64(len(n.log))
	d := ms + n.w.upTo(4*ms)
	if !n.w.calm && n.w.chance(0.002) {
		d = n.w.upTo(600 * ms) // slow disk
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

// commits compares the records that the copy considers committed with the ones that the others committed, and applies them.
func (n *simNode) commits(seq uint64) {
	w := n.w
	for s := n.applied + 1; s <= seq; s++ {
		if s <= n.base || s > n.durable {
			w.fail("%s commits %d, its log on disk is %d to %d", n.id, s, n.base, n.durable)
			return
		}
		rec := n.log[s-n.base-1]
		if forced := w.shard.Forced; forced > 0 && n.r.shard.Epoch >= forced && !w.chosen && s <= uint64(len(w.committed)) &&
			w.committed[s-1].Epoch != rec.Epoch {
			w.abandon(s - 1)
		}
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
		if w.chance(w.o.persists) {
			n.persist()
		}
		n.step(Applied{Seq: seq})
	})
}

// persist writes the index to disk and sometimes trims the log.
func (n *simNode) persist() {
	n.persisted, n.persistedAt = maps.Clone(n.index), n.applied
	if n.w.o.putBack && n == n.w.nodes[0] && n.w.chance(0.2) && n.durable >= n.persistedAt {
		n.earlier = &disk{n.meta, n.base, n.baseEpoch, slices.Clone(n.log[:n.durable-n.base]), maps.Clone(n.persisted), n.persistedAt}
	}
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

// applyTo makes the change unconditionally, because the log contains no late writes.
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
	if n.meta.Aside != "" {
		n.putAside()
	}
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

// putAside keeps the contents of the copy's disk.
func (n *simNode) putAside() {
	n.w.logf("%s is put aside: %s", n.id, n.meta.Aside)
	for doc, s := range n.persisted {
		n.aside[doc] = max(n.aside[doc], s.rev)
	}
	for _, rec := range n.log[:n.durable-n.base] {
		n.aside[rec.ID] = max(n.aside[rec.ID], rec.Rev)
	}
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
		if n.down && !n.away {
			n.start()
		}
	})
}
