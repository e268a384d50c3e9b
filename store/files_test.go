package store_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/store"
)

func TestOriginals(t *testing.T) {
	t.Run("Folder", func(t *testing.T) {
		runFiles(t, func(t *testing.T) func() *store.Files {
			dir := filepath.Join(t.TempDir(), "originals")
			return func() *store.Files { return store.OpenFiles(dir) }
		})
	})
	engines(t, func(t *testing.T, _ string) {
		lite := strings.HasSuffix(t.Name(), "SQLite")
		runFiles(t, func(t *testing.T) func() *store.Files {
			place, n := filepath.Join(t.TempDir(), "store.db"), 0
			if !lite {
				place = postgres(t).Database(t)
			}
			return func() *store.Files {
				n++
				return open(t, place, store.Options{}).Files(filepath.Join(t.TempDir(), fmt.Sprint("originals", n)))
			}
		})
	})
}

// TestOriginalsTampered: a file with modified stored parts is not returned.
func TestOriginalsTampered(t *testing.T) {
	engines(t, func(t *testing.T, place string) {
		db := open(t, place, store.Options{})
		hash, _, err := db.Files(t.TempDir()).Put(t.Context(), strings.NewReader(strings.Repeat("word ", 100_000)), 1<<20)
		must(t, err)
		for _, tt := range []struct {
			change string
			want   error
		}{
			{`UPDATE file_part SET data = (SELECT p.data FROM file_part p WHERE p.n = 1) WHERE n = 0`, concordat.ErrCorrupt},
			{`UPDATE file SET size = size - 1`, concordat.ErrCorrupt},
			{`DELETE FROM file_part WHERE n = 0`, concordat.ErrCorrupt},
		} {
			raw(t, place, tt.change)
			dir := t.TempDir()
			_, err := db.Files(dir).Fetch(t.Context(), hash)
			wantErr(t, err, tt.want)
			if left, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(left) > 0 {
				t.Errorf("left %v, %v", left, err)
			}
		}
	})
}

// TestMade: files made from another file are stored next to it and deleted with it, even if they arrive after its deletion.
func TestMade(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "originals")
	f := store.OpenFiles(dir)
	made := func(content string) string {
		place, _, err := f.Workplace()
		must(t, err)
		path := filepath.Join(place, "out.pdf")
		must(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	left := func() (names []string) {
		must(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				names = append(names, d.Name())
			}
			return err
		}))
		return names
	}
	put := func(content string) string {
		hash, _, err := f.Put(t.Context(), strings.NewReader(content), 100)
		must(t, err)
		_, err = f.Made(hash)
		wantErr(t, err, concordat.ErrNotFound)
		path, err := f.PutMade(hash, made("pages of "+content))
		must(t, err)
		if got, err := f.Made(hash); err != nil || got != path {
			t.Errorf("made %q, %v, want %q", got, err, path)
		}
		return hash
	}
	first, second := put("first"), put("second")
	n, err := f.Erase(t.Context(), "", []string{first})
	if names := left(); err != nil || n != 1 || len(names) != 2 {
		t.Errorf("erased %d, %v, left %v", n, err, names)
	}
	_, err = f.Made(first)
	wantErr(t, err, concordat.ErrNotFound)
	_, err = f.PutMade(first, made("too late"))
	wantErr(t, err, concordat.ErrNotFound)
	var all []string
	must(t, f.All(t.Context(), func(hash string) error { all = append(all, hash); return nil }))
	if len(all) != 1 || all[0] != second {
		t.Errorf("all are %v", all)
	}
	// Orphans are deleted along with unused files.
	path, err := f.Path(second)
	must(t, err)
	must(t, os.WriteFile(path[:len(path)-1]+"0.pdf", []byte("orphan"), 0o600))
	later := time.Now().Add(time.Minute)
	_, err = f.Tidy(t.Context(), later, func(string) (bool, error) { return true, nil })
	must(t, err)
	if names := left(); len(names) != 2 {
		t.Errorf("of a needed file there are left %v", names)
	}
	n, err = f.Tidy(t.Context(), later, func(string) (bool, error) { return false, nil })
	if names := left(); err != nil || n != 1 || len(names) != 0 {
		t.Errorf("tidied %d, %v, left %v", n, err, names)
	}
	must(t, f.Sweep(later))
}

// TestSweepOriginals: the next start deletes a killed process's leftovers and keeps complete files.
func TestSweepOriginals(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "originals [1]")
	f := store.OpenFiles(dir)
	must(t, f.Sweep(time.Now().Add(time.Minute)))
	hash, _, err := f.Put(t.Context(), strings.NewReader("abc"), 3)
	must(t, err)
	left := filepath.Join(dir, "incoming-1")
	must(t, os.WriteFile(left, []byte("a"), 0o600))
	place, _, err := f.Workplace()
	must(t, err)
	must(t, os.WriteFile(filepath.Join(place, "in.docx"), []byte("a"), 0o600))
	must(t, f.Sweep(time.Now().Add(time.Minute)))
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was left: %v", err)
	}
	if _, err := os.Stat(place); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a workplace was left: %v", err)
	}
	if _, err := f.Path(hash); err != nil {
		t.Error(err)
	}
}
