package site

import (
	"slices"

	"concordat"
)

// QueueStatus is how a queue is at one moment.
type QueueStatus struct {
	Workers int                // that run; 0: the queue is not run
	Running []concordat.TaskID // begun by them, in no order
	// Holding is why no further task is begun, beside the workers being busy; nil: nothing.
	Holding error
}

// Status returns how the queue is.
func (q *Queue) Status() QueueStatus {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := QueueStatus{Workers: q.workers, Holding: q.holding}
	for id := range q.running {
		out.Running = append(out.Running, id)
	}
	return out
}

// Latest returns how far a running task is; ok is false where nothing is known: it is not running here.
func (q *Queue) Latest(id concordat.TaskID) (e Event, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e, ok = q.latest[id]
	return e, ok
}

// count notes that a worker has begun or ended.
func (q *Queue) count(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.workers += n
}

// held asks hold, keeps its answer for Status, and returns it.
func (q *Queue) held(hold func() error) error {
	var err error
	if hold != nil {
		err = hold()
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.holding = err
	return err
}

// withPartner returns the states of the partners with what p says of one.
func withPartner(all []PartnerProgress, p Progress) []PartnerProgress {
	if p.Partner == "" {
		return all
	}
	all = slices.Clone(all) // readers hold the former
	now := PartnerProgress{Site: p.Partner, State: p.State, Reason: p.Reason}
	if i := slices.IndexFunc(all, func(x PartnerProgress) bool { return x.Site == p.Partner }); i >= 0 {
		all[i] = now
		return all
	}
	return append(all, now)
}
