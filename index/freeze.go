package index

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	bleve "github.com/blevesearch/bleve_index_api"

	"concordat"
)

// Frozen is the state of a shard at one moment, of which a copy can be written while the shard goes on.
// Its segments stay on the disk until Close. It is for one goroutine.
type Frozen struct {
	shard  *Shard
	reader bleve.CopyReader
	done   func()
}

// Freeze returns the present state of the shard; it costs no time and no memory to speak of. The caller
// closes it before the shard.
func (s *Shard) Freeze() (*Frozen, error) {
	done, err := s.use()
	if err != nil {
		return nil, err
	}
	return &Frozen{shard: s, reader: s.engine.scorch.CopyReader(), done: done}, nil
}

// CopyTo writes a shard in that state into dir, which must be absent or empty. After an error dir holds no
// valid shard. It may be called once.
func (f *Frozen) CopyTo(ctx context.Context, dir string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if fresh, err := isNew(dir); err != nil {
		return err
	} else if !fresh {
		return fmt.Errorf("copy to %s: %w", dir, concordat.ErrExists)
	}
	if err := os.RemoveAll(filepath.Join(dir, storeName)); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(dir, storeName), 0o700); err != nil {
		return f.shard.diskError("copy", err)
	}
	if err := guard(func() error { return f.reader.CopyTo(directory{ctx, dir}) }); err != nil {
		return f.shard.diskError("copy", errors.Join(err, ctx.Err()))
	}
	if err := syncTree(filepath.Join(dir, storeName)); err != nil {
		return f.shard.diskError("copy", err)
	}
	// The header makes the folder a shard, so it comes last.
	return f.shard.diskError("copy", writeHeader(dir, f.shard.header()))
}

// Close lets the shard remove what it no longer needs. A second Close does nothing.
func (f *Frozen) Close() error {
	if f.reader == nil {
		return nil
	}
	err := f.reader.CloseCopyReader()
	f.reader = nil
	f.done()
	return err
}
