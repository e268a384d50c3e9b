package instance

import (
	"path/filepath"

	"concordat/instance/config"
	"concordat/site/compare"
)

// maxStock is the maximum size of the file with the site's own public wording.
const maxStock = 4 << 20

// ownStock returns the public wording including the configured file's, or nil if no file is configured.
func ownStock(dir string, c *config.Config) (*compare.Stock, error) {
	path := c.Wording.Stock
	if path == "" {
		return nil, nil
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	b, err := ReadBounded(path, maxStock)
	if err != nil {
		return nil, Usagef("wording.stock: %w", err)
	}
	s, err := compare.ReadStock(string(b))
	if err != nil {
		return nil, Usagef("wording.stock: %s: %w", path, err)
	}
	return s, nil
}
