package cluster

import (
	"context"
	"sync"

	"concordat"
	"concordat/cluster/coord"
)

// fan distributes the views of one session to the many copies of a node. Its owner calls pass with each view in order.
type fan struct {
	session coord.Coordinator

	mu   sync.Mutex // protects the following fields
	view coord.View
	have bool // whether there is a view
	outs map[*fanned]struct{}
	news chan struct{} // closed and replaced with each view
}

// fanned is the coordinator as seen by one copy.
type fanned struct {
	*fan
	views chan coord.View // sent to and closed under fan.mu
}

var _ coord.Coordinator = (*fanned)(nil)

func newFan(s coord.Coordinator) *fan {
	return &fan{session: s, outs: map[*fanned]struct{}{}, news: make(chan struct{})}
}

// pass sends a view to every receiver.
func (f *fan) pass(v coord.View) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.view, f.have = v, true
	for o := range f.outs {
		o.send(v)
	}
	close(f.news)
	f.news = make(chan struct{})
}

// send replaces the waiting view. fan.mu must be held.
func (o *fanned) send(v coord.View) {
	select {
	case <-o.views:
	default:
	}
	o.views <- v // there is no other sender
}

// join returns a coordinator for another copy; leave ends it.
func (f *fan) join() *fanned {
	f.mu.Lock()
	defer f.mu.Unlock()
	o := &fanned{f, make(chan coord.View, 1)}
	f.outs[o] = struct{}{}
	if f.have {
		o.send(f.view)
	}
	return o
}

func (f *fan) leave(o *fanned) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, in := f.outs[o]; in {
		delete(f.outs, o)
		close(o.views)
	}
}

// now returns the newest view, which is never modified, and a channel that is closed when there is a newer one.
func (f *fan) now() (*coord.View, <-chan struct{}) {
	f.mu.Lock()
	defer f.mu.Unlock()
	v := f.view
	return &v, f.news
}

// View implements coord.Coordinator.
func (o *fanned) View() <-chan coord.View { return o.views }

// CAS implements coord.Coordinator.
func (f *fan) CAS(ctx context.Context, id concordat.ShardID, version int64, next coord.State, by coord.Incarnation) (int64, error) {
	return f.session.CAS(ctx, id, version, next, by)
}

// Confirmed implements coord.Coordinator.
func (f *fan) Confirmed() coord.Incarnation { return f.session.Confirmed() }
