package instance

import (
	"os"
	"path/filepath"

	"concordat/instance/config"
)

// SetListen sets the address for partners in the configuration of a site with one machine; it does not write an invalid configuration,
// and the address takes effect at the next start.
func SetListen(dir, address string) error {
	path := filepath.Join(dir, ConfigName)
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	next, err := config.Set(text, map[string]string{"federation.listen": address})
	if err != nil {
		return err
	}
	tmp := path + ".next"
	if err := os.WriteFile(tmp, next, info.Mode().Perm()); err != nil {
		return err
	}
	defer func() { _ = os.Remove(tmp) }() // normally it no longer exists
	if _, err := LoadConfig(tmp); err != nil {
		return err
	}
	return os.Rename(tmp, path)
}
