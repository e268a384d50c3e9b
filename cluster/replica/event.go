package replica

import (
	"time"

	"concordat/cluster/coord"
	"concordat/cluster/wal"
)

// Event is something that happened: one of the types below that have an event method.
type Event interface{ event() }

// Events.
type (
	// Tick says that time has passed. It is needed about every 50 ms.
	Tick struct{}
	// View is the coordinator's present state. Live holds the nodes that announced themselves, by
	// incarnation.
	View struct {
		Shard coord.Shard
		Me    coord.Incarnation
		Live  map[coord.NodeID]coord.Incarnation
	}
	// Contact names the incarnation that the coordinator has Confirmed, or "".
	Contact struct{ Me coord.Incarnation }
	// Disk says whether there is room for more records.
	Disk struct{ Full bool }
	// Write says that a caller wants the record appended, with Seq and Epoch not set. Exactly one Acknowledge
	// or Refuse with its ID answers it.
	Write struct {
		ID     uint64
		Record wal.Record
	}
	// Durable says that the log is on disk up to Seq, in the generation of the Append that wrote it.
	Durable struct{ Gen, Seq uint64 }
	// Applied says that the index has the records up to Seq.
	Applied struct{ Seq uint64 }
	// CASResult is the outcome of a CAS.
	CASResult struct {
		ID      uint64
		Outcome Outcome
	}
	// Installed says that a snapshot is in place, or could not be obtained; the log begins after Seq.
	Installed struct {
		Gen, Seq, Epoch uint64
		Newest          uint64 // no document of the snapshot has a higher revision
		Failed          bool
	}
	// Reopened says that the log failed and was opened again as generation Gen, which is higher than all
	// earlier ones.
	Reopened struct {
		Gen     uint64
		Log     wal.Extent
		Damaged bool
	}
	// Trimming says that records will be removed from the log, all of them numbered Seq or below.
	Trimming struct{ Seq uint64 }
	// Trimmed says that the records up to Base, whose epoch was Epoch, were removed from the log.
	Trimmed struct{ Base, Epoch uint64 }
	// Unreachable says that three connections to the node were refused within 150 ms, for the fetch with the
	// ID: the node's process is gone even if its session is alive.
	Unreachable struct {
		Node coord.NodeID
		ID   uint64
	}
	// Lost says that no answer to the fetch with the ID will come.
	Lost struct{ ID uint64 }
	// Behind says that the copy lacks acknowledged records because its folder is an older copy of itself. This
	// event comes before the node announces itself under the incarnation of the last View; Ready follows once
	// more.
	Behind struct{}
	// Broken says that the copy's index or log turned out to be damaged.
	Broken struct{ Reason string }
	// StepDown says that the node is leaving, or that an operator wants another master.
	StepDown struct{}
	// Force says that an operator makes this copy the master, whatever records it may lack.
	Force struct{}

	// Fetch asks the master for the records that follow. Everything before Next is on the follower's disk, so
	// the fetch is also an acknowledgement.
	Fetch struct {
		From      coord.NodeID
		Life      coord.Incarnation // of the follower
		ID        uint64            // rises within an incarnation
		Epoch     uint64
		Next      uint64
		LastEpoch uint64 // of the record before Next
		Full      bool   // the follower has no room and fetches only to stay in touch
		Away      bool   // the follower has no contact with the coordinator
		Heard     uint64 // ID of the newest fetch that had been answered when this one was sent
	}
	// Reply answers the Fetch of the same ID.
	Reply struct {
		From       coord.NodeID
		ID         uint64
		Epoch      uint64 // of the fetch; in a Fenced reply, the higher epoch of the two nodes
		Next       uint64 // of the fetch
		Kind       ReplyKind
		Records    []wal.Record
		Commit     uint64
		End        uint64 // of the master's log
		EpochStart uint64 // number of the first record of the epoch
		To         uint64 // Diverged: the last record that both may have,
		ToEpoch    uint64 // and its epoch in the master's log
		// Lease is how long the follower may answer questions, counted from when it sent the fetch; with 0 it may
		// not answer any.
		Lease time.Duration
		Away  bool // the lease is valid without contact with the coordinator, and only then
	}
)

// ReplyKind is the kind of a Reply.
type ReplyKind uint8

// The kinds of replies.
const (
	Records  ReplyKind = iota // the records that follow, or none yet
	Diverged                  // the records after To differ from the master's: cut them and fetch again
	Snapshot                  // the master's log does not reach back that far
	Fenced                    // the copy is not the master of that epoch
)

// Outcome of a CAS.
type Outcome uint8

// The outcomes.
const (
	Made    Outcome = iota
	Stale           // the version has changed; a View follows
	Over            // the incarnation is dead
	Unsent          // the coordinator was not reached; this attempt changed nothing
	Unknown         // it may or may not have been made, or may still be made
)

// Action is something to do: one of the types below that have an action method.
type Action interface{ action() }

// Actions.
type (
	// Save makes the Meta durable.
	Save struct{ Meta Meta }
	// Append appends the records to the log; Durable follows when they are on disk, or Reopened.
	Append struct {
		Gen     uint64
		Records []wal.Record
	}
	// Truncate removes the records after Seq, durably; the log is generation Gen from then on.
	Truncate struct{ Gen, Seq uint64 }
	// Apply brings the index up to record Seq; Applied follows.
	Apply struct{ Seq uint64 }
	// SendFetch sends the fetch.
	SendFetch struct {
		To    coord.NodeID
		Fetch Fetch
	}
	// SendReply sends the reply, with records First to Last of the log, or fewer if they would
	// exceed MaxBytes; First is 0 if there are none.
	SendReply struct {
		To          coord.NodeID
		Reply       Reply
		First, Last uint64
		MaxBytes    int
	}
	// CAS asks the coordinator for a change; CASResult follows.
	CAS struct {
		ID      uint64
		Version int64
		State   coord.State
		By      coord.Incarnation
	}
	// Acknowledge says that the write is on every copy in sync and in this one's index.
	Acknowledge struct{ ID, Seq uint64 }
	// Refuse says that the write was not accepted or, with WriteUnknown, may still be.
	Refuse struct {
		ID     uint64
		Why    Refusal
		Master coord.NodeID // the node that may be the master
	}
	// Install replaces the copy with a snapshot of the master's. Installed follows.
	Install struct {
		Gen  uint64
		From coord.NodeID
	}
	// Ready says that this copy allows the node to announce itself under the incarnation.
	Ready struct{ Incarnation coord.Incarnation }
	// Alarm reports something that an operator should know.
	Alarm struct {
		Reason      string
		Quarantined bool // the copy answers no queries until a snapshot is in place
	}
)

// Refusal says why a write was refused.
type Refusal uint8

// The refusals.
const (
	NotMaster    Refusal = iota
	ReadOnly             // the coordinator is out of reach
	Full                 // no room on the disk
	Busy                 // too many writes wait
	WriteUnknown         // the master has lost leadership; repeating is safe
	Superseded           // the log has, or may have had, a newer write of the document
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
