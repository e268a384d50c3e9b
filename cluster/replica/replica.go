// Package replica implements one copy of a shard as a state machine, which determines who leads, what is acknowledged, and what a copy
// that was away must fetch or give up. It is pure: it has no clocks, files, network or goroutines. Step takes an event and returns the
// actions to perform, so the same code runs in a simulation with thousands of faults and in a real node.
//
// Start from Replica. doc/cluster.md describes the protocol; comments refer to its rules as R1 to R15.
package replica

import (
	"slices"
	"time"

	"concordat/cluster/coord"
	"concordat/cluster/wal"
)

// Config configures a Replica. Zero durations select the defaults.
type Config struct {
	Me coord.NodeID
	// MinISR is the minimum number of copies in the in-sync set; 0 means 2 if the shard should have at least three copies, otherwise 1.
	MinISR int
	// Lag is how long a follower can be behind before it leaves the in-sync set; default 2 s.
	Lag time.Duration
	// Patience is how long a candidate waits for each node ahead of it in the list; default 2 s.
	Patience time.Duration
	// Wait is how long a master holds a fetch for which it has no records; default 500 ms.
	Wait time.Duration
	// FirstFetch is one less than the number of the copy's first fetch; default 0. A node that reopens a copy of the shard within one
	// session starts above the fetches of its earlier copies, because to a master they are all the same follower, whose lower-numbered
	// fetches are late (R15).
	FirstFetch uint64
	// Retry is the delay before retrying a failed exchange; default 100 ms.
	Retry time.Duration
	// FetchBytes is the maximum size of the records in one reply, which always fits at least one record; default 4 MiB.
	FetchBytes int
	// MaxWaiting is the maximum number of writes awaiting acknowledgement; default 10,000.
	MaxWaiting int

	without rule // rules that tests disable to show that they are needed
}

// rule is a set of rules.
type rule uint

const (
	r1  rule = 1 << iota // removals count before they are confirmed
	r2                   // additions count only once they are confirmed
	r3                   // a copy that is not in sync can be elected
	r4                   // a restarted master continues
	r5                   // any reply is taken for the awaited one
	r7                   // a damaged copy can lead
	r8                   // a copy truncates what only its log has, even under a forced master
	r13                  // a copy that believes itself in sync answers questions
	r14                  // a master accepts writes that are too late
	r16                  // a master answers questions without confirmation from its followers
)

// Meta is a Replica's durable state apart from its log. It starts as the zero Meta.
type Meta struct {
	// Epoch is the highest epoch the copy has seen; a state with a lower one is refused (R9).
	Epoch uint64 `json:"epoch"`
	// Damaged means that acknowledged records may be missing; the copy must not lead (R7).
	Damaged bool `json:"damaged,omitempty"`
	// Aside is the reason to put the copy aside before it is replaced; empty if there is none.
	Aside string `json:"aside,omitempty"`
	// Horizon is an upper bound on the revisions of records removed from the log.
	Horizon uint64 `json:"horizon,omitempty"`
}

// Role is the role of a Replica.
type Role uint8

// The roles.
const (
	Follower Role = iota
	Candidate
	Master
)

func (r Role) String() string { return [...]string{"follower", "candidate", "master"}[r] }

// Replica is one copy of a shard. It is not safe for concurrent use.
type Replica struct {
	cfg  Config
	meta Meta
	log  wal.Extent // state once all actions are performed, but with Durable as confirmed
	revs *Revisions // revisions of the records in log
	gen  uint64     // generation of the log; increases when records are removed, so that late confirmations are recognised
	now  time.Duration
	out  []Action

	commit  uint64 // all copies in sync have every record up to here
	applied uint64 // the index has the records up to here
	heard   uint64 // for a follower, the highest commit sent by a master

	shard coord.Shard // last state confirmed by the coordinator
	known bool        // whether shard is known
	me    coord.Incarnation
	live  map[coord.NodeID]coord.Incarnation
	ready bool // Ready was sent for me

	role    Role
	stood   uint64 // epoch for which this Replica was a candidate; it leads no other (R4)
	cas     change
	offline bool
	// contacted is when offline was last set, because a process that was suspended can be offline without knowing it.
	contacted time.Duration
	full      bool
	lastTick  time.Duration
	begun     bool // there has been an event

	leading   // for a Master
	following // for a Follower
	electing
}

// change is the CAS in flight; there is at most one.
type change struct {
	id       uint64
	sends    int
	inFlight bool // from sending the change until the version has changed or certainly will not
	version  int64
	state    coord.State
	by       coord.Incarnation
	again    time.Duration // when to resend a change with unknown result; 0 while awaiting the result
	notUntil time.Duration // earliest time of the next change
}

// New returns the Replica of a copy with the given log and revisions, and an index that has the records up to applied.
func New(cfg Config, meta Meta, log wal.Extent, revs *Revisions, applied uint64) *Replica {
	set := func(d *time.Duration, def time.Duration) {
		if *d == 0 {
			*d = def
		}
	}
	set(&cfg.Lag, 2*time.Second)
	set(&cfg.Patience, 2*time.Second)
	set(&cfg.Wait, 500*time.Millisecond)
	set(&cfg.Retry, 100*time.Millisecond)
	if cfg.FetchBytes == 0 {
		cfg.FetchBytes = 4 << 20
	}
	if cfg.MaxWaiting == 0 {
		cfg.MaxWaiting = 10_000
	}
	log.Epochs = slices.Clone(log.Epochs)
	revs.without = cfg.without&r14 != 0
	r := &Replica{cfg: cfg, meta: meta, log: log, revs: revs, applied: applied, commit: applied}
	r.fetch.id = cfg.FirstFetch
	return r
}

// Status is the status of a Replica.
type Status struct {
	Role       Role
	Shard      coord.Shard
	Meta       Meta
	Base       uint64 // the log begins after this record
	Start      uint64 // for a master, the first record of its epoch
	End        uint64
	Durable    uint64
	Commit     uint64
	Applied    uint64
	InSync     bool
	Offline    bool
	Full       bool
	Installing bool
	// Sure means that every write acknowledged before now is in the log up to End; see method sure. It is valid at the time of the last
	// event.
	Sure bool
	// Quarantined means that the copy must not answer questions; it is waiting for a snapshot.
	Quarantined bool
	Waiting     int // number of waiting writes
}

// Status returns the current status.
func (r *Replica) Status() Status {
	return Status{
		Role: r.role, Shard: r.shard, Meta: r.meta, Base: r.log.Base, Start: r.epochStart, End: r.log.End, Durable: r.log.Durable,
		Commit: r.commit, Applied: r.applied, InSync: r.known && slices.Contains(r.shard.ISR, r.cfg.Me),
		Offline: r.offline, Full: r.full, Installing: r.installing, Quarantined: r.quarantined, Waiting: len(r.waiting), Sure: r.sure(),
	}
}

// Step processes one event at time now, which never decreases, and returns the actions to perform, in order. An action after a Save, an
// Append or a Truncate must not be performed before that one is complete.
func (r *Replica) Step(now time.Duration, e Event) []Action {
	r.now = max(r.now, now)
	if !r.begun {
		r.begun, r.careful = true, r.now+r.cfg.Lag
	}
	switch e := e.(type) {
	case Tick:
		r.tick()
	case View:
		r.onView(e)
	case Contact:
		r.offline, r.contacted = e.Me == "" || e.Me != r.me, r.now
	case Disk:
		r.full = e.Full
	case Write:
		r.onWrite(e)
	case Durable:
		if e.Gen == r.gen {
			r.log.Durable = max(r.log.Durable, min(e.Seq, r.log.End))
		}
	case Applied:
		r.applied = max(r.applied, e.Seq)
	case Fetch:
		r.onFetch(e)
	case Reply:
		r.onReply(e)
	case CASResult:
		r.onCAS(e)
	case Installed:
		r.onInstalled(e)
	case Reopened:
		r.onReopened(e)
	case Trimming:
		r.onTrimming(e)
	case Trimmed:
		r.log.Rebase(e.Base, e.Epoch)
	case Unreachable:
		r.onUnreachable(e)
	case Lost:
		if r.fetch.out && r.fetch.id == e.ID {
			r.fetch.out, r.fetch.notUntil = false, r.now+r.cfg.Retry
		}
	case Behind:
		r.onBehind()
	case Broken:
		r.quarantine(e.Reason)
	case StepDown:
		r.leaving = r.role == Master
	case Force:
		r.forced = r.role != Master
	}
	r.advance()
	out := r.out
	r.out = nil
	return out
}

// advance does everything that the current state requires.
func (r *Replica) advance() {
	if !r.known {
		return
	}
	r.announce()
	if r.cas.inFlight && r.cas.again != 0 && r.now >= r.cas.again {
		r.sendCAS()
	}
	if r.role == Master {
		r.decide()
		r.raiseCommit()
		r.answerFetches()
		r.acknowledge()
		return
	}
	r.follow()
	r.doubtMaster()
	r.stand()
	r.fetchNext()
}

func (r *Replica) do(a Action) { r.out = append(r.out, a) }

// tick notices that the process was suspended, because timers that ran during that time say nothing about other nodes.
func (r *Replica) tick() {
	if gap := r.now - r.lastTick; gap > r.cfg.Lag/2 {
		for _, p := range r.peers {
			p.level += gap
		}
		r.goneSince = r.now
		if r.heardAt > 0 {
			r.heardAt = r.now
		}
	}
	r.lastTick = r.now
}

func (r *Replica) onView(v View) {
	if v.Me != r.me {
		r.me, r.ready, r.heardAt = v.Me, false, 0
		r.stepDown() // R4: a new session is a new incarnation
	}
	r.live = v.Live
	r.adopt(v.Shard)
}

// adopt accepts a state confirmed by the coordinator.
func (r *Replica) adopt(s coord.Shard) {
	if r.known && s.Version <= r.shard.Version {
		return // R2: seeing the same version again reveals nothing about a change in flight
	}
	if s.Epoch < r.meta.Epoch {
		r.do(Alarm{Reason: "the coordinator reverted to an older epoch"}) // R9
		return
	}
	moved := !r.known || s.Epoch != r.shard.Epoch || s.Leader != r.shard.Leader
	was := r.shard
	r.shard, r.known = s, true
	if s.Epoch > r.meta.Epoch {
		r.meta.Epoch = s.Epoch
		r.do(Save{r.meta})
	}
	if r.cas.inFlight && s.Version > r.cas.version {
		r.cas.inFlight = false // the change was made, or never will be
	}
	if s.Forced > was.Forced {
		r.heard = 0 // it counts records of another log than the one that the forced master continues
	}
	if moved {
		r.lease, r.heardAt = 0, 0
		r.fetch, r.healAt, r.gone, r.suspect = fetch{id: r.fetch.id, heard: r.fetch.heard}, 0, false, ""
	}
	mine := s.ISR[0] == r.cfg.Me && s.Leader == r.me && s.Epoch == r.stood
	if r.cfg.without&r4 != 0 {
		mine = s.ISR[0] == r.cfg.Me
	}
	switch {
	case mine && r.role != Master:
		r.lead()
	case !mine && r.role == Master:
		r.stepDown()
	case !mine && r.role == Candidate && !r.cas.inFlight:
		r.role = Follower
	}
	r.doubtLeavers(was)
}

// announce lets the node announce itself once the copy is in a state that others can rely on (R7).
func (r *Replica) announce() {
	unsafe := r.meta.Damaged && r.cfg.without&r7 == 0 && slices.Contains(r.shard.ISR, r.cfg.Me) && !slices.Contains(r.shard.Hold, r.cfg.Me)
	if unsafe && r.role != Master {
		s := r.shard.Clone()
		s.Hold = append(s.Hold, r.cfg.Me)
		r.change(s, "")
		return
	}
	if !r.ready && r.me != "" {
		r.ready = true
		r.do(Ready{r.me})
	}
}

// change requests a different state from the coordinator, unless a change is in flight.
func (r *Replica) change(s coord.State, by coord.Incarnation) bool {
	if r.cas.inFlight || r.now < r.cas.notUntil || r.offline {
		return false
	}
	r.cas.inFlight, r.cas.version, r.cas.state, r.cas.by, r.cas.sends = true, r.shard.Version, s, by, 0
	r.sendCAS()
	return true
}

func (r *Replica) sendCAS() {
	r.cas.id++
	r.cas.sends++
	r.cas.again = 0
	r.do(CAS{ID: r.cas.id, Version: r.cas.version, State: r.cas.state.Clone(), By: r.cas.by})
}

func (r *Replica) onCAS(e CASResult) {
	if !r.cas.inFlight || e.ID != r.cas.id {
		return
	}
	switch e.Outcome {
	case Made:
		r.adopt(coord.Shard{Version: r.cas.version + 1, State: r.cas.state})
	case Over:
		// The session is dead, and leadership with it (R4). An earlier attempt may have succeeded, but that matters only to a master.
		r.stepDown()
		r.settle()
	case Unsent:
		if r.cas.sends == 1 {
			r.settle()
			return
		}
		fallthrough // an earlier attempt could still be in flight
	case Stale, Unknown:
		// R2, R10: it counts as in flight, and the same change is requested again, until the version has changed.
		r.cas.again = r.now + r.cfg.Retry
	}
}

// settle ends a change that was not made and never will be.
func (r *Replica) settle() {
	r.cas.inFlight, r.cas.notUntil = false, r.now+r.cfg.Retry
	if r.role == Candidate {
		r.role = Follower
	}
}

// minISR returns the minimum size of the in-sync set.
func (r *Replica) minISR() int {
	switch {
	case r.cfg.MinISR > 0:
		return r.cfg.MinISR
	case len(r.shard.Replicas) >= 3:
		return 2
	}
	return 1
}

// quarantine gives up the copy, because either its content or the master's cannot be trusted. The copy is put aside, and a new one is
// built from the master's copy.
func (r *Replica) quarantine(reason string) {
	if !r.meta.Damaged || r.meta.Aside == "" {
		r.meta.Damaged, r.meta.Aside = true, reason
		r.do(Save{r.meta}) // before the alarm, which can end the copy
	}
	r.stepDown()
	r.quarantined = true
	r.do(Alarm{Reason: reason, Quarantined: true})
}

// onBehind handles an external report that the copy lacks acknowledged records; as with a damaged log, the copy must be put on hold
// before the node is announced. Another Ready follows in any case, because the node waits for it.
func (r *Replica) onBehind() {
	r.ready = false
	if r.role == Master || r.meta.Damaged {
		return
	}
	r.meta.Damaged, r.healAt, r.lease = true, 0, 0
	r.do(Save{r.meta})
}

// NewestRevision returns an upper bound on the revisions of this copy's records.
func (r *Replica) NewestRevision() uint64 { return r.revs.Newest() }

// onTrimming records the revisions of records about to be removed.
func (r *Replica) onTrimming(e Trimming) {
	if h := r.revs.upTo(e.Seq); h > r.meta.Horizon {
		r.meta.Horizon = h
		r.do(Save{r.meta})
	}
}

// onReopened adopts the log after a disk failure, like a restart within a session.
func (r *Replica) onReopened(e Reopened) {
	r.stepDown()
	r.lease = 0
	r.gen = e.Gen
	r.log = e.Log
	r.revs.cut(r.log.End)
	r.fetch.out = false
	if e.Damaged {
		r.meta.Damaged = true // Reopened comes after the Meta was saved
	}
	if r.log.End < r.applied {
		r.quarantine("the log ends before the last record in the index")
	}
}
