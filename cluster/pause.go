package cluster

import (
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"concordat"
	"concordat/cluster/replica"
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

// pauses is a node's part in backups: it pauses the writes to its copies and keeps their indexes until the backup has fetched them.
type pauses struct {
	hosting *hosting
	layout  *Layout // of the node

	mu  *sync.Mutex // the node's mu; protects now
	now *writePause // pause in progress
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

// pause blocks new writes in the given shards and keeps their indexes; this node must be master of the shards in the given epochs.
func (p *pauses) pause(ctx context.Context, in pauseRequest) (err error) {
	ctx, cancel := context.WithTimeout(ctx, pauseTime/2)
	defer cancel()
	h := &writePause{moment: in.Moment}
	h.timer = time.AfterFunc(pauseTime, func() { p.resume(in.Moment) })
	p.mu.Lock()
	busy := p.now != nil
	if !busy {
		p.now = h
	}
	p.mu.Unlock()
	if busy {
		h.timer.Stop()
		return fmt.Errorf("node %s is taking part in another backup: %w", p.hosting.o.Node.ID, concordat.ErrUnavailable)
	}
	defer func() {
		if err != nil {
			p.resume(in.Moment)
			p.drop(in.Moment)
		}
	}()
	for id, epoch := range in.Epochs {
		c, ok := p.hosting.get(id)
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

// resume resumes writes, and reports whether they were paused until now.
func (p *pauses) resume(moment string) bool {
	p.mu.Lock()
	h := p.now
	if h == nil || h.moment != moment {
		p.mu.Unlock()
		return false
	}
	p.now = nil
	p.mu.Unlock()
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

func (p *pauses) servePause(w http.ResponseWriter, r *http.Request) {
	var in pauseRequest
	err := gob.NewDecoder(http.MaxBytesReader(w, r.Body, maxFetch)).Decode(&in)
	if err == nil {
		err = p.pause(r.Context(), in)
	}
	if err != nil {
		fail(w, err)
		return
	}
	_ = gob.NewEncoder(w).Encode(true) // the caller disconnected, so the timer resumes writes
}

func (p *pauses) serveResume(w http.ResponseWriter, r *http.Request) {
	var moment string
	if err := gob.NewDecoder(http.MaxBytesReader(w, r.Body, maxFetch)).Decode(&moment); err != nil {
		fail(w, fmt.Errorf("%w: %w", concordat.ErrInvalid, err))
		return
	}
	_ = gob.NewEncoder(w).Encode(p.resume(moment))
}

func (p *pauses) serveDrop(w http.ResponseWriter, r *http.Request) {
	var moment string
	err := gob.NewDecoder(http.MaxBytesReader(w, r.Body, maxFetch)).Decode(&moment)
	if err == nil && moment == "" {
		err = errors.New("it names no backup") // thaw would release the indexes of all backups
	}
	if err != nil {
		fail(w, fmt.Errorf("cannot decode the request to release an index: %w: %w", concordat.ErrInvalid, err))
		return
	}
	p.drop(moment)
	_ = gob.NewEncoder(w).Encode(true) // the reply has begun, so an error can no longer be reported
}

// drop releases the indexes of a moment.
func (p *pauses) drop(moment string) {
	for _, id := range p.layout.names() {
		if c, ok := p.hosting.get(id); ok {
			_ = c.frozen.thaw(moment) // the index itself reports any problem
		}
	}
}

// serveFrozen sends an index as of a moment.
func (p *pauses) serveFrozen(w http.ResponseWriter, r *http.Request) {
	id := concordat.ShardID(r.PathValue("shard"))
	c, ok := p.hosting.get(id)
	err := fmt.Errorf("shard %s: %w", id, concordat.ErrNotFound)
	if ok {
		err = c.frozen.use(r.PathValue("moment"), func(f *index.Frozen) error { return c.sendFrozen(r.Context(), w, f) })
	}
	if err != nil {
		fail(w, err)
	}
}
