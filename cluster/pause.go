package cluster

import (
	"context"
	"crypto/rand"
	"encoding/gob"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/replica"
	"concordat/cluster/wal"
	"concordat/index"
)

// A backup of a site captures one moment: the masters of all shards block new writes and wait for the writes in progress; the store takes
// a snapshot; the masters continue. Each master keeps its index as of that moment until the backup has fetched it. If the backup dies,
// every node automatically resumes writes.

// pauseTime is the time after which writes resume whatever happens to the backup.
const pauseTime = 10 * time.Second

// writePause is one node's part in a write pause.
type writePause struct {
	moment string
	timer  *time.Timer

	mu     sync.Mutex // protects the following fields
	copies []*Copy    // copies with locked gates
	over   bool
}

// add takes over a locked gate. If time is up, it opens the gate and returns false.
func (h *writePause) add(c *Copy) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		c.gate.Unlock()
		return false
	}
	h.copies = append(h.copies, c)
	return true
}

// resumeWrites opens the gates, and reports whether they were locked until now.
func (h *writePause) resumeWrites() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return false
	}
	h.over = true
	h.timer.Stop()
	for _, c := range h.copies {
		c.gate.Unlock()
	}
	return true
}

type pauseRequest struct {
	Moment string
	Epochs map[concordat.ShardID]uint64
}

// lockWithin locks m, or fails if ctx ends first.
func lockWithin(ctx context.Context, m *sync.RWMutex) error {
	got := make(chan struct{})
	go func() {
		m.Lock()
		select {
		case got <- struct{}{}:
		case <-ctx.Done():
			m.Unlock()
		}
	}()
	select {
	case <-got:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// pauseWrites blocks new writes in the given shards and keeps their indexes; this node must be master of the shards in the given epochs.
func (n *Node) pauseWrites(ctx context.Context, in pauseRequest) (err error) {
	ctx, cancel := context.WithTimeout(ctx, pauseTime/2)
	defer cancel()
	h := &writePause{moment: in.Moment}
	h.timer = time.AfterFunc(pauseTime, func() { n.resumeWrites(in.Moment) })
	n.mu.Lock()
	busy := n.pause != nil
	if !busy {
		n.pause = h
	}
	n.mu.Unlock()
	if busy {
		h.timer.Stop()
		return fmt.Errorf("node %s is taking part in another backup: %w", n.o.Node.ID, concordat.ErrUnavailable)
	}
	defer func() {
		if err != nil {
			n.resumeWrites(in.Moment)
			n.dropFrozen(in.Moment)
		}
	}()
	for id, epoch := range in.Epochs {
		c, ok := n.hosting.get(id)
		if !ok {
			return fmt.Errorf("shard %s is not open on this node: %w", id, concordat.ErrUnavailable)
		}
		if err := lockWithin(ctx, &c.gate); err != nil {
			return fmt.Errorf("shard %s: writes are waiting because its copies are not in sync: %w: %w", id, concordat.ErrUnavailable, err)
		}
		if !h.add(c) {
			return fmt.Errorf("shard %s: cannot pause writes in time: %w", id, concordat.ErrUnavailable)
		}
		if err := c.freeze(in.Moment, epoch); err != nil {
			return fmt.Errorf("shard %s: %w", id, err)
		}
	}
	return nil
}

// resumeWrites resumes writes, and reports whether they were paused until now.
func (n *Node) resumeWrites(moment string) bool {
	n.mu.Lock()
	h := n.pause
	if h == nil || h.moment != moment {
		n.mu.Unlock()
		return false
	}
	n.pause = nil
	n.mu.Unlock()
	return h.resumeWrites()
}

// freeze keeps the index as it is. The gate must be held.
func (c *Copy) freeze(moment string, epoch uint64) error {
	st, err := c.Status()
	if err != nil {
		return err
	}
	if st.Role != replica.Master || st.Shard.Epoch != epoch || st.Offline {
		return &NotMasterError{master(st.Shard.State)}
	}
	f, err := c.Index().Freeze()
	if err != nil {
		return err
	}
	c.frozen.keep(moment, f)
	return nil
}

func (n *Node) servePause(w http.ResponseWriter, r *http.Request) {
	var in pauseRequest
	err := gob.NewDecoder(http.MaxBytesReader(w, r.Body, maxFetch)).Decode(&in)
	if err == nil {
		err = n.pauseWrites(r.Context(), in)
	}
	if err != nil {
		fail(w, err)
		return
	}
	_ = gob.NewEncoder(w).Encode(true) // the caller disconnected, so the timer resumes writes
}

func (n *Node) serveResume(w http.ResponseWriter, r *http.Request) {
	var moment string
	if err := gob.NewDecoder(http.MaxBytesReader(w, r.Body, maxFetch)).Decode(&moment); err != nil {
		fail(w, fmt.Errorf("%w: %w", concordat.ErrInvalid, err))
		return
	}
	_ = gob.NewEncoder(w).Encode(n.resumeWrites(moment))
}

func (n *Node) serveDrop(w http.ResponseWriter, r *http.Request) {
	var moment string
	err := gob.NewDecoder(http.MaxBytesReader(w, r.Body, maxFetch)).Decode(&moment)
	if err == nil && moment == "" {
		err = errors.New("it names no backup") // thaw would release the indexes of all backups
	}
	if err != nil {
		fail(w, fmt.Errorf("cannot decode the request to release an index: %w: %w", concordat.ErrInvalid, err))
		return
	}
	n.dropFrozen(moment)
	_ = gob.NewEncoder(w).Encode(true) // the reply has begun, so an error can no longer be reported
}

// dropFrozen releases the indexes of a moment.
func (n *Node) dropFrozen(moment string) {
	for _, id := range n.layout.names() {
		if c, ok := n.hosting.get(id); ok {
			_ = c.frozen.thaw(moment) // the index itself reports any problem
		}
	}
}

func (n *Node) serveFrozen(w http.ResponseWriter, r *http.Request) {
	id := concordat.ShardID(r.PathValue("shard"))
	c, ok := n.hosting.get(id)
	err := fmt.Errorf("shard %s: %w", id, concordat.ErrNotFound)
	if ok {
		err = c.frozen.use(r.PathValue("moment"), func(f *index.Frozen) error { return c.sendFrozen(r.Context(), w, f) })
	}
	if err != nil {
		fail(w, err)
	}
}

// ShardSnapshot describes the content of a copy of a shard.
type ShardSnapshot struct {
	Shard     concordat.ShardID `json:"shard"`
	Epoch     uint64            `json:"epoch"`
	Seq       uint64            `json:"seq"`
	Documents int               `json:"documents"`
	Sentences int               `json:"sentences"`
}

// CopyAll writes the indexes of all shards, as of a single moment, to folders in dir named after the shards. It calls moment, which
// should be quick, while no write is in progress on any node and none can begin. If a shard has no master, or its master changed, it
// fails with concordat.ErrUnavailable.
func (n *Node) CopyAll(ctx context.Context, dir string, moment func(context.Context) error) ([]ShardSnapshot, error) {
	v, _ := n.fan.now()
	name := rand.Text()
	by := map[coord.NodeID]map[concordat.ShardID]uint64{}
	for _, id := range n.layout.names() {
		s, ok := v.Shards[id]
		if !ok || !v.Leads(s.State) {
			return nil, fmt.Errorf("shard %s has no master: %w", id, concordat.ErrUnavailable)
		}
		if by[s.ISR[0]] == nil {
			by[s.ISR[0]] = map[concordat.ShardID]uint64{}
		}
		by[s.ISR[0]][id] = s.Epoch
	}
	defer func() {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), pauseTime)
		defer cancel()
		for id := range by {
			if id == n.o.Node.ID {
				n.dropFrozen(name)
				continue
			}
			var done bool
			_ = n.peers.exchange(late, v.Live[id], "-", "drop", name, &done) // otherwise they are released an hour later
		}
	}()
	if err := n.pauseAll(ctx, v, name, by, moment); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	var out []ShardSnapshot
	for _, id := range n.layout.names() {
		m, err := n.fetchFrozen(ctx, v.Live[v.Shards[id].ISR[0]], id, name, filepath.Join(dir, string(id)))
		if err != nil {
			return nil, fmt.Errorf("shard %s: %w", id, err)
		}
		out = append(out, m)
	}
	return out, nil
}

// pauseAll pauses the writes of all shards while it calls moment.
func (n *Node) pauseAll(ctx context.Context, v *coord.View, name string, by map[coord.NodeID]map[concordat.ShardID]uint64,
	moment func(context.Context) error) (err error) {
	released := false
	release := func() error {
		var g errgroup.Group
		for id := range by {
			g.Go(func() error {
				// Writes must resume even if ctx has ended.
				late, cancel := context.WithTimeout(context.WithoutCancel(ctx), pauseTime)
				defer cancel()
				held := false
				if id == n.o.Node.ID {
					held = n.resumeWrites(name)
				} else if err := n.peers.exchange(late, v.Live[id], "-", "release", name, &held); err != nil {
					return err
				}
				if !held {
					return fmt.Errorf("node %s resumed writes too soon; try again: %w", id, concordat.ErrUnavailable)
				}
				return nil
			})
		}
		released = true
		return g.Wait()
	}
	defer func() {
		if !released {
			_ = release() // the first error is returned
		}
	}()
	g, gctx := errgroup.WithContext(ctx)
	for id, epochs := range by {
		g.Go(func() error {
			in := pauseRequest{name, epochs}
			if id == n.o.Node.ID {
				return n.pauseWrites(gctx, in)
			}
			var done bool
			return n.peers.exchange(gctx, v.Live[id], "-", "hold", in, &done)
		})
	}
	if err := g.Wait(); err != nil {
		return fmt.Errorf("pause writes: %w", err)
	}
	if err := moment(ctx); err != nil {
		return err
	}
	if err := release(); err != nil {
		return err
	}
	// A master replaced without knowing it did not block any writes.
	for _, epochs := range by {
		for id, epoch := range epochs {
			if s, err := n.o.Session.Read(ctx, id); err != nil || s.Epoch != epoch {
				return fmt.Errorf("the master of shard %s changed; try again: %w", id, errors.Join(concordat.ErrUnavailable, err))
			}
		}
	}
	return nil
}

// fetchFrozen fetches the index frozen at the given moment and describes its content.
func (n *Node) fetchFrozen(ctx context.Context, from coord.Node, id concordat.ShardID, moment, dir string) (m ShardSnapshot, err error) {
	if from.ID == n.o.Node.ID {
		c, ok := n.hosting.get(id)
		if !ok {
			return m, fmt.Errorf("the copy is not open: %w", concordat.ErrUnavailable)
		}
		err = c.frozen.copyTo(ctx, moment, dir)
	} else {
		var resp *http.Response
		if resp, err = n.peers.call(ctx, http.MethodGet, from, id, "still/"+moment, nil); err == nil {
			_, err = receive(resp.Body, dir)
			err = errors.Join(err, resp.Body.Close())
		}
	}
	if err != nil {
		return m, err
	}
	return ReadSnapshot(dir, id)
}

// Adopt prepares copies of shards, restored from a backup to a node's folder of copies, so that a node that founds a cluster on them
// considers them authoritative. Each gets a log that begins where its index ends. It describes the copies in order, or returns nil if
// there are none. It can be called repeatedly until the node is started.
func Adopt(dir string) ([]ShardSnapshot, error) {
	var out []ShardSnapshot
	for i := range MaxShards {
		id := ShardName(i)
		at := filepath.Join(dir, string(id))
		if !exists(at) {
			break
		}
		m, err := ReadSnapshot(at, id)
		if err != nil {
			return nil, err
		}
		log, err := wal.Open(filepath.Join(at, logName), wal.Options{Shard: id})
		if err != nil {
			return nil, err
		}
		if x := log.Extent(); x.End == 0 && m.Seq > 0 {
			err = log.Reset(m.Seq, m.Epoch)
		} else if x.End != m.Seq {
			err = fmt.Errorf("%s is not a restored backup: the log ends at record %d, but the index ends at record %d: %w", at, x.End, m.Seq, concordat.ErrInvalid)
		}
		if err = errors.Join(err, log.Close()); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}

// ReadSnapshot opens the copy of a shard in dir, which proves that it can be opened, and describes its content.
func ReadSnapshot(dir string, id concordat.ShardID) (m ShardSnapshot, err error) {
	ix, err := index.Open(dir, index.Options{ReadOnly: true})
	if err != nil {
		return m, err
	}
	at, st := ix.Applied(), ix.Stats()
	if ix.ID() != id {
		err = fmt.Errorf("%s contains shard %s, not shard %s: %w", dir, ix.ID(), id, concordat.ErrCorrupt)
	}
	m = ShardSnapshot{Shard: id, Epoch: at.Epoch, Seq: at.Seq, Documents: st.Documents, Sentences: st.Sentences}
	return m, errors.Join(err, ix.Close())
}
