package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"concordat"
	"concordat/instance"
	"concordat/instance/config"
	"concordat/store"
	"concordat/view"
	"concordat/web/pages/settings"
)

// Settings made by an operator for all nodes of a site reach each node through ZooKeeper. A node keeps the newest version that it has
// accepted, for its commands and for starting while ZooKeeper is unavailable.

// use makes next the current configuration, except for keys that require a restart, and returns those keys. It puts a new title on the
// site's card.
func (s *Daemon) use(ctx context.Context, next *config.Config, by ...string) {
	was := s.o.Live.Now().Site.Title
	before := s.o.Live.Now().Meaning
	live := s.o.Live.Now().WithLive(next, !s.o.Config.Clustered())
	for _, c := range config.Diff(s.o.Live.Now(), live) {
		s.log.Info("setting changed", "key", c.Key, "value", c.New)
	}
	for _, c := range config.Diff(live, next) {
		if s.o.Live.Flags[c.Key] == "" {
			s.log.Warn("setting needs a restart of this node", "key", c.Key, "value", c.New)
		}
	}
	s.o.Live.Use(live)
	s.o.Live.UseNext(next)
	s.level.Set(live.Log.Level)
	s.meaning.take(before, live.Meaning)
	if live.Site.Title != was {
		s.nameCard(ctx, false, by...)
	}
}

// watchSettings applies each new version of the settings of all nodes until ctx ends.
func (s *Daemon) watchSettings(ctx context.Context) error {
	if s.o.Live.Watch == nil {
		return nil
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case c, ok := <-s.o.Live.Watch.Settings():
			if !ok {
				return nil
			}
			if c.Version == s.o.Live.Central.Load() {
				continue
			}
			next, parsed, err := instance.TakeCentral(s.o.Dir, c)
			if err != nil {
				s.log.Error("settings of the cluster rejected: this node keeps the previous ones", "version", c.Version, "error", err)
				continue
			}
			s.use(ctx, next)
			s.o.Live.Central.Store(c.Version)
			if err := instance.ApplyPolicies(ctx, s.o.Store, c.Version, parsed); err != nil && ctx.Err() == nil {
				s.log.Error("policies of the cluster", "version", c.Version, "error", err)
			}
			s.log.Info("settings of the cluster", "version", c.Version)
		}
	}
}

// siteSettings provides the settings of this process to the pages.
type siteSettings struct{ s *Daemon }

// Settings implements settings.Control.
func (c siteSettings) Settings() []settings.Setting { return webSettings(c.s.o) }

// Set implements settings.Control.
func (c siteSettings) Set(ctx context.Context, values []view.Setting, notes ...store.AuditNote) error {
	return c.s.set(ctx, values, notes...)
}

// set changes settings that require no restart, in the configuration file and in this process.
func (s *Daemon) set(ctx context.Context, values []view.Setting, notes ...store.AuditNote) error {
	var to []instance.Setting
	for _, v := range values {
		if !slices.ContainsFunc(config.Keys(), func(k config.Key) bool { return k.Name == v.Key && (k.Live || k.Alone) }) {
			return fmt.Errorf("setting %s cannot be changed while the site runs: %w", v.Key, concordat.ErrInvalid)
		}
		to = append(to, instance.Setting{Key: v.Key, Value: v.Value})
	}
	next, err := s.o.Live.Set(ctx, s.o.Store, to, notes...)
	if faults := (config.Faults)(nil); errors.As(err, &faults) {
		return problems(faults)
	}
	if err != nil {
		return err
	}
	var by []string
	for _, n := range notes {
		by = append(by, n.Actor)
	}
	s.use(ctx, next, by...)
	return nil
}

// problems returns the faults in a configuration without line numbers, since the reader has not seen the file.
func problems(faults config.Faults) error {
	var all []string
	for _, f := range faults {
		all = append(all, f.Key+": "+f.Problem)
	}
	return fmt.Errorf("%w: %s", concordat.ErrInvalid, strings.Join(all, "; "))
}
