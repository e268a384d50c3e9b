package instance

import (
	"path/filepath"

	"concordat/instance/config"
	"concordat/site/compare"
)

// maxStock bounds the file of the site's own public wording.
const maxStock = 4 << 20

// ownStock returns the public wording, including the wording in the file that the configuration names, or nil if it names no file.
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
