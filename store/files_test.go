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
	"concordat/internal/storetest"
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
				place = storetest.Postgres(t).Schema(t)
			}
			return func() *store.Files {
				n++
				return open(t, place, store.Options{}).Files(filepath.Join(t.TempDir(), fmt.Sprint("originals", n)))
			}
		})
	})
}

// A file whose parts are not those that were put is not handed out.
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

// What a killed process left goes at the next start; whole files stay.
func TestSweepOriginals(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "originals [1]")
	f := store.OpenFiles(dir)
	must(t, f.Sweep(time.Now().Add(time.Minute)))
	hash, _, err := f.Put(t.Context(), strings.NewReader("abc"), 3)
	must(t, err)
	left := filepath.Join(dir, "incoming-1")
	must(t, os.WriteFile(left, []byte("a"), 0o600))
	must(t, f.Sweep(time.Now().Add(time.Minute)))
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was left: %v", err)
	}
	if _, err := f.Path(hash); err != nil {
		t.Error(err)
	}
}
