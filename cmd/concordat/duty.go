package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"concordat/cluster/coord"
	"concordat/instance"
	"concordat/site"
)

// Checks, deliveries and what platforms hand in are claimed one by one by any node. What is done for the
// site as a whole is a duty, which one node at a time has; another takes it when that one is gone.

// The duties.
const (
	dutyBatches = "batches" // runs batches and what is done again
	dutyKeeper  = "keeper"  // deletes, applies retention, keeps the fingerprint sets of partners, delivers notices
)

const (
	// dutyTime is how long a duty is had without word; it is said again four times as often, and looked for
	// by the others every dutyPoll.
	dutyTime = 20 * time.Second
	dutyPoll = 2 * time.Second
)

// onDuty runs f until ctx ends, as long as this process has the duty. Where it is the only one, that is always.
func (s *server) onDuty(ctx context.Context, duty string, f func(context.Context) error) error {
	if !s.o.Clustered() {
		return f(ctx)
	}
	worker := s.o.Worker()
	tick := time.NewTicker(dutyPoll)
	defer tick.Stop()
	for {
		held, err := s.o.Store.HoldDuty(ctx, duty, worker, dutyTime)
		if err != nil && ctx.Err() == nil {
			s.log.Error("duty", "duty", duty, "error", err)
		}
		if held {
			s.log.Info("duty taken", "duty", duty)
			if err := s.whileHeld(ctx, duty, worker, f); err != nil && ctx.Err() == nil {
				return fmt.Errorf("duty %s: %w", duty, err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// whileHeld runs f until the duty is lost or ctx ends.
func (s *server) whileHeld(ctx context.Context, duty, worker string, f func(context.Context) error) error {
	own, stop := context.WithCancel(ctx)
	defer stop()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		defer stop()
		tick := time.NewTicker(dutyTime / 4)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case <-own.Done():
				return
			case <-tick.C:
			}
			began := time.Now()
			held, err := s.o.Store.HoldDuty(own, duty, worker, dutyTime)
			switch {
			case err == nil && held:
				last = began
			case err == nil, time.Since(last) > dutyTime*3/4: // before others may take it
				if own.Err() == nil {
					s.log.Warn("duty lost", "duty", duty, "error", err)
				}
				return
			}
		}
	}()
	err := f(own)
	lost := own.Err() != nil
	stop()
	<-watched
	if lost && errors.Is(err, context.Canceled) {
		err = nil
	}
	return err
}

// leaveDuties lets other nodes have the duties of this one at once.
func (s *server) leaveDuties() error {
	if !s.o.Clustered() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), instance.StatusTime)
	defer cancel()
	return s.o.Store.LeaveDuties(ctx, s.o.Worker())
}

// watchNodes gives what a node had begun to the others as soon as the coordinator says that it is gone. It
// needs no more than a hint: a node that lives after all finds its claims lost, and drops the work.
func (s *server) watchNodes(ctx context.Context) error {
	if s.o.Node == nil {
		return nil
	}
	live := map[coord.NodeID]bool{}
	for {
		v, news := s.o.Node.View()
		for id := range v.Live {
			live[id] = true
		}
		for id := range live {
			if _, ok := v.Live[id]; ok || id == coord.NodeID(s.o.Config.Cluster.Node) || !s.o.Node.Online() {
				continue
			}
			delete(live, id)
			s.log.Info("node gone", "node", id)
			err := errors.Join(s.o.Store.LeaveDuties(ctx, instance.NodeWorker(id)), s.o.Store.ReclaimTasks(ctx, instance.NodeWorker(id)))
			sum, failed := s.o.Settle(ctx, instance.NodeWorker(id))
			s.tellSettled(sum, failed)          // else an hour later
			if err != nil && ctx.Err() == nil { // their time passes
				s.log.Error("work of a node that is gone", "node", id, "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-news:
		}
	}
}

// keepSite deletes what is to be deleted, as the one process that does, until ctx ends.
func (s *server) keepSite(ctx context.Context) error {
	s.o.Keeping.Store(true)
	defer s.o.Keeping.Store(false)
	return s.sweep(ctx, s.eraser)
}

// tidy removes copies that only this machine has: the one that keeps the site cannot reach them.
func (s *server) tidy(ctx context.Context, e *site.Eraser) error {
	if !s.o.Clustered() {
		return nil
	}
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if err := e.Tidy(ctx); err != nil && ctx.Err() == nil {
			s.log.Error("copies of what is gone", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
