// Package local is a coordinator inside one process; it serves a single node, with its state in a file, and tests of clusters with
// several nodes, with faults on demand.
package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"sync"

	"concordat"
	"concordat/cluster/coord"
)

// Hub is the state shared by the sessions. The zero Hub is ready to use and keeps its state only in memory.
type Hub struct {
	path string // path of the file, or empty

	mu       sync.Mutex // protects the following fields
	disk     disk
	live     map[coord.NodeID]coord.Node
	sessions map[*Session]struct{}
}

// disk is the content of a Hub's file.
type disk struct {
	Format       int                               `json:"format"`
	Incarnations uint64                            `json:"incarnations"` // number assigned so far
	Shards       map[concordat.ShardID]coord.Shard `json:"-"`
	Stored       map[concordat.ShardID]storedShard `json:"shards"`
	Config       coord.Config                      `json:"config"`
}

type storedShard struct {
	Version int64       `json:"version"`
	State   coord.State `json:"state"`
}

const format = 1

// maxFile is the maximum size of the file read by Open.
const maxFile = 16 << 20

// Open returns a Hub with its state in the file at path, which need not exist. Only one process can have it open, so the caller must hold
// the folder's lock. It fails with concordat.ErrCorrupt.
func Open(path string) (*Hub, error) {
	h := &Hub{path: path}
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return h, nil
	}
	if err != nil {
		return nil, err
	}
	if info.Size() > maxFile {
		return nil, fmt.Errorf("%s is too large (%d bytes): %w", path, info.Size(), concordat.ErrCorrupt)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, &h.disk); err != nil {
		return nil, fmt.Errorf("%s: %w: %w", path, concordat.ErrCorrupt, err)
	}
	if h.disk.Format != format {
		return nil, fmt.Errorf("%s has format version %d, but this program supports version %d: %w", path, h.disk.Format, format, concordat.ErrInvalid)
	}
	h.disk.Shards = map[concordat.ShardID]coord.Shard{}
	for id, s := range h.disk.Stored {
		if err := s.State.Validate(); err != nil {
			return nil, fmt.Errorf("%s: shard %s: %w: %w", path, id, concordat.ErrCorrupt, err)
		}
		h.disk.Shards[id] = coord.Shard{Version: s.Version, State: s.State}
	}
	return h, nil
}

// save makes next durable and then current. mu must be held.
func (h *Hub) save(next disk) error {
	next.Format = format
	if h.path != "" {
		next.Stored = make(map[concordat.ShardID]storedShard, len(next.Shards))
		for id, s := range next.Shards {
			next.Stored[id] = storedShard{s.Version, s.State}
		}
		b, err := json.MarshalIndent(next, "", "  ")
		if err != nil {
			return err
		}
		if err := writeFile(h.path, append(b, '\n')); err != nil {
			// The rename may have happened, so the caller must read the state back, as after any lost reply.
			return fmt.Errorf("%w: %w", coord.ErrUnknown, err)
		}
	}
	h.disk = next
	return nil
}

// writeFile durably replaces the file at path with b; after a crash, it has either the old bytes or the new ones.
func writeFile(path string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new*")
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Join begins a session for the node.
func (h *Hub) Join(node coord.NodeID) (*Session, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &Session{hub: h, node: node, views: make(chan coord.View, 1)}
	if err := h.incarnate(s); err != nil {
		return nil, err
	}
	if h.sessions == nil {
		h.sessions = map[*Session]struct{}{}
	}
	h.sessions[s] = struct{}{}
	s.publish()
	return s, nil
}

// incarnate assigns the session an incarnation that no other session has ever had. mu must be held.
func (h *Hub) incarnate(s *Session) error {
	next := h.disk
	next.Incarnations++
	if err := h.save(next); err != nil {
		return err
	}
	s.me = coord.Incarnation(fmt.Sprintf("%s:%d", s.node, next.Incarnations))
	return nil
}

// changed notifies every session. mu must be held.
func (h *Hub) changed() {
	for s := range h.sessions {
		s.publish()
	}
}

// of calls f with each of the node's sessions, and then notifies every session.
func (h *Hub) of(node coord.NodeID, f func(*Session)) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.sessions {
		if s.node == node {
			f(s)
		}
	}
	h.changed()
}

// Cut disconnects the node from the coordinator, or reconnects it, for tests. The node's session remains alive.
func (h *Hub) Cut(node coord.NodeID, cut bool) { h.of(node, func(s *Session) { s.cut = cut }) }

// Expire ends the node's session and begins another, as if the node had been silent for too long, for tests. A node that is cut off
// learns of it when it is reconnected.
func (h *Hub) Expire(node coord.NodeID) error {
	var err error
	h.of(node, func(s *Session) {
		if n := h.live[node]; n.Incarnation == s.me {
			delete(h.live, node)
		}
		err = h.incarnate(s)
	})
	return err
}

// Session is one node's link to the Hub.
type Session struct {
	hub   *Hub
	node  coord.NodeID
	views chan coord.View // sent to and closed under hub.mu

	// protected by hub.mu
	me     coord.Incarnation
	cut    bool
	closed bool
}

var (
	_ coord.Session = (*Session)(nil)
	_ coord.Founder = (*Session)(nil)
)

// publish replaces the view waiting in the channel with the current one. hub.mu must be held.
func (s *Session) publish() {
	if s.cut || s.closed {
		return
	}
	v := coord.View{Me: s.me, Live: maps.Clone(s.hub.live), Shards: maps.Clone(s.hub.disk.Shards), Config: s.hub.disk.Config}
	select {
	case <-s.views:
	default:
	}
	s.views <- v // there is no other sender
}

// lock locks the hub for a call if the session can reach it.
func (s *Session) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.hub.mu.Lock()
	if s.cut || s.closed {
		s.hub.mu.Unlock()
		return fmt.Errorf("coordinator: %w", concordat.ErrUnavailable)
	}
	return nil
}

// View implements coord.Coordinator.
func (s *Session) View() <-chan coord.View { return s.views }

// Read implements coord.Session.
func (s *Session) Read(ctx context.Context, id concordat.ShardID) (coord.Shard, error) {
	if err := s.lock(ctx); err != nil {
		return coord.Shard{}, err
	}
	defer s.hub.mu.Unlock()
	sh, ok := s.hub.disk.Shards[id]
	if !ok {
		return coord.Shard{}, fmt.Errorf("shard %s: %w", id, concordat.ErrNotFound)
	}
	return sh, nil
}

// CAS implements coord.Coordinator.
func (s *Session) CAS(ctx context.Context, id concordat.ShardID, version int64, next coord.State, by coord.Incarnation) (int64, error) {
	if err := next.Validate(); err != nil {
		return 0, err
	}
	if err := s.lock(ctx); err != nil {
		return 0, err
	}
	defer s.hub.mu.Unlock()
	old, ok := s.hub.disk.Shards[id]
	switch {
	case !ok:
		return 0, fmt.Errorf("shard %s: %w", id, concordat.ErrNotFound)
	case by != "" && !s.hub.isLive(by):
		return 0, fmt.Errorf("shard %s: %w", id, coord.ErrSession)
	case old.Version != version:
		return 0, fmt.Errorf("shard %s is at version %d, not %d: %w", id, old.Version, version, coord.ErrStale)
	}
	d := s.hub.disk
	d.Shards = maps.Clone(d.Shards)
	d.Shards[id] = coord.Shard{Version: version + 1, State: next.Clone()}
	if err := s.hub.save(d); err != nil {
		return 0, err
	}
	s.hub.changed()
	return version + 1, nil
}

// isLive reports whether a node has announced itself under the incarnation. mu must be held.
func (h *Hub) isLive(i coord.Incarnation) bool {
	for _, n := range h.live {
		if n.Incarnation == i {
			return true
		}
	}
	return false
}

// Online implements coord.Session.
func (s *Session) Online() bool {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	return !s.cut && !s.closed
}

// Confirmed implements coord.Coordinator.
func (s *Session) Confirmed() coord.Incarnation {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if s.cut || s.closed {
		return ""
	}
	return s.me
}

// Announce implements coord.Session.
func (s *Session) Announce(ctx context.Context, n coord.Node) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.hub.mu.Unlock()
	if n.ID != s.node {
		return fmt.Errorf("node %s cannot announce itself as node %s: %w", s.node, n.ID, concordat.ErrInvalid)
	}
	if n.Incarnation != s.me {
		return coord.ErrSession
	}
	if s.hub.live == nil {
		s.hub.live = map[coord.NodeID]coord.Node{}
	}
	s.hub.live[n.ID] = n
	s.hub.changed()
	return nil
}

// Create implements coord.Founder.
func (s *Session) Create(ctx context.Context, shards map[concordat.ShardID]coord.State) error {
	for id, st := range shards {
		if err := st.Validate(); err != nil {
			return fmt.Errorf("shard %s: %w", id, err)
		}
	}
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.hub.mu.Unlock()
	d := s.hub.disk
	d.Shards = maps.Clone(d.Shards)
	if d.Shards == nil {
		d.Shards = map[concordat.ShardID]coord.Shard{}
	}
	for id, st := range shards {
		if _, ok := d.Shards[id]; ok {
			return fmt.Errorf("shard %s: %w", id, concordat.ErrExists)
		}
		d.Shards[id] = coord.Shard{State: st.Clone()}
	}
	if err := s.hub.save(d); err != nil {
		return err
	}
	s.hub.changed()
	return nil
}

// Configure implements coord.Session.
func (s *Session) Configure(ctx context.Context, version int64, data []byte) (int64, error) {
	if len(data) > coord.MaxConfig {
		return 0, fmt.Errorf("the configuration has %d bytes, but at most %d are allowed: %w", len(data), coord.MaxConfig, concordat.ErrInvalid)
	}
	if err := s.lock(ctx); err != nil {
		return 0, err
	}
	defer s.hub.mu.Unlock()
	if s.hub.disk.Config.Version != version {
		return 0, fmt.Errorf("the configuration is at version %d, not %d: %w", s.hub.disk.Config.Version, version, coord.ErrStale)
	}
	d := s.hub.disk
	d.Config = coord.Config{Version: version + 1, Data: append([]byte(nil), data...)}
	if err := s.hub.save(d); err != nil {
		return 0, err
	}
	s.hub.changed()
	return version + 1, nil
}

// Close implements coord.Session.
func (s *Session) Close() error {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	delete(s.hub.sessions, s)
	if n := s.hub.live[s.node]; n.Incarnation == s.me {
		delete(s.hub.live, s.node)
	}
	close(s.views)
	s.hub.changed()
	return nil
}
