package backup

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Making is a backup in progress. It is not safe for concurrent use, and a folder can have only one at a time.
type Making struct {
	// Progress, unless nil, is called with the number of bytes copied or read. If it returns an error, the backup ends.
	Progress func(bytes int) error

	dir   string
	state string
	files []File
	bytes int64
	enc   *encrypting // nil if the backup is not encrypted
	// before contains the originals of the previous backup with the hashes of their bytes. It is empty if that backup's list is damaged.
	before map[string][32]byte
}

// Begin creates the folder of a new state in dir. dir may contain a backup, an incomplete one, or nothing. Begin removes leftovers of
// interrupted backups.
func Begin(dir string, now time.Time) (*Making, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := tidy(dir); err != nil {
		return nil, err
	}
	name := statePrefix + now.UTC().Format("20060102T150405Z") + "-" + strings.ToLower(rand.Text()[:6])
	m := &Making{dir: dir, state: name, before: originalsOf(dir)}
	return m, os.Mkdir(m.stored(), 0o700)
}

// originalsOf returns the originals of the backup in dir with the hashes of their bytes, or none if there is no complete backup.
func originalsOf(dir string) map[string][32]byte {
	all := map[string][32]byte{}
	b, err := Open(dir)
	if err != nil {
		return all
	}
	err = b.each(func(f File) error {
		if strings.HasPrefix(f.Path, Originals+"/") {
			all[f.Path] = f.SHA256
		}
		return nil
	})
	if err != nil {
		clear(all)
	}
	return all
}

// State returns the folder for the state. For an encrypted backup, this is the folder for the caller's unencrypted files.
func (m *Making) State() string {
	if m.enc != nil {
		return m.enc.stage
	}
	return m.stored()
}

// stored returns the state's folder in the backup.
func (m *Making) stored() string { return filepath.Join(m.dir, m.state) }

// tidy removes unfinished files, and states other than the one in the manifest.
func tidy(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	keep := ""
	if b, err := Open(dir); err == nil {
		keep = b.Manifest.State
	}
	var errs []error
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), statePrefix) && e.Name() != keep || e.Name() == manifestName+".new" {
			errs = append(errs, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// AddFile copies a file into the state under a slash-separated path. If there is no such file, it returns false without an error.
func (m *Making) AddFile(from, path string) (bool, error) {
	if !plain(path) {
		return false, fmt.Errorf("invalid path %q", path)
	}
	to := filepath.Join(m.State(), filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return false, err
	}
	_, err := copyFile(from, to, m.Progress)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// AddOriginals copies missing originals to the backup from a folder of files named by SHA-256. It skips files that disappear in the
// meantime. If a file's bytes do not match its name, the file is copied unchanged and named in the result.
func (m *Making) AddOriginals(ctx context.Context, from string) (damaged []string, err error) {
	err = filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		}
		if _, ok := hashName(e.Name()); !ok || !e.Type().IsRegular() {
			return nil
		}
		whole, err := m.AddOriginal(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err == nil && !whole {
			damaged = append(damaged, e.Name())
		}
		return err
	})
	return damaged, err
}

// AddOriginal copies a file named by its SHA-256 unless the backup already has it. If the bytes do not match the name, the file is copied
// unchanged and AddOriginal returns false.
func (m *Making) AddOriginal(path string) (bool, error) {
	want, ok := hashName(filepath.Base(path))
	if !ok {
		return false, fmt.Errorf("original %s: file name is not a SHA-256 hash", path)
	}
	if m.enc != nil {
		return m.encryptOriginal(path, want)
	}
	name := originalPath(filepath.Base(path))
	to := filepath.Join(m.dir, filepath.FromSlash(name))
	info, err := os.Stat(path)
	if err != nil {
		return false, err
	}
	before, listed := m.before[name]
	if have, err := os.Stat(to); err == nil && have.Size() == info.Size() && (!listed || before == want) {
		m.files, m.bytes = append(m.files, File{name, want}), m.bytes+info.Size()
		return true, nil // a file gets its final name only when complete
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return false, err
	}
	got, err := copyFile(path, to, m.Progress)
	if err != nil {
		return false, err
	}
	m.files, m.bytes = append(m.files, File{name, got}), m.bytes+info.Size()
	return got == want, nil
}

func hashName(name string) (sum [32]byte, ok bool) {
	b, err := hex.DecodeString(name)
	if err != nil || len(b) != sha256.Size || strings.ToLower(name) != name {
		return sum, false
	}
	return [32]byte(b), true
}

func originalPath(hash string) string {
	return Originals + "/" + hash[:2] + "/" + hash[2:4] + "/" + hash
}

// Finish hashes the state, writes the list, and replaces the manifest with about, in which it sets Format, State and the fields after
// State. It then removes the previous state and obsolete originals.
func (m *Making) Finish(ctx context.Context, about Manifest) (*Manifest, error) {
	add := m.addState
	if m.enc != nil {
		add = m.encryptState
	}
	if err := add(ctx); err != nil {
		return nil, err
	}
	m.sort()
	about.Format = Format
	if about.Shards > 0 {
		about.Format = FormatShards
	}
	if m.enc != nil {
		about.Format, about.Encryption = FormatEncrypted, m.enc.about()
		if err := m.writeContents(); err != nil {
			return nil, err
		}
	}
	about.State, about.Files, about.Bytes = m.state, len(m.files), m.bytes
	var err error
	if about.List, err = m.writeList(); err != nil {
		return nil, err
	}
	b, err := json.MarshalIndent(about, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := syncDirs(m.dir); err != nil {
		return nil, err
	}
	path := filepath.Join(m.dir, manifestName)
	if err := writeSync(path+".new", append(b, '\n')); err != nil {
		return nil, err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return nil, err
	}
	if err := syncPath(m.dir); err != nil {
		return nil, err
	}
	return &about, errors.Join(tidy(m.dir), m.tidyOriginals())
}

// sort sorts the files in the order of the list.
func (m *Making) sort() {
	slices.SortFunc(m.files, func(a, b File) int { return strings.Compare(a.Path, b.Path) })
}

// Abandon removes the new state. Originals remain for the next attempt.
func (m *Making) Abandon() error {
	return errors.Join(os.RemoveAll(m.State()), os.RemoveAll(m.stored()))
}

// addState hashes the files of the state.
func (m *Making) addState(ctx context.Context) error {
	return filepath.WalkDir(m.stored(), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return errors.Join(err, ctx.Err())
		}
		rel, err := filepath.Rel(m.dir, path)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		h, err := sum(path, io.Discard, m.Progress)
		m.files, m.bytes = append(m.files, File{filepath.ToSlash(rel), h}), m.bytes+info.Size()
		return err
	})
}

func (m *Making) writeList() (hash string, err error) {
	f, err := os.OpenFile(filepath.Join(m.stored(), listName), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	w := bufio.NewWriter(io.MultiWriter(f, h))
	for _, x := range m.files {
		_, _ = fmt.Fprintf(w, "%x  %s\n", x.SHA256, x.Path) // Flush returns the error
	}
	err = errors.Join(w.Flush(), f.Sync(), f.Close())
	return hex.EncodeToString(h.Sum(nil)), err
}

// tidyOriginals removes originals that are not on the list.
func (m *Making) tidyOriginals() error {
	needed := make(map[string]bool, len(m.files))
	for _, f := range m.files {
		needed[f.Path] = true
	}
	root := filepath.Join(m.dir, Originals)
	err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		rel, err := filepath.Rel(m.dir, path)
		if err != nil || needed[filepath.ToSlash(rel)] {
			return err
		}
		return os.Remove(path)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// copyFile copies a file atomically. The copy is readable only by its owner, and gets its final name only after it is complete and on
// disk.
func copyFile(from, to string, progress func(int) error) (hash [32]byte, err error) {
	err = writeWhole(to, func(w io.Writer) (err error) {
		hash, err = sum(from, w, progress)
		return err
	})
	return hash, err
}

// writeWhole writes the output of write to a file atomically. The file is readable only by its owner, and gets its final name only after
// it is complete and on disk.
func writeWhole(to string, write func(io.Writer) error) error {
	tmp := to + ".part"
	f, err := os.OpenFile(tmp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(tmp, to)
	}
	if err != nil {
		_ = os.Remove(tmp) // the first error is returned
	}
	return err
}

func writeSync(path string, b []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	if _, err = f.Write(b); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// syncDirs makes the names in dir and all its subfolders durable.
func syncDirs(dir string) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		return syncPath(path)
	})
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Own reports whether a name in a backup's folder belongs to this package.
func Own(name string) bool {
	return name == manifestName || name == manifestName+".new" || name == Originals || strings.HasPrefix(name, statePrefix)
}
