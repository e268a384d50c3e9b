package cluster

import (
	"math/rand/v2"
	"sync"
	"time"
)

// clock draws revisions, which are numbers that increase at about the same rate on all nodes (hybrid logical clocks, Kulkarni and others
// 2014). A revision is the time in milliseconds since 1970, shifted, plus random bits, so that two nodes draw the same one with a
// probability of one in a million; Revisions handles that case. Nothing depends on clocks being right; a slow one costs one repeated
// write, after which it has caught up.
type clock struct {
	now func() time.Time // nil means time.Now

	mu   sync.Mutex // protects last
	last uint64
}

const revisionShift = 20

// draw returns the first of n consecutive revisions, higher than any drawn or seen before.
func (c *clock) draw(n int) uint64 {
	now := c.now
	if now == nil {
		now = time.Now
	}
	drawn := rand.Uint64N(1 << revisionShift)
	first := uint64(max(0, now().UnixMilli()))<<revisionShift | drawn
	c.mu.Lock()
	defer c.mu.Unlock()
	first = max(first, c.last+1+drawn)
	c.last = first + uint64(n) - 1
	return first
}

// see records that rev was drawn by another node.
func (c *clock) see(rev uint64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = max(c.last, rev)
}
