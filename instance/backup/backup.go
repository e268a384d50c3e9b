// Package backup stores copies of a site in a folder. Use Begin to create a backup, and Open to verify one or restore its files.
//
// A backup consists of a manifest, a folder with the state at one moment, and originals named by hash. The manifest is replaced last, so
// after a crash or on a full disk the folder contains either the whole previous backup or none. Existing originals are not copied again.
// A list in the format of sha256sum -c contains the SHA-256 of every file, and the manifest contains the hash of the list. The package
// does not depend on the store or the index; its caller copies them into the state's folder.
//
// An encrypted backup (BeginEncrypted) has the same files in encrypted form. Its list covers the encrypted bytes, so anyone without the
// key can still verify that nothing is missing or damaged. A second, encrypted list contains their names and the hashes of their
// contents. Unlock opens the second list.
package backup

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"concordat"
	"concordat/crypto"
)

const (
	// Format is the version of the folder; see doc/format.md.
	Format = 1
	// FormatShards is the format of a backup of several shards. It differs so that earlier versions do not mistake the backup for a
	// backup of a single shard.
	FormatShards = 2
	// FormatEncrypted is the format of an encrypted backup, of one or several shards.
	FormatEncrypted = 3

	manifestName = "manifest.json"
	listName     = "files.sha256" // in the state's folder
	statePrefix  = "state-"
	// Originals is the folder of files named by SHA-256, as aa/bb/HASH.
	Originals = "originals"

	maxManifest = 1 << 20
	maxPath     = 1024
)

// Manifest describes a backup.
type Manifest struct {
	Format  int              `json:"format"`
	Made    time.Time        `json:"made"` // time of the state
	Program string           `json:"program"`
	Site    concordat.SiteID `json:"site"`
	Scheme  concordat.Scheme `json:"scheme"`
	Keys    bool             `json:"keys"` // whether it includes the site's secrets
	// Audit is the last entry of the audit, with its number and hash.
	Audit Head `json:"audit"`
	// Documents is the number of documents in the catalogue, and Sentences the number of sentences in the index.
	Documents int `json:"documents"`
	Sentences int `json:"sentences"`
	// Shards is the number of shards, each in a separate folder, or 0 if the site has only one machine.
	Shards int `json:"shards,omitempty"`
	// State is the folder with the state. List is the SHA-256 of the list of all files.
	State string `json:"state"`
	List  string `json:"list"`
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
	// Encryption describes how the files are encrypted, or is nil if they are not.
	Encryption *Encryption `json:"encryption,omitempty"`
}

// Encryption specifies who can open an encrypted backup.
type Encryption struct {
	Recipients []string `json:"recipients"` // in the syntax of crypto.ParseRecipients
	// Passphrase reports whether the backup contains the identity of its only recipient, encrypted with a passphrase.
	Passphrase bool `json:"passphrase,omitempty"`
}

// Head is the last entry of an audit.
type Head struct {
	Seq    int64  `json:"seq"`
	Hash   string `json:"hash"`
	Signed []byte `json:"signed,omitempty"` // the site's signature, base64; empty if the site has no keys
}

// File is one file of a backup.
type File struct {
	Path   string // slash-separated, relative to the backup's folder
	SHA256 [32]byte
}

// Backup is a complete backup, open for reading. After Unlock returns, it is safe for concurrent use.
type Backup struct {
	Manifest Manifest
	dir      string
	opener   *crypto.Opener // set after an encrypted backup is unlocked
}

// Open reads and checks the manifest of the backup in dir, but no files. It fails with concordat.ErrNotFound if there is no complete
// backup, with concordat.ErrInvalid if the format is newer, and with concordat.ErrCorrupt if the manifest is damaged.
func Open(dir string) (*Backup, error) {
	path := filepath.Join(dir, manifestName)
	b, err := readBounded(path, maxManifest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s does not contain a complete backup: %w", dir, concordat.ErrNotFound)
	}
	if err != nil {
		return nil, err
	}
	m, err := parseManifest(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return &Backup{Manifest: *m, dir: dir}, nil
}

func parseManifest(b []byte) (*Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("%w: %v", concordat.ErrCorrupt, err)
	}
	if m.Format < Format || m.Format > FormatEncrypted {
		return nil, fmt.Errorf("%w: unsupported backup format %d; supported formats are %d to %d", concordat.ErrInvalid, m.Format, Format, FormatEncrypted)
	}
	if (m.Encryption != nil) != (m.Format == FormatEncrypted) {
		return nil, fmt.Errorf("%w: encryption settings do not match backup format %d", concordat.ErrCorrupt, m.Format)
	}
	if m.Shards < 0 || m.Format != FormatEncrypted && m.Shards > 0 != (m.Format == FormatShards) {
		return nil, fmt.Errorf("%w: %d shards are not possible in backup format %d", concordat.ErrCorrupt, m.Shards, m.Format)
	}
	if !strings.HasPrefix(m.State, statePrefix) || !plain(m.State) || strings.Contains(m.State, "/") {
		return nil, fmt.Errorf("%w: invalid folder name %q", concordat.ErrCorrupt, m.State)
	}
	if b, err := hex.DecodeString(m.List); err != nil || len(b) != sha256.Size {
		return nil, fmt.Errorf("%w: invalid hash of the list of files: %q", concordat.ErrCorrupt, m.List)
	}
	return &m, nil
}

func readBounded(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened read-only
	b, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("%s: %w: file is larger than %d bytes", path, concordat.ErrCorrupt, most)
	}
	return b, err
}

// plain reports whether a slash-separated path stays inside its folder on every system.
func plain(path string) bool {
	return len(path) <= maxPath && fs.ValidPath(path) && path != "." && !strings.ContainsAny(path, "\\:\x00\n\r")
}

// ParseFile parses a line of the list: 64 hexadecimal digits, two spaces, a path.
func ParseFile(line string) (File, error) {
	hash, path, ok := strings.Cut(line, "  ")
	b, err := hex.DecodeString(hash)
	if !ok || err != nil || len(b) != sha256.Size || !plain(path) {
		return File{}, fmt.Errorf("%w: invalid line in the list of files: %.100q", concordat.ErrCorrupt, line)
	}
	return File{path, [32]byte(b)}, nil
}

// each calls f for every file on the list, in order, and then compares the list with the manifest. It stops at the first error.
func (b *Backup) each(f func(File) error) error {
	list, err := os.Open(filepath.Join(b.dir, b.Manifest.State, listName))
	if err != nil {
		return fmt.Errorf("list of files: %w: %w", concordat.ErrCorrupt, err)
	}
	defer func() { _ = list.Close() }() // opened read-only
	h := sha256.New()
	lines := bufio.NewScanner(io.TeeReader(list, h))
	lines.Buffer(make([]byte, 0, 4096), maxPath+256)
	n := 0
	for lines.Scan() {
		file, err := ParseFile(lines.Text())
		if err != nil {
			return err
		}
		if !strings.HasPrefix(file.Path, b.Manifest.State+"/") && !strings.HasPrefix(file.Path, Originals+"/") {
			return fmt.Errorf("%w: the list of files contains an unexpected path: %s", concordat.ErrCorrupt, file.Path)
		}
		n++
		if err := f(file); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("list of files: %w: %w", concordat.ErrCorrupt, err)
	}
	if got := hex.EncodeToString(h.Sum(nil)); got != b.Manifest.List || n != b.Manifest.Files {
		return fmt.Errorf("%w: the list of %d files does not match the manifest", concordat.ErrCorrupt, n)
	}
	return nil
}

// Fault is a file that differs from its backed-up state.
type Fault struct {
	Path   string `json:"path"`
	Reason string `json:"reason"` // for display
}

// Verify reads all files and returns those that are missing or altered. For an encrypted backup, it compares the encrypted bytes and,
// after Unlock, their contents too. If progress is not nil, Verify calls it with the number of bytes read. It fails if the manifest and
// the lists do not match, or if progress returns an error.
func (b *Backup) Verify(progress func(bytes int) error) ([]Fault, error) {
	// Check the lists as a whole first, since a damaged list proves nothing about files.
	if err := b.check(); err != nil {
		return nil, err
	}
	var faults []Fault
	verify := func(f File, read func() error) error {
		err := read()
		switch {
		case errors.Is(err, errProgress):
			return err
		case errors.Is(err, fs.ErrNotExist):
			faults = append(faults, Fault{f.Path, "file is missing"})
		case errors.Is(err, errBytes):
			faults = append(faults, Fault{f.Path, "content has changed"})
		case err != nil:
			faults = append(faults, Fault{f.Path, "cannot read file: " + err.Error()})
		}
		return nil
	}
	if b.Manifest.Encryption != nil && b.opener != nil {
		err := b.entries(func(e entry) error {
			return verify(e.File, func() error { return b.copy(e, io.Discard, progress) })
		})
		return faults, err
	}
	err := b.each(func(f File) error {
		return verify(f, func() error { return b.copy(entry{File: f, content: f.SHA256}, io.Discard, progress) })
	})
	return faults, err
}

// errBytes means that a file's bytes do not match the list.
var errBytes = fmt.Errorf("%w: content has changed", concordat.ErrCorrupt)

// errProgress marks errors from the caller's progress function, which end the call.
var errProgress = errors.New("stopped")

// sum copies a file to w and returns its SHA-256.
func sum(path string, w io.Writer, progress func(int) error) ([32]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return [32]byte{}, err
	}
	defer func() { _ = f.Close() }() // opened read-only
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(h, w), &countingReader{f, progress})
	return [32]byte(h.Sum(nil)), err
}

// countingReader counts the bytes read through it.
type countingReader struct {
	r        io.Reader
	progress func(int) error
}

func (t *countingReader) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	if n > 0 && t.progress != nil {
		if stop := t.progress(n); stop != nil {
			return 0, fmt.Errorf("%w: %w", errProgress, stop)
		}
	}
	return n, err
}
