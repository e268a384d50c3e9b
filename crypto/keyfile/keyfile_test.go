package keyfile

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"concordat/crypto"
	"concordat/internal/powertest"
)

var (
	start  = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	secret = crypto.RawKey([32]byte{1, 2, 3})
)

func keystore(t *testing.T) (string, *crypto.Identity) {
	t.Helper()
	id, err := crypto.New(start, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "keystore")
	if err := Create(path, id, secret); err != nil {
		t.Fatal(err)
	}
	return path, id
}

func TestS1FileMode(t *testing.T) {
	path, id := keystore(t)
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v; want 0600", info.Mode(), err)
	}
	got, err := Read(path, secret)
	if err != nil || got.Site() != id.Site() {
		t.Fatalf("read: %v", err)
	}
	if err := Create(path, id, secret); !errors.Is(err, fs.ErrExist) {
		t.Errorf("second create: %v, want ErrExist", err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path, secret); !errors.Is(err, ErrMode) {
		t.Errorf("read of a file open to the group: %v, want ErrMode", err)
	}
}

// TestS1Crash stops between writing and renaming, and simulates a crash that leaves a partial write.
func TestS1Crash(t *testing.T) {
	path, id := keystore(t)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	crash := errors.New("crash")
	fails := disk{sync: (*os.File).Sync, syncDir: syncDir, rename: func(string, string) error { return crash }}
	if err := replace(path, []byte("other"), fails); !errors.Is(err, crash) {
		t.Fatalf("got %v, want the crash", err)
	}
	if err := os.WriteFile(path+".new-1234", before[:len(before)/2], 0o600); err != nil { // left by a real crash
		t.Fatal(err)
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Fatalf("the keystore changed before the rename (%v)", err)
	}
	next, err := Update(path, secret, secret, func(id *crypto.Identity) (*crypto.Identity, error) { return id.Rotate(start, rand.Reader) })
	if err != nil {
		t.Fatalf("update after the crash: %v", err)
	}
	got, err := Read(path, secret)
	if err != nil || got.Site() != id.Site() || len(got.Keys(start)) != len(next.Keys(start)) {
		t.Fatalf("read after update: %v", err)
	}
}

// TestUpdatesDoNotOverlap adds one federation in each of several goroutines. None may be lost.
func TestUpdatesDoNotOverlap(t *testing.T) {
	path, _ := keystore(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			_, err := Update(path, secret, secret, func(id *crypto.Identity) (*crypto.Identity, error) {
				return id.NewEpoch(string(rune('a'+i)), start, 0, rand.Reader)
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	id, err := Read(path, secret)
	if err != nil || len(id.Federations()) != 8 {
		t.Fatalf("%d federations, %v; want 8", len(id.Federations()), err)
	}
	if _, err := Update(path, secret, secret, func(id *crypto.Identity) (*crypto.Identity, error) { return id, nil }); err != nil {
		t.Fatal(err)
	}
}

// TestS1PowerLoss cuts the power before and after each step of writing a new keystore to disk. Either the old or the new keystore is
// found, and always the new one once Replace has reported success.
func TestS1PowerLoss(t *testing.T) {
	path, _ := keystore(t)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	after := bytes.Repeat([]byte("new"), 1000)
	d := powertest.New(t, filepath.Dir(path))
	found := func() []byte {
		t.Helper()
		b, err := os.ReadFile(filepath.Join(d.Lost(), filepath.Base(path)))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	either := func(step string) {
		t.Helper()
		if b := found(); !bytes.Equal(b, before) && !bytes.Equal(b, after) {
			t.Errorf("power lost %s: %d bytes, neither the old keystore nor the new one", step, len(b))
		}
	}
	on := disk{
		sync: func(f *os.File) error {
			either("before the sync")
			defer either("after the sync")
			return d.Sync(f)
		},
		rename: func(from, to string) error {
			either("before the renaming")
			// The system may write the folder at any time.
			defer func() { _ = d.SyncDir(filepath.Dir(to)); either("after the renaming") }()
			return d.Rename(from, to)
		},
		syncDir: d.SyncDir,
	}
	if err := replace(path, after, on); err != nil {
		t.Fatal(err)
	}
	either("at the end")
	lazy := powertest.New(t, filepath.Dir(path))
	if err := replace(path, before, disk{sync: lazy.Sync, syncDir: lazy.SyncDir, rename: lazy.Rename}); err != nil {
		t.Fatal(err)
	}
	d = lazy
	if b := found(); !bytes.Equal(b, before) {
		t.Errorf("power lost after Replace: %d bytes, want those that it wrote", len(b))
	}
}

// TestS1FailingDisk: a failing step is reported and leaves the old keystore or the new one, and no other file.
func TestS1FailingDisk(t *testing.T) {
	for _, step := range []string{powertest.Sync, powertest.Rename, powertest.SyncDir} {
		path, _ := keystore(t)
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		d := powertest.New(t, filepath.Dir(path))
		broken := errors.New("input/output error")
		d.Fail(step, broken)
		err = replace(path, []byte("new"), disk{sync: d.Sync, syncDir: d.SyncDir, rename: d.Rename})
		if !errors.Is(err, broken) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s fails: error %v, want that of the disk alone", step, err)
		}
		want := before
		if step == powertest.SyncDir {
			want = []byte("new")
		}
		if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, want) {
			t.Errorf("%s fails: %d bytes, error %v, want %d", step, len(b), err, len(want))
		}
		files, err := os.ReadDir(filepath.Dir(path))
		if err != nil || len(files) != 2 { // including the lock
			t.Errorf("%s fails: %d files are left, error %v", step, len(files), err)
		}
	}
}
