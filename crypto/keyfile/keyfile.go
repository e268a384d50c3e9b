// Package keyfile stores a site's keystore in a file with mode 0600, which one writer at a time replaces atomically.
package keyfile

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"concordat/crypto"
)

// ErrMode means that users other than the owner can read or write the file.
var ErrMode = errors.New("other users can read the keystore")

// Read opens the keystore at path. It fails with fs.ErrNotExist, ErrMode, crypto.ErrPassphrase or
// crypto.ErrFormat.
func Read(path string, s crypto.Secret) (*crypto.Identity, error) {
	b, err := Bytes(path)
	if err != nil {
		return nil, err
	}
	id, err := crypto.Unlock(b, s)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return id, nil
}

// Bytes returns the file's encrypted content. It fails with ErrMode if users other than the owner can read the file.
func Bytes(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return nil, fmt.Errorf("%s: %w: mode %04o, not 0600", path, ErrMode, info.Mode().Perm())
	}
	if !info.Mode().IsRegular() || info.Size() > crypto.MaxKeystore {
		return nil, fmt.Errorf("%s: keystore: %w", path, crypto.ErrFormat)
	}
	b := make([]byte, info.Size())
	if _, err := f.ReadAt(b, 0); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	// If a process died in Replace, the new name might not be on disk yet; readers would then get keys that a power failure takes back.
	if err := syncDir(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return b, nil
}

// Create writes a new keystore; it fails with fs.ErrExist if the file exists.
func Create(path string, id *crypto.Identity, s crypto.Secret) error {
	return locked(path, func() error {
		if _, err := os.Lstat(path); err == nil {
			return fmt.Errorf("%s: %w", path, fs.ErrExist)
		}
		return write(path, id, s)
	})
}

// Update reads the keystore, calls change to derive a new identity, and replaces the file. It returns the file's new content. Processes
// updating the same file wait for each other. If change fails or returns its argument, the file remains unchanged. s opens the file
// before the update, and later opens it afterwards.
func Update(path string, s, later crypto.Secret, change func(*crypto.Identity) (*crypto.Identity, error)) (*crypto.Identity, error) {
	var id *crypto.Identity
	err := locked(path, func() error {
		old, err := Read(path, s)
		if err != nil {
			return err
		}
		if id, err = change(old); err != nil || id == old {
			return err
		}
		return write(path, id, later)
	})
	if err != nil {
		return nil, err
	}
	return id, nil
}

// locked runs f while it holds the lock file next to path.
func locked(path string, f func() error) error {
	lock, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close() // this also unlocks the file
	for {
		err = unix.Flock(int(lock.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", lock.Name(), err)
	}
	return f()
}

func write(path string, id *crypto.Identity, s crypto.Secret) error {
	b, err := id.Lock(s, rand.Reader)
	if err != nil {
		return err
	}
	return Replace(path, b)
}

// Replace replaces the file at path with a file that has content b and mode 0600. It writes a new file next to it, syncs it, reads it
// back, renames it over the old one, and syncs the folder. After a crash at any moment, either the old file or the new one exists. The
// old file stays if the content read back is not b.
func Replace(path string, b []byte) error {
	return replace(path, b, disk{sync: (*os.File).Sync, syncDir: syncDir, rename: os.Rename})
}

// disk is the file system.
type disk struct {
	sync    func(f *os.File) error
	syncDir func(dir string) error
	rename  func(from, to string) error
}

func replace(path string, b []byte, on disk) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new-*") // mode 0600
	if err != nil {
		return err
	}
	renamed := false
	defer func() {
		if err != nil && !renamed {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	_, err = f.Write(b)
	if err == nil {
		err = on.sync(f)
	}
	if err == nil {
		err = holds(f, b)
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = on.rename(f.Name(), path); err != nil {
		return err
	}
	renamed = true
	if err = on.syncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("%s was written, but a power failure could still undo the change: %w", path, err)
	}
	return nil
}

// holds fails unless the file's content is b.
func holds(f *os.File, b []byte) error {
	got := make([]byte, len(b)+1)
	n, err := f.ReadAt(got, 0)
	if err != nil && err != io.EOF {
		return err
	}
	if !bytes.Equal(got[:n], b) {
		return fmt.Errorf("%s: data read back differs from data written", f.Name())
	}
	return nil
}

func syncDir(path string) error {
	d, err := os.Open(path)
	if err != nil {
		return nil // a folder that cannot be opened cannot be synced
	}
	return errors.Join(d.Sync(), d.Close())
}
