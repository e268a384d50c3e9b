// Package coord defines what the nodes of a site agree on through a coordinator, and what a coordinator must do for them. A coordinator
// stores no documents, only a few names and a number for each shard that determine who can lead.
//
// The main types are Coordinator, used by a replica's driver, Session, held by a node, and Founder, used to create a cluster. The safety of
// the cluster depends only on CAS; views can be late, and Online can be wrong for a while.
package coord

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"concordat"
)

// NodeID names one machine of a site. It remains the same across restarts.
type NodeID string

// Incarnation identifies one session of one node with the coordinator; no two sessions ever share one. A node gets a new one when it
// restarts and when its session has ended.
type Incarnation string

// Node is a node's description of itself for other nodes.
type Node struct {
	ID          NodeID      `json:"id"`
	Incarnation Incarnation `json:"incarnation"`
	Address     string      `json:"address"` // host:port at which it receives messages
	Version     string      `json:"version"`
	Zone        string      `json:"zone,omitempty"` // for display only
	FreeBytes   uint64      `json:"free_bytes"`
	// Protocol is the version of the messages that the node sends; OldestProtocol is the oldest version that it still understands, and
	// Log is the version of the log that it writes. 0, sent by programs that do not state it, means 1.
	Protocol       int `json:"protocol,omitempty"`
	OldestProtocol int `json:"oldest_protocol,omitempty"`
	Log            int `json:"log,omitempty"`
	// Payload is the newest version of a document's payload in the log that the node reads. 0, sent by programs that do not state it,
	// means 2.
	Payload int `json:"payload,omitempty"`
	// Meaning describes how the node indexes documents by meaning: MeaningOff, or the digest of the cells. It is empty if the node's
	// program does not state it.
	Meaning string `json:"meaning,omitempty"`
	// Supervised means that a service manager restarts the process when it ends.
	Supervised bool `json:"supervised,omitempty"`
}

// MeaningOff is the Meaning of a node that computes no meaning cells.
const MeaningOff = "off"

// State is everything decided about one shard. States are values; to change one, modify a Clone.
type State struct {
	// Epoch numbers the tenures of masters; it never decreases.
	Epoch uint64 `json:"epoch"`
	// ISR lists the nodes with copies that have every acknowledged write, the master first. Only they can be elected, and a write is
	// acknowledged when all of them have it on disk.
	ISR []NodeID `json:"isr"`
	// Hold lists members of ISR that must not lead for now, because they lost part of their log.
	Hold []NodeID `json:"hold,omitempty"`
	// Leader is the incarnation in which ISR[0] won the epoch; empty if it gave up the shard.
	Leader Incarnation `json:"leader_inc"`
	// Replicas lists the nodes that should have a copy; the master ensures that they get one.
	Replicas []NodeID `json:"replicas"`
	// Forced is the last epoch whose master was chosen by an operator, whatever it lacked; 0 if there was none. Records of earlier epochs
	// can have been acknowledged although the master does not have them.
	Forced uint64 `json:"forced,omitempty"`
}

// Clone returns a deep copy of s.
func (s State) Clone() State {
	s.ISR, s.Hold, s.Replicas = slices.Clone(s.ISR), slices.Clone(s.Hold), slices.Clone(s.Replicas)
	return s
}

// Equal reports whether s and t are equal.
func (s State) Equal(t State) bool {
	return s.Epoch == t.Epoch && s.Leader == t.Leader && s.Forced == t.Forced &&
		slices.Equal(s.ISR, t.ISR) && slices.Equal(s.Hold, t.Hold) && slices.Equal(s.Replicas, t.Replicas)
}

// MaxCopies is the maximum number of names in each list of a State.
const MaxCopies = 64

// Validate returns an error that wraps concordat.ErrInvalid if s is not a valid state: ISR and Replicas must be nonempty, lists must not
// contain duplicates, Hold must be a subset of ISR, and Forced must not be above Epoch.
func (s State) Validate() error {
	for _, l := range [][]NodeID{s.ISR, s.Hold, s.Replicas} {
		if len(l) > MaxCopies {
			return fmt.Errorf("a shard has %d copies, but at most %d are allowed: %w", len(l), MaxCopies, concordat.ErrInvalid)
		}
		for i, n := range l {
			if n == "" || slices.Contains(l[:i], n) {
				return fmt.Errorf("node name %q is empty or listed twice: %w", n, concordat.ErrInvalid)
			}
		}
	}
	if s.Forced > s.Epoch {
		return fmt.Errorf("epoch %d is said to be forced, but the shard has reached only epoch %d: %w", s.Forced, s.Epoch, concordat.ErrInvalid)
	}
	if len(s.ISR) == 0 || len(s.Replicas) == 0 {
		return fmt.Errorf("the shard has no copies: %w", concordat.ErrInvalid)
	}
	for _, n := range s.Hold {
		if !slices.Contains(s.ISR, n) {
			return fmt.Errorf("node %s is on hold, but is not in sync: %w", n, concordat.ErrInvalid)
		}
	}
	return nil
}

// Shard is a State with its version, which increases by one with every change.
type Shard struct {
	Version int64
	State
}

// Config is the configuration common to all nodes of the site, for example the scheme. The coordinator treats it as opaque bytes. Version
// 0 means that it was never set.
type Config struct {
	Version int64
	Data    []byte
}

// MaxConfig is the maximum length of Config.Data, in bytes.
const MaxConfig = 64 << 10

// View is a node's view of the cluster. Neither it nor anything it refers to may be modified.
type View struct {
	// Me is the node's own current incarnation. If it changes, the session has ended and another has begun, so the node has lost every
	// role, and is missing from Live until it calls Announce again.
	Me     Incarnation
	Live   map[NodeID]Node // nodes that announced themselves and whose sessions have not ended
	Shards map[concordat.ShardID]Shard
	Config Config
}

// Leads reports whether the node that s names as master is live in the incarnation that won.
func (v *View) Leads(s State) bool {
	n, ok := v.Live[s.ISR[0]]
	return ok && s.Leader != "" && n.Incarnation == s.Leader
}

// Errors of a coordinator, in addition to those of package concordat. After ErrStale, ErrSession, concordat.ErrUnavailable,
// concordat.ErrNotFound and concordat.ErrInvalid, nothing has changed.
var (
	// ErrStale means that the given version is not current.
	ErrStale = errors.New("already changed by another node")
	// ErrSession means that the given incarnation is not live.
	ErrSession = errors.New("the node's session has ended")
	// ErrUnknown means that the change was sent, with unknown result. Read reveals whether it was made.
	ErrUnknown = errors.New("the result is unknown")
)

// A Coordinator is the part of a Session that replicas need. It is safe for concurrent use.
type Coordinator interface {
	// View returns the channel of views, which is always the same. It buffers one view, the newest not yet received; views arrive in
	// order, and a slow receiver misses some. The first view arrives soon after the session begins. Close closes the channel. Views can
	// be arbitrarily late.
	View() <-chan View
	// CAS atomically replaces the shard's state with next, provided that its version is the given one and, unless by is empty, that
	// incarnation by is live; it returns the new version, which is version+1. Errors: ErrStale, ErrSession, ErrUnknown,
	// concordat.ErrNotFound, concordat.ErrInvalid, concordat.ErrUnavailable. If ctx ends during the call, the error is ErrUnknown.
	CAS(ctx context.Context, id concordat.ShardID, version int64, next State, by Incarnation) (int64, error)
	// Confirmed returns the incarnation whose session is Online and will remain so for another tenth of the session timeout, or "". As
	// long as it returns an incarnation, no node has been told that this one is gone, unless the coordinator ended the session early.
	Confirmed() Incarnation
}

// A Session is one node's link to the coordinator. If the node is silent for a session timeout, the coordinator ends the session; the
// Session then automatically begins another one with a new incarnation.
type Session interface {
	Coordinator
	// Read returns the shard's state after every change that was acknowledged, to any node, before the call. Errors:
	// concordat.ErrNotFound, concordat.ErrUnavailable, and the errors of ctx.
	Read(ctx context.Context, id concordat.ShardID) (Shard, error)
	// Online reports whether the session was confirmed within the last session timeout, as measured by the node's own monotonic clock.
	Online() bool
	// Announce makes the node live under its current incarnation, or changes its description. It fails with ErrSession unless
	// n.Incarnation is View.Me. It removes entries of the node's older incarnations, because the caller's lock on its folder proves that
	// they are dead.
	Announce(ctx context.Context, n Node) error
	// Configure replaces Config if its version is the given one, and returns the new version, version+1. It returns the same errors as
	// CAS.
	Configure(ctx context.Context, version int64, data []byte) (int64, error)
	// Close ends the session; if the coordinator was reached, the node is no longer live when Close returns.
	Close() error
}

// A Founder is a session for creating a cluster at a coordinator that has none. View, Configure and Close do the same as in a Session.
type Founder interface {
	View() <-chan View
	Configure(ctx context.Context, version int64, data []byte) (int64, error)
	// Create creates the shards with version 0, either all or none. If one of them exists, it fails with concordat.ErrExists.
	Create(ctx context.Context, shards map[concordat.ShardID]State) error
	Close() error
}
