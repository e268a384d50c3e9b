package replica

import (
	"time"

	"concordat/cluster/coord"
	"concordat/cluster/wal"
)

// Event is an occurrence: one of the types below that have an event method.
type Event interface{ event() }

// Events.
type (
	// Tick reports that time has passed. It is needed about every 50 ms.
	Tick struct{}
	// View is the current state at the coordinator. Live maps the nodes that announced themselves to their incarnations.
	View struct {
		Shard coord.Shard
		Me    coord.Incarnation
		Live  map[coord.NodeID]coord.Incarnation
	}
	// Contact carries the incarnation Confirmed by the coordinator, or "".
	Contact struct{ Me coord.Incarnation }
	// Disk reports whether there is space for more records.
	Disk struct{ Full bool }
	// Write reports that a caller wants the record appended, with Seq and Epoch unset. It is answered by exactly one Acknowledge or
	// Refuse with its ID.
	Write struct {
		ID     uint64
		Record wal.Record
	}
	// Durable reports that the log is on disk up to Seq, in the generation of the Append that wrote it.
	Durable struct{ Gen, Seq uint64 }
	// Applied reports that the index has the records up to Seq.
	Applied struct{ Seq uint64 }
	// CASResult is the outcome of a CAS.
	CASResult struct {
		ID      uint64
		Outcome Outcome
	}
	// Installed reports that a snapshot is in place, or could not be obtained; the log begins after Seq.
	Installed struct {
		Gen, Seq, Epoch uint64
		Newest          uint64 // no document in the snapshot has a higher revision
		Failed          bool
	}
	// Reopened reports that the log failed and was reopened as generation Gen, which is higher than any before.
	Reopened struct {
		Gen     uint64
		Log     wal.Extent
		Damaged bool
	}
	// Trimming reports that records numbered Seq or below are about to be removed from the log.
	Trimming struct{ Seq uint64 }
	// Trimmed reports that the records up to Base, with epoch Epoch, were removed from the log.
	Trimmed struct{ Base, Epoch uint64 }
	// Unreachable reports that three connections to the node were refused within 150 ms, for the fetch with the given ID. The node's
	// process is gone even if its session is alive.
	Unreachable struct {
		Node coord.NodeID
		ID   uint64
	}
	// Lost reports that no reply to the fetch with the given ID will arrive.
	Lost struct{ ID uint64 }
	// Behind reports that the copy lacks acknowledged records because its folder is an older version of itself. It comes before the node
	// announces itself under the incarnation of the last View; another Ready follows.
	Behind struct{}
	// Broken reports that the copy's index or log was found to be damaged.
	Broken struct{ Reason string }
	// StepDown reports that the node is leaving, or that an operator wants another master.
	StepDown struct{}
	// Force reports that an operator makes this copy the master, whatever records it lacks.
	Force struct{}

	// Fetch asks the master for the next records. Everything before Next is on the follower's disk, so a fetch is also an
	// acknowledgement.
	Fetch struct {
		From      coord.NodeID
		Life      coord.Incarnation // incarnation of the follower
		ID        uint64            // increases within an incarnation
		Epoch     uint64
		Next      uint64
		LastEpoch uint64 // epoch of the record before Next
		Full      bool   // the follower has no space and fetches only to stay in touch
		Away      bool   // the follower has no contact with the coordinator
		Heard     uint64 // ID of the newest fetch with a reply when this one was sent
	}
	// Reply is the reply to the Fetch with the same ID.
	Reply struct {
		From       coord.NodeID
		ID         uint64
		Epoch      uint64 // epoch of the fetch; in a Fenced reply, the higher of the two nodes' epochs
		Next       uint64 // Next of the fetch
		Kind       ReplyKind
		Records    []wal.Record
		Commit     uint64
		End        uint64 // last record of the master's log
		EpochStart uint64 // first record of the epoch
		To         uint64 // for Diverged, the last record that both could have
		ToEpoch    uint64 // epoch of that record in the master's log
		// Lease is how long the follower can answer questions, from the time when it sent the fetch; 0 means not at all.
		Lease time.Duration
		Away  bool // the lease is valid only without contact with the coordinator
	}
)

// ReplyKind is the kind of a Reply.
type ReplyKind uint8

// The kinds of replies.
const (
	Records  ReplyKind = iota // the next records, or none yet
	Diverged                  // the records after To differ from the master's; remove them and fetch again
	Snapshot                  // the master's log does not go back that far
	Fenced                    // the copy is not the master of that epoch
)

// Outcome is the result of a CAS.
type Outcome uint8

// The outcomes.
const (
	Made    Outcome = iota
	Stale           // the version changed; a View follows
	Over            // the incarnation is dead
	Unsent          // the coordinator was not reached, so this attempt changed nothing
	Unknown         // the change was made, may yet be made, or never will be
)

// Action is something to do: one of the types below that have an action method.
type Action interface{ action() }

// Actions.
type (
	// Save makes the Meta durable.
	Save struct{ Meta Meta }
	// Append appends the records to the log; Durable follows when they are on disk, or else Reopened.
	Append struct {
		Gen     uint64
		Records []wal.Record
	}
	// Truncate durably removes the records after Seq; from then on, the log is generation Gen.
	Truncate struct{ Gen, Seq uint64 }
	// Apply advances the index to record Seq; Applied follows.
	Apply struct{ Seq uint64 }
	// SendFetch sends a fetch.
	SendFetch struct {
		To    coord.NodeID
		Fetch Fetch
	}
	// SendReply sends a reply with records First to Last of the log, or fewer if they would exceed MaxBytes; First is 0 if there are
	// none.
	SendReply struct {
		To          coord.NodeID
		Reply       Reply
		First, Last uint64
		MaxBytes    int
	}
	// CAS requests a change from the coordinator; CASResult follows.
	CAS struct {
		ID      uint64
		Version int64
		State   coord.State
		By      coord.Incarnation
	}
	// Acknowledge reports that a write is on every copy in sync and in this copy's index.
	Acknowledge struct{ ID, Seq uint64 }
	// Refuse reports that a write was not accepted or, with WriteUnknown, that this is uncertain.
	Refuse struct {
		ID     uint64
		Why    Refusal
		Master coord.NodeID // the probable master
	}
	// Install replaces the copy with a snapshot of the master's copy. Installed follows.
	Install struct {
		Gen  uint64
		From coord.NodeID
	}
	// Ready means that this copy allows the node to announce itself under the incarnation.
	Ready struct{ Incarnation coord.Incarnation }
	// Alarm reports a problem to the operator.
	Alarm struct {
		Reason      string
		Quarantined bool // the copy answers no queries until a snapshot is installed
	}
)

// Refusal is the reason why a write was refused.
type Refusal uint8

// The refusals.
const (
	NotMaster    Refusal = iota
	ReadOnly             // the coordinator is unreachable
	Full                 // no disk space
	Busy                 // too many writes are waiting
	WriteUnknown         // the master has lost leadership; repeating the write is safe
	Superseded           // the log has, or may have had, a newer write for the document
)

func (Tick) event()        {}
func (View) event()        {}
func (Contact) event()     {}
func (Disk) event()        {}
func (Write) event()       {}
func (Durable) event()     {}
func (Applied) event()     {}
func (CASResult) event()   {}
func (Installed) event()   {}
func (Reopened) event()    {}
func (Trimming) event()    {}
func (Trimmed) event()     {}
func (Unreachable) event() {}
func (Lost) event()        {}
func (Behind) event()      {}
func (Broken) event()      {}
func (StepDown) event()    {}
func (Force) event()       {}
func (Fetch) event()       {}
func (Reply) event()       {}

func (Save) action()        {}
func (Append) action()      {}
func (Truncate) action()    {}
func (Apply) action()       {}
func (SendFetch) action()   {}
func (SendReply) action()   {}
func (CAS) action()         {}
func (Acknowledge) action() {}
func (Refuse) action()      {}
func (Install) action()     {}
func (Ready) action()       {}
func (Alarm) action()       {}
