package backup

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"concordat"
	"concordat/crypto"
)

const (
	encryptedSuffix = ".age"
	damagedSuffix   = ".damaged" + encryptedSuffix
	contentsName    = "contents" + encryptedSuffix // list of contents, in the state's folder
	identityName    = "identity" + encryptedSuffix // identity, encrypted with a passphrase, in the same folder

	maxIdentity = 64 << 10
	maxEntry    = 4*maxPath + 256 // maximum length in bytes of a line of the contents
)

var (
	// ErrLocked means that the backup is encrypted and not unlocked.
	ErrLocked = errors.New("the backup is encrypted")
	// ErrRecipient means that the backup is encrypted to other recipients.
	ErrRecipient = errors.New("the backup is encrypted to a different recipient")
)

// Encrypt specifies how to encrypt a backup.
type Encrypt struct {
	Recipients crypto.Recipients
	// Names is the key for computing the names of originals. Without it, no one can determine whether the backup contains a particular
	// file. Successive backups in a folder share originals as long as the key is the same.
	Names [32]byte
	// Identity, if not empty, is the identity of the only recipient, encrypted with a passphrase; see crypto.NewLockedIdentity. The
	// passphrase then opens the backup.
	Identity []byte
	// Stage is a missing or empty folder for the unencrypted state. It is removed at the end.
	Stage string
}

// encrypting is the encryption state of a Making, with the files added so far.
type encrypting struct {
	Encrypt
	stage    string
	contents []entry
}

func (e *encrypting) about() *Encryption {
	return &Encryption{Recipients: e.Recipients.Names(), Passphrase: len(e.Identity) > 0}
}

// BeginEncrypted begins an encrypted backup; see Begin. The method State then returns e.Stage.
func BeginEncrypted(dir string, now time.Time, e Encrypt) (*Making, error) {
	m, err := Begin(dir, now)
	if err != nil {
		return nil, err
	}
	m.enc = &encrypting{Encrypt: e, stage: e.Stage}
	return m, os.MkdirAll(e.Stage, 0o700)
}

// encryptOriginal adds an original with the given hash.
func (m *Making) encryptOriginal(path string, want [32]byte) (whole bool, err error) {
	name := originalPath(m.enc.Recipients.FileName(m.enc.Names, want))
	e := entry{File{Path: name + encryptedSuffix}, originalPath(hex.EncodeToString(want[:])), want}
	to := filepath.Join(m.dir, filepath.FromSlash(e.Path))
	if stored, ok := m.before[e.Path]; ok {
		if have, err := os.Stat(to); err == nil {
			e.SHA256 = stored
			m.add(e, have.Size())
			return true, nil // a file gets its final name only when complete
		}
	}
	if err := m.encryptFile(path, to, &e); err != nil {
		return false, err
	}
	if whole = e.content == want; !whole { // under this name, a later backup would treat it as intact
		e.Path = name + damagedSuffix
		if err := os.Rename(to, filepath.Join(m.dir, filepath.FromSlash(e.Path))); err != nil {
			return false, err
		}
	}
	return whole, m.addFile(e)
}

// encryptFile encrypts a file and sets the hashes in the entry.
func (m *Making) encryptFile(from, to string, e *entry) error {
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if _, err := os.Stat(from); err != nil {
		return err
	}
	return m.writeEncrypted(to, &e.File, func(w io.Writer) (err error) {
		e.content, err = sum(from, w, m.Progress)
		return err
	})
}

// writeEncrypted writes the output of write to an encrypted file, and sets the hash of its bytes.
func (m *Making) writeEncrypted(to string, f *File, write func(io.Writer) error) error {
	h := sha256.New()
	err := writeWhole(to, func(file io.Writer) error {
		w, err := m.enc.Recipients.Encrypt(io.MultiWriter(file, h))
		if err != nil {
			return err
		}
		return errors.Join(write(w), w.Close())
	})
	f.SHA256 = [32]byte(h.Sum(nil))
	return err
}

// addFile adds an existing file.
func (m *Making) addFile(e entry) error {
	info, err := os.Stat(filepath.Join(m.dir, filepath.FromSlash(e.Path)))
	if err == nil {
		m.add(e, info.Size())
	}
	return err
}

func (m *Making) add(e entry, size int64) {
	m.files, m.bytes = append(m.files, e.File), m.bytes+size
	m.enc.contents = append(m.enc.contents, e)
}

// encryptState encrypts the files in the stage into the backup. It removes each file and finally the stage.
func (m *Making) encryptState(ctx context.Context) error {
	err := filepath.WalkDir(m.enc.stage, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return errors.Join(err, ctx.Err())
		}
		rel, err := filepath.Rel(m.enc.stage, path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(rel)
		if !plain(name) {
			return fmt.Errorf("invalid path %q", name)
		}
		e := entry{File: File{Path: m.state + "/" + name + encryptedSuffix}, name: name}
		if err := m.encryptFile(path, filepath.Join(m.dir, filepath.FromSlash(e.Path)), &e); err != nil {
			return err
		}
		return errors.Join(m.addFile(e), os.Remove(path))
	})
	return errors.Join(err, os.RemoveAll(m.enc.stage))
}

// line is a line of the contents.
type line struct {
	File   string `json:"file"` // name of the stored file
	Name   string `json:"name"` // path within the site's folder
	SHA256 string `json:"sha256"`
}

// writeContents writes the identity and the list of contents, in the order of the list of files.
func (m *Making) writeContents() error {
	of := make(map[string]entry, len(m.enc.contents))
	for _, e := range m.enc.contents {
		of[e.Path] = e
	}
	list := File{Path: m.state + "/" + contentsName}
	err := m.writeEncrypted(filepath.Join(m.stored(), contentsName), &list, func(w io.Writer) error {
		buffered := bufio.NewWriter(w)
		lines := json.NewEncoder(buffered)
		for _, f := range m.files {
			e := of[f.Path]
			if err := lines.Encode(line{e.Path, e.name, hex.EncodeToString(e.content[:])}); err != nil {
				return err
			}
		}
		return buffered.Flush()
	})
	if err != nil {
		return err
	}
	m.files = append(m.files, list)
	if len(m.enc.Identity) > 0 {
		if err := writeSync(filepath.Join(m.stored(), identityName), m.enc.Identity); err != nil {
			return err
		}
		m.files = append(m.files, File{m.state + "/" + identityName, sha256.Sum256(m.enc.Identity)})
	}
	m.sort()
	return nil
}

// LockedIdentity returns the identity that opens the backup, encrypted with the backup's passphrase. It fails with ErrLocked if the
// backup is encrypted to recipients with identities elsewhere.
func (b *Backup) LockedIdentity() ([]byte, error) {
	if b.Manifest.Encryption == nil || !b.Manifest.Encryption.Passphrase {
		return nil, ErrLocked
	}
	return readBounded(filepath.Join(b.dir, b.Manifest.State, identityName), maxIdentity)
}

// Unlock makes an encrypted backup readable. It reads the whole list of contents, and fails with ErrRecipient or concordat.ErrCorrupt.
func (b *Backup) Unlock(o crypto.Opener) error {
	opened := *b
	opened.opener = &o
	if err := opened.check(); err != nil {
		return err
	}
	b.opener = &o
	return nil
}

// Unlocked reports whether the contents are readable.
func (b *Backup) Unlocked() bool { return b.Manifest.Encryption == nil || b.opener != nil }

// encryptedEntries reads the list of files and the list of contents in parallel.
func (b *Backup) encryptedEntries(f func(entry) error) error {
	file, err := os.Open(filepath.Join(b.dir, b.Manifest.State, contentsName))
	if err != nil {
		return fmt.Errorf("list of contents: %w: %w", concordat.ErrCorrupt, err)
	}
	defer func() { _ = file.Close() }() // opened read-only
	r, err := b.opener.Open(bufio.NewReader(file))
	if errors.Is(err, crypto.ErrNotRecipient) {
		return ErrRecipient
	}
	if err != nil {
		return fmt.Errorf("list of contents: %w: %w", concordat.ErrCorrupt, err)
	}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4096), maxEntry)
	own := map[string]bool{b.Manifest.State + "/" + contentsName: true, b.Manifest.State + "/" + identityName: true}
	err = b.each(func(stored File) error {
		if own[stored.Path] {
			return nil
		}
		if !lines.Scan() {
			return fmt.Errorf("%w: the list of contents is missing %s", concordat.ErrCorrupt, stored.Path)
		}
		e, err := parseEntry(lines.Bytes(), stored)
		if err != nil {
			return err
		}
		return f(e)
	})
	if err != nil {
		return err
	}
	if lines.Scan() {
		return fmt.Errorf("%w: the list of contents includes files that are not in the backup", concordat.ErrCorrupt)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("list of contents: %w: %w", concordat.ErrCorrupt, err)
	}
	return nil
}

// parseEntry parses a line of the contents, which must describe the stored file.
func parseEntry(text []byte, stored File) (entry, error) {
	var l line
	if err := json.Unmarshal(text, &l); err != nil {
		return entry{}, fmt.Errorf("%w: list of contents: %w", concordat.ErrCorrupt, err)
	}
	hash, err := hex.DecodeString(l.SHA256)
	if err != nil || len(hash) != sha256.Size || l.File != stored.Path || !plain(l.Name) {
		return entry{}, fmt.Errorf("%w: list of contents: invalid line for %s", concordat.ErrCorrupt, stored.Path)
	}
	return entry{stored, l.Name, [32]byte(hash)}, nil
}
