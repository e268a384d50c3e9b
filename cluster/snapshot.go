package cluster

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/index"
)

// A snapshot is the index of a copy in transit to another node, file by file, unchanged, so the sender needs no second copy on disk.
// Integers are little-endian.
//
//	"concsnap" and the version, 1        8, 1
//	highest revision, or one above       8
//	for each file:
//	  length of the name, name           2, n
//	  pieces: length, bytes              4, n
//	  no more: 0                         4
//	  SHA-256 of the bytes               32
//	end: a name of length 0              2

const (
	callSnapshot  = "snapshot2"
	snapshotMagic = "concsnap\x01"
	snapshotPiece = 256 << 10
	maxFiles      = 1 << 16
	maxSnapName   = 1 << 10
	syncEvery     = 8 << 20 // number of bytes of a file after which writing to disk can begin
	syncsAtOnce   = 4
	sendingSuffix = ".sending" // suffix of folders from which small files are sent
	maxSnapPieces = 1 << 24    // per file
)

// serveSnapshot sends a snapshot of c.
func serveSnapshot(w http.ResponseWriter, r *http.Request, c *Copy) error {
	f, err := c.Index().Freeze()
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // the file was only read
	return c.sendFrozen(r.Context(), w, f)
}

// sendFrozen sends a snapshot of a frozen index. If it can send only part, it panics with http.ErrAbortHandler, so that the receiver
// notices.
func (c *Copy) sendFrozen(ctx context.Context, w http.ResponseWriter, f *index.Frozen) error {
	scratch, err := os.MkdirTemp(filepath.Dir(c.dir), filepath.Base(c.dir)+sendingSuffix)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(scratch) }() // the next opening removes it
	err = send(ctx, w, c.newestRevision(), func(ctx context.Context, file func(string) io.WriteCloser) error {
		return f.Send(ctx, scratch, file)
	})
	if err != nil {
		c.log.Warn("cannot send a snapshot to another node", "shard", c.o.Index.Shard, "error", err)
		panic(http.ErrAbortHandler)
	}
	return nil
}

// removeSending removes what is left of snapshots that a process was sending when it died.
func removeSending(dir string) error {
	left, err := filepath.Glob(dir + sendingSuffix + "*")
	for _, d := range left {
		err = errors.Join(err, os.RemoveAll(d))
	}
	return err
}

// send writes a snapshot that consists of the files yielded by each.
func send(ctx context.Context, to io.Writer, newest uint64, each func(context.Context, func(string) io.WriteCloser) error) error {
	b := binary.LittleEndian.AppendUint64([]byte(snapshotMagic), newest)
	if _, err := to.Write(b); err != nil {
		return err
	}
	s := &snapshotSender{to: to}
	if err := errors.Join(each(ctx, s.file), s.err); err != nil {
		return err
	}
	_, err := to.Write([]byte{0, 0})
	return err
}

// snapshotSender writes one file after another.
type snapshotSender struct {
	to    io.Writer
	err   error // first error
	piece []byte
}

func (s *snapshotSender) file(name string) io.WriteCloser {
	s.write(append(binary.LittleEndian.AppendUint16(nil, uint16(len(name))), name...))
	return &sentFile{snapshotSender: s, hash: sha256.New()}
}

func (s *snapshotSender) write(b []byte) {
	if s.err == nil {
		_, s.err = s.to.Write(b)
	}
}

// sentFile is a file being sent.
type sentFile struct {
	*snapshotSender
	hash hash.Hash
}

func (f *sentFile) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		n := min(len(rest), snapshotPiece)
		f.hash.Write(rest[:n])
		f.write(binary.LittleEndian.AppendUint32(nil, uint32(n)))
		f.write(rest[:n])
		rest = rest[n:]
	}
	return len(b), f.err
}

// ReadFrom implements io.ReaderFrom, using pieces of maximum size.
func (f *sentFile) ReadFrom(r io.Reader) (n int64, err error) {
	if f.piece == nil {
		f.piece = make([]byte, snapshotPiece)
	}
	for {
		k, err := io.ReadFull(r, f.piece)
		if _, werr := f.Write(f.piece[:k]); werr != nil {
			return n, werr
		}
		n += int64(k)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

func (f *sentFile) Close() error {
	f.write(f.hash.Sum([]byte{0, 0, 0, 0}))
	return f.err
}

// receive durably writes a snapshot from send to folder dir, which must not exist, and returns its highest revision.
func receive(body io.Reader, dir string) (newest uint64, err error) {
	r := &receiver{in: bufio.NewReaderSize(body, snapshotPiece), dir: dir, dirs: map[string]bool{dir: true}}
	r.syncs.SetLimit(syncsAtOnce)
	newest, err = r.all()
	if err = errors.Join(err, r.syncs.Wait()); err != nil {
		return 0, fmt.Errorf("snapshot: %w", err)
	}
	for d := range r.dirs {
		if err := syncDir(d); err != nil {
			return 0, err
		}
	}
	return newest, nil
}

type receiver struct {
	in    *bufio.Reader
	dir   string
	dirs  map[string]bool
	syncs errgroup.Group // the disk works while more data arrives
	piece []byte
}

func (r *receiver) all() (newest uint64, err error) {
	head := make([]byte, len(snapshotMagic)+8)
	if _, err := io.ReadFull(r.in, head); err != nil {
		return 0, fmt.Errorf("the data ends before a snapshot begins: %w: %w", concordat.ErrInvalid, err)
	}
	if !bytes.HasPrefix(head, []byte(snapshotMagic)) {
		return 0, fmt.Errorf("the data is not a snapshot, or comes from a different version: %w", concordat.ErrInvalid)
	}
	if err := os.MkdirAll(r.dir, 0o700); err != nil {
		return 0, err
	}
	for range maxFiles {
		name, err := r.name()
		if err != nil {
			return 0, err
		}
		if name == "" {
			return binary.LittleEndian.Uint64(head[len(snapshotMagic):]), nil
		}
		if err := r.file(name); err != nil {
			return 0, fmt.Errorf("%s: %w", name, err)
		}
	}
	return 0, fmt.Errorf("the snapshot has more than %d files: %w", maxFiles, concordat.ErrInvalid)
}

// name reads the name of the next file; it is empty after the last one.
func (r *receiver) name() (string, error) {
	var n [2]byte
	if _, err := io.ReadFull(r.in, n[:]); err != nil {
		return "", err
	}
	k := binary.LittleEndian.Uint16(n[:])
	if k == 0 {
		return "", nil
	}
	if k > maxSnapName {
		return "", fmt.Errorf("the snapshot has a file name that is too long (%d bytes): %w", k, concordat.ErrInvalid)
	}
	b := make([]byte, k)
	if _, err := io.ReadFull(r.in, b); err != nil {
		return "", err
	}
	if name := string(b); fs.ValidPath(name) && name != "." && !strings.Contains(name, "\\") {
		return name, nil
	}
	return "", fmt.Errorf("file name %q is not allowed: %w", b, concordat.ErrInvalid)
}

// file writes the next file.
func (r *receiver) file(name string) error {
	d := filepath.Join(r.dir, filepath.FromSlash(path.Dir(name)))
	if err := os.MkdirAll(d, 0o700); err != nil {
		return err
	}
	r.dirs[d] = true
	out, err := os.OpenFile(filepath.Join(r.dir, filepath.FromSlash(name)), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := r.pieces(out); err != nil {
		return errors.Join(err, out.Close())
	}
	r.syncs.Go(func() error { return errors.Join(out.Sync(), out.Close()) })
	return nil
}

// pieces copies the bytes of a file and verifies their checksum.
func (r *receiver) pieces(out *os.File) error {
	if r.piece == nil {
		r.piece = make([]byte, snapshotPiece)
	}
	h := sha256.New()
	busy := make(chan struct{}, 1) // the disk already has everything written before
	busy <- struct{}{}
	defer func() { <-busy }()
	written := 0
	for range maxSnapPieces {
		var n [4]byte
		if _, err := io.ReadFull(r.in, n[:]); err != nil {
			return err
		}
		k := binary.LittleEndian.Uint32(n[:])
		if k == 0 {
			return r.compare(h)
		}
		if k > snapshotPiece {
			return fmt.Errorf("the snapshot has a piece that is too long (%d bytes): %w", k, concordat.ErrInvalid)
		}
		if _, err := io.ReadFull(r.in, r.piece[:k]); err != nil {
			return err
		}
		h.Write(r.piece[:k])
		if _, err := out.Write(r.piece[:k]); err != nil {
			return err
		}
		if written += int(k); written >= syncEvery {
			select {
			case <-busy:
				written = 0
				r.syncs.Go(func() error { defer func() { busy <- struct{}{} }(); return out.Sync() })
			default:
			}
		}
	}
	return fmt.Errorf("the snapshot has a file with more than %d pieces: %w", maxSnapPieces, concordat.ErrInvalid)
}

func (r *receiver) compare(h hash.Hash) error {
	var want [sha256.Size]byte
	if _, err := io.ReadFull(r.in, want[:]); err != nil {
		return err
	}
	if got := h.Sum(nil); !bytes.Equal(got, want[:]) {
		return fmt.Errorf("the checksum is %x, want %x: %w", got, want, concordat.ErrCorrupt)
	}
	return nil
}
