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
	"strings"
	"time"

	"concordat"
	"concordat/store/engine"
)

// Files stores whole files, the submitted originals, under the SHA-256 of their content, in a folder or in the database. It is safe for
// concurrent use by several processes. A file is on disk once Put has returned.
type Files struct {
	dir string
	db  *DB // nil if files are in the folder
}

// OpenFiles returns the files in dir; the folder is created with the first file.
func OpenFiles(dir string) *Files { return &Files{dir: filepath.Clean(dir)} }

var fileName = regexp.MustCompile(`^[0-9a-f]{64}$`)

// FileOf returns the hash of the file that a name in the folder belongs to, as the name either of the file itself or of the PDF made from
// it. ok is false for other names.
func FileOf(name string) (hash string, ok bool) {
	hash = strings.TrimSuffix(name, madeSuffix)
	return hash, fileName.MatchString(hash)
}

// path returns the path of the file with the given hash, aa/bb/HASH.
func (f *Files) path(hash string) (string, error) {
	if !fileName.MatchString(hash) {
		return "", fmt.Errorf("file %q: %w: the hash must consist of 64 hexadecimal digits", hash, concordat.ErrInvalid)
	}
	return filepath.Join(f.dir, hash[:2], hash[2:4], hash), nil
}

// Put stores the content of r, up to limit bytes, and returns its hash and size. An existing file is not written again. Put fails with
// concordat.ErrInvalid if there are more than limit bytes, and with concordat.ErrDiskFull if the disk is full; in both cases, it stores
// nothing.
func (f *Files) Put(ctx context.Context, r io.Reader, limit int64) (hash string, size int64, err error) {
	tmp, err := f.incoming()
	if err != nil {
		return "", 0, fmt.Errorf("store a file: %w", err)
	}
	defer tmp.discard()
	h := sha256.New()
	size, err = io.Copy(io.MultiWriter(tmp, h), io.LimitReader(readerOf(ctx, r), limit+1))
	switch {
	case err != nil:
		return "", 0, fmt.Errorf("store a file: %w", engine.NoSpace(err))
	case size > limit:
		return "", 0, fmt.Errorf("store a file: %w: the file is larger than %d bytes", concordat.ErrInvalid, limit)
	}
	hash = hex.EncodeToString(h.Sum(nil))
	path, err := f.path(hash)
	if err != nil {
		return "", 0, err
	}
	if f.db != nil {
		if err := f.db.putFile(ctx, hash, size, tmp); err != nil {
			return "", 0, f.db.fail(err, "store a file")
		}
	}
	if _, err := os.Stat(path); err == nil {
		now := time.Now() // Tidy must treat it as a newly stored file
		// Another call can be about to make the name durable, or have been interrupted before.
		return hash, size, errors.Join(os.Chtimes(path, now, now), f.syncNames(path))
	}
	return hash, size, f.keep(tmp, path)
}

// incomingFile is a file without a name yet.
type incomingFile struct{ *os.File }

func (f *Files) incoming() (incomingFile, error) {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return incomingFile{}, err
	}
	tmp, err := os.CreateTemp(f.dir, "incoming-*")
	return incomingFile{tmp}, err
}

// discard removes a file that is not kept.
func (t incomingFile) discard() {
	_ = t.Close()           // already closed unless something failed
	_ = os.Remove(t.Name()) // already renamed unless something failed
}

// keep names the file and makes it durable.
func (f *Files) keep(t incomingFile, path string) error {
	err := errors.Join(t.Sync(), t.Close())
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = os.Rename(t.Name(), path)
	}
	if err == nil {
		err = f.syncNames(path)
	}
	if err != nil {
		return fmt.Errorf("store a file: %w", engine.NoSpace(err))
	}
	return nil
}

// syncNames makes the name of a file durable, and the names of the folders that contain it. A folder that exists can have been created by
// a process that ended before making the folder's name durable.
func (f *Files) syncNames(path string) error {
	for dir := path; dir != f.dir; {
		dir = filepath.Dir(dir)
		if err := syncFolder(dir); err != nil {
			return err
		}
	}
	return syncFolder(filepath.Dir(f.dir))
}

// Sweep removes files left by Puts interrupted before the given time. Only a process that knows that no other process has stored files
// since then can call it.
func (f *Files) Sweep(before time.Time) error {
	entries, err := os.ReadDir(f.dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "incoming-") {
			continue
		}
		info, failed := e.Info()
		if failed == nil && info.ModTime().Before(before) {
			failed = os.RemoveAll(filepath.Join(f.dir, e.Name()))
		}
		if !errors.Is(failed, os.ErrNotExist) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// syncFolder makes a rename in dir durable.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Path returns the path in the folder of a read-only file with the given hash, or concordat.ErrNotFound. Fetch also retrieves files that
// only the database has.
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

// madeSuffix is appended to the name of a file made from another and stored next to it.
const madeSuffix = ".pdf"

// Workplace creates an empty folder next to the files, in which to make something from one of them, and returns a function that removes
// the folder. Sweep and Tidy remove folders left behind by processes that have ended.
func (f *Files) Workplace() (dir string, remove func() error, err error) {
	if err = os.MkdirAll(f.dir, 0o700); err == nil {
		dir, err = os.MkdirTemp(f.dir, "incoming-*")
	}
	if err != nil {
		return "", nil, fmt.Errorf("make a temporary folder: %w", engine.NoSpace(err))
	}
	return dir, func() error { return os.RemoveAll(dir) }, nil
}

// Made returns the path of the read-only PDF made from the file with the given hash, or concordat.ErrNotFound. The PDF exists only on
// this machine and is deleted with the file.
func (f *Files) Made(hash string) (string, error) {
	path, err := f.Path(hash)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(path + madeSuffix); errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("PDF made from file %s: %w", hash, concordat.ErrNotFound)
	} else if err != nil {
		return "", err
	}
	return path + madeSuffix, nil
}

// PutMade moves the PDF at from, made from the file with the given hash, next to that file, and returns its path. If the file was deleted
// in the meantime, it fails with concordat.ErrNotFound and keeps nothing. from must be on the same disk.
func (f *Files) PutMade(hash, from string) (string, error) {
	path, err := f.Path(hash)
	if err != nil {
		return "", err
	}
	if err := moveDurably(from, path+madeSuffix); err != nil {
		return "", fmt.Errorf("store the PDF made from file %s: %w", hash, engine.NoSpace(err))
	}
	// Erase removes the file first, so either Erase finds the PDF, or the file is found missing here.
	if _, err := f.Path(hash); err != nil {
		if removed := os.Remove(path + madeSuffix); removed != nil && !errors.Is(removed, os.ErrNotExist) {
			err = errors.Join(err, removed)
		}
		return "", err
	}
	return path + madeSuffix, nil
}

// moveDurably renames a file. Its content reaches the disk before its new name does.
func moveDurably(from, to string) error {
	f, err := os.Open(from)
	if err == nil {
		err = errors.Join(f.Sync(), f.Close())
	}
	if err == nil {
		err = os.Rename(from, to)
	}
	if err == nil {
		err = syncFolder(filepath.Dir(to))
	}
	return err
}

// ctxReader is a reader that fails once its context ends.
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
