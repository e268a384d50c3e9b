package index

import (
	"fmt"
	"math"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
	segment "github.com/blevesearch/scorch_segment_api/v2"

	"concordat"
)

// dropped is zap's number for documents that a merge omits.
const dropped = math.MaxUint64

// fill adds the live documents of the segments and records their new numbers.
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

// keptMerge is the maximum size of a merged segment whose buffers are kept for reuse. Larger segments are rare, and their buffers take
// about three times the segment's size.
const keptMerge = 32 << 20

// mergers keeps the buffers of a merge for the next, since small merges happen every few batches. They are unreferenced after a merge.
var mergers = sync.Pool{New: func() any { return new(merger) }}

// merger is a segmentWriter that reads its documents from segments.
type merger struct {
	segmentWriter
	entry  entry
	fps    []concordat.Fingerprint
	values []byte // values of entry's stored fields
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
		// Copy value, whose buffer is valid only during this call.
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
		return fmt.Errorf("a block has too many sentences (%d): %w", len(m.fps), errStored)
	}
	if err := m.addFingerprints(m.fps); err != nil {
		return err
	}
	return m.add(&m.entry)
}

// number assigns new occurrence numbers to a band's values, which must be sorted by value and then by document, and removes repeats of a
// value within a document. Terms come in as v<<4 and go out as v<<4|k.
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

// addFingerprints records the bands of the next document, which are numbered later.
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
