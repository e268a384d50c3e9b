package index

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"

	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"
)

// Verify reads every byte that the shard stands on: the checksum of each segment, and each text.
// The first fault is returned, as ErrCorrupt naming the file. Queries and writers go on. Opening
// checks less: that all files are there and that fingerprints, spans and titles can be read.
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
			if err := verifyFile(path); err != nil {
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

// verifyFile compares a zap file with the CRC-32 in its last four bytes.
func verifyFile(path string) error {
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
	if _, err := io.CopyN(h, f, fi.Size()-4); err != nil {
		return err
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
