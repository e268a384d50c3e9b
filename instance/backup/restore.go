package backup

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"concordat"
)

// Restore copies the files accepted by want into dir under their names in a site's folder, and compares the bytes with the list while
// copying. It keeps existing files with the right bytes. A file that differs from its backed-up state never gets its final name. When
// Restore returns, everything is on disk. If a file is damaged, it fails with concordat.ErrCorrupt and names the file. If an encrypted
// backup is not unlocked, it fails with ErrLocked.
func (b *Backup) Restore(dir string, want func(name string) bool, progress func(bytes int) error) error {
	if b.Manifest.Encryption != nil && b.opener == nil {
		return ErrLocked
	}
	if err := b.check(); err != nil {
		return err
	}
	err := b.entries(func(e entry) error {
		if !want(e.name) {
			return nil
		}
		to := filepath.Join(dir, filepath.FromSlash(e.name))
		if have, err := sum(to, io.Discard, nil); err == nil && have == e.content {
			return nil
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			return err
		}
		if err := writeWhole(to, func(w io.Writer) error { return b.copy(e, w, progress) }); err != nil {
			return fmt.Errorf("restore %s: %w", e.name, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return syncDirs(dir)
}

// entry is a file of a backup and its content.
type entry struct {
	File             // the stored file
	name    string   // path within a site's folder
	content [32]byte // SHA-256 of its content
}

// entries calls f for all files of the site, in the order of the list. It stops at the first error.
func (b *Backup) entries(f func(entry) error) error {
	if b.Manifest.Encryption != nil {
		return b.encryptedEntries(f)
	}
	return b.each(func(file File) error {
		name := file.Path
		if state := b.Manifest.State + "/"; len(name) > len(state) && name[:len(state)] == state {
			name = name[len(state):]
		}
		return f(entry{file, name, file.SHA256})
	})
}

// check fails if the lists do not match each other or the manifest.
func (b *Backup) check() error {
	if b.opener != nil {
		return b.entries(func(entry) error { return nil })
	}
	return b.each(func(File) error { return nil })
}

// copy writes the content of a file to w. It fails with errBytes if the file or its content differs from the lists. In that case, discard
// the output.
func (b *Backup) copy(e entry, w io.Writer, progress func(int) error) error {
	f, err := os.Open(filepath.Join(b.dir, filepath.FromSlash(e.Path)))
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened read-only
	stored, content := sha256.New(), sha256.New()
	var from io.Reader = io.TeeReader(&countingReader{f, progress}, stored)
	raw := from
	if b.opener != nil {
		from, err = b.opener.Open(raw)
	}
	if err == nil {
		_, err = io.Copy(io.MultiWriter(content, w), from)
	}
	if errors.Is(err, errProgress) || b.opener == nil && err != nil {
		return err
	}
	if unread := drain(raw); unread != nil {
		return unread
	}
	if [32]byte(stored.Sum(nil)) != e.SHA256 || err == nil && [32]byte(content.Sum(nil)) != e.content {
		return errBytes
	}
	if err != nil { // the bytes match the list, so the fault must be elsewhere
		return fmt.Errorf("%w: cannot decrypt the file: %w", concordat.ErrCorrupt, err)
	}
	return nil
}

func drain(r io.Reader) error {
	_, err := io.Copy(io.Discard, r)
	return err
}
