package backup_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/instance/backup"
)

func write(t *testing.T, path, content string) {
	t.Helper()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err == nil {
		err = os.WriteFile(path, []byte(content), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// original puts a file into the folder under its hash.
func original(t *testing.T, dir, content string) string {
	t.Helper()
	hash := fmt.Sprintf("%x", sha256.Sum256([]byte(content)))
	write(t, filepath.Join(dir, hash[:2], hash[2:4], hash), content)
	return hash
}

// makeBackup backs up a state of one file and the originals.
func makeBackup(t *testing.T, dir, originals, state string) *backup.Manifest {
	t.Helper()
	m, err := backup.Begin(dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(m.State(), "index", "00", "a"), state)
	if damaged, err := m.AddOriginals(t.Context(), originals); err != nil || len(damaged) > 0 {
		t.Fatal(damaged, err)
	}
	man, err := m.Finish(t.Context(), backup.Manifest{Made: time.Now(), Site: "uni"})
	if err != nil {
		t.Fatal(err)
	}
	return man
}

func everything(string) bool { return true }

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestIncremental: the second backup in a folder replaces the first and copies only new originals.
func TestIncremental(t *testing.T) {
	dir, from := t.TempDir(), t.TempDir()
	one, two := original(t, from, "one"), original(t, from, "two")
	makeBackup(t, dir, from, "first")
	path := filepath.Join(dir, backup.Originals, one[:2], one[2:4], one)
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(from, two[:2], two[2:4], two)); err != nil {
		t.Fatal(err)
	}
	three := original(t, from, "three")
	m := makeBackup(t, dir, from, "second")
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) {
		t.Errorf("an original was copied again: %v", err)
	}
	if m.Files != 3 {
		t.Errorf("%d files, want the state and two originals", m.Files)
	}
	b, err := backup.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if faults, err := b.Verify(nil); err != nil || len(faults) > 0 {
		t.Errorf("%v, %v", faults, err)
	}
	to := t.TempDir()
	if err := b.Restore(to, everything, nil); err != nil {
		t.Fatal(err)
	}
	if got := read(t, filepath.Join(to, "index", "00", "a")); got != "second" {
		t.Errorf("state %q", got)
	}
	if got := read(t, filepath.Join(to, backup.Originals, three[:2], three[2:4], three)); got != "three" {
		t.Errorf("original %q", got)
	}
	if _, err := os.Stat(filepath.Join(dir, backup.Originals, two[:2], two[2:4], two)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("an original that the site has deleted is still in its backup: %v", err)
	}
	if states, _ := filepath.Glob(filepath.Join(dir, "state-*")); len(states) != 1 {
		t.Errorf("states %v", states)
	}
}

// TestDamage: Verify reports any changed bit and any missing or changed file, and Restore refuses the backup.
func TestDamage(t *testing.T) {
	dir, from := t.TempDir(), t.TempDir()
	hash := original(t, from, "one")
	m := makeBackup(t, dir, from, "state")
	file := filepath.Join(dir, backup.Originals, hash[:2], hash[2:4], hash)
	for name, c := range map[string]struct {
		path    string
		change  func(string) string // the file is removed if the result is empty
		wholly  bool                // whether the error concerns the backup as a whole
		restore error
	}{
		"changed": {file, func(string) string { return "One" }, false, concordat.ErrCorrupt},
		"missing": {file, func(string) string { return "" }, false, os.ErrNotExist},
		"list": {filepath.Join(dir, m.State, "files.sha256"), func(s string) string { return strings.Replace(s, "a", "b", 1) }, true,
			concordat.ErrCorrupt},
		"list climbs": {filepath.Join(dir, m.State, "files.sha256"),
			func(s string) string { return s + strings.Repeat("0", 64) + "  ../../x\n" }, true, concordat.ErrCorrupt},
		"list cut": {filepath.Join(dir, m.State, "files.sha256"), func(s string) string { return s[:70] }, true, concordat.ErrCorrupt},
		"list too long": {filepath.Join(dir, m.State, "files.sha256"), func(s string) string { return strings.Repeat("x", 1<<20) }, true,
			concordat.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			whole := read(t, c.path)
			defer write(t, c.path, whole)
			if s := c.change(whole); s != "" {
				write(t, c.path, s)
			} else if err := os.Remove(c.path); err != nil {
				t.Fatal(err)
			}
			b, err := backup.Open(dir)
			if err != nil {
				t.Fatal(err)
			}
			faults, err := b.Verify(nil)
			if c.wholly != (err != nil) || !c.wholly && len(faults) != 1 {
				t.Errorf("faults %v, %v", faults, err)
			}
			to := t.TempDir()
			if err := b.Restore(to, everything, nil); !errors.Is(err, c.restore) {
				t.Errorf("restored: %v", err)
			}
			if _, err := os.Stat(filepath.Join(to, backup.Originals, hash[:2], hash[2:4], hash)); err == nil {
				t.Error("a damaged file was restored")
			}
		})
	}
}

// A backup that stops halfway leaves the previous one intact, and the next one reuses the files that it copied.
func TestAbandoned(t *testing.T) {
	dir, from := t.TempDir(), t.TempDir()
	original(t, from, "one")
	first := makeBackup(t, dir, from, "first")
	original(t, from, "two")
	m, err := backup.Begin(dir, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(m.State(), "half"), "half")
	stop := errors.New("stop")
	m.Progress = func(int) error { return stop }
	if _, err := m.AddOriginals(t.Context(), from); !errors.Is(err, stop) {
		t.Fatal(err)
	}
	b, err := backup.Open(dir)
	if err != nil || b.Manifest.State != first.State {
		t.Fatalf("%+v, %v", b, err)
	}
	if faults, err := b.Verify(nil); err != nil || len(faults) > 0 {
		t.Errorf("%v, %v", faults, err)
	}
	makeBackup(t, dir, from, "second") // removes the incomplete state
	if states, _ := filepath.Glob(filepath.Join(dir, "state-*")); len(states) != 1 {
		t.Errorf("states %v", states)
	}
}

func TestOpenRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		manifest string
		want     error
	}{
		"none":          {"", concordat.ErrNotFound},
		"later":         {`{"format":4}`, concordat.ErrInvalid},
		"not encrypted": {`{"format":3,"state":"state-x","list":"` + strings.Repeat("0", 64) + `"}`, concordat.ErrCorrupt},
		"encrypted":     {`{"format":1,"encryption":{},"state":"state-x","list":"` + strings.Repeat("0", 64) + `"}`, concordat.ErrCorrupt},
		"shards":        {`{"format":1,"shards":4,"state":"state-x","list":"` + strings.Repeat("0", 64) + `"}`, concordat.ErrCorrupt},
		"no json":       {`{`, concordat.ErrCorrupt},
		"climbs":        {`{"format":1,"state":"state-x/../../y","list":"` + strings.Repeat("0", 64) + `"}`, concordat.ErrCorrupt},
		"hash":          {`{"format":1,"state":"state-x","list":"00"}`, concordat.ErrCorrupt},
		"large":         {strings.Repeat(" ", 2<<20), concordat.ErrCorrupt},
	} {
		dir := t.TempDir()
		if c.manifest != "" {
			write(t, filepath.Join(dir, "manifest.json"), c.manifest)
		}
		if _, err := backup.Open(dir); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// FuzzParseFile reads the lines of a list; a path never leaves its folder.
func FuzzParseFile(f *testing.F) {
	zeros := strings.Repeat("0", 64)
	for _, s := range []string{zeros + "  a/b", zeros + "  ../a", zeros + "  /a", zeros + "  a//b", zeros + "  C:\\a", "", zeros} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		file, err := backup.ParseFile(line)
		if err != nil {
			return
		}
		if !filepath.IsLocal(filepath.FromSlash(file.Path)) || fmt.Sprintf("%x  %s", file.SHA256,
			file.Path) != strings.ToLower(line[:64])+line[64:] {
			t.Errorf("%q: %q", line, file.Path)
		}
	})
}
