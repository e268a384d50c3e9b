// Package wal is the write-ahead log of one copy of a shard. It contains the acknowledged records, which must survive.
//
// Start from Open. Append adds records to the current group; Sync writes the group and waits for the disk, after which records are
// acknowledged. Read returns records by number, for an index that is behind and for other nodes. The log does not know about documents or
// who can write; doc/cluster.md describes every stored byte.
//
// Marks determine the meaning of a bad record. The log never starts a group before the previous one is on disk, and records this with a
// mark after each group. A bad record not followed by a mark belongs to a group that was never acknowledged; it is a torn write, and is
// cut off silently. A bad record covered by a mark was acknowledged and is damaged. (Alagappan et al. 2018, Protocol-Aware Recovery, make
// the same distinction.)
package wal

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sort"
	"sync"

	"concordat"
)

// Options configure a log.
type Options struct {
	// Shard is the copy's shard; a log of another shard is refused.
	Shard concordat.ShardID
	// SegmentBytes is the approximate size of a file; default 16 MiB, at least 4 KiB.
	SegmentBytes int64
	// LowWater is the minimum number of free bytes that Append leaves on the disk; default 64 MiB.
	LowWater uint64
	// Free returns the free bytes on the disk; the default is to ask the folder's file system.
	Free func() (uint64, error)
	// Damaged is called before acknowledged records at the end of the log are cut off because they are damaged; lost is the highest of
	// their numbers. The caller durably records that this copy must not lead; if Damaged fails, Open fails with its error. If Damaged is
	// nil, Open fails and cuts nothing off.
	Damaged func(lost uint64) error
	// Found is called during opening with each record in the log, in order. Its strings and bytes are valid only during the call. It can
	// be nil.
	Found func(*Record)

	sync func(*os.File) error // replaced by tests to simulate failures; default (*os.File).Sync
}

// ErrFailed is the error of a log that failed to write, or could not be sure that it succeeded. Records confirmed by Sync are safe; the
// others may or may not be there. Reopen the log to find out.
var ErrFailed = errors.New("log failed")

// CorruptError reports where acknowledged records are damaged, which makes the copy unusable. It wraps concordat.ErrCorrupt.
type CorruptError struct {
	Path   string // path of the file
	Offset int64  // offset of the first known bad byte
	Seq    uint64 // number of the record expected there
	Reason string
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s: byte %d, record %d: %s", e.Path, e.Offset, e.Seq, e.Reason)
}

// Unwrap makes errors.Is(e, concordat.ErrCorrupt) true.
func (e *CorruptError) Unwrap() error { return concordat.ErrCorrupt }

// Epoch is the range of one master's records, from First up to First of the next Epoch.
type Epoch struct{ Epoch, First uint64 }

// Extent describes the records in a log.
type Extent struct {
	// Base is the number of the last removed record, and BaseEpoch its epoch; both are 0 in a log that was never trimmed.
	Base, BaseEpoch uint64
	End             uint64  // last record; Base if there is none
	Durable         uint64  // records up to here are on disk
	Epochs          []Epoch // epochs of the records after Base, ascending
}

// EpochAt returns the epoch of record seq, which must be Base or a record in the log.
func (x *Extent) EpochAt(seq uint64) uint64 {
	i := sort.Search(len(x.Epochs), func(i int) bool { return x.Epochs[i].First > seq })
	if i == 0 {
		return x.BaseEpoch
	}
	return x.Epochs[i-1].Epoch
}

// EndOf returns the last record with an epoch not above the given one, and its epoch; false if that record is before Base.
func (x *Extent) EndOf(epoch uint64) (seq, at uint64, ok bool) {
	if x.BaseEpoch > epoch {
		return 0, 0, false
	}
	i := sort.Search(len(x.Epochs), func(i int) bool { return x.Epochs[i].Epoch > epoch })
	seq, at = x.End, x.BaseEpoch
	if i < len(x.Epochs) {
		seq = x.Epochs[i].First - 1
	}
	if i > 0 {
		at = x.Epochs[i-1].Epoch
	}
	return seq, at, true
}

// Truncate removes the records after seq, which must be at least Base.
func (x *Extent) Truncate(seq uint64) {
	x.End, x.Durable = min(x.End, seq), min(x.Durable, seq)
	for len(x.Epochs) > 0 && x.Epochs[len(x.Epochs)-1].First > seq {
		x.Epochs = x.Epochs[:len(x.Epochs)-1]
	}
}

// Rebase forgets the records up to base, which has the given epoch.
func (x *Extent) Rebase(base, epoch uint64) {
	x.Base, x.BaseEpoch = base, epoch
	i := sort.Search(len(x.Epochs), func(i int) bool { return x.Epochs[i].First > base+1 })
	if i > 0 && x.Epochs[i-1].Epoch != epoch {
		i--
	}
	x.Epochs = slices.Clone(x.Epochs[i:])
}

// Extend adds a record with the given epoch after End.
func (x *Extent) Extend(epoch uint64) {
	x.End++
	if epoch != x.EpochAt(x.End-1) {
		x.Epochs = append(x.Epochs, Epoch{epoch, x.End})
	}
}

// Log is an open log. It is safe for concurrent use.
type Log struct {
	dir string
	o   Options

	// flush is held while files are written, cut or removed; it is acquired before mu.
	flush sync.Mutex

	mu       sync.RWMutex // protects the following fields; readers hold it during disk access
	segments []*segment   // oldest first; the last one grows
	extent   Extent
	written  uint64   // the segments contain the records up to here
	pending  []Record // records written+1 to extent.End: the current group and the one being written
	failed   error
}

// Extent returns the extent of the log.
func (l *Log) Extent() Extent {
	l.mu.RLock()
	defer l.mu.RUnlock()
	x := l.extent
	x.Epochs = slices.Clone(x.Epochs)
	return x
}

// Room returns concordat.ErrDiskFull if Append would refuse another size bytes.
func (l *Log) Room(size int) error {
	free, err := l.o.Free()
	if err != nil {
		return fmt.Errorf("cannot determine the free space for the log %s: %w", l.dir, err)
	}
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.leaves(free, uint64(size))
}

// leaves reports whether enough space remains after another size bytes. mu must be held.
func (l *Log) leaves(free, size uint64) error {
	for i := range l.pending {
		size += uint64(l.pending[i].Size())
	}
	if free < l.o.LowWater+size {
		return fmt.Errorf("log %s: %d bytes are free, but %d are kept in reserve: %w", l.dir, free, l.o.LowWater, concordat.ErrDiskFull)
	}
	return nil
}

// Append adds the records to the current group. They can be read immediately, and are on disk after Sync. The first record of an epoch,
// 36 bytes long, can use the reserve; otherwise, no copy on a full disk could lead, and none could be read. Errors: concordat.ErrDiskFull
// (nothing was added), concordat.ErrInvalid for records that do not follow the last one, ErrFailed.
func (l *Log) Append(rs ...Record) error {
	size := uint64(0)
	for i := range rs {
		size += uint64(rs[i].Size())
	}
	free, err := l.o.Free()
	if err != nil {
		return fmt.Errorf("cannot determine the free space for the log %s: %w", l.dir, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return l.failed
	}
	if slices.ContainsFunc(rs, func(r Record) bool { return r.Kind != Noop }) {
		if err := l.leaves(free, size); err != nil {
			return err
		}
	}
	epoch := l.extent.EpochAt(l.extent.End)
	for i := range rs {
		r := &rs[i]
		if r.Seq != l.extent.End+1+uint64(i) || r.Epoch < epoch || r.Kind == 0 || r.Kind == mark || len(r.ID) > MaxID ||
			len(r.Payload) > MaxPayload {
			return fmt.Errorf("log %s ends at record %d, so record %d of epoch %d, kind %d, cannot be appended: %w", l.dir, l.extent.End, r.Seq, r.Epoch,
				r.Kind, concordat.ErrInvalid)
		}
		epoch = r.Epoch
	}
	for i := range rs {
		l.extent.Extend(rs[i].Epoch)
	}
	l.pending = append(l.pending, rs...)
	return nil
}

// Sync writes the records appended before the call and waits for the disk. It returns the number of the last record certain to be on
// disk. Its error is ErrFailed, which is permanent.
func (l *Log) Sync() (uint64, error) {
	l.flush.Lock()
	defer l.flush.Unlock()
	l.mu.RLock()
	group, err, durable := l.pending, l.failed, l.extent.Durable
	l.mu.RUnlock()
	if err != nil || len(group) == 0 {
		return durable, err
	}
	if err := l.writeGroup(group); err != nil {
		return durable, l.fail(err)
	}
	return group[len(group)-1].Seq, nil
}

// fail ends the log. flush must be held.
func (l *Log) fail(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed == nil {
		if isDiskFull(err) {
			err = fmt.Errorf("%w: %w", err, concordat.ErrDiskFull)
		}
		l.failed = fmt.Errorf("log %s: %w: %w", l.dir, ErrFailed, err)
	}
	return l.failed
}

// writeGroup writes the group after the last record, and then its mark. flush must be held.
func (l *Log) writeGroup(group []Record) error {
	s, err := l.room()
	if err != nil {
		return err
	}
	var b []byte
	offsets := make([]int64, len(group))
	for i := range group {
		offsets[i] = s.size + int64(len(b))
		b = group[i].append(b, s.salt)
	}
	if _, err := s.file.WriteAt(b, s.size); err != nil {
		return err
	}
	if err := l.o.sync(s.file); err != nil {
		return err // the disk content is now unknown, so never retry (fsync reports an error only once)
	}
	last := group[len(group)-1].Seq
	m := Record{Seq: last, Epoch: group[len(group)-1].Epoch, Kind: mark}
	if _, err := s.file.WriteAt(m.append(nil, s.salt), s.size+int64(len(b))); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	s.offsets = append(s.offsets, offsets...)
	s.size += int64(len(b)) + markSize
	l.written, l.extent.Durable = last, last
	l.pending = slices.Clone(l.pending[len(group):])
	return nil
}

// room returns the segment for the next group. flush must be held.
func (l *Log) room() (*segment, error) {
	s := l.segments[len(l.segments)-1]
	if s.size < l.o.SegmentBytes || len(s.offsets) == 0 {
		return s, nil
	}
	next, err := createSegment(l.dir, l.o, l.written, l.extentEpoch(l.written))
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.segments = append(l.segments, next)
	l.mu.Unlock()
	return next, nil
}

func (l *Log) extentEpoch(seq uint64) uint64 {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.extent.EpochAt(seq)
}

// Read returns records in order, starting with number from, as many as fit in maxBytes but at least one; it returns none if from is
// beyond the end. It fails with concordat.ErrNotFound if from is not above Base, and with a CorruptError if the disk returns different
// bytes from the ones written.
func (l *Log) Read(from uint64, maxBytes int) ([]Record, error) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	if from <= l.extent.Base {
		return nil, fmt.Errorf("log %s starts after record %d, so record %d is no longer available: %w", l.dir, l.extent.Base, from, concordat.ErrNotFound)
	}
	var rs []Record
	for size := 0; from <= l.extent.End; {
		if from > l.written {
			r := l.pending[from-l.written-1]
			if size += r.Size(); size > maxBytes && len(rs) > 0 {
				return rs, nil
			}
			rs = append(rs, r)
			from++
			continue
		}
		more, err := l.segmentOf(from).read(from, min(l.written, from+maxRead-1), maxBytes-size)
		if err != nil {
			return nil, err
		}
		for i := range more {
			if size += more[i].Size(); size > maxBytes && len(rs) > 0 {
				return rs, nil
			}
			rs = append(rs, more[i])
		}
		from += uint64(len(more))
	}
	return rs, nil
}

// maxRead is the maximum number of records per disk read.
const maxRead = 1024

// segmentOf returns the segment that contains record seq. mu must be held.
func (l *Log) segmentOf(seq uint64) *segment {
	i := sort.Search(len(l.segments), func(i int) bool { return l.segments[i].base >= seq })
	return l.segments[i-1]
}

// Truncate durably removes the records after seq. It fails with concordat.ErrInvalid if seq is below Base, and with ErrFailed if the disk
// fails.
func (l *Log) Truncate(seq uint64) error {
	l.flush.Lock()
	defer l.flush.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return l.failed
	}
	if seq < l.extent.Base {
		return fmt.Errorf("log %s starts after record %d, so the log cannot be truncated to record %d: %w", l.dir, l.extent.Base, seq, concordat.ErrInvalid)
	}
	if err := l.truncate(seq); err != nil {
		l.failed = fmt.Errorf("log %s: %w: truncate: %w", l.dir, ErrFailed, err)
		return l.failed
	}
	return nil
}

// truncate removes the records after seq, newest file first, so that a crash or power failure leaves a shorter log without gaps. flush
// and mu must be held.
func (l *Log) truncate(seq uint64) error {
	l.extent.Truncate(seq)
	if seq >= l.written {
		l.pending = slices.Clone(l.pending[:min(uint64(len(l.pending)), l.extent.End-l.written)])
		return nil
	}
	l.pending, l.written = nil, seq
	for last := l.segments[len(l.segments)-1]; last.base > seq || last.base == seq &&
		len(l.segments) > 1; last = l.segments[len(l.segments)-1] {
		if err := last.remove(); err != nil {
			return err
		}
		l.segments = l.segments[:len(l.segments)-1]
		if err := syncDir(l.dir, l.o.sync); err != nil {
			return err
		}
	}
	return l.segments[len(l.segments)-1].cut(seq, l.o.sync)
}

// Rotate makes the next group start a new file, so that Trim can remove everything written so far.
func (l *Log) Rotate() error {
	l.flush.Lock()
	defer l.flush.Unlock()
	l.mu.RLock()
	err, empty := l.failed, l.failed == nil && len(l.segments[len(l.segments)-1].offsets) == 0
	l.mu.RUnlock()
	if err != nil || empty {
		return err
	}
	next, err := createSegment(l.dir, l.o, l.written, l.extentEpoch(l.written))
	if err != nil {
		return l.fail(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.segments = append(l.segments, next)
	return nil
}

// Trimmable reports whether Trim would remove a file.
func (l *Log) Trimmable(seq uint64, keep int64) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	size := int64(0)
	for _, s := range l.segments {
		size += s.size
	}
	return len(l.segments) > 1 && l.segments[1].base <= seq && size-l.segments[0].size >= keep
}

// Trim removes old files with records all numbered seq or below, but keeps the newest keep bytes of the log and always the last file.
// Each one is gone from the disk before the next is removed, since file systems other than ext4 and xfs can reorder removals; what
// remains therefore has no gaps.
func (l *Log) Trim(seq uint64, keep int64) error {
	l.flush.Lock()
	defer l.flush.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	size := int64(0)
	for _, s := range l.segments {
		size += s.size
	}
	for len(l.segments) > 1 && l.segments[1].base <= seq && size-l.segments[0].size >= keep {
		s := l.segments[0]
		if err := s.remove(); err != nil {
			return err
		}
		size -= s.size
		l.segments = l.segments[1:]
		l.extent.Rebase(l.segments[0].base, l.segments[0].baseEpoch)
		if err := syncDir(l.dir, l.o.sync); err != nil {
			return err
		}
	}
	return nil
}

// Reset empties the log; the next record is base+1, and epoch is the epoch of record base. After a crash, the log is either the old one
// or the new one.
func (l *Log) Reset(base, epoch uint64) error {
	l.flush.Lock()
	defer l.flush.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed != nil {
		return l.failed
	}
	if err := l.reset(base, epoch); err != nil {
		l.failed = fmt.Errorf("log %s: %w: reset: %w", l.dir, ErrFailed, err)
		return l.failed
	}
	return nil
}

// reset builds the new log in a separate folder and then replaces the old one. flush and mu must be held.
func (l *Log) reset(base, epoch uint64) error {
	for _, s := range l.segments {
		if err := s.file.Close(); err != nil {
			return err
		}
	}
	if err := replaceDir(l.dir, l.o, base, epoch); err != nil {
		return err
	}
	s, err := openSegment(l.dir, base)
	if err != nil {
		return err
	}
	if _, _, ok := s.readHeader(l.o.Shard); !ok {
		return errors.Join(fmt.Errorf("%s: the header just written is missing", s.path), s.file.Close())
	}
	l.segments, l.pending, l.written = []*segment{s}, nil, base
	l.extent = Extent{Base: base, BaseEpoch: epoch, End: base, Durable: base}
	return nil
}

// Close writes nothing, since records that were not synced are not acknowledged. Later calls fail.
func (l *Log) Close() error {
	l.flush.Lock()
	defer l.flush.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.segments == nil {
		return nil
	}
	var err error
	for _, s := range l.segments {
		err = errors.Join(err, s.file.Close())
	}
	l.segments = nil
	l.failed = fmt.Errorf("log %s is closed: %w", l.dir, ErrFailed)
	l.written = l.extent.End // so that Read finds nothing
	l.extent.Base = l.extent.End
	return err
}
