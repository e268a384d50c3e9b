package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/zk"
	"concordat/config"
	"concordat/store"
)

// What an operator sets for all nodes of a site reaches each of them by ZooKeeper. A node keeps the newest
// version that it could take, for its commands and for a start while ZooKeeper is away.

// centralName is a file in the folder of certificates.
const centralName = "settings.json"

// keptCentral is the content of that file.
type keptCentral struct {
	Version  int64           `json:"version"`
	Settings json.RawMessage `json:"settings"`
}

// centralAt returns what holds on all nodes, as the node in dir saw it last.
func centralAt(dir string) (config.Central, error) {
	b, err := os.ReadFile(filepath.Join(dir, clusterName, centralName))
	if errors.Is(err, os.ErrNotExist) {
		return config.Central{}, nil
	}
	if err != nil {
		return config.Central{}, err
	}
	var kept keptCentral
	if err := json.Unmarshal(b, &kept); err != nil {
		return config.Central{}, fmt.Errorf("%s: %w: %w", filepath.Join(dir, clusterName, centralName), concordat.ErrCorrupt, err)
	}
	s, err := parseCentral(coord.Config{Version: kept.Version, Data: kept.Settings})
	return config.Central{Version: kept.Version, Keys: s.Keys}, err
}

// takeCentral returns the configuration of this node with the settings of a version, and keeps them. What cannot
// be taken changes nothing.
func (o *opened) takeCentral(c coord.Config) (*config.Config, centralSettings, error) {
	s, err := parseCentral(c)
	if err != nil {
		return nil, s, err
	}
	next, err := config.LoadCentral(filepath.Join(o.dir, configName), config.Central{Version: c.Version, Keys: s.Keys}, os.LookupEnv)
	if err != nil || c.Version == 0 {
		return next, s, err
	}
	b, err := json.Marshal(keptCentral{c.Version, c.Data})
	if err != nil {
		return nil, s, err
	}
	return next, s, replaceWhole(filepath.Join(o.dir, clusterName, centralName), b)
}

// firstSettings takes the settings before anything of the node begins, so that none has to wait for another start.
func (o *opened) firstSettings(ctx context.Context, z *zk.Session) error {
	ctx, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	o.teller = z
	select {
	case c, ok := <-z.Settings():
		if !ok {
			return fmt.Errorf("settings of the cluster: %w", concordat.ErrUnavailable)
		}
		next, s, err := o.takeCentral(c)
		if err != nil {
			return fmt.Errorf("settings of the cluster: %w", err)
		}
		o.config = next
		o.central.Store(c.Version)
		return o.applyPolicies(ctx, c.Version, s)
	case <-ctx.Done():
		return fmt.Errorf("settings of the cluster: %w: %w", concordat.ErrUnavailable, ctx.Err())
	}
}

// use makes next the configuration in force, as far as that needs no restart, and says what does.
func (s *server) use(next *config.Config) {
	live := s.o.now().WithLive(next)
	for _, c := range config.Diff(s.o.now(), live) {
		s.log.Info("setting changed", "key", c.Key, "value", c.New)
	}
	for _, c := range config.Diff(live, next) {
		if s.o.flags[c.Key] == "" {
			s.log.Warn("setting needs a restart of this node", "key", c.Key, "value", c.New)
		}
	}
	s.o.live.Store(live)
	s.o.next.Store(next)
	s.level.Set(live.Log.Level)
}

// watchSettings takes each new version of the settings of all nodes until ctx ends.
func (s *server) watchSettings(ctx context.Context) error {
	if s.o.teller == nil {
		return nil
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case c, ok := <-s.o.teller.Settings():
			if !ok {
				return nil
			}
			if c.Version == s.o.central.Load() {
				continue
			}
			next, parsed, err := s.o.takeCentral(c)
			if err != nil {
				s.log.Error("settings of the cluster not taken: this node goes on with those before", "version", c.Version, "error", err)
				continue
			}
			s.use(next)
			s.o.central.Store(c.Version)
			if err := s.o.applyPolicies(ctx, c.Version, parsed); err != nil && ctx.Err() == nil {
				s.log.Error("policies of the cluster", "version", c.Version, "error", err)
			}
			s.log.Info("settings of the cluster", "version", c.Version)
		}
	}
}

// applyPolicies gives libraries the policies of the settings, makes those that are not there, and lets go of those that the
// settings name no longer. Nodes may do it at once: an older version changes nothing of a newer one.
func (o *opened) applyPolicies(ctx context.Context, version int64, s centralSettings) error {
	if version == 0 {
		return nil
	}
	libraries, err := o.store.Libraries(ctx)
	if err != nil {
		return err
	}
	var errs []error
	have := map[concordat.LibraryID]store.Library{}
	for _, l := range libraries {
		have[l.ID] = l
		if _, named := s.Libraries[l.ID]; !named && l.Policy.Central > 0 && l.Policy.Central < version {
			l.Policy.Central = 0
			errs = append(errs, o.store.UpdateLibrary(ctx, l))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.Libraries)) {
		p := s.Libraries[id]
		p.Central = version
		l, ok := have[id]
		if !ok {
			err := o.store.CreateLibrary(ctx, store.Library{ID: id, Title: string(id), Policy: p, Created: time.Now()})
			if !errors.Is(err, concordat.ErrExists) {
				errs = append(errs, err)
			}
			continue
		}
		if l.Policy.Central >= version {
			continue
		}
		l.Policy = p
		if err := o.store.UpdateLibrary(ctx, l); !errors.Is(err, concordat.ErrRefused) { // a later version was there
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
