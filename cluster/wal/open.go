package wal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"concordat"
)

const (
	defaultSegment  = 16 << 20
	defaultLowWater = 64 << 20
	newSuffix       = ".new" // suffix of the folder where Reset builds a log
	oldSuffix       = ".old" // suffix of the folder that it replaces
)

// Open opens the log in folder dir, or creates an empty one there. It cuts off a torn end and then syncs everything to disk again, since
// a dead process's writes can exist only in memory. If records in the middle are damaged, it changes nothing and fails with a
// CorruptError.
func Open(dir string, o Options) (*Log, error) {
	if o.SegmentBytes == 0 {
		o.SegmentBytes = defaultSegment
	}
	if o.LowWater == 0 {
		o.LowWater = defaultLowWater
	}
	if o.SegmentBytes < 4<<10 || len(o.Shard) > 1<<10 {
		return nil, fmt.Errorf("cannot open a log for shard %q with files of %d bytes: %w", o.Shard, o.SegmentBytes, concordat.ErrInvalid)
	}
	if o.Free == nil {
		o.Free = func() (uint64, error) { return freeBytes(dir) }
	}
	if o.sync == nil {
		o.sync = (*os.File).Sync
	}
	if err := finishReset(dir, o); err != nil {
		return nil, err
	}
	bases, err := list(dir)
	if err != nil {
		return nil, err
	}
	if len(bases) == 0 {
		if err := replaceDir(dir, o, 0, 0); err != nil {
			return nil, err
		}
		bases = []uint64{0}
	}
	l := &Log{dir: dir, o: o}
	if err := l.load(bases); err != nil {
		for _, s := range l.segments {
			err = errors.Join(err, s.file.Close())
		}
		return nil, err
	}
	return l, nil
}

// finishReset completes an interrupted Reset, or the interrupted creation of the first log; afterwards, dir has the old log, the complete
// new one, or none. Its name is then on disk, because a rename by a process that died may exist only in memory.
func finishReset(dir string, o Options) error {
	next, old := dir+newSuffix, dir+oldSuffix
	_, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		// The new log is complete if the old one was moved away, because it was made durable before that.
		if _, err = os.Stat(old); errors.Is(err, fs.ErrNotExist) {
			return os.RemoveAll(next)
		}
		if err == nil {
			err = os.Rename(next, dir)
		}
	}
	if err == nil {
		err = syncDir(filepath.Dir(dir), o.sync)
	}
	if err != nil {
		return err
	}
	return errors.Join(os.RemoveAll(next), os.RemoveAll(old))
}

// replaceDir replaces whatever is in dir with an empty log.
func replaceDir(dir string, o Options, base, epoch uint64) error {
	next, old := dir+newSuffix, dir+oldSuffix
	if err := errors.Join(os.RemoveAll(next), os.RemoveAll(old)); err != nil {
		return err
	}
	if err := os.MkdirAll(next, 0o700); err != nil {
		return err
	}
	s, err := createSegment(next, o, base, epoch)
	if err != nil {
		return err
	}
	if err := s.file.Close(); err != nil {
		return err
	}
	if err := syncDir(filepath.Dir(dir), o.sync); err != nil {
		return err
	}
	if err := os.Rename(dir, old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Rename(next, dir); err != nil {
		return err
	}
	return errors.Join(syncDir(filepath.Dir(dir), o.sync), os.RemoveAll(old))
}

// list returns the bases of the segments in dir, ascending.
func list(dir string) ([]uint64, error) {
	es, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var bases []uint64
	for _, e := range es {
		base, ok := baseOf(e.Name())
		if !ok {
			return nil, fmt.Errorf("%s: not a log file: %w", filepath.Join(dir, e.Name()), concordat.ErrCorrupt)
		}
		bases = append(bases, base)
	}
	slices.Sort(bases)
	return bases, nil
}

// load reads the segments and repairs the end.
func (l *Log) load(bases []uint64) error {
	for i, base := range bases {
		s, err := openSegment(l.dir, base)
		if err != nil {
			return err
		}
		l.segments = append(l.segments, s)
		last := i == len(bases)-1
		bad, err := l.loadSegment(s, i == 0)
		if err != nil {
			return err
		}
		if bad == nil {
			continue
		}
		if !last && bases[i+1] == l.extent.End && bad.Offset > 0 {
			continue // the mark after the last record was torn, since marks alone are not synced
		}
		if !last {
			return bad
		}
		if err := l.mend(s, bad); err != nil {
			return err
		}
	}
	for _, s := range l.segments {
		if err := l.o.sync(s.file); err != nil { // KAFKA-10101: records that were read must not vanish later
			return err
		}
	}
	l.written, l.extent.Durable = l.extent.End, l.extent.End
	return syncDir(l.dir, l.o.sync)
}

// loadSegment reads s up to its end or the first bad byte, which it describes. first says that no segment precedes it.
func (l *Log) loadSegment(s *segment, first bool) (*CorruptError, error) {
	shard, version, ok := s.readHeader(l.o.Shard)
	switch {
	case ok && version != magic[7]:
		return nil, fmt.Errorf("%s has log format version %d, but this program supports version %d: %w", s.path, version, magic[7],
			concordat.ErrInvalid)
	case ok && shard != l.o.Shard:
		return nil, fmt.Errorf("%s belongs to shard %q, not %q: %w", s.path, shard, l.o.Shard, concordat.ErrInvalid)
	case !ok && first:
		l.extent = Extent{Base: s.base, End: s.base}
		return &CorruptError{s.path, 0, s.base + 1, "header damaged"}, nil
	case !ok:
		return &CorruptError{s.path, 0, l.extent.End + 1, "header damaged"}, nil
	case first:
		l.extent = Extent{Base: s.base, BaseEpoch: s.baseEpoch, End: s.base}
	case s.base != l.extent.End || s.baseEpoch != l.extent.EpochAt(l.extent.End):
		// The last segment is intact, so an older one has lost its end.
		return nil, &CorruptError{s.path, 0, l.extent.End + 1, fmt.Sprintf("the previous file ends at record %d, but this file starts after record %d",
			l.extent.End, s.base)}
	}
	b, err := os.ReadFile(s.path)
	if err != nil {
		return nil, err
	}
	for s.size < int64(len(b)) {
		r, n, ok := parse(b[s.size:], s.salt)
		if !ok || !l.follows(&r) {
			return &CorruptError{s.path, s.size, l.extent.End + 1, "damaged record"}, nil
		}
		if r.Kind != mark {
			s.offsets = append(s.offsets, s.size)
			l.extent.Extend(r.Epoch)
			if l.o.Found != nil {
				l.o.Found(&r)
			}
		}
		s.size += int64(n)
	}
	return nil, nil
}

// follows reports whether r may follow the last record.
func (l *Log) follows(r *Record) bool {
	if r.Kind == mark {
		return r.Seq == l.extent.End
	}
	return r.Seq == l.extent.End+1 && r.Epoch >= l.extent.EpochAt(l.extent.End) && r.Kind != 0
}

// mend cuts the last segment at its first bad byte; if the removed part had been acknowledged, it calls Damaged first.
func (l *Log) mend(s *segment, bad *CorruptError) error {
	lost, err := s.acknowledged(bad, l.extent.End, headerFixed+len(l.o.Shard))
	if err != nil {
		return err
	}
	if lost > 0 || bad.Offset == 0 && len(l.segments) == 1 {
		if l.o.Damaged == nil {
			return bad
		}
		if err := l.o.Damaged(max(lost, l.extent.End+1)); err != nil {
			return err
		}
	}
	if bad.Offset > 0 {
		if err := s.file.Truncate(s.size); err != nil {
			return err
		}
		return nil // load syncs the segment
	}
	// Even the header is incomplete.
	l.segments = l.segments[:len(l.segments)-1]
	if err := s.remove(); err != nil {
		return err
	}
	if len(l.segments) > 0 {
		return nil
	}
	next, err := createSegment(l.dir, l.o, s.base, 0)
	if err == nil {
		l.segments = append(l.segments, next)
	}
	return err
}

// acknowledged searches for marks after the first bad byte, and returns the highest record above end covered by one, or 0 if the bad part
// was never acknowledged. header is the length of the segment's header.
func (s *segment) acknowledged(bad *CorruptError, end uint64, header int) (uint64, error) {
	b, err := os.ReadFile(s.path)
	if err != nil {
		return 0, err
	}
	if bad.Offset == 0 {
		// The salt was lost with the header, so marks cannot be distinguished from other bytes. Records, however, are written only after
		// a header that is on disk.
		if len(b) > header {
			return end + 1, nil
		}
		return 0, nil
	}
	lost := uint64(0)
	var length [4]byte
	binary.LittleEndian.PutUint32(length[:], fixed)
	for at := int(bad.Offset); ; at++ {
		i := bytes.Index(b[at:], length[:])
		if i < 0 {
			return lost, nil
		}
		at += i
		if r, _, ok := parse(b[at:], s.salt); ok && r.Kind == mark && r.Seq > end {
			lost = max(lost, r.Seq)
		}
	}
}
