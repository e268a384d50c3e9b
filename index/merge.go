package index

import (
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
	segment "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"

	"concordat"
)

// maxMerge bounds the bytes of segments that the plugin merges in memory; it needs about twice as
// much. Bigger merges go by way of files.
const maxMerge = 512 << 20

// dropped is zap's number for a document that a merge leaves out.
const dropped = math.MaxUint64

func (p *plugin) Merge(segs []segment.Segment, drops []*roaring.Bitmap, path string, closed chan struct{}, r segment.StatsReporter) ([][]uint64, uint64, error) {
	return p.MergeUsing(segs, drops, path, closed, r, nil)
}

// MergeUsing writes the living documents of the segments into a new one at path: stored fields as
// they are, band terms anew from the stored fingerprints, with occurrence numbers of their own, so
// that nearly all have one document again, and the terms of texts by merging the sorted dictionaries.
func (p *plugin) MergeUsing(segs []segment.Segment, drops []*roaring.Bitmap, path string, closed chan struct{}, r segment.StatsReporter, config map[string]any) ([][]uint64, uint64, error) {
	size, ok := mergeable(segs, drops)
	if !ok || isStock(config) {
		return p.ZapPlugin.MergeUsing(unwrap(segs), drops, path, closed, r, config)
	}
	m := mergers.Get().(*merger)
	m.renumber, m.closed = true, closed
	defer func() {
		if m.reset(); cap(m.b) <= keptMerge {
			mergers.Put(m)
		}
	}()
	numbers := make([][]uint64, len(segs))
	m.words = func() wordLists { return newWordMerge(segs, numbers) }
	fill := func() error { return m.fill(segs, drops, numbers) }
	if size > p.maxMerge {
		n, err := m.mergeToFile(path, r, p.terms, fill)
		if err != nil {
			return nil, 0, mergeError(path, err)
		}
		return numbers, n, nil
	}
	if err := fill(); err != nil {
		return nil, 0, mergeError(path, err)
	}
	base, err := m.finish(config)
	if err != nil {
		return nil, 0, mergeError(path, err)
	}
	if err := zap.PersistSegmentBase(base, path); err != nil {
		return nil, 0, err
	}
	if r != nil {
		r.ReportBytesWritten(m.pos())
	}
	return numbers, m.pos(), nil
}

// mergeError names the file of a merge that failed; scorch wants to see that it was closed.
func mergeError(path string, err error) error {
	if errors.Is(err, segment.ErrClosed) {
		return segment.ErrClosed
	}
	return fmt.Errorf("merge into %s: %w", path, err)
}

// fill adds the living documents of the segments and notes their numbers.
func (m *merger) fill(segs []segment.Segment, drops []*roaring.Bitmap, numbers [][]uint64) error {
	for i, seg := range segs {
		numbers[i] = make([]uint64, seg.Count())
		for n := range numbers[i] {
			if n%1024 == 0 {
				if err := m.ended(); err != nil {
					return err
				}
			}
			if drops[i] != nil && drops[i].Contains(uint32(n)) {
				numbers[i][n] = dropped
				continue
			}
			numbers[i][n] = uint64(len(m.ids))
			if err := m.copy(seg, uint64(n)); err != nil {
				return err
			}
		}
	}
	return nil
}

// keptMerge is the size of a merged segment up to which its buffers are worth keeping: big ones are rare, and some three
// times as much memory.
const keptMerge = 32 << 20

// mergers keeps the buffers of a merge for the next, as a small merge comes every few batches. Nothing
// refers to them when a merge is done.
var mergers = sync.Pool{New: func() any { return new(merger) }}

// mergeable returns the bytes of the segments, and whether they hold nothing but our fields and have a
// living document.
func mergeable(segs []segment.Segment, drops []*roaring.Bitmap) (size int64, ok bool) {
	living := uint64(0)
	for i, s := range segs {
		for _, name := range s.Fields() {
			if !slices.ContainsFunc(segmentFields, func(f segmentField) bool { return f.name == name }) {
				return 0, false
			}
		}
		size += int64(s.Size())
		if p, ok := s.(segment.PersistedSegment); ok {
			fi, err := os.Stat(p.Path())
			if err != nil {
				return 0, false
			}
			size += fi.Size()
		}
		living += s.Count()
		if drops[i] != nil {
			living -= drops[i].GetCardinality()
		}
	}
	return size, living > 0
}

// merger is a segmentWriter that reads its documents from segments.
type merger struct {
	segmentWriter
	entry  entry
	fps    []concordat.Fingerprint
	values []byte // of the stored fields of entry
}

// copy adds document n of the segment.
func (m *merger) copy(seg segment.Segment, n uint64) error {
	m.entry.reset("")
	m.fps, m.values = m.fps[:0], m.values[:0]
	var err error
	verr := seg.VisitStoredFields(n, func(name string, _ byte, value []byte, _ []uint64) bool {
		if name == "_id" {
			m.entry.id = string(value)
			return true
		}
		if name == fieldFingerprints {
			m.fps, err = decodeFingerprints(m.fps, value)
		}
		// A copy: value stands in a buffer that is only ours during this call.
		from := len(m.values)
		m.values = append(m.values, value...)
		m.entry.store(name, m.values[from:])
		return err == nil
	})
	if verr != nil {
		return verr
	}
	if err != nil {
		return err
	}
	if len(m.fps) > longBlockSentences {
		return fmt.Errorf("block of %d sentences: %w", len(m.fps), errStored)
	}
	if err := m.addFingerprints(m.fps); err != nil {
		return err
	}
	return m.add(&m.entry)
}

// number gives the values of a band, sorted and with their documents in order, occurrence numbers of
// their own, and leaves out repeats of a value in a document. Terms come as v<<4 and go as v<<4|k.
func number(ts []termDoc) []termDoc {
	n := 0
	last, k := uint32(math.MaxUint32), uint32(0)
	for _, t := range ts {
		switch {
		case t.term != last:
			last, k = t.term, 0
		case ts[n-1].doc == t.doc:
			continue
		default:
			k = min(k+1, lastK)
		}
		ts[n] = termDoc{t.term | k, t.doc}
		n++
	}
	return ts[:n]
}

// addFingerprints notes the bands of the next document, to be numbered.
func (w *segmentWriter) addFingerprints(fps []concordat.Fingerprint) error {
	doc := uint32(len(w.ids))
	if w.sink != nil {
		return w.sink.prints.add(fps, doc)
	}
	for _, f := range fps {
		for band := range concordat.Bands {
			w.terms[band] = append(w.terms[band], termDoc{f.Band(band) << 4, doc})
		}
	}
	return nil
}
