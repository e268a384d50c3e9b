package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"concordat/cluster/coord"
	"concordat/instance"
	"concordat/site/retain"
)

// Any node can claim checks, deliveries and submissions from platforms, one at a time. Work for the site as a whole is a leader task; one
// node at a time, its leader, does the task, and another node takes over if the leader fails.

// Names of the leader tasks in the store.
const (
	TaskBatches     = "batches" // runs batches and rechecks
	TaskMaintenance = "keeper"  // deletes, applies retention, maintains the fingerprint sets for partners, delivers notices
)

const (
	// leaderTime is how long a leader stays leader without renewing its lease. It renews the lease four times in that period, and the
	// other nodes try to take over at intervals of leaderPoll.
	leaderTime = 20 * time.Second
	leaderPoll = 2 * time.Second
)

// asLeader runs f while this process leads the task, until ctx ends; on a site of one machine the process always leads.
func (s *Daemon) asLeader(ctx context.Context, task string, f func(context.Context) error) error {
	if !s.o.Config.Clustered() {
		return f(ctx)
	}
	worker := s.o.Worker()
	tick := time.NewTicker(leaderPoll)
	defer tick.Stop()
	for {
		held, err := s.o.Store.HoldLeaderTask(ctx, task, worker, leaderTime)
		if err != nil && ctx.Err() == nil {
			s.log.Error("leader task", "task", task, "error", err)
		}
		if held {
			s.log.Info("leader task taken", "task", task)
			if err := s.whileHeld(ctx, task, worker, f); err != nil && ctx.Err() == nil {
				return fmt.Errorf("leader task %s: %w", task, err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// whileHeld runs f until another process leads the task or ctx ends.
func (s *Daemon) whileHeld(ctx context.Context, task, worker string, f func(context.Context) error) error {
	own, stop := context.WithCancel(ctx)
	defer stop()
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		defer stop()
		tick := time.NewTicker(leaderTime / 4)
		defer tick.Stop()
		for last := time.Now(); ; {
			select {
			case <-own.Done():
				return
			case <-tick.C:
			}
			began := time.Now()
			held, err := s.o.Store.HoldLeaderTask(own, task, worker, leaderTime)
			switch {
			case err == nil && held:
				last = began
			case err == nil, time.Since(last) > leaderTime*3/4: // before others can take it
				if own.Err() == nil {
					s.log.Warn("leader task lost", "task", task, "error", err)
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

// resign gives up the tasks that this process leads, so that others can take them over immediately.
func (s *Daemon) resign() error {
	if !s.o.Config.Clustered() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), instance.StatusTime)
	defer cancel()
	return s.o.Store.LeaveLeaderTasks(ctx, s.o.Worker())
}

// watchNodes gives a node's unfinished work to the others as soon as the coordinator reports that the node has failed. The report can be
// wrong; a node that is still alive finds that its claims are lost, and drops the work.
func (s *Daemon) watchNodes(ctx context.Context) error {
	if s.o.Member == nil {
		return nil
	}
	live := map[coord.NodeID]bool{}
	for {
		v, news := s.o.Member.Node.View()
		for id := range v.Live {
			live[id] = true
		}
		for id := range live {
			if _, ok := v.Live[id]; ok || id == coord.NodeID(s.o.Config.Cluster.Node) || !s.o.Member.Node.Online() {
				continue
			}
			delete(live, id)
			s.log.Info("node gone", "node", id)
			err := errors.Join(s.o.Store.LeaveLeaderTasks(ctx, instance.NodeWorker(id)), s.o.Store.Checks.ReclaimTasks(ctx, instance.NodeWorker(id)))
			sum, failed := s.o.Site.Settle(ctx, instance.NodeWorker(id))
			s.tellSettled(sum, failed)          // work that cannot be settled now is settled an hour later
			if err != nil && ctx.Err() == nil { // work that was not reclaimed is released when its claims expire
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

// keepSite performs deletions until ctx ends. No other process of the site does so.
func (s *Daemon) keepSite(ctx context.Context) error {
	s.o.Member.SetDeleting(true)
	defer s.o.Member.SetDeleting(false)
	return s.sweep(ctx, s.eraser)
}

// tidy removes copies that only this machine has, because the leader of the maintenance task cannot reach them.
func (s *Daemon) tidy(ctx context.Context, e *retain.Eraser) error {
	if !s.o.Config.Clustered() {
		return nil
	}
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		s.guarded(ctx, "copies of what is gone", func() error { return e.Tidy(ctx) })
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}
