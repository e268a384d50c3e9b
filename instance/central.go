package instance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"concordat"
	"concordat/cluster/coord"
	"concordat/cluster/zk"
	"concordat/crypto/keyfile"
	"concordat/instance/config"
	"concordat/store"
)

// centralName is a file in the folder of certificates.
const centralName = "settings.json"

// keptCentral is the content of that file.
type keptCentral struct {
	Version  int64           `json:"version"`
	Settings json.RawMessage `json:"settings"`
}

// centralAt returns the settings for all nodes as last received by the node in dir.
func centralAt(dir string) (config.Central, error) {
	b, err := os.ReadFile(filepath.Join(dir, ClusterName, centralName))
	if errors.Is(err, os.ErrNotExist) {
		return config.Central{}, nil
	}
	if err != nil {
		return config.Central{}, err
	}
	var kept keptCentral
	if err := json.Unmarshal(b, &kept); err != nil {
		return config.Central{}, fmt.Errorf("%s: %w: %w", filepath.Join(dir, ClusterName, centralName), concordat.ErrCorrupt, err)
	}
	s, err := ParseCentral(coord.Config{Version: kept.Version, Data: kept.Settings})
	return config.Central{Version: kept.Version, Keys: s.Keys}, err
}

// TakeCentral applies a version of the settings for all nodes to this node's configuration, and stores that version. If the settings are
// unusable, it changes nothing.
func TakeCentral(dir string, c coord.Config) (*config.Config, CentralSettings, error) {
	s, err := ParseCentral(c)
	if err != nil {
		return nil, s, err
	}
	next, err := config.LoadCentral(filepath.Join(dir, ConfigName), config.Central{Version: c.Version, Keys: s.Keys}, os.LookupEnv)
	if err != nil || c.Version == 0 {
		return next, s, err
	}
	b, err := json.Marshal(keptCentral{c.Version, c.Data})
	if err != nil {
		return nil, s, err
	}
	return next, s, keyfile.Replace(filepath.Join(dir, ClusterName, centralName), b)
}

// firstSettings applies the settings before any part of the node starts, so that no setting waits for a restart.
func (l *LiveConfig) firstSettings(ctx context.Context, z *zk.Session, db *store.DB) error {
	ctx, cancel := context.WithTimeout(ctx, joinTime)
	defer cancel()
	l.Watch = z
	select {
	case c, ok := <-z.Settings():
		if !ok {
			return fmt.Errorf("cluster settings: %w", concordat.ErrUnavailable)
		}
		next, s, err := TakeCentral(l.dir, c)
		if err != nil {
			return fmt.Errorf("cluster settings: %w", err)
		}
		l.Use(next)
		l.Central.Store(c.Version)
		return ApplyPolicies(ctx, db, c.Version, s)
	case <-ctx.Done():
		return fmt.Errorf("cluster settings: %w: %w", concordat.ErrUnavailable, ctx.Err())
	}
}

// ApplyPolicies sets the policies in the settings, creates missing libraries, and releases libraries that are no longer in the settings.
// Several nodes can call it at the same time, because an older version never overrides a newer one.
func ApplyPolicies(ctx context.Context, db *store.DB, version int64, s CentralSettings) error {
	if version == 0 {
		return nil
	}
	libraries, err := db.Catalogue.Libraries(ctx)
	if err != nil {
		return err
	}
	var errs []error
	have := map[concordat.LibraryID]store.Library{}
	for _, l := range libraries {
		have[l.ID] = l
		if _, named := s.Libraries[l.ID]; !named && l.Policy.Central > 0 && l.Policy.Central < version {
			l.Policy.Central = 0
			errs = append(errs, db.Catalogue.UpdateLibrary(ctx, l))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(s.Libraries)) {
		p := s.Libraries[id]
		p.Central = version
		l, ok := have[id]
		if !ok {
			err := db.Catalogue.CreateLibrary(ctx, store.Library{ID: id, Title: string(id), Policy: p, Created: time.Now()})
			if !errors.Is(err, concordat.ErrExists) {
				errs = append(errs, err)
			}
			continue
		}
		if l.Policy.Central >= version {
			continue
		}
		l.Policy = p
		if err := db.Catalogue.UpdateLibrary(ctx, l); !errors.Is(err, concordat.ErrRefused) { // superseded by a later version
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// CentralSettings is the document stored under zk.Settings; it contains the settings for all nodes of a site.
type CentralSettings struct {
	Format int `json:"format"`
	// Keys maps configuration keys to their values, in the syntax of the environment.
	Keys map[string]string `json:"keys"`
	// Libraries contains the policies of libraries.
	Libraries map[concordat.LibraryID]store.Policy `json:"libraries"`
}

const centralFormat = 1

// ownKeys lists the keys that belong to a single node or to the cluster as a whole, and therefore cannot be among the settings.
var ownKeys = []string{"site.id", "scheme", "store.url", "store.password_file", "serve.listen", "serve.metrics", "federation.listen",
	"report.certificate", "report.key"}

// ParseCentral parses the document. Version 0 is empty.
func ParseCentral(c coord.Config) (CentralSettings, error) {
	s := CentralSettings{Format: centralFormat, Keys: map[string]string{}, Libraries: map[concordat.LibraryID]store.Policy{}}
	if c.Version == 0 || len(c.Data) == 0 {
		return s, nil
	}
	dec := json.NewDecoder(bytes.NewReader(c.Data))
	dec.DisallowUnknownFields() // otherwise this program would drop them at the next change
	if err := dec.Decode(&s); err != nil {
		return s, fmt.Errorf("cluster settings, version %d: %w: %w", c.Version, concordat.ErrCorrupt, err)
	}
	if s.Format != centralFormat {
		return s, fmt.Errorf("unsupported format %d of the cluster settings; want format %d: %w", s.Format, centralFormat, concordat.ErrInvalid)
	}
	return s, s.Validate()
}

// Validate returns all faults in the settings.
func (s CentralSettings) Validate() error {
	var all []error
	known := map[string]bool{}
	for _, k := range config.Keys() {
		known[k.Name] = true
	}
	for _, k := range slices.Sorted(maps.Keys(s.Keys)) {
		switch {
		case !known[k]:
			all = append(all, fmt.Errorf("%s: unknown key", k))
		case slices.Contains(ownKeys, k) || strings.HasPrefix(k, "cluster."):
			all = append(all, fmt.Errorf("%s: this key must be set on each node separately", k))
		}
	}
	if _, err := config.Load("", s.Lookup(nil)); err != nil {
		all = append(all, err)
	}
	for _, l := range slices.Sorted(maps.Keys(s.Libraries)) {
		if err := s.Libraries[l].Validate(); err != nil {
			all = append(all, fmt.Errorf("library %s: %w", l, err))
		}
	}
	if len(all) > 0 {
		return fmt.Errorf("settings: %w: %w", concordat.ErrInvalid, errors.Join(all...))
	}
	return nil
}

// Lookup returns an environment for config.Load that consists of the node's own variables and, for all other variables, the settings. The
// settings therefore override a node's file, and the node's variables override the settings.
func (s CentralSettings) Lookup(own config.Lookup) config.Lookup {
	values := map[string]string{}
	for _, k := range config.Keys() {
		if v, ok := s.Keys[k.Name]; ok {
			values[k.Env()] = v
		}
	}
	return func(name string) (string, bool) {
		if own != nil {
			if v, ok := own(name); ok {
				return v, true
			}
		}
		v, ok := values[name]
		return v, ok
	}
}

// CurrentSettings returns the current settings.
func CurrentSettings(ctx context.Context, s *zk.Session) (coord.Config, CentralSettings, error) {
	select {
	case c := <-s.Settings():
		parsed, err := ParseCentral(c)
		return c, parsed, err
	case <-ctx.Done():
		return coord.Config{}, CentralSettings{}, fmt.Errorf("ZooKeeper: %w: %w", concordat.ErrUnavailable, ctx.Err())
	}
}
