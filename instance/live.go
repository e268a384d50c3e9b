package instance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"concordat"
	"concordat/cluster/zk"
	"concordat/crypto/keyfile"
	"concordat/instance/config"
	"concordat/store"
)

// LiveConfig is the configuration as it changes while the site runs. It is safe for concurrent use; Flags and Watch are set before the site
// is served.
type LiveConfig struct {
	dir   string
	Flags map[string]string // configuration keys set by a flag, with the flag
	// On a site with several machines, Watch reports the settings for all nodes. It is nil if they come from elsewhere.
	Watch   *zk.Session
	Central atomic.Int64 // version of the settings for all nodes included in now

	now  atomic.Pointer[config.Config] // with the changes since the start
	next atomic.Pointer[config.Config] // configuration after the next start; nil if unchanged
	file sync.Mutex                    // held while changing the configuration file; guards no field
}

func newLiveConfig(dir string, c *config.Config) *LiveConfig {
	l := &LiveConfig{dir: dir}
	l.now.Store(c)
	return l
}

// Now returns the current configuration. Read a key that can change while the site runs from Now whenever it is needed.
func (l *LiveConfig) Now() *config.Config { return l.now.Load() }

// Use makes c the current configuration.
func (l *LiveConfig) Use(c *config.Config) { l.now.Store(c) }

// Next returns the configuration after the next start, or nil if no other has been announced.
func (l *LiveConfig) Next() *config.Config { return l.next.Load() }

// UseNext announces the configuration after the next start.
func (l *LiveConfig) UseNext(c *config.Config) { l.next.Store(c) }

// Setting is a configuration key and its new value, in the syntax of the environment.
type Setting struct{ Key, Value string }

// Set writes values to the site's configuration file and returns the resulting configuration. If it cannot add the notes to the
// audit, it writes nothing. It refuses keys that this file does not control, and a configuration with a fault.
func (l *LiveConfig) Set(ctx context.Context, db *store.DB, values []Setting, notes ...store.AuditNote) (*config.Config, error) {
	if l.Now().Clustered() {
		return nil, fmt.Errorf("the nodes of a cluster share their settings; change them with concordat cluster zookeeper set: %w", concordat.ErrInvalid)
	}
	l.file.Lock()
	defer l.file.Unlock()
	path := filepath.Join(l.dir, ConfigName)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for _, v := range values {
		if i := slices.IndexFunc(config.Keys(), func(k config.Key) bool { return k.Name == v.Key }); i >= 0 {
			if env := config.Keys()[i].Env(); os.Getenv(env) != "" || l.Flags[v.Key] != "" {
				return nil, fmt.Errorf("%s was set with %s or a flag when the server was started, so it cannot be changed here: %w", v.Key, env, concordat.ErrInvalid)
			}
		}
		if text, err = config.SetText(text, v.Key, v.Value); err != nil {
			return nil, err
		}
	}
	next, err := config.LoadText(text, path, config.Central{}, os.LookupEnv)
	if err != nil {
		return nil, err
	}
	return next, db.Atomic(ctx, func(tx *store.DB) error {
		if err := tx.Audit.Notes(ctx, notes...); err != nil {
			return err
		}
		return keyfile.Replace(path, text)
	})
}
