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

// Verify reads every byte on which the shard depends: it checks the checksum of each segment, and each text. It returns
// the first fault as an ErrCorrupt that names the file. Queries and writers continue. Opening for writing verifies the
// checksums of about a gigabyte, and that fingerprints, spans and titles can be read. An open shard verifies all checksums
// within days, and those of segments when it merges them.
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
		path := s.engine.dir // named for a segment that is not on disk yet
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

// verifySegments compares the files of segments with their checksums. If one has changed, it fails with an ErrCorrupt that
// names the file; from then on its engine fails in the same way, and so does the next opening of the shard.
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

// unlessDamage returns the result of as for an error of verifyFile that says that the file's bytes have changed or cannot be
// read; it returns other errors, for example too many open files, unchanged.
func unlessDamage(path string, err error, as func(path string, cause any) error) error {
	if errors.Is(err, errBytes) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) || errors.Is(err, syscall.EIO) {
		return as(path, err)
	}
	return err
}

// suspectName is the file next to the index that names a segment whose bytes have changed.
const suspectName = "suspect"

// suspect ends the engine of a segment whose bytes have changed, and records the segment for the next opening.
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
		e.log("a damaged segment cannot be noted for the next start", "path", path, "error", err)
	}
}

const (
	// verifyAtOpen bounds the bytes of segments that opening for writing compares with their checksums.
	verifyAtOpen = 1 << 30
	// scrubEvery is the interval at which all segments of an open shard are compared with their checksums, at
	// scrubRate bytes per second.
	scrubEvery = 3 * 24 * time.Hour
	scrubRate  = 50 << 20
)

// verifyOpening compares segments with their checksums before anything is read from them: a suspected one, and others up to the
// given number of bytes in all.
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

// errClosing ends a verification because the engine is being closed.
var errClosing = errors.New("closing")

// scrub compares all segments with their checksums, slowly, and again every scrubEvery, until the engine is closed.
func (e *engine) scrub() {
	tick := time.NewTicker(scrubEvery)
	defer tick.Stop()
	for {
		if err := e.scrubOnce(e.pace); err != nil && !errors.Is(err, errClosing) {
			e.log("segments could not be verified", "index", e.dir, "error", err)
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

// pace waits for as long as n bytes may take.
func (e *engine) pace(n int) error {
	select {
	case <-e.closing:
		return errClosing
	case <-time.After(time.Duration(n) * time.Second / scrubRate):
		return nil
	}
}

// scrubOnce compares the segments that the engine has now with their checksums; those that a merge has meanwhile replaced may be
// gone. It keeps none of them in use, since Purge waits until their files are gone. pace is called with the number of bytes of
// each part.
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

// pathsOf returns the files of those segments that have one.
func pathsOf(segs []*scorch.SegmentSnapshot) (paths []string) {
	for _, seg := range segs {
		if p, ok := seg.Segment().(segment.PersistedSegment); ok {
			paths = append(paths, p.Path())
		}
	}
	return paths
}

// errBytes says that a file's bytes have changed.
var errBytes = errors.New("changed bytes")

// verifyFile compares a zap file with the CRC-32 in its last four bytes. each, if not nil, is called with the length of each
// part read, in bytes, and its error ends the call.
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
		return fmt.Errorf("%w: %d in all", errBytes, fi.Size())
	}
	h := crc32.NewIEEE()
	buf := make([]byte, 1<<20)
	for left := fi.Size() - 4; left > 0; {
		part := buf[:min(left, int64(len(buf)))]
		if _, err := io.ReadFull(f, part); err != nil {
			return err
		}
		_, _ = h.Write(part) // never fails
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
		return fmt.Errorf("%w: checksum %08x, stored %x", errBytes, got, want)
	}
	return nil
}

// verifyTexts unpacks the living texts of a segment.
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
