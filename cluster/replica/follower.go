package replica

import (
	"slices"
	"time"

	"concordat/cluster/coord"
)

// following is the state of a Follower.
type following struct {
	fetch       fetch
	installing  bool
	quarantined bool
	// healAt is the record at which the copy has recovered everything it may have lost; 0 if not yet known.
	healAt uint64
	// lease is the time until which the copy can answer questions; if leaseAway is set, only while it has no contact with the
	// coordinator.
	lease     time.Duration
	leaseAway bool
	// heardAt is when the master's last reply in this session and epoch arrived; 0 if none did.
	heardAt time.Duration
}

// fetch is the only exchange with the master.
type fetch struct {
	id       uint64
	heard    uint64 // newest fetch with a reply
	out      bool
	epoch    uint64
	next     uint64
	sent     time.Duration
	notUntil time.Duration
}

// follow adopts the master's commit index, but only up to the records on disk, because an index ahead of its log cannot be reconciled
// with it.
func (r *Replica) follow() {
	r.commitTo(min(r.heard, r.log.Durable))
	if r.meta.Damaged && r.healAt > 0 && r.log.Durable >= r.healAt && !r.installing && !r.quarantined {
		r.meta.Damaged = false
		r.do(Save{r.meta})
	}
}

// fetchNext sends the next fetch if one is due.
func (r *Replica) fetchNext() {
	master := r.hint()
	// A candidate does not fetch, because once it has requested leadership, the old master must not commit.
	if r.role != Follower || master == "" || master == r.cfg.Me || r.installing || r.me == "" {
		return
	}
	if !slices.Contains(r.shard.Replicas, r.cfg.Me) && !slices.Contains(r.shard.ISR, r.cfg.Me) {
		return
	}
	if r.quarantined {
		r.install(master)
		return
	}
	if r.log.End != r.log.Durable || r.now < r.fetch.notUntil || r.fetch.out && r.now-r.fetch.sent < 2*r.cfg.Wait {
		return
	}
	r.fetch = fetch{id: r.fetch.id + 1, heard: r.fetch.heard, out: true, epoch: r.shard.Epoch, next: r.log.End + 1, sent: r.now}
	if r.offline {
		r.promised = r.now + r.cfg.Lag
	}
	r.do(SendFetch{To: master, Fetch: Fetch{
		From: r.cfg.Me, Life: r.me, ID: r.fetch.id, Epoch: r.fetch.epoch, Next: r.fetch.next,
		LastEpoch: r.log.EpochAt(r.log.End), Full: r.full, Away: r.offline, Heard: r.fetch.heard,
	}})
}

func (r *Replica) onReply(m Reply) {
	if r.role != Follower || r.installing || r.quarantined {
		return
	}
	if r.cfg.without&r5 == 0 && (!r.fetch.out || m.ID != r.fetch.id || m.From != r.hint() || m.Next != r.log.End+1 || m.Kind != Fenced &&
		m.Epoch != r.fetch.epoch) {
		return // R5: this reply belongs to another fetch
	}
	r.fetch.out, r.fetch.heard = false, max(r.fetch.heard, m.ID)
	if m.Kind != Fenced {
		r.heardAt = r.now
		if m.From == r.suspect {
			r.suspect = ""
		}
	}
	r.borrow(m)
	switch m.Kind {
	case Fenced:
		r.fetch.notUntil = r.now + r.cfg.Retry // a view will name the new master
	case Diverged:
		r.cut(m)
	case Snapshot:
		if r.applied > m.End {
			r.quarantine("the master's log ends before records that were committed on this node")
			return
		}
		if r.quarantineForced(r.log.End - 1) {
			return
		}
		r.install(m.From)
	case Records:
		r.take(m)
	}
}

// cut removes records that the master does not have (R6: it compares epochs, and acts before the commit index increases).
func (r *Replica) cut(m Reply) {
	to, _, ok := r.log.EndOf(m.ToEpoch)
	if to = min(to, m.To); !ok && r.applied <= m.To {
		if !r.quarantineForced(r.log.Base) {
			r.install(m.From)
		}
		return
	}
	if to >= r.log.End {
		r.fetch.notUntil = r.now + r.cfg.Retry
		return
	}
	if !ok || to < max(r.applied, r.commit) {
		// R8: the records in the index were committed and cannot be undone. Either this copy or the master is
		// wrong.
		r.quarantine("the master's log is missing records that were committed on this node")
		return
	}
	if r.meta.Damaged {
		// It is unknown which of the remaining records were committed: if all nodes were restored, this log can be the only one that
		// contains them.
		r.quarantine("the master's log is missing records of this copy, and this copy has lost other records")
		return
	}
	if r.quarantineForced(to) { // R8
		return
	}
	if to < r.log.Base {
		r.install(m.From)
		return
	}
	r.gen++
	r.log.Truncate(to)
	r.revs.cut(to)
	r.do(Truncate{Gen: r.gen, Seq: to})
}

// quarantineForced gives up the copy if records after seq can have been acknowledged although the master does not have them, because an
// operator forced it to lead after they were written, and reports whether it did. Otherwise, a record that the master lacks was never
// committed.
func (r *Replica) quarantineForced(seq uint64) bool {
	if r.cfg.without&r8 != 0 || r.log.End == 0 || seq >= r.log.End || r.log.EpochAt(seq+1) >= r.shard.Forced {
		return false
	}
	r.quarantine("an operator chose a master that may lack records of this copy")
	return true
}

// take appends the master's records to the log.
func (r *Replica) take(m Reply) {
	log := r.log
	log.Epochs = slices.Clone(log.Epochs)
	for i := range m.Records {
		rec := &m.Records[i]
		if rec.Seq != log.End+1 || rec.Epoch < log.EpochAt(log.End) || rec.Epoch > m.Epoch {
			r.fetch.notUntil = r.now + r.cfg.Retry // not the requested records
			return
		}
		log.Extend(rec.Epoch)
	}
	if len(m.Records) > 0 {
		r.log = log
		for i := range m.Records {
			r.revs.Add(&m.Records[i])
		}
		r.do(Append{Gen: r.gen, Records: m.Records})
	}
	r.heard = max(r.heard, m.Commit)
	if r.meta.Damaged && r.healAt == 0 {
		// The master's log extends into its epoch, so its end covers everything committed earlier.
		r.healAt = max(m.End, m.EpochStart)
	}
}

// install requests a snapshot. The copy counts as damaged until it has caught up, because a member of the in-sync set that needs a
// snapshot has lost records it acknowledged.
func (r *Replica) install(from coord.NodeID) {
	if r.now < r.fetch.notUntil {
		return
	}
	if !r.meta.Damaged {
		r.meta.Damaged = true
		r.do(Save{r.meta})
	}
	r.installing, r.healAt = true, 0
	r.gen++
	r.do(Install{Gen: r.gen, From: from})
}

func (r *Replica) onInstalled(e Installed) {
	if !r.installing || e.Gen != r.gen {
		return
	}
	r.installing = false
	if e.Failed {
		r.fetch.notUntil = r.now + 10*r.cfg.Retry
		return
	}
	r.quarantined, r.meta.Aside = false, ""
	r.log.Base, r.log.BaseEpoch, r.log.Epochs = e.Seq, e.Epoch, nil
	r.log.End, r.log.Durable = e.Seq, e.Seq
	r.applied, r.commit = e.Seq, e.Seq
	r.revs.restart(e.Newest)
	r.meta.Horizon = r.revs.Newest()
	r.do(Save{r.meta})
}
