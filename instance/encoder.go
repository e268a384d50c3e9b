package instance

import (
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"concordat"
	"concordat/index/encoded"
	"concordat/instance/config"
	"concordat/meaning/managed"
	"concordat/meaning/remote"
	"concordat/site/compare"
	"concordat/store"
)

// Encoder is an encoder that verifies leads.
type Encoder interface {
	compare.Embedder
	Spent() remote.Spent // total so far
}

// Encoding is the site's encoder, which verifies leads, and the index of its vectors. It is safe for concurrent use, except that
// FileVectors must not run twice at a time.
type Encoding struct {
	dir  string
	site concordat.SiteID
	live *LiveConfig
	db   *store.DB
	own  concordat.Index // nil unless this process has opened the index of a site with one machine; set before concurrent use

	used    atomic.Pointer[usedEncoder]   // nil if there is none
	vectors atomic.Pointer[encoded.Index] // index of its vectors; nil if there is none
	opening sync.Mutex                    // held while opening or closing vectors, which is read without it
	changed chan struct{}                 // receives a value when documents have been added
}

// usedEncoder is an encoder in use, with the store of its vectors.
type usedEncoder struct {
	encoder Encoder
	kept    *compare.Encoder
}

func (e *usedEncoder) close() error {
	if e == nil {
		return nil
	}
	if c, ok := e.encoder.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Current returns the encoder that currently verifies leads; nil means only the embedded table.
func (ec *Encoding) Current() Encoder {
	if e := ec.used.Load(); e != nil {
		return e.encoder
	}
	return nil
}

// kept returns the current encoder with the store of its vectors, or nil.
func (ec *Encoding) kept() *compare.Encoder {
	if e := ec.used.Load(); e != nil {
		return e.kept
	}
	return nil
}

// Use starts using the encoder specified by the current configuration, or the installed one. It closes the previous encoder;
// checks still using it fall back to the table's leads and report this.
func (ec *Encoding) Use(log *slog.Logger) error {
	e, err := NewEncoder(ec.dir, ec.live.Now(), log)
	if err != nil {
		return err
	}
	var next *usedEncoder
	if e != nil {
		next = &usedEncoder{e, compare.NewEncoder(e, ec.db.Checks, ec.live.Now().Meaning.Encoder.Keep)}
	}
	return errors.Join(ec.used.Swap(next).close(), ec.OpenVectors(log))
}

// close closes the encoder and the index of its vectors.
func (ec *Encoding) close() error {
	err := ec.used.Load().close()
	if x := ec.vectors.Load(); x != nil {
		err = errors.Join(err, x.Close())
	}
	return err
}

// EncoderName is the site's folder for its installed encoder.
const EncoderName = "encoder"

// sharedEncoders is where the machine's administrator can install an encoder for all sites.
const sharedEncoders = "/usr/lib/concordat/encoder"

// InstalledEncoder returns the folder of the encoder installed for the site in dir; empty if none is.
func InstalledEncoder(dir string) string {
	return managed.Installed(filepath.Join(dir, EncoderName), sharedEncoders)
}

// NewEncoder returns the encoder configured for the site in dir, or else the installed one, or nil if there is neither. It does not
// connect or start anything. The caller closes the encoder if it is an io.Closer.
func NewEncoder(dir string, c *config.Config, log *slog.Logger) (Encoder, error) {
	o := c.Meaning.Encoder.Remote()
	if o.URL == "" {
		return managedEncoder(dir, c.Meaning.Encoder, log)
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

// managedEncoder returns the encoder that the site runs itself, or nil.
func managedEncoder(dir string, c config.Encoder, log *slog.Logger) (Encoder, error) {
	folder := InstalledEncoder(dir)
	if c.Run == config.EncoderOff || c.Command == "" && folder == "" {
		return nil, nil
	}
	e, err := managed.New(managed.Options{Package: folder, Command: strings.Fields(c.Command), Remote: c.Remote(), Memory: c.Memory,
		Processors: c.Processors, Log: log})
	if err != nil {
		return nil, Usagef("meaning.encoder.command: %w", err)
	}
	return e, nil
}
