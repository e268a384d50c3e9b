package index

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	bleve "github.com/blevesearch/bleve_index_api"

	"concordat"
)

// Frozen is the state of a shard at one moment, which can be copied while the shard continues. Its segments stay on disk until Close.
// Only one goroutine may use it.
type Frozen struct {
	shard  *Shard
	reader bleve.CopyReader
	done   func()
}

// Freeze returns the current state of the shard, in almost no time or memory. The caller must close the result before the shard.
func (s *Shard) Freeze() (*Frozen, error) {
	done, err := s.use()
	if err != nil {
		return nil, err
	}
	return &Frozen{shard: s, reader: s.engine.scorch.CopyReader(), done: done}, nil
}

// CopyTo writes a shard in that state to dir, which must be absent or empty. After an error, dir contains no valid shard. CopyTo may be
// called once.
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
		return diskError("copy", f.shard.dir, err)
	}
	if err := guard(func() error { return f.reader.CopyTo(directory{ctx, dir}) }); err != nil {
		return diskError("copy", f.shard.dir, errors.Join(err, ctx.Err()))
	}
	if err := syncTree(filepath.Join(dir, storeName)); err != nil {
		return diskError("copy", f.shard.dir, err)
	}
	// The header makes the folder a shard, so it comes last.
	return diskError("copy", f.shard.dir, writeHeader(dir, f.shard.opt.header()))
}

// Send writes the files of a shard in that state, one after another. It calls file with the slash-separated name of each and writes the
// content to the returned writer; together, the files form a shard. Small files come last and pass through the folder scratch, which must
// exist. Send may be called once, instead of CopyTo. Writers must remember errors, because Send ignores the error of Close.
func (f *Frozen) Send(ctx context.Context, scratch string, file func(name string) io.WriteCloser) error {
	if err := os.MkdirAll(filepath.Join(scratch, storeName), 0o700); err != nil {
		return diskError("send", f.shard.dir, err)
	}
	if err := guard(func() error { return f.reader.CopyTo(sending{directory{ctx, scratch}, file}) }); err != nil {
		return diskError("send", f.shard.dir, errors.Join(err, ctx.Err()))
	}
	if err := writeHeader(scratch, f.shard.opt.header()); err != nil {
		return diskError("send", f.shard.dir, err)
	}
	for _, name := range []string{storeName + "/root.bolt", headerName} {
		b, err := os.ReadFile(filepath.Join(scratch, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		w := file(name)
		_, err = w.Write(b)
		if err = errors.Join(err, w.Close()); err != nil {
			return err
		}
	}
	return nil
}

// sending is a directory that writes only bbolt's file to disk, since that must be a real file.
type sending struct {
	directory
	file func(name string) io.WriteCloser
}

func (d sending) GetWriter(name string) (io.WriteCloser, error) {
	if filepath.Ext(name) != ".zap" {
		return d.directory.GetWriter(name)
	}
	if err := d.ctx.Err(); err != nil {
		return nil, err
	}
	return d.file(filepath.ToSlash(name)), nil
}

// Close allows the shard to remove files that it no longer needs. Further calls do nothing.
func (f *Frozen) Close() error {
	if f.reader == nil {
		return nil
	}
	err := f.reader.CloseCopyReader()
	f.reader = nil
	f.done()
	return err
}
