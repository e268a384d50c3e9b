package index

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	bleve "github.com/blevesearch/bleve_index_api"
	segment "github.com/blevesearch/scorch_segment_api/v2"
	zap "github.com/blevesearch/zapx/v17"
)

// plugin is zap v17 with a faster way to create segments from our own documents. The file format is unchanged, so zap opens, searches and
// merges these segments. Before writing, zap creates a map entry, a bitmap and two streams for every term. Almost all our terms have one
// document, which the format can store inside the dictionary, so we only need to sort the terms. Zap stores documents in the dictionary
// only when it merges, so our unmerged segments are smaller than zap's.
type plugin struct {
	zap.ZapPlugin
	maxMerge int64 // maximum size in bytes of segments merged in memory; larger merges use files
	terms    int   // number of a band's terms that a merge in files handles at once
}

// registerPlugin replaces zap with the plugin, for the whole process.
func registerPlugin() {
	scorch.RegisterSegmentPlugin(&plugin{maxMerge: maxMerge, terms: streamTerms}, true)
}

func (p *plugin) New(docs []bleve.Document) (segment.Segment, uint64, error) {
	return p.NewUsing(docs, nil)
}

// stockKey, in an index configuration that scorch passes on, leaves everything to zap, as Options.StockSegments describes.
const stockKey = "concordat/stock"

func isStock(config map[string]any) bool {
	stock, _ := config[stockKey].(bool)
	return stock
}

// The writer supports only this version of the format, so this line does not compile with another zapx.
var _ = [1]struct{}{}[zap.Version-17]

// NewUsing creates a segment in memory. It leaves documents that are not ours to zap.
func (p *plugin) NewUsing(docs []bleve.Document, config map[string]any) (segment.Segment, uint64, error) {
	if isStock(config) || slices.ContainsFunc(docs, func(d bleve.Document) bool { _, ours := d.(*entry); return !ours }) {
		s, n, err := p.ZapPlugin.NewUsing(docs, config)
		if base, ok := s.(*zap.SegmentBase); ok && err == nil {
			return memory{base}, n, nil
		}
		return s, n, err
	}
	var w segmentWriter
	for _, d := range docs {
		if err := w.add(d.(*entry)); err != nil {
			return nil, 0, err
		}
	}
	base, err := w.finish(config)
	if err != nil {
		return nil, 0, err
	}
	return memory{base}, uint64(len(w.b)), nil
}

// memory is an in-memory segment that remains usable after Close. Scorch closes the segment of a batch that it could not persist, but
// keeps it among the live ones and persists it later. Zap's own segment would then panic at the next look-up of an identity, in a
// goroutine that serves all batches.
type memory struct{ *zap.SegmentBase }

func (memory) Close() error { return nil }

// unwrap returns the segments as zap's own types, since zap accepts no others.
func unwrap(segs []segment.Segment) []segment.Segment {
	out := slices.Clone(segs)
	for i, s := range out {
		if m, ok := s.(memory); ok {
			out[i] = m.SegmentBase
		}
	}
	return out
}

// maxMerge bounds the bytes of segments that the plugin merges in memory, which takes about twice as much memory. Larger merges use
// files.
const maxMerge = 512 << 20

func (p *plugin) Merge(segs []segment.Segment, drops []*roaring.Bitmap, path string, closed chan struct{},
	r segment.StatsReporter) ([][]uint64, uint64, error) {
	return p.MergeUsing(segs, drops, path, closed, r, nil)
}

// MergeUsing writes the live documents of the segments to a new segment at path. It copies stored fields, recomputes band terms from the
// stored fingerprints with new occurrence numbers, so that almost all have one document again, and merges the terms of texts from the
// sorted dictionaries. If a segment's bytes have changed, the engine fails instead of merging it, because the result would have a valid
// checksum.
func (p *plugin) MergeUsing(segs []segment.Segment, drops []*roaring.Bitmap, path string, closed chan struct{}, r segment.StatsReporter,
	config map[string]any) ([][]uint64, uint64, error) {
	if err := verifySegments(segs); err != nil {
		return nil, 0, err
	}
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

// mergeError adds the name of the file to the error of a failed merge. It returns ErrClosed unchanged, since scorch checks for it.
func mergeError(path string, err error) error {
	if errors.Is(err, segment.ErrClosed) {
		return segment.ErrClosed
	}
	return fmt.Errorf("merge into %s: %w", path, err)
}

// mergeable returns the total size of the segments, and reports whether they contain only our fields and at least one live document.
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
