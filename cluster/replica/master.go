package replica

import (
	"slices"
	"time"

	"concordat/cluster/coord"
	"concordat/cluster/wal"
)

// leading is the state of a Master.
type leading struct {
	epochStart uint64
	peers      map[coord.NodeID]*peer
	waiting    []waiting // waiting writes, ordered by number
	leaving    bool      // leadership is being handed over
}

// waiting is a write not yet acknowledged.
type waiting struct{ id, seq uint64 }

// peer records what a master knows about a follower.
type peer struct {
	life    coord.Incarnation
	fetchID uint64 // newest fetch in that incarnation
	// pos is the last record on the follower's disk that matches the master's; it is valid if met is set, as it is by the first matching
	// fetch of the epoch.
	pos  uint64
	met  bool
	full bool
	lost bool // it acknowledged more than it now has
	// doubt means that the node could have removed the copy since its last fetch, so that a fetch could come from a copy that is gone.
	doubt bool
	end   uint64
	level time.Duration // when it last had everything the master had at the follower's previous fetch
	held  *Fetch        // fetch without a reply
	since time.Duration // time since which it is held
	told  uint64        // commit index in the last reply
	// answered is the last reply to the follower; a fetch that confirms it was sent after it.
	answered   uint64
	answeredAt time.Duration
	away       bool          // without contact with the coordinator at its newest fetch
	asked      time.Duration // earliest time at which that fetch was sent
	vouched    time.Duration // time of a reply it received; it will not be a candidate until silence has passed since then
	lent       time.Duration // time until which it can answer questions
}

// lead begins the epoch that this copy won.
func (r *Replica) lead() {
	r.role = Master
	r.fetch.out = false
	r.leading = leading{epochStart: r.log.End + 1, peers: map[coord.NodeID]*peer{}}
	r.forced = false
	if r.meta.Damaged {
		r.meta.Damaged = false // if forced, an operator declared this copy's records authoritative
		r.do(Save{r.meta})
	}
	r.append(wal.Record{Kind: wal.Noop})
	for _, n := range slices.Concat(r.shard.ISR, r.shard.Replicas) {
		if n != r.cfg.Me {
			r.peers[n] = &peer{level: r.now, lent: r.now + r.cfg.Lag} // lent by the previous master
		}
	}
}

// append appends a record of this epoch to the log.
func (r *Replica) append(rec wal.Record) {
	rec.Seq, rec.Epoch = r.log.End+1, r.shard.Epoch
	r.log.Extend(rec.Epoch)
	r.revs.Add(&rec)
	r.do(Append{Gen: r.gen, Records: []wal.Record{rec}})
}

// stepDown ends leadership, if any. This copy can no longer acknowledge the writes that are waiting.
func (r *Replica) stepDown() {
	r.stood = 0
	if r.role != Master {
		if r.role == Candidate && !r.cas.inFlight {
			r.role = Follower
		}
		return
	}
	r.role = Follower
	for _, w := range r.waiting {
		r.do(Refuse{ID: w.id, Why: WriteUnknown, Master: r.shard.ISR[0]})
	}
	r.leading = leading{}
	r.fetch.out = false
}

func (r *Replica) onWrite(e Write) {
	refuse := func(why Refusal) { r.do(Refuse{ID: e.ID, Why: why, Master: r.hint()}) }
	switch {
	case r.role != Master || r.leaving && r.cas.inFlight:
		refuse(NotMaster)
	case r.offline:
		refuse(ReadOnly)
	case r.full:
		refuse(Full)
	case len(r.waiting) >= r.cfg.MaxWaiting:
		refuse(Busy)
	default:
		switch r.revs.judge(&e.Record) {
		case late:
			refuse(Superseded)
			return
		case fresh:
			r.append(e.Record)
		}
		// A write already in the log is acknowledged together with everything in it.
		r.waiting = append(r.waiting, waiting{e.ID, r.log.End})
	}
}

// hint returns the master as far as this copy knows.
func (r *Replica) hint() coord.NodeID {
	if !r.known || r.shard.Leader == "" {
		return ""
	}
	return r.shard.ISR[0]
}

func (r *Replica) onFetch(f Fetch) {
	if r.role == Master && f.Epoch > r.shard.Epoch {
		r.stepDown() // another node knows of a later master
	}
	if r.role != Master || f.Epoch != r.shard.Epoch {
		r.do(SendReply{To: f.From, Reply: Reply{From: r.cfg.Me, ID: f.ID, Epoch: max(r.meta.Epoch, f.Epoch), Next: f.Next, Kind: Fenced}})
		return
	}
	p := r.peers[f.From]
	if p == nil {
		if !slices.Contains(r.shard.Replicas, f.From) {
			return
		}
		p = &peer{level: r.now}
		r.peers[f.From] = p
	}
	// A fetch that took very long is out of date, because it belongs to another incarnation, or to the time before a newer fetch.
	if life, there := r.live[f.From]; !there || life != f.Life || f.Life == p.life && f.ID <= p.fetchID {
		return
	}
	if p.life != f.Life {
		p.answered, p.doubt, p.vouched = 0, false, 0
	}
	p.life, p.fetchID, p.full = f.Life, f.ID, f.Full
	// Only a copy that exists can have received a reply sent since the doubt arose.
	p.doubt = p.doubt && !(p.answered > 0 && f.Heard == p.answered)
	p.away = f.Away && p.answered > 0 && f.Heard == p.answered // the fetch itself can be old
	p.asked = p.answeredAt
	if p.answered > 0 && f.Heard == p.answered {
		p.vouched = p.answeredAt
	}
	r.place(p, f)
}

// place determines which records the follower has, and replies at once if they are not part of the master's log.
func (r *Replica) place(p *peer, f Fetch) {
	p.held = nil
	reply := Reply{From: r.cfg.Me, ID: f.ID, Epoch: f.Epoch, Next: f.Next, Commit: r.commit, End: r.log.End, EpochStart: r.epochStart}
	have := f.Next - 1
	inISR := slices.Contains(r.shard.ISR, f.From)
	if f.Next == 0 || have < r.log.Base {
		reply.Kind = Snapshot
		p.lost = p.lost || inISR
		r.do(SendReply{To: f.From, Reply: reply})
		return
	}
	if have > r.log.End || r.log.EpochAt(have) != f.LastEpoch {
		to, epoch, ok := r.log.EndOf(f.LastEpoch)
		reply.Kind, reply.To, reply.ToEpoch = Diverged, min(to, have), epoch
		if !ok {
			reply.Kind = Snapshot
		}
		p.lost = p.lost || inISR && reply.To < r.commit
		r.do(SendReply{To: f.From, Reply: reply})
		return
	}
	p.pos, p.met = have, !p.doubt
	p.lost = inISR && have < r.commit
	if have >= p.end {
		p.level = r.now
	}
	p.end = r.log.End
	p.held, p.since = &f, r.now
}

// doubtLeavers forgets which records a node has if, since state was, the node left the in-sync set or is no longer wanted. Such a node
// can remove its copy and create an empty one when its copy is wanted again (R15).
func (r *Replica) doubtLeavers(was coord.Shard) {
	if r.role != Master {
		return
	}
	for n, p := range r.peers {
		in, wanted := slices.Contains(r.shard.ISR, n), slices.Contains(r.shard.Replicas, n)
		if !in && (!wanted || slices.Contains(was.ISR, n)) {
			r.peers[n] = &peer{life: p.life, fetchID: p.fetchID, level: r.now, lent: p.lent, doubt: true}
		}
	}
}

// raiseCommit advances the commit index by counting the copies that have each record (R1, R2).
func (r *Replica) raiseCommit() {
	members := r.shard.ISR
	if c := &r.cas; c.inFlight && c.state.Epoch == r.shard.Epoch {
		if r.cfg.without&r1 != 0 && len(c.state.ISR) < len(members) {
			members = c.state.ISR
		}
		if r.cfg.without&r2 == 0 {
			members = slices.Concat(members, c.state.ISR)
		}
	}
	low := r.log.Durable
	for _, n := range members {
		if n == r.cfg.Me {
			continue
		}
		p := r.peers[n]
		if p == nil || !p.met {
			return
		}
		low = min(low, p.pos)
	}
	r.commitTo(low)
}

// commitTo advances the commit index.
func (r *Replica) commitTo(seq uint64) {
	if seq > r.commit {
		r.commit = seq
		r.do(Apply{seq})
	}
}

// answerFetches replies to fetches for which there are records or news, or that have waited long enough.
func (r *Replica) answerFetches() {
	for _, n := range r.peerNames() {
		p := r.peers[n]
		f := p.held
		if f == nil {
			continue
		}
		news := f.Next <= r.log.End && !f.Full
		if !news && !p.doubt && r.commit <= p.told && r.now-p.since < r.cfg.Wait {
			continue
		}
		reply := Reply{From: r.cfg.Me, ID: f.ID, Epoch: f.Epoch, Next: f.Next, Commit: r.commit, End: r.log.End, EpochStart: r.epochStart}
		reply.Lease, reply.Away = r.lend(n, p), r.offline
		a := SendReply{To: n, Reply: reply, MaxBytes: r.cfg.FetchBytes}
		if news {
			a.First, a.Last = f.Next, r.log.End
		}
		p.told, p.held = r.commit, nil
		p.answered, p.answeredAt = f.ID, r.now
		r.do(a)
	}
}

// peerNames returns the followers in a fixed order, because a state machine must not depend on map order.
func (r *Replica) peerNames() []coord.NodeID {
	names := make([]coord.NodeID, 0, len(r.peers))
	for n := range r.peers {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// acknowledge acknowledges the writes that are committed and in the index.
func (r *Replica) acknowledge() {
	done := min(r.commit, r.applied)
	i := 0
	for ; i < len(r.waiting) && r.waiting[i].seq <= done; i++ {
		r.do(Acknowledge{ID: r.waiting[i].id, Seq: r.waiting[i].seq})
	}
	r.waiting = r.waiting[i:]
}

// decide requests the most urgent change to the shard's state, one at a time.
func (r *Replica) decide() {
	if r.cas.inFlight || r.now < r.cas.notUntil || r.offline {
		return
	}
	if !slices.Contains(r.shard.Replicas, r.cfg.Me) && len(r.shard.ISR) > 1 {
		r.leaving = true
	}
	s := r.shard.Clone()
	if r.admit(&s) || r.release(&s) || r.expel(&s) || (r.leaving || r.full) && r.handOver(&s) {
		r.change(s, r.me)
	}
}

// isLevel reports whether the follower can be trusted with the shard. Such a follower has everything committed before the epoch, because
// its log extends into the epoch (KAFKA-7128), and everything committed since, and it had all existing records a moment ago.
func (r *Replica) isLevel(n coord.NodeID) bool {
	p := r.peers[n]
	return p != nil && p.met && !p.full && !p.lost && p.life == r.live[n] && r.now-p.level < r.cfg.Lag &&
		p.pos >= r.epochStart && p.pos >= r.commit
}

// admit adds a follower that has caught up.
func (r *Replica) admit(s *coord.State) bool {
	for _, n := range s.Replicas {
		if n != r.cfg.Me && !slices.Contains(s.ISR, n) && r.isLevel(n) {
			s.ISR = append(s.ISR, n)
			return true
		}
	}
	return false
}

// release lets a follower lead again once it has recovered what it lost.
func (r *Replica) release(s *coord.State) bool {
	for i, n := range s.Hold {
		if n == r.cfg.Me || r.isLevel(n) {
			s.Hold = slices.Delete(s.Hold, i, i+1)
			return true
		}
	}
	return false
}

// expel removes a member that is silent, behind or no longer wanted. If the floor forbids that, a member that lost records is at least
// barred from leading.
func (r *Replica) expel(s *coord.State) bool {
	for i, n := range s.ISR {
		if n == r.cfg.Me {
			continue
		}
		p := r.peers[n]
		stalled := p == nil || r.now-p.level > r.cfg.Lag || p.lost
		// A member that must leave remains until all newcomers have arrived, so that a move never reduces the number of copies.
		arrived := !slices.ContainsFunc(s.Replicas, func(m coord.NodeID) bool { return !slices.Contains(s.ISR, m) })
		if !stalled && (slices.Contains(s.Replicas, n) || !arrived) {
			continue
		}
		if p != nil && !p.lost && r.now < p.lent {
			continue // it can answer questions until its lease ends
		}
		if len(s.ISR) > r.minISR() {
			s.ISR = slices.Delete(s.ISR, i, i+1)
			s.Hold = slices.DeleteFunc(s.Hold, func(h coord.NodeID) bool { return h == n })
			return true
		}
		if p != nil && p.lost && !slices.Contains(s.Hold, n) {
			s.Hold = append(s.Hold, n)
			return true
		}
	}
	return false
}

// handOver puts the best follower first and steps down.
func (r *Replica) handOver(s *coord.State) bool {
	for _, n := range s.Replicas { // in the order of leadership preferred by the operator
		if n == r.cfg.Me || slices.Contains(s.Hold, n) || !slices.Contains(s.ISR, n) || !r.isLevel(n) {
			continue
		}
		s.ISR = slices.DeleteFunc(s.ISR, func(m coord.NodeID) bool { return m == n })
		s.ISR = slices.Insert(s.ISR, 0, n)
		s.Leader = ""
		return true
	}
	return false
}
