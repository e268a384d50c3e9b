package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"concordat"
)

// Files keeps whole files by the SHA-256 of their content, in a folder: the originals of what was
// handed in. It is safe for concurrent use by several processes. What Put returned for is on disk.
type Files struct{ dir string }

// OpenFiles returns the files in dir, which is made with the first one.
func OpenFiles(dir string) *Files { return &Files{dir} }

var fileName = regexp.MustCompile(`^[0-9a-f]{64}$`)

// path returns where the file with the hash is kept, as aa/bb/HASH.
func (f *Files) path(hash string) (string, error) {
	if !fileName.MatchString(hash) {
		return "", fmt.Errorf("file %q: %w: want 64 hexadecimal digits", hash, concordat.ErrInvalid)
	}
	return filepath.Join(f.dir, hash[:2], hash[2:4], hash), nil
}

// Put keeps what r gives, at most limit bytes, and returns its hash and its size. A file that is
// there already is not written again. It fails with concordat.ErrInvalid beyond limit, with
// concordat.ErrDiskFull where there is no room, and then keeps nothing.
func (f *Files) Put(ctx context.Context, r io.Reader, limit int64) (hash string, size int64, err error) {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return "", 0, fmt.Errorf("keep a file: %w", err)
	}
	tmp, err := os.CreateTemp(f.dir, "incoming-*")
	if err != nil {
		return "", 0, fmt.Errorf("keep a file: %w", err)
	}
	defer func() {
		_ = tmp.Close()           // closed already unless something failed
		_ = os.Remove(tmp.Name()) // renamed already unless something failed
	}()
	h := sha256.New()
	size, err = io.Copy(io.MultiWriter(tmp, h), io.LimitReader(readerOf(ctx, r), limit+1))
	switch {
	case diskFull(err):
		return "", 0, fmt.Errorf("keep a file: %w: %w", concordat.ErrDiskFull, err)
	case err != nil:
		return "", 0, fmt.Errorf("keep a file: %w", err)
	case size > limit:
		return "", 0, fmt.Errorf("keep a file: %w: more than %d bytes", concordat.ErrInvalid, limit)
	}
	hash = hex.EncodeToString(h.Sum(nil))
	path, err := f.path(hash)
	if err != nil {
		return "", 0, err
	}
	if _, err := os.Stat(path); err == nil {
		now := time.Now() // it is as good as new: Tidy takes it for a file that comes in
		return hash, size, os.Chtimes(path, now, now)
	}
	if err := errors.Join(tmp.Sync(), tmp.Close()); err != nil {
		return "", 0, fmt.Errorf("keep a file: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return "", 0, fmt.Errorf("keep a file: %w", err)
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return "", 0, fmt.Errorf("keep a file: %w", err)
	}
	return hash, size, syncFolder(filepath.Dir(path))
}

// syncFolder makes a rename in dir last.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Path returns where the file with the hash lies, for reading only, or concordat.ErrNotFound.
func (f *Files) Path(hash string) (string, error) {
	path, err := f.path(hash)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("file %s: %w", hash, concordat.ErrNotFound)
	} else if err != nil {
		return "", err
	}
	return path, nil
}

// Delete forgets a file; one that is not there is no error.
func (f *Files) Delete(hash string) error {
	path, err := f.path(hash)
	if err != nil {
		return err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// ctxReader ends with its context.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func readerOf(ctx context.Context, r io.Reader) io.Reader { return ctxReader{ctx, r} }

func (c ctxReader) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}
