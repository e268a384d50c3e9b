package site

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"concordat"
	"concordat/store"
)

// QueueStatus describes a queue at one moment.
type QueueStatus struct {
	Workers int                // number of running check workers; 0 if the queue is not running
	Running []concordat.TaskID // tasks they have begun, in no particular order
	Adding  []concordat.TaskID // additional tasks, for libraries
	// Holding is the reason, other than busy workers, why no task begins, or nil.
	Holding error
}

// Status returns the state of the queue.
func (q *Queue) Status() QueueStatus {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := QueueStatus{Workers: q.workers, Holding: q.holding}
	for id, b := range q.running {
		if b.lane == store.LaneAdding {
			out.Adding = append(out.Adding, id)
		} else {
			out.Running = append(out.Running, id)
		}
	}
	return out
}

// Latest returns the progress of a task running in this process; ok is false if it is not running here.
func (q *Queue) Latest(id concordat.TaskID) (e Event, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	e, ok = q.latest[id]
	return e, ok
}

// Progress returns the progress of a running task in any process; ok is false if it is unknown. For a task in another process, it is one
// or two seconds old.
func (q *Queue) Progress(ctx context.Context, id concordat.TaskID) (e Event, ok bool) {
	if e, ok = q.Latest(id); ok || !q.site.o.Shared {
		return e, ok
	}
	b, err := q.o.Store.Checks.TaskProgress(ctx, id)
	if err != nil { // no progress so far, or currently unavailable
		return e, false
	}
	return e, json.Unmarshal(b, &e) == nil
}

// share shares a task's progress with other processes until ctx ends.
func (q *Queue) share(ctx context.Context, id concordat.TaskID) {
	if !q.site.o.Shared {
		return
	}
	tick := time.NewTicker(shareEvery)
	defer tick.Stop()
	last := ""
	for {
		if e, ok := q.Latest(id); ok {
			b, err := json.Marshal(e)
			if err == nil && string(b) != last {
				err = q.o.Store.Checks.PutTaskProgress(ctx, id, b)
			}
			if last = string(b); err != nil && ctx.Err() == nil {
				q.o.Logger.Warn("progress of a task", "task", id, "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// count records that workers have started or stopped.
func (q *Queue) count(n int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.workers += n
}

// held calls hold, records the result for Status and returns it.
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

// withPartner returns the states of the partners updated with p.
func withPartner(all []PartnerProgress, p Progress) []PartnerProgress {
	if p.Partner == "" {
		return all
	}
	all = slices.Clone(all) // readers may be using the old slice
	now := PartnerProgress{Site: p.Partner, State: p.State, Reason: p.Reason}
	if i := slices.IndexFunc(all, func(x PartnerProgress) bool { return x.Site == p.Partner }); i >= 0 {
		all[i] = now
		return all
	}
	return append(all, now)
}
