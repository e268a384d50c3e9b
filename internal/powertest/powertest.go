// Package powertest provides a disk for tests that loses power. It sits between a package and the files of a folder, and records what was
// synced. At any moment, it can create the folder that a power failure at that moment would leave, with the content of each file as of
// its last sync and the names in the folder as of the folder's own last sync. POSIX guarantees no more than that. Everything that a
// package claims to be on disk must be there. [SmallDisk] provides a disk that a test can fill.
package powertest

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// Disk is the disk under one folder. It is safe for concurrent use.
type Disk struct {
	t   testing.TB
	dir string

	mu     sync.Mutex
	synced map[inode][]byte // content on disk of each file
	names  map[string]inode // names on disk in the folder
	fails  map[string]error // error to return, by operation
}

type inode uint64

// New returns the disk of a folder. It assumes that the folder's content is on disk.
func New(t testing.TB, dir string) *Disk {
	t.Helper()
	d := &Disk{t: t, dir: dir, synced: map[inode][]byte{}, names: map[string]inode{}, fails: map[string]error{}}
	for name, n := range d.list() {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		d.names[name], d.synced[n] = n, b
	}
	return d
}

// These are the operations for Fail.
const (
	Sync    = "sync"
	SyncDir = "sync folder"
	Rename  = "rename"
)

// Fail makes an operation do nothing and return the error from now on; with nil, the operation works again.
func (d *Disk) Fail(operation string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fails[operation] = err
}

// Sync replaces (*os.File).Sync.
func (d *Disk) Sync(f *os.File) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.fails[Sync]; err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	b := make([]byte, info.Size())
	if n, err := f.ReadAt(b, 0); err != nil && n < len(b) {
		// The file might be open only for writing.
		if b, err = os.ReadFile(f.Name()); err != nil {
			return err
		}
	}
	d.synced[inodeOf(info)] = b
	return nil
}

// SyncDir syncs the folder.
func (d *Disk) SyncDir(dir string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.fails[SyncDir]; err != nil {
		return err
	}
	if filepath.Clean(dir) != filepath.Clean(d.dir) {
		return errors.New("the folder does not belong to the test: " + dir)
	}
	d.names = d.list()
	return nil
}

// Rename replaces os.Rename.
func (d *Disk) Rename(from, to string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.fails[Rename]; err != nil {
		return err
	}
	return os.Rename(from, to)
}

// Lost returns a new folder with the content that would survive a power failure at this moment.
func (d *Disk) Lost() string {
	d.t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	dir := d.t.TempDir()
	for name, n := range d.names {
		if err := os.WriteFile(filepath.Join(dir, name), d.synced[n], 0o600); err != nil {
			d.t.Fatal(err)
		}
	}
	return dir
}

// list returns the files of the folder as processes see them.
func (d *Disk) list() map[string]inode {
	entries, err := os.ReadDir(d.dir)
	if err != nil {
		d.t.Fatal(err)
	}
	out := map[string]inode{}
	for _, e := range entries {
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue
		}
		if err != nil {
			d.t.Fatal(err)
		}
		out[e.Name()] = inodeOf(info)
	}
	return out
}

func inodeOf(info fs.FileInfo) inode { return inode(info.Sys().(*syscall.Stat_t).Ino) }
