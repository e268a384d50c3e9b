package instance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"concordat"
	"concordat/crypto/keyfile"
	"concordat/instance/config"
	"concordat/store"
)

// Setting is a configuration key and its new value, in the syntax of the environment.
type Setting struct{ Key, Value string }

// SetConfig writes values to the site's configuration file and returns the resulting configuration. If it cannot add the notes to the
// audit, it writes nothing. It refuses keys that this file does not control, and a configuration with a fault.
func (o *Instance) SetConfig(ctx context.Context, values []Setting, notes ...store.AuditNote) (*config.Config, error) {
	if o.Config.Clustered() {
		return nil, fmt.Errorf("the nodes of a cluster share their settings; change them with concordat cluster zookeeper set: %w", concordat.ErrInvalid)
	}
	o.setting.Lock()
	defer o.setting.Unlock()
	path := filepath.Join(o.Dir, ConfigName)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for _, v := range values {
		if i := slices.IndexFunc(config.Keys(), func(k config.Key) bool { return k.Name == v.Key }); i >= 0 {
			if env := config.Keys()[i].Env(); os.Getenv(env) != "" || o.Flags[v.Key] != "" {
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
	return next, o.Store.Atomic(ctx, func(tx *store.DB) error {
		if err := tx.Audit.Notes(ctx, notes...); err != nil {
			return err
		}
		return keyfile.Replace(path, text)
	})
}
