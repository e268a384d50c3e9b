package replica

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"concordat/cluster/coord"
	"concordat/cluster/wal"
)

// This file is the world around the simulated nodes: network, coordinator, clients, faults, and the final judgement.

// --- network

func (w *world) severed(a, b coord.NodeID) bool { return w.cutLink[[2]coord.NodeID{a, b}] > w.now }

// send delivers an event to another node late, twice or never.
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
				copies++ // delivered again, because the caller retried
			case w.chance(0.1):
				d = w.upTo(40 * ms)
			}
			if copies > 3 {
				copies = 3
			}
		}
		// A message survives the death of its receiver's process, and the next process gets it.
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
			return // the log was trimmed in the meantime, and the follower asks again
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

// reaches reports whether the node can reach the coordinator.
func (n *simNode) reaches() bool {
	return !n.down && n.paused <= n.w.now && n.cut <= n.w.now && n.w.zkDown <= n.w.now
}

// watch maintains sessions, and ends the session of a node that is silent for a second.
func (w *world) watch() {
	for _, n := range w.nodes {
		switch {
		case n.reaches():
			if n.session == "" {
				n.newSession() // the session expired in the meantime
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

// tell sends the current view to every node, each with a different delay.
func (w *world) tell() {
	w.views++
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
		number := w.views
		n.later(d, func() {
			// The link handles late views of an older session, and their order.
			if n.reaches() && v.Me == n.session && number > n.viewed {
				n.viewed = number
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
	lost := !w.calm && w.chance(0.1) // whether the answer is lost
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
		n.later(150*ms, func() { n.step(CASResult{ID: a.ID, Outcome: Unknown}) }) // ignored if it was answered before
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
	if w.chance(0.3) {
		w.ask(w.nodes[w.r.IntN(len(w.nodes))], fmt.Sprint("d", w.r.IntN(40)))
	}
	w.nextOp++
	o := &op{id: w.nextOp, rev: w.nextOp, kind: wal.Put, doc: doc}
	if w.chance(0.25) {
		o.kind = wal.Delete
	}
	if old := w.byDoc[doc]; len(old) > 0 && w.chance(0.2) {
		// This repeats an operation whose answer was lost or late.
		o = old[len(old)-1]
	} else {
		w.ops[o.id] = o
		w.byDoc[doc] = append(old, o)
	}
	id := []byte{byte(o.id >> 24), byte(o.id >> 16), byte(o.id >> 8), byte(o.id)}
	write := Write{ID: o.id, Record: wal.Record{Kind: o.kind, Rev: o.rev, ID: doc, Payload: id}}
	if w.chance(0.05) {
		// Its sender hung, or the message was slow, so it arrives after others have written the document.
		to := w.nodes[w.r.IntN(len(w.nodes))]
		if w.chance(0.7) {
			to = n
		}
		w.after(w.upTo(3*time.Second), func() {
			if !to.down && to.paused <= w.now {
				to.step(write)
			}
		})
		if w.chance(0.5) {
			return
		}
	}
	n.step(write)
}

// acknowledged records a promise, and reads from a copy that claims to have the record.
func (w *world) acknowledged(a Acknowledge) {
	o := w.ops[a.ID]
	if !o.acked {
		o.acked, o.seq = true, a.Seq
		w.out.acked++
		w.promised[o.doc] = max(w.promised[o.doc], o.rev)
	}
	w.ask(w.nodes[w.r.IntN(len(w.nodes))], o.doc)
	n := w.nodes[w.r.IntN(len(w.nodes))]
	if n.down || n.r.quarantined || n.applied < a.Seq || w.shard.Forced > 0 {
		return // it would answer "stale" rather than "nothing found"; before it meets a forced master, its records have other numbers
	}
	if got := n.index[o.doc]; got.rev < o.rev {
		w.fail("read at %s with everything up to %d: document %s has revision %d, acknowledged was %d", n.id, n.applied, o.doc, got.rev, o.rev)
	}
}

// ask reads a document from a copy that considers itself current and has applied its log.
func (w *world) ask(n *simNode, doc string) {
	if w.o.spurious || n.down || n.paused > w.now {
		return // a master whose process only seems to be gone can still answer for a moment
	}
	n.step(n.contact())
	st := n.r.Status()
	if !st.Sure {
		return
	}
	want, tries := w.promised[doc], 0
	role, end := st.Role, st.End
	if role == Master {
		end = st.Applied // it has applied what it acknowledged
	}
	var look func()
	look = func() {
		st := n.r.Status()
		switch tries++; {
		case st.Quarantined || st.Installing || st.Meta.Damaged || tries > 200:
		case n.applied < min(end, st.End):
			n.later(2*ms, look)
		default:
			w.out.asked++
			want = min(want, w.promised[doc]) // what was promised can be abandoned meanwhile
			if got := n.index[doc]; got.rev < want {
				w.fail("%s, as %s, was sure of itself and has revision %d of document %s, acknowledged was %d before", n.id, role, got.rev, doc, want)
			}
		}
	}
	look()
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
		n.step(Unreachable{Node: w.shard.ISR[0], ID: n.r.fetch.id})
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
		default: // the session ends although the node is healthy
			n.newSession()
		}
	}
}

// operator cuts a node off for a while, so that it lags, then takes all other nodes down, and orders this one to lead with what it has. The
// others come back afterwards.
func (w *world) operator() {
	n := w.nodes[w.r.IntN(len(w.nodes))]
	until := w.now + w.upTo(1500*ms)
	for _, other := range w.nodes {
		w.cutLink[[2]coord.NodeID{n.id, other.id}], w.cutLink[[2]coord.NodeID{other.id, n.id}] = until, until
	}
	w.logf("%s will be forced to lead", n.id)
	var order func()
	order = func() {
		switch {
		case w.calm: // there was no moment at which the order reached it
		case w.shard.Forced > 0 || !n.down && n.r.role == Master:
			for _, other := range w.nodes {
				if other.away = false; other.down {
					other.start()
				}
			}
		default:
			if !n.down && n.paused <= w.now {
				n.step(Force{})
			}
			w.after(50*ms, order)
		}
	}
	w.after(until-w.now, func() {
		for _, other := range w.nodes {
			if other != n {
				other.away = true
				if !other.down {
					other.crash()
				}
			}
		}
		order()
	})
}

// abandon records that the committed records after seq are lost to the cluster, because the operator chose a master that lacked them.
func (w *world) abandon(seq uint64) {
	for _, rec := range w.committed[seq:] {
		if o := w.ops[opOf(&rec)]; rec.Kind != wal.Noop && o.acked {
			o.acked = false
			w.abandoned[o.doc] = max(w.abandoned[o.doc], o.rev)
		}
	}
	w.logf("%d of %d committed records are abandoned", uint64(len(w.committed))-seq, len(w.committed))
	w.committed, w.under = w.committed[:seq], w.under[:seq]
	for doc := range w.abandoned {
		w.promised[doc] = 0
		for _, o := range w.byDoc[doc] {
			if o.acked {
				w.promised[doc] = max(w.promised[doc], o.rev)
			}
		}
	}
	w.chosen, w.out.abandoned = true, len(w.abandoned)
}

// spared reports whether another copy is in sync, without which no protocol survives the loss of this one.
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
		n.paused, n.cut, n.away = min(n.paused, w.now), 0, false
		if n.down {
			n.start()
		}
		n.step(Disk{})
	}
	w.logf("healed")
}

// The times below count from the end of the faults.
const (
	settled  = 3500 * ms // by then, all copies answer
	blackout = 2200 * ms // how long the coordinator is unavailable
	unaware  = 1200 * ms // by then, all nodes have noticed the outage
	patience = 700 * ms  // how long the test checks which copies answer
)

// beQuiet examines the liveness that R13 allows. Once faults have ended, every copy answers questions, even while no node reaches the
// coordinator, unless so many copies are damaged that there is no master.
func (w *world) beQuiet() {
	w.quiet = 1
	w.after(settled, func() { w.answering("all is quiet") })
	w.after(settled+patience, func() { w.zkDown = w.now + blackout })
	w.after(settled+patience+unaware, func() { w.answering("the coordinator is away") })
}

// answering checks for a while whether each copy answers.
func (w *world) answering(when string) {
	silent := slices.Clone(w.nodes)
	end := w.now + patience
	var look func()
	look = func() {
		silent = slices.DeleteFunc(silent, func(n *simNode) bool {
			n.step(n.contact())
			return n.r.Status().Sure
		})
		switch {
		case len(silent) == 0:
			w.out.answering++
		case w.now < end:
			w.after(10*ms, look)
		case w.leads():
			w.fail("%s does not answer though %s: %+v", silent[0].id, when, silent[0].r.Status())
			w.out.stuck = true
		}
	}
	look()
}

// leads reports whether there is a master.
func (w *world) leads() bool {
	return slices.ContainsFunc(w.nodes, func(n *simNode) bool { return n.r.role == Master && w.shard.Leader == n.session })
}

// judge examines the final state of every copy separately.
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
	for doc, rev := range w.abandoned {
		kept := master.index[doc].rev
		for _, n := range w.nodes {
			kept = max(kept, n.aside[doc])
		}
		if kept < rev {
			w.fail("document %s: the forced master lacked revision %d, and of what was put aside, the newest is %d", doc, rev, kept)
		}
	}
}
