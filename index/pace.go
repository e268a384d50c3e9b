package index

import (
	"sync"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
)

// A shard that mirrors a log need not reach the disk quickly. Its persister pauses after each round, so that the next round merges the
// batches that have arrived and writes one segment instead of ten. Fewer files mean fewer merges and fewer waits for the disk, which
// would also delay the log.

const (
	// persistPause is the maximum pause. The more copies share a machine, the less each receives in a second, so a short pause makes many
	// small segments, whose merges cost more than the writes themselves.
	persistPause = 5 * time.Second
	// When this many batches or bytes are only in memory, the pause ends; at twice as many, Apply waits.
	hurryBatches = 64
	hurryBytes   = 16 << 20
)

var (
	eventCallback = "concordat/pace"
	paced         sync.Map // *scorch.Scorch → *pacer
)

// pacer makes one engine's persister pause. A nil pacer does nothing.
type pacer struct {
	hurry  chan struct{} // capacity 1; ends the next pause at once
	closed chan struct{}
}

// pace makes the persister of s pause; it must be called before s is opened.
func pace(s *scorch.Scorch) *pacer {
	p := &pacer{hurry: make(chan struct{}, 1), closed: make(chan struct{})}
	paced.Store(s, p)
	return p
}

// Scorch's goroutines call onEvent.
func onEvent(e scorch.Event) bool {
	if e.Kind != scorch.EventKindPersisterProgress {
		return true
	}
	if v, ok := paced.Load(e.Scorch); ok {
		v.(*pacer).pause()
	}
	return true
}

func (p *pacer) pause() {
	t := time.NewTimer(persistPause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-p.hurry:
	case <-p.closed:
	}
}

// wake ends the current pause or, if there is none, the next one.
func (p *pacer) wake() {
	if p == nil {
		return
	}
	select {
	case p.hurry <- struct{}{}:
	default:
	}
}

// while prevents pauses until done is closed.
func (p *pacer) while(done <-chan struct{}) {
	if p == nil {
		return
	}
	t := time.NewTicker(10 * time.Millisecond)
	defer t.Stop()
	for {
		p.wake()
		select {
		case <-done:
			return
		case <-t.C:
		}
	}
}

// end removes the pacer of s, so that s can be closed.
func (p *pacer) end(s *scorch.Scorch) {
	if p == nil {
		return
	}
	close(p.closed)
	paced.Delete(s)
}
