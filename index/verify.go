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
	"time"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// Verify reads every byte that the shard stands on: the checksum of each segment, and each text.
// The first fault is returned, as ErrCorrupt naming the file. Queries and writers go on. Opening
// verifies the checksums of the first gigabyte, and that fingerprints, spans and titles can be read. A shard that is open
// verifies all checksums within days, and those of segments that it merges.
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
		path := s.engine.dir // of a segment that is not on disk yet
		if p, ok := seg.Segment().(segment.PersistedSegment); ok {
			path = p.Path()
			if err := verifyFile(path, nil); err != nil {
				return corrupt(path, err)
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

// verifySegments compares the files of segments with their checksums. If one has changed, it fails with ErrCorrupt naming the
// file, and so does the engine that it belongs to from then on, and the next opening of the shard.
func verifySegments(segs []segment.Segment) error {
	for _, s := range segs {
		if p, ok := s.(segment.PersistedSegment); ok {
			if err := verifyFile(p.Path(), nil); err != nil {
				return suspect(p.Path(), err)
			}
		}
	}
	return nil
}

// suspectName is the file beside the index that names a segment whose bytes have changed.
const suspectName = "suspect"

// suspect ends the engine of a segment whose bytes have changed, and notes the segment for the next opening.
func suspect(path string, cause error) error {
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

// note names a damaged segment for the next opening.
func (e *engine) note(path string) {
	if e.reads {
		return
	}
	if err := os.WriteFile(filepath.Join(filepath.Dir(e.dir), suspectName), []byte(filepath.Base(path)), 0o600); err != nil {
		e.log("a damaged segment cannot be noted for the next start", "path", path, "error", err)
	}
}

const (
	// verifyAtOpen bounds the bytes of segments that opening compares with their checksums.
	verifyAtOpen = 1 << 30
	// scrubEvery is how often all segments of an open shard are, at scrubRate bytes a second.
	scrubEvery = 3 * 24 * time.Hour
	scrubRate  = 50 << 20
)

// verifyOpening compares segments with their checksums before anything is read from them: one that was suspected, and others as
// far as verifyAtOpen reaches.
func verifyOpening(dir string, segs []*scorch.SegmentSnapshot) error {
	suspected, err := os.ReadFile(filepath.Join(filepath.Dir(dir), suspectName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var read int64
	for _, seg := range segs {
		p, ok := seg.Segment().(segment.PersistedSegment)
		if !ok {
			continue
		}
		fi, err := os.Stat(p.Path())
		if err != nil {
			return corrupt(p.Path(), err)
		}
		if read += fi.Size(); read > verifyAtOpen && filepath.Base(p.Path()) != string(suspected) {
			continue
		}
		if err := verifyFile(p.Path(), nil); err != nil {
			return corrupt(p.Path(), err)
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
		if err := e.scrubOnce(); err != nil && !errors.Is(err, errClosing) {
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

func (e *engine) scrubOnce() error {
	snapshot, err := e.snapshot()
	if err != nil {
		return err
	}
	defer snapshot.Close()
	pace := func(n int) error {
		select {
		case <-e.closing:
			return errClosing
		case <-time.After(time.Duration(n) * time.Second / scrubRate):
			return nil
		}
	}
	for _, seg := range snapshot.Segments() {
		p, ok := seg.Segment().(segment.PersistedSegment)
		if !ok {
			continue
		}
		if err := verifyFile(p.Path(), pace); errors.Is(err, errClosing) {
			return err
		} else if err != nil {
			return suspect(p.Path(), err)
		}
	}
	return nil
}

// verifyFile compares a zap file with the CRC-32 in its last four bytes. each, if not nil, is called with the number of bytes of
// each part that was read, and its error ends the call.
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
		return fmt.Errorf("%d bytes", fi.Size())
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
		return fmt.Errorf("checksum %08x, stored %x", got, want)
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
