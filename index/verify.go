package index

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// Verify reads every byte on which the shard depends, and checks each segment's checksum and each text. It returns the first fault as an
// ErrCorrupt that names the file. Queries and writers continue. Opening for writing verifies the checksums of about a gigabyte and checks
// that fingerprints, spans and titles are readable. An open shard verifies all checksums within days, and the checksums of segments when
// it merges them.
func (s *Shard) Verify(ctx context.Context) error {
	done, err := s.use()
	if err != nil {
		return err
	}
	defer done()
	snapshot, err := s.engine.snapshot()
	if err != nil {
		return err
	}
	defer snapshot.Close()
	for _, seg := range snapshot.Segments() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		path := s.engine.dir // reported for a segment that is not on disk yet
		if p, ok := seg.Segment().(segment.PersistedSegment); ok {
			path = p.Path()
			if err := verifyFile(path, nil); err != nil {
				return unlessDamage(path, err, corrupt)
			}
		}
		if err := guard(func() error { return verifyTexts(ctx, seg) }); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			return corrupt(path, err)
		}
	}
	return nil
}

// verifySegments checks the checksums of segments' files. If a file has changed, it fails with an ErrCorrupt that names it; from then on,
// the segment's engine fails too, as does the next opening of the shard.
func verifySegments(segs []segment.Segment) error {
	for _, s := range segs {
		if p, ok := s.(segment.PersistedSegment); ok {
			if err := verifyFile(p.Path(), nil); err != nil {
				return unlessDamage(p.Path(), err, suspect)
			}
		}
	}
	return nil
}

// If err from verifyFile means that the file has changed or is unreadable, unlessDamage returns the result of as; otherwise, for example
// with too many open files, it returns err.
func unlessDamage(path string, err error, as func(path string, cause any) error) error {
	if errors.Is(err, errBytes) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, syscall.EIO) {
		return as(path, err)
	}
	return err
}

// suspectName is the file next to the index that names a damaged segment.
const suspectName = "suspect"

// suspect stops the engine of a segment whose bytes have changed, and records the segment for the next opening.
func suspect(path string, cause any) error {
	err := corrupt(path, cause)
	dir := filepath.Dir(path)
	if v, ok := engines.Load(dir); ok {
		e := v.(*engine)
		e.log("a segment is damaged", "path", path, "error", err)
		e.note(path)
		e.fail(err)
	}
	return err
}

// note records a damaged segment for the next opening.
func (e *engine) note(path string) {
	if e.reads {
		return
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(e.dir), suspectName), []byte(filepath.Base(path)), 0o600); err != nil {
		e.log("cannot record the damaged segment for the next start", "path", path, "error", err)
	}
}

const (
	// verifyAtOpen limits how many bytes of segments are verified on opening for writing.
	verifyAtOpen = 1 << 30
	// scrubEvery is the interval at which all segments of an open shard are verified, at scrubRate bytes per second.
	scrubEvery = 3 * 24 * time.Hour
	scrubRate  = 50 << 20
)

// verifyOpening verifies segments before anything is read from them, namely any suspect one, and others up to most bytes in all.
func verifyOpening(dir string, paths []string, most int64) error {
	suspected, err := os.ReadFile(filepath.Join(filepath.Dir(dir), suspectName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var read int64
	for _, path := range paths {
		fi, err := os.Stat(path)
		if err != nil {
			return corrupt(path, err)
		}
		if filepath.Base(path) != string(suspected) {
			if read+fi.Size() > most {
				continue
			}
			read += fi.Size()
		}
		if err := verifyFile(path, nil); err != nil {
			return unlessDamage(path, err, corrupt)
		}
	}
	return nil
}

// errClosing stops a verification because the engine is closing.
var errClosing = errors.New("closing")

// scrub verifies all segments slowly, every scrubEvery, until the engine is closed.
func (e *engine) scrub() {
	tick := time.NewTicker(scrubEvery)
	defer tick.Stop()
	for {
		if err := e.scrubOnce(e.pace); err != nil && !errors.Is(err, errClosing) {
			e.log("cannot verify the segments", "index", e.dir, "error", err)
		}
		select {
		case <-e.closing:
			return
		case <-e.failed:
			return
		case <-tick.C:
		}
	}
}

// pace waits for the time that n bytes should take.
func (e *engine) pace(n int) error {
	select {
	case <-e.closing:
		return errClosing
	case <-time.After(time.Duration(n) * time.Second / scrubRate):
		return nil
	}
}

// scrubOnce verifies the engine's current segments; those replaced by a merge may be gone. It does not keep any of them in use, since
// Purge waits until their files are gone. It calls pace with the number of bytes of each part.
func (e *engine) scrubOnce(pace func(int) error) error {
	paths, err := e.segmentPaths()
	if err != nil {
		return err
	}
	for _, path := range paths {
		err := verifyFile(path, pace)
		if errors.Is(err, fs.ErrNotExist) {
			if now, failed := e.segmentPaths(); failed == nil && !slices.Contains(now, path) {
				continue // a merge replaced it
			}
		}
		if err != nil {
			return unlessDamage(path, err, suspect)
		}
	}
	return nil
}

// segmentPaths returns the files of the current segments.
func (e *engine) segmentPaths() (paths []string, err error) {
	snapshot, err := e.snapshot()
	if err != nil {
		return nil, err
	}
	return pathsOf(snapshot.Segments()), snapshot.Close()
}

// pathsOf returns the files of the segments that have one.
func pathsOf(segs []*scorch.SegmentSnapshot) (paths []string) {
	for _, seg := range segs {
		if p, ok := seg.Segment().(segment.PersistedSegment); ok {
			paths = append(paths, p.Path())
		}
	}
	return paths
}

// errBytes means that a file's bytes have changed.
var errBytes = errors.New("the file's content has changed")

// verifyFile compares a zap file with the CRC-32 in its last four bytes. It calls each, unless nil, with the length of each part read, in
// bytes, and stops if each returns an error.
func verifyFile(path string, each func(int) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return err
	}
	if fi.Size() < 4 {
		return fmt.Errorf("%w: the file has only %d bytes", errBytes, fi.Size())
	}
	h := crc32.NewIEEE()
	buf := make([]byte, 1<<20)
	for left := fi.Size() - 4; left > 0; {
		part := buf[:min(left, int64(len(buf)))]
		if _, err := io.ReadFull(f, part); err != nil {
			return err
		}
		_, _ = h.Write(part) // cannot fail
		left -= int64(len(part))
		if each != nil {
			if err := each(len(part)); err != nil {
				return err
			}
		}
	}
	var want [4]byte
	if _, err := io.ReadFull(f, want[:]); err != nil {
		return err
	}
	if got := h.Sum32(); got != binary.BigEndian.Uint32(want[:]) {
		return fmt.Errorf("%w: the checksum is %08x, want %x", errBytes, got, want)
	}
	return nil
}

// verifyTexts unpacks the live texts of a segment.
func verifyTexts(ctx context.Context, seg *scorch.SegmentSnapshot) error {
	for it := seg.DocNumbersLive().Iterator(); it.HasNext(); {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		var bad error
		err := seg.VisitDocument(uint64(it.Next()), func(name string, _ byte, value []byte, _ []uint64) bool {
			if name == fieldText {
				_, bad = unpackText(value)
			}
			return bad == nil
		})
		if err == nil {
			err = bad
		}
		if err != nil {
			return err
		}
	}
	return nil
}
