package instance

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"concordat/instance/config"
)

// filesToJoin returns the files that another machine of this site needs: the configuration, the files that it references, and the keys.
// The keystore itself is in the store.
func filesToJoin(dir string, c *config.Config) (map[string][]byte, error) {
	conf, err := os.ReadFile(filepath.Join(dir, ConfigName))
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{ConfigName: conf}
	if _, err := LTIKeys(dir); err != nil { // every site has keys, even if no platform is registered yet
		return nil, err
	}
	for _, name := range []string{IndexKeyName, KeyFileName, LTIKeyName} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		out[name] = b
	}
	named := FilesOfCoordinator(c.Cluster.Coordinator)
	for _, f := range c.Files() {
		named[f.Name] = f.Path
		if f.Key == "store.password_file" && !filepath.IsAbs(f.Path) {
			named[f.Name] = filepath.Join(dir, f.Path)
		}
	}
	for name, path := range named {
		if out[name], err = os.ReadFile(path); err != nil {
			return nil, fmt.Errorf("read a file that the configuration refers to: %w", err)
		}
	}
	return out, nil
}
