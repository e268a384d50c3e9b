package replica

import (
	"slices"
	"time"

	"concordat/cluster/coord"
)

// R13 determines which copies can answer questions. The log of a copy in sync contains every acknowledged write, but a copy cannot know
// that it is still in sync, so it answers under a lease (Gray and Cheriton 1989). The master grants the lease with each reply to a fetch,
// and does not remove the follower from the set before the lease ends. The master itself answers as long as no other node can have been
// elected, that is, while its session is certainly alive, or while all nodes that could be candidates say that they cannot reach the
// coordinator either.

// sure reports whether every write acknowledged to anyone before now is in this copy's log, up to its end; for a master, the writes must
// be in its index too.
func (r *Replica) sure() bool {
	switch {
	case !r.known || r.quarantined || r.installing || r.meta.Damaged:
		return false
	case r.cfg.without&r13 != 0:
		return slices.Contains(r.shard.ISR, r.cfg.Me)
	case r.role == Master:
		return r.unchallenged() && r.applied >= r.epochStart
	case r.role == Follower:
		// Without contact, this copy would not notice that another master continued without it.
		return r.now < r.lease && r.offline == r.leaseAway && slices.Contains(r.shard.ISR, r.cfg.Me)
	}
	return false
}

// unchallenged reports whether no other copy can be master now.
func (r *Replica) unchallenged() bool {
	c := &r.cas
	if c.inFlight && (c.state.ISR[0] != r.cfg.Me || c.state.Leader != r.me) {
		return false // leadership may be in the course of being handed over
	}
	return !r.offline && r.now-r.contacted <= r.cfg.Retry && r.vouchedFor() || r.offline && r.now < r.witnessed()
}

// vouchedFor reports whether no follower can have judged this master silent (R16): each live follower that could be in sync received a
// reply recently. A follower that is not live cannot be a candidate, and a follower that has not heard from this master in its session
// does not doubt it.
func (r *Replica) vouchedFor() bool {
	if r.cfg.without&r16 != 0 {
		return true
	}
	return !slices.ContainsFunc(r.voters(), func(n coord.NodeID) bool {
		if n == r.cfg.Me || r.live[n] == "" {
			return false
		}
		p := r.peers[n]
		return p == nil || p.vouched == 0 || r.now-p.vouched >= r.silence()
	})
}

// voters returns the copies that could be in sync, which are the only possible candidates. If a change is in flight, they include the
// copies in sync after it, because it may have been made without this master's knowledge.
func (r *Replica) voters() []coord.NodeID {
	if c := &r.cas; c.inFlight {
		return slices.Concat(r.shard.ISR, c.state.ISR)
	}
	return r.shard.ISR
}

// witnessed returns the time until which no other copy can become a candidate. When they last fetched, all other copies in sync had no
// contact with the coordinator, and they do not become candidates within Lag after that.
func (r *Replica) witnessed() time.Duration {
	until := r.now + r.cfg.Lag
	for _, n := range r.voters() {
		if n == r.cfg.Me {
			continue
		}
		p := r.peers[n]
		if p == nil || !p.met || !p.away {
			return 0
		}
		until = min(until, p.asked+r.cfg.Lag)
	}
	return until
}

// lend returns how long the follower can answer, from the time when it sent the current fetch.
func (r *Replica) lend(n coord.NodeID, p *peer) time.Duration {
	left := r.cfg.Lag - (r.now - p.level)
	if left <= 0 || !p.met || p.lost || !slices.Contains(r.shard.ISR, n) || !slices.Contains(r.shard.Replicas, n) || !r.unchallenged() ||
		r.cas.inFlight && !slices.Contains(r.cas.state.ISR, n) {
		return 0
	}
	if r.offline {
		// A copy that has confirmed this lease does not become a candidate before it ends; neither does this copy.
		if left = min(left, r.witnessed()-r.now); left <= 0 {
			return 0
		}
		r.promised = max(r.promised, r.now+left)
	}
	p.lent = max(p.lent, r.now+left) // the fetch was sent before now
	return left
}

// borrow accepts the lease granted by the master in its reply to the current fetch.
func (r *Replica) borrow(m Reply) {
	r.lease, r.leaseAway = 0, m.Away
	if m.Lease > 0 {
		r.lease = r.fetch.sent + m.Lease
	}
}
