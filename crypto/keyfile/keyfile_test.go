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

// TestS1Crash stops between writing and renaming, and at a write that a crash left half done.
func TestS1Crash(t *testing.T) {
	path, id := keystore(t)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	crash := errors.New("crash")
	if err := replace(path, []byte("other"), func(string, string) error { return crash }); !errors.Is(err, crash) {
		t.Fatalf("got %v, want the crash", err)
	}
	if err := os.WriteFile(path+".new-1234", before[:len(before)/2], 0o600); err != nil { // left by a real one
		t.Fatal(err)
	}
	after, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(before, after) {
		t.Fatalf("the keystore changed before the rename (%v)", err)
	}
	next, err := Update(path, secret, func(id *crypto.Identity) (*crypto.Identity, error) { return id.Rotate(start, rand.Reader) })
	if err != nil {
		t.Fatalf("update after the crash: %v", err)
	}
	got, err := Read(path, secret)
	if err != nil || got.Site() != id.Site() || len(got.Keys(start)) != len(next.Keys(start)) {
		t.Fatalf("read after update: %v", err)
	}
}

// TestUpdatesDoNotOverlap adds one federation in each of several goroutines: none may be lost.
func TestUpdatesDoNotOverlap(t *testing.T) {
	path, _ := keystore(t)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			_, err := Update(path, secret, func(id *crypto.Identity) (*crypto.Identity, error) {
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
	if _, err := Update(path, secret, func(id *crypto.Identity) (*crypto.Identity, error) { return id, nil }); err != nil {
		t.Fatal(err)
	}
}
