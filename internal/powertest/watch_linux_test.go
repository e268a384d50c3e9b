package powertest_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"concordat/internal/powertest"
)

func TestWatch(t *testing.T) {
	if !powertest.Alone(t) {
		return
	}
	root := t.TempDir()
	write := func(name, what string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(root, name), []byte(what), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("old", "old")
	d := powertest.Watch(t, root)
	sync := func(name string) {
		t.Helper()
		f, err := os.Open(filepath.Join(root, name))
		if err == nil {
			err = errors.Join(f.Sync(), f.Close())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	const absent = "no such file"
	check := func(when, name, want string) {
		t.Helper()
		got := absent
		b, err := os.ReadFile(filepath.Join(d.Lost(), name))
		if err == nil {
			got = string(b)
		} else if !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if got != want {
			t.Errorf("%s: power lost, and in %s is %q, want %q", when, name, got, want)
		}
	}
	check("at first", "old", "old")
	write("old", "new")
	check("written and not synced", "old", "old")
	sync("old")
	check("synced", "old", "new")
	if err := os.Mkdir(filepath.Join(root, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	write("sub/file", "one")
	sync("sub/file")
	check("a new file without its folder", "sub/file", absent)
	sync(".")
	check("and with the folder above it", "sub/file", absent)
	sync("sub")
	check("and with its own", "sub/file", "one")
	if err := os.Rename(filepath.Join(root, "sub"), filepath.Join(root, "moved")); err != nil {
		t.Fatal(err)
	}
	check("the folder renamed", "sub/file", "one")
	sync(".")
	check("the folder renamed, and that synced", "sub/file", absent)
	check("the folder renamed, and that synced", "moved/file", "one")
	d.FileNames = true
	write("moved/other", "two")
	check("a file not synced, as ext4 does", "moved/other", absent)
	sync("moved/other")
	check("a new file synced, as ext4 does", "moved/other", "two")
	if d.Calls() != 6 {
		t.Errorf("%d syncs were noted, want 6", d.Calls())
	}
}
