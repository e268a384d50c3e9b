package instance

import (
	"concordat/instance/config"
	"concordat/meaning/remote"
)

// NewEncoder returns the encoder of the site in dir that its configuration names; nil: none. It connects to nothing yet.
func NewEncoder(dir string, c *config.Config) (*remote.Encoder, error) {
	o := c.Meaning.Encoder.Remote()
	if o.URL == "" {
		return nil, nil
	}
	if file := c.Meaning.Encoder.KeyFile; file != "" {
		key, err := secretLine(dir, "meaning.encoder.key_file", file)
		if err != nil {
			return nil, err
		}
		o.Key = key
	}
	e, err := remote.New(o)
	if err != nil {
		return nil, Usagef("meaning.encoder: %w", err)
	}
	return e, nil
}
