package index

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"

	"concordat"
)

// These are the names within a shard's folder.
const (
	headerName = "shard.json" // describes the shard; written last on creation
	lockName   = "lock"       // empty; locked with flock while the shard is open
	storeName  = "store"      // Bleve's own files
)

const (
	formatVersion = 2
	maxHeader     = 64 << 10
)

// header is the content of shard.json.
type header struct {
	Format   int               `json:"format"`
	Site     concordat.SiteID  `json:"site"`
	Shard    concordat.ShardID `json:"shard"`
	Scheme   concordat.Scheme  `json:"scheme"`
	Checksum string            `json:"checksum"` // CRC-32C of the JSON with an empty checksum, 8 hexadecimal digits
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// sum returns the checksum of h.
func (h header) sum() string {
	h.Checksum = ""
	b, err := json.Marshal(h)
	if err != nil {
		panic(err) // strings and an int always marshal
	}
	return fmt.Sprintf("%08x", crc32.Checksum(b, castagnoli))
}

// restoreHint ends the message of every ErrCorrupt.
const restoreHint = "restore the shard from a replica or backup, or remove its folder and index the documents again"

func corrupt(path string, cause any) error {
	return fmt.Errorf("%s: %v; %s: %w", path, cause, restoreHint, concordat.ErrCorrupt)
}

// readHeader returns the header in dir; without one, the error is fs.ErrNotExist.
func readHeader(dir string) (*header, error) {
	path := filepath.Join(dir, headerName)
	if fi, err := os.Stat(path); err != nil {
		return nil, err
	} else if fi.Size() > maxHeader {
		return nil, corrupt(path, fmt.Sprintf("the header is too large (%d bytes)", fi.Size()))
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	h := new(header)
	if err := json.Unmarshal(b, h); err != nil {
		return nil, corrupt(path, err)
	}
	if h.Format != formatVersion {
		return nil, fmt.Errorf("%s has format version %d, but this program supports version %d; remove the folder and index the documents again: %w", path,
			h.Format, formatVersion, concordat.ErrInvalid)
	}
	if h.Checksum != h.sum() {
		return nil, corrupt(path, "wrong checksum")
	}
	return h, nil
}

// openHeader is readHeader for a process that will write; it ensures that the header is on disk. A header from a crashed process might be
// only in the system's cache, and a folder with segments but no header is refused.
func openHeader(dir string) (*header, error) {
	h, err := readHeader(dir)
	if err != nil {
		return nil, err
	}
	return h, syncDir(dir)
}

// SchemeOf returns the scheme of the shard in dir without opening it. It returns the same errors as Open.
func SchemeOf(dir string) (concordat.Scheme, error) {
	h, err := readHeader(dir)
	if err != nil {
		return "", err
	}
	return h.Scheme, nil
}

// writeHeader writes h to dir atomically and durably.
func writeHeader(dir string, h header) error {
	h.Checksum = h.sum()
	b, err := json.MarshalIndent(h, "", "  ")
	if err != nil {
		return err
	}
	path := filepath.Join(dir, headerName)
	temp := path + ".tmp"
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		return err
	}
	return syncDir(dir)
}

// syncDir makes the names of dir's files durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// isNew reports whether dir contains no shard yet: it is absent, empty, or left by an interrupted creation, without a Bleve segment.
func isNew(dir string) (bool, error) {
	es, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	} else if err != nil {
		return false, err
	}
	for _, e := range es {
		switch e.Name() {
		case lockName, headerName + ".tmp", "identity": // identifies the index in the site's records
		case storeName:
			zaps, err := filepath.Glob(filepath.Join(dir, storeName, "*.zap"))
			if err != nil || len(zaps) > 0 {
				return false, err
			}
		default:
			return false, nil
		}
	}
	return true, nil
}

// check compares the header with the caller's expectations; it ignores empty options.
func (h *header) check(o *Options) error {
	if o.Scheme != "" && o.Scheme != h.Scheme {
		return fmt.Errorf("the shard's fingerprints use scheme %s, not scheme %s: %w", h.Scheme, o.Scheme, concordat.ErrScheme)
	}
	if o.Site != "" && o.Site != h.Site {
		return fmt.Errorf("the shard belongs to site %q, not site %q: %w", h.Site, o.Site, concordat.ErrInvalid)
	}
	if o.Shard != "" && o.Shard != h.Shard {
		return fmt.Errorf("the folder contains shard %q, not shard %q: %w", h.Shard, o.Shard, concordat.ErrInvalid)
	}
	return nil
}
