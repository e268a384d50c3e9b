package daemon

import (
	"context"

	"concordat/instance/config"
)

// What an operator sets for all nodes of a site reaches each of them by ZooKeeper. A node keeps the newest
// version that it could take, for its commands and for a start while ZooKeeper is away.

// use makes next the configuration in force, as far as that needs no restart, and says what does.
func (s *Daemon) use(next *config.Config) {
	live := s.o.Now().WithLive(next)
	for _, c := range config.Diff(s.o.Now(), live) {
		s.log.Info("setting changed", "key", c.Key, "value", c.New)
	}
	for _, c := range config.Diff(live, next) {
		if s.o.Flags[c.Key] == "" {
			s.log.Warn("setting needs a restart of this node", "key", c.Key, "value", c.New)
		}
	}
	s.o.Live.Store(live)
	s.o.Next.Store(next)
	s.level.Set(live.Log.Level)
}

// watchSettings takes each new version of the settings of all nodes until ctx ends.
func (s *Daemon) watchSettings(ctx context.Context) error {
	if s.o.Teller == nil {
		return nil
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case c, ok := <-s.o.Teller.Settings():
			if !ok {
				return nil
			}
			if c.Version == s.o.Central.Load() {
				continue
			}
			next, parsed, err := s.o.TakeCentral(c)
			if err != nil {
				s.log.Error("settings of the cluster not taken: this node goes on with those before", "version", c.Version, "error", err)
				continue
			}
			s.use(next)
			s.o.Central.Store(c.Version)
			if err := s.o.ApplyPolicies(ctx, c.Version, parsed); err != nil && ctx.Err() == nil {
				s.log.Error("policies of the cluster", "version", c.Version, "error", err)
			}
			s.log.Info("settings of the cluster", "version", c.Version)
		}
	}
}
