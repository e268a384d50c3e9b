package index

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"

	"concordat"
)

// TextStats counts the documents that contain each term, from Bleve's dictionaries. It sees every document whose Put returned before the
// call, and possibly one that is being put.
func (s *Shard) TextStats(ctx context.Context, terms []concordat.Term) (*concordat.TextStats, error) {
	out := &concordat.TextStats{Holding: make([]int, len(terms))}
	err := s.readText(func(r *textReader) error {
		s.state.mu.Lock()
		out.Documents, out.Words, out.Meant = s.state.texts, s.state.words, s.state.meant
		out.Current = s.state.meant - s.state.stale
		s.state.mu.Unlock()
		for i := range r.segments {
			seg := &r.segments[i]
			for j, t := range terms {
				if j%1024 == 0 && ctx.Err() != nil {
					return context.Cause(ctx)
				}
				if err := seg.find(t); err != nil {
					return err
				}
				out.Holding[j] += int(seg.postings.Count())
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// BM25 parameters as recommended by its authors (Robertson and Zaragoza 2009, section 3.5) and defined by concordat.TextQuery.
const (
	bm25K1 = 1.2
	bm25B  = 0.75
)

// SearchText returns each window's best documents from Bleve's posting lists, one term at a time. It sees every document whose Put
// returned before the call; one that is being put may appear, in full. Reading the posting lists takes about 50 ns per posting. For
// queries by cells, it reads an in-memory table instead.
func (s *Shard) SearchText(ctx context.Context, q *concordat.TextQuery) (*concordat.TextAnswer, error) {
	if err := checkTextQuery(q); err != nil {
		return nil, err
	}
	if q.Cells {
		return s.searchCells(ctx, q)
	}
	a := &concordat.TextAnswer{Site: s.opt.Site}
	err := s.readText(func(r *textReader) error {
		t := newTextSearch(s.opt.Site, &s.state, q)
		for i := range r.segments {
			if err := t.search(ctx, r.snapshot, &r.segments[i]); err != nil {
				return err
			}
		}
		a.Matches = slices.Concat(t.best...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}

func checkTextQuery(q *concordat.TextQuery) error {
	if q.Limit < 1 || !(q.AverageLength > 0) || math.IsInf(q.AverageLength, 1) {
		return fmt.Errorf("text query value out of range: limit %d, average length %v: %w", q.Limit, q.AverageLength, concordat.ErrInvalid)
	}
	for i, w := range q.Windows {
		for _, t := range w {
			if !(t.Weight > 0) || math.IsInf(t.Weight, 1) {
				return fmt.Errorf("text query: window %d, term %08x has weight %v: %w", i, t.Term, t.Weight, concordat.ErrInvalid)
			}
		}
	}
	return nil
}

// textReader is a snapshot with the dictionaries of its segments.
type textReader struct {
	snapshot *scorch.IndexSnapshot
	segments []textSegment
}

// readText calls read with a snapshot and releases it when read returns.
func (s *Shard) readText(read func(*textReader) error) error {
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
	err = guard(func() error {
		r := &textReader{snapshot: snapshot}
		for _, seg := range snapshot.Segments() {
			dict, err := seg.Segment().Dictionary(fieldTerms)
			if err != nil {
				return err
			}
			r.segments = append(r.segments, textSegment{SegmentSnapshot: seg, deleted: seg.Deleted(), dict: dict})
		}
		return read(r)
	})
	if err != nil {
		return fmt.Errorf("search %s: %w", s.dir, err)
	}
	return nil
}

// textSegment holds the data shared by one goroutine's look-ups in one segment.
type textSegment struct {
	*scorch.SegmentSnapshot
	deleted  *roaring.Bitmap
	dict     segment.TermDictionary
	postings segment.PostingsList
	iterator segment.PostingsIterator
}

// find sets postings to the live documents that contain t.
func (s *textSegment) find(t concordat.Term) error {
	var key [wordBytes]byte
	binary.BigEndian.PutUint32(key[:], uint32(t))
	var err error
	s.postings, err = s.dict.PostingsList(key[:], s.deleted, s.postings)
	return err
}

// textSearch answers one query.
type textSearch struct {
	site     concordat.SiteID
	state    *state
	query    *concordat.TextQuery
	excluded map[key]struct{}
	best     [][]concordat.TextMatch // per window, best first
	// norms holds lengthNorm for each lengthCode.
	norms   [maxLengthCode + 1]float64
	scores  []float64 // by document of the segment; zero except at touched
	touched []uint32
	// sources caches documents of the segment.
	sources map[uint32]source
}

// source describes a document for an answer.
type source struct {
	ref    concordat.Ref
	title  string
	wanted bool
}

func newTextSearch(site concordat.SiteID, s *state, q *concordat.TextQuery) *textSearch {
	t := &textSearch{site: site, state: s, query: q, best: make([][]concordat.TextMatch, len(q.Windows)),
		excluded: make(map[key]struct{}, len(q.Exclude))}
	for _, r := range q.Exclude {
		if r.Site == site {
			t.excluded[key{r.Library, r.Document}] = struct{}{}
		}
	}
	for code := range t.norms {
		t.norms[code] = lengthNorm(code, q.AverageLength)
	}
	return t
}

// lengthNorm returns k1 * (1 - b + b*length/average) for a lengthCode.
func lengthNorm(code int, average float64) float64 {
	return bm25K1 * (1 - bm25B + bm25B*float64(codedLength(code))/average)
}

// search merges the best documents of one segment into best.
func (t *textSearch) search(ctx context.Context, snapshot *scorch.IndexSnapshot, seg *textSegment) error {
	if n := int(seg.FullSize()); n > len(t.scores) {
		t.scores = make([]float64, n)
	}
	t.sources = make(map[uint32]source)
	for window, terms := range t.query.Windows {
		for _, term := range terms {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if err := t.score(seg, term); err != nil {
				return err
			}
		}
		for _, doc := range t.touched {
			score := t.scores[doc]
			t.scores[doc] = 0
			if best := t.best[window]; len(best) == t.query.Limit && score < best[len(best)-1].Score {
				continue
			}
			src, err := t.source(snapshot, seg, doc)
			if err != nil {
				return err
			}
			if src.wanted {
				t.best[window] = keepBest(t.best[window], concordat.TextMatch{Window: window, Source: src.ref, Title: src.title, Score: score},
					t.query.Limit)
			}
		}
		t.touched = t.touched[:0]
	}
	return nil
}

// score adds one term's contribution to the scores of the documents that contain it.
func (t *textSearch) score(seg *textSegment, term concordat.WeightedTerm) error {
	if err := seg.find(term.Term); err != nil {
		return err
	}
	seg.iterator = seg.postings.Iterator(true, true, false, seg.iterator)
	for {
		p, err := seg.iterator.Next()
		if err != nil || p == nil {
			return err
		}
		doc, code := p.Number(), normOf(p)
		if doc >= uint64(len(t.scores)) || code > maxLengthCode {
			return fmt.Errorf("a posting is out of range (document %d, length code %d): %w", doc, code, errStored)
		}
		if t.scores[doc] == 0 {
			t.touched = append(t.touched, uint32(doc))
		}
		f := float64(p.Frequency())
		t.scores[doc] += term.Weight * f * (bm25K1 + 1) / (f + t.norms[code])
	}
}

// compareTextMatches orders the matches of one window.
func compareTextMatches(a, b concordat.TextMatch) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.Source.Library, b.Source.Library),
		cmp.Compare(a.Source.Document, b.Source.Document))
}

// source describes a document of the segment for an answer.
func (t *textSearch) source(snapshot *scorch.IndexSnapshot, seg *textSegment, doc uint32) (source, error) {
	if src, ok := t.sources[doc]; ok {
		return src, nil
	}
	id, err := seg.Segment().DocID(uint64(doc))
	if err != nil {
		return source{}, err
	}
	number, ok := parseTextID(id)
	if !ok {
		return source{}, fmt.Errorf("a text has the ID %x, which is not valid: %w", id, errStored)
	}
	k, title, err := t.named(snapshot, number)
	if err != nil {
		return source{}, err
	}
	src := source{ref: concordat.Ref{Site: t.site, Library: k.library, Document: k.id}, title: title}
	_, excluded := t.excluded[k]
	src.wanted = !excluded && (len(t.query.Libraries) == 0 || slices.Contains(t.query.Libraries, k.library))
	t.sources[doc] = src
	return src, nil
}

// named returns the key and title of the document with the given number. If the snapshot has the document but memory does not, because it
// is being added or removed, named reads it from disk.
func (t *textSearch) named(snapshot *scorch.IndexSnapshot, number uint32) (key, string, error) {
	if d := t.state.numbered(number); d != nil {
		return d.key, d.title, nil
	}
	b, err := storedField(snapshot, blockID(number, 0), fieldDocument)
	if err != nil {
		return key{}, "", err
	}
	m, err := decodeMeta(b)
	if err != nil {
		return key{}, "", fmt.Errorf("document %d: %w", number, err)
	}
	return key{m.library, m.id}, m.title, nil
}
