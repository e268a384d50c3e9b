package replica

import (
	"slices"
	"time"

	"concordat/cluster/coord"
)

// electing is the state of a Follower with a missing or suspected master.
type electing struct {
	gone      bool          // the master is missing
	goneSince time.Duration // when it went missing
	suspect   coord.NodeID  // a master whose process is gone although its session is alive
	suspected coord.NodeID  // node that was last suspected
	shortcut  time.Duration // time until which it is not suspected again
	forced    bool
	promised  time.Duration // time until which others rely on this copy's promise not to be a candidate
	careful   time.Duration // time until which an earlier incarnation's promises may be valid
}

// suspicionPause is the minimum time between two elections caused by mere suspicion of the same node, to prevent flapping.
const suspicionPause = 5 * time.Second

func (r *Replica) onUnreachable(e Unreachable) {
	if !r.fetch.out || e.ID != r.fetch.id {
		return // the report could concern an earlier incarnation of the node
	}
	r.fetch.out, r.fetch.notUntil = false, r.now+r.cfg.Retry
	if r.known && r.role == Follower && e.Node == r.shard.ISR[0] && (r.now >= r.shortcut || e.Node != r.suspected) {
		r.suspect, r.suspected, r.shortcut = e.Node, e.Node, r.now+suspicionPause
	}
}

// silence is how long a master can leave a follower without a reply, once the follower has heard from it. By then, a master that reaches
// the coordinator has removed the follower from the set, so the master must be cut off or suspended.
func (r *Replica) silence() time.Duration { return r.cfg.Lag + r.cfg.Lag/4 }

// doubtMaster treats a silent master like one whose process is gone (R16), even if its session is alive.
func (r *Replica) doubtMaster() {
	m := r.hint()
	if r.role != Follower || m == "" || m == r.cfg.Me || m == r.suspect || r.offline || r.heardAt == 0 || r.now-r.heardAt < r.silence() ||
		r.now < r.shortcut && m == r.suspected || !slices.Contains(r.shard.ISR, r.cfg.Me) {
		return
	}
	r.suspect, r.suspected, r.shortcut = m, m, r.now+suspicionPause
}

// stand makes this copy a candidate when its turn comes.
func (r *Replica) stand() {
	if r.masterThere() && !r.forced {
		r.gone = false
		return
	}
	if !r.gone {
		r.gone, r.goneSince = true, r.now
	}
	full := r.full && len(r.shard.ISR) > 1 // another copy would be a better master, but a lone copy must at least be readable
	if full && r.shard.ISR[0] == r.cfg.Me && r.shard.Leader != "" && r.role == Follower {
		s := r.shard.Clone() // the other copies are waiting for this one
		s.Leader = ""
		r.change(s, r.me)
		return
	}
	if r.role != Follower || r.cas.inFlight || r.installing || r.quarantined || full || r.live[r.cfg.Me] != r.me || r.me == "" {
		return
	}
	if r.bound() && !r.forced {
		return
	}
	turn, ok := r.turn()
	if !ok || r.now-r.goneSince < time.Duration(turn)*r.cfg.Patience {
		return
	}
	if r.change(r.candidacy(), r.me) {
		r.role, r.stood, r.fetch.out = Candidate, r.shard.Epoch+1, false
	}
}

// bound reports whether others could still answer questions, either because this copy promised not to be a candidate or under a lease
// that it granted as master without a coordinator.
func (r *Replica) bound() bool {
	if r.now >= r.promised && r.now >= r.careful {
		return false
	}
	if r.now < r.promised && r.suspect != r.shard.ISR[0] {
		return true
	}
	stay := r.candidacy().ISR
	return slices.ContainsFunc(r.shard.ISR, func(n coord.NodeID) bool {
		return n != r.suspect && !slices.Contains(stay, n) // it could still be answering, unless its process is gone
	})
}

// masterThere reports whether the master named by the shard seems to be working.
func (r *Replica) masterThere() bool {
	m := r.shard.ISR[0]
	// This copy is not the master, or its role would be Master.
	return m != r.cfg.Me && m != r.suspect && !slices.Contains(r.shard.Hold, m) && r.shard.Leader != "" && r.live[m] == r.shard.Leader
}

// turn returns the number of other nodes ahead of this copy, or false if the copy must not lead at all (R3, R7).
func (r *Replica) turn() (int, bool) {
	if r.forced {
		return 0, true
	}
	if r.cfg.without&r3 != 0 && slices.Contains(r.shard.Replicas, r.cfg.Me) && !slices.Contains(r.shard.ISR, r.cfg.Me) {
		return 0, true
	}
	if r.meta.Damaged && r.cfg.without&r7 == 0 || slices.Contains(r.shard.Hold, r.cfg.Me) {
		return 0, false
	}
	turn := 0
	for _, n := range r.shard.ISR {
		switch {
		case n == r.cfg.Me:
			return turn, true
		case r.live[n] != "" && n != r.suspect && !slices.Contains(r.shard.Hold, n):
			turn++
		}
	}
	return 0, false
}

// candidacy returns the state in which this copy leads; the other live members remain in sync, and absent ones only if the floor requires
// them.
func (r *Replica) candidacy() coord.State {
	s := r.shard.Clone()
	var there, gone []coord.NodeID
	for _, n := range s.ISR {
		switch {
		case n == r.cfg.Me:
		case r.live[n] != "" && n != r.suspect: // otherwise, writes would wait for a member whose process is gone
			there = append(there, n)
		default:
			gone = append(gone, n)
		}
	}
	s.ISR = append([]coord.NodeID{r.cfg.Me}, there...)
	for len(s.ISR) < r.minISR() && len(gone) > 0 {
		s.ISR, gone = append(s.ISR, gone[0]), gone[1:]
	}
	s.Hold = slices.DeleteFunc(s.Hold, func(n coord.NodeID) bool { return n == r.cfg.Me || !slices.Contains(s.ISR, n) })
	s.Epoch, s.Leader = s.Epoch+1, r.me
	if r.forced {
		s.Forced = s.Epoch
	}
	return s
}
