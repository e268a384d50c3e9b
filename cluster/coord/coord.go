// Package coord defines what the nodes of a site agree on through a coordinator, and what a coordinator must
// do for them. A coordinator holds no documents: for each shard, a few names and a number decide who may
// lead.
//
// Start from Coordinator, which a replica's driver uses, and Session, which a node holds. The safety of
// the cluster depends only on CAS: views may be late, and Online may be wrong for a while.
package coord

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"concordat"
)

// NodeID names one machine of a site. It stays the same across restarts.
type NodeID string

// Incarnation names one session of one node with the coordinator; no two sessions ever share one.
// A node gets a new one when it restarts and when its session has ended.
type Incarnation string

// Node is a node's description of itself for the others.
type Node struct {
	ID          NodeID      `json:"id"`
	Incarnation Incarnation `json:"incarnation"`
	Address     string      `json:"address"` // host:port where its messages arrive
	Version     string      `json:"version"`
	Zone        string      `json:"zone,omitempty"` // shown to people only
	FreeBytes   uint64      `json:"free_bytes"`
	// Protocol is the version of the messages that the node sends, OldestProtocol the oldest that it
	// still understands, and Log the version of the log that it writes. 0, from programs that did not
	// say, means 1.
	Protocol       int `json:"protocol,omitempty"`
	OldestProtocol int `json:"oldest_protocol,omitempty"`
	Log            int `json:"log,omitempty"`
	// Meaning says how the node indexes documents by their meaning: MeaningOff, or the digest of the cells. Empty: its program
	// does not say.
	Meaning string `json:"meaning,omitempty"`
	// Supervised means that a service manager restarts the process when it ends.
	Supervised bool `json:"supervised,omitempty"`
}

// MeaningOff is the Meaning of a node that makes no cells of meaning.
const MeaningOff = "off"

// State is everything that is decided about one shard. States are values: to change one, change a Clone.
type State struct {
	// Epoch numbers the tenures of masters; it never falls.
	Epoch uint64 `json:"epoch"`
	// ISR lists the nodes whose copies have every acknowledged write, the master first. Only they may be
	// elected, and a write is acknowledged when all of them have it on disk.
	ISR []NodeID `json:"isr"`
	// Hold lists the members of ISR that may not lead for now, because they lost a part of their log.
	Hold []NodeID `json:"hold,omitempty"`
	// Leader is the incarnation in which ISR[0] won the epoch; empty if it gave the shard up.
	Leader Incarnation `json:"leader_inc"`
	// Replicas lists the nodes that should have a copy; the master ensures that they get one.
	Replicas []NodeID `json:"replicas"`
}

// Clone returns a copy of s that shares nothing with it.
func (s State) Clone() State {
	s.ISR, s.Hold, s.Replicas = slices.Clone(s.ISR), slices.Clone(s.Hold), slices.Clone(s.Replicas)
	return s
}

// Equal reports whether s and t are the same.
func (s State) Equal(t State) bool {
	return s.Epoch == t.Epoch && s.Leader == t.Leader &&
		slices.Equal(s.ISR, t.ISR) && slices.Equal(s.Hold, t.Hold) && slices.Equal(s.Replicas, t.Replicas)
}

// MaxCopies bounds the names in each list of a State.
const MaxCopies = 64

// Validate returns an error that is concordat.ErrInvalid if s cannot be a shard's state: ISR and
// Replicas have members, no list names a node twice, and Hold is a part of ISR.
func (s State) Validate() error {
	for _, l := range [][]NodeID{s.ISR, s.Hold, s.Replicas} {
		if len(l) > MaxCopies {
			return fmt.Errorf("%d copies of a shard, at most %d: %w", len(l), MaxCopies, concordat.ErrInvalid)
		}
		for i, n := range l {
			if n == "" || slices.Contains(l[:i], n) {
				return fmt.Errorf("node %q twice or without a name: %w", n, concordat.ErrInvalid)
			}
		}
	}
	if len(s.ISR) == 0 || len(s.Replicas) == 0 {
		return fmt.Errorf("shard without copies: %w", concordat.ErrInvalid)
	}
	for _, n := range s.Hold {
		if !slices.Contains(s.ISR, n) {
			return fmt.Errorf("node %s on hold is not in sync: %w", n, concordat.ErrInvalid)
		}
	}
	return nil
}

// Shard is a State with its version, which rises by one with every change.
type Shard struct {
	Version int64
	State
}

// Config is the configuration common to all nodes of the site, for example the scheme. The coordinator treats
// it as bytes. Version 0 means that nothing was set.
type Config struct {
	Version int64
	Data    []byte
}

// MaxConfig is the maximum length of Config.Data, in bytes.
const MaxConfig = 64 << 10

// View is a node's view of the cluster. No one may change it or anything that it holds.
type View struct {
	// Me is the node's own present incarnation. If it changes, the session has ended and another
	// has begun: the node has lost every role, and is not in Live until it calls Announce again.
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

// Errors of a coordinator in addition to concordat's. After ErrStale, ErrSession,
// concordat.ErrUnavailable, concordat.ErrNotFound and concordat.ErrInvalid nothing has changed.
var (
	// ErrStale means that the given version is not the current one.
	ErrStale = errors.New("changed by another node in the meantime")
	// ErrSession means that the given incarnation is not live.
	ErrSession = errors.New("the node's session is over")
	// ErrUnknown means that the change was sent, and may or may not have been made. Read shows whether it
	// was.
	ErrUnknown = errors.New("result unknown")
)

// A Coordinator is the part of a Session that replicas need. Safe for concurrent use.
type Coordinator interface {
	// View returns the channel of views, always the same. It holds at most one view, the newest that has not
	// been received: views arrive in order, and a slow receiver misses some. The first arrives soon after the
	// session begins. Close closes the channel. Views may be arbitrarily late.
	View() <-chan View
	// Read returns the shard as it is after every change that was acknowledged, to any node, before
	// the call. Errors: concordat.ErrNotFound, concordat.ErrUnavailable, those of ctx.
	Read(ctx context.Context, id concordat.ShardID) (Shard, error)
	// CAS replaces the shard's state with next in one step if its version is the given one and, unless by is
	// empty, the incarnation by is live; it returns the new version, which is version+1. Errors: ErrStale,
	// ErrSession, ErrUnknown, concordat.ErrNotFound, concordat.ErrInvalid, concordat.ErrUnavailable. If ctx
	// ends while the call is under way, the error is ErrUnknown.
	CAS(ctx context.Context, id concordat.ShardID, version int64, next State, by Incarnation) (int64, error)
	// Online reports whether the session was confirmed within one session timeout. After that time
	// it is false, by the node's own monotonic clock.
	Online() bool
	// Confirmed returns the incarnation whose session is Online and will remain so for another tenth of the
	// session timeout, or "". While it returns an incarnation, no node has been told that this one is gone,
	// unless the coordinator ended the session early.
	Confirmed() Incarnation
}

// A Session is one node's link to the coordinator. If the node was silent for a session timeout, the
// coordinator ends the session; the Session then begins another one by itself, with a new
// incarnation.
type Session interface {
	Coordinator
	// Announce makes the node live under its present incarnation, or changes its description. It fails with
	// ErrSession unless n.Incarnation is View.Me. Entries of older incarnations of the node are removed: the
	// caller's lock on its folder proves that they are dead.
	Announce(ctx context.Context, n Node) error
	// Create makes the shards with version 0, all or none. It fails with concordat.ErrExists if one of them
	// exists.
	Create(ctx context.Context, shards map[concordat.ShardID]State) error
	// Configure replaces Config if its version is the given one, and returns the new version,
	// version+1. Its errors are those of CAS.
	Configure(ctx context.Context, version int64, data []byte) (int64, error)
	// Close ends the session; if the coordinator was reached, the node is no longer live on return.
	Close() error
}
