package index

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/blevesearch/bleve/v2/index/scorch"
	segment "github.com/blevesearch/scorch_segment_api/v2"

	"concordat"
)

// MatchStored returns the same answer as Match from Bleve's dictionaries, posting lists and stored fields alone, without the in-memory
// table and records. It serves to check and replace the table; with a million sentences, it is about fifty times slower. It applies no
// BandCap. It might see all documents of a Put that has not returned yet.
func (s *Shard) MatchStored(ctx context.Context, q *concordat.Query) (*concordat.Answer, error) {
	done, err := s.use()
	if err != nil {
		return nil, err
	}
	defer done()
	if err := checkQuery(q, s.opt.Scheme); err != nil {
		return nil, err
	}
	snapshot, err := s.engine.snapshot()
	if err != nil {
		return nil, err
	}
	defer snapshot.Close()
	m := &storedMatcher{site: s.opt.Site, query: q, snapshot: snapshot, metas: make(map[uint32]*meta)}
	var answer *concordat.Answer
	err = guard(func() error {
		answer, err = m.match(ctx)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("match %s: %w", s.dir, err)
	}
	return answer, nil
}

// storedMatcher answers one query from one snapshot.
type storedMatcher struct {
	site     concordat.SiteID
	query    *concordat.Query
	snapshot *scorch.IndexSnapshot
	segments []storedSegment
	metas    map[uint32]*meta        // by document number
	fps      []concordat.Fingerprint // reused
	spans    []byte                  // reused
}

// storedSegment holds the data shared by all look-ups in one segment. Bleve's dictionaries and posting lists reuse buffers, so only one
// goroutine may use it.
type storedSegment struct {
	*scorch.SegmentSnapshot
	deleted  *roaring.Bitmap
	dicts    [concordat.Bands]segment.TermDictionary
	postings segment.PostingsList
	iterator segment.PostingsIterator
}

// storedHit is a sentence within the distance.
type storedHit struct {
	number   uint32
	ordinal  int
	distance int
	hashes   int
	fp       concordat.Fingerprint
	spans    []byte
	position int // position of the sentence in its block
}

func (m *storedMatcher) match(ctx context.Context) (*concordat.Answer, error) {
	for _, seg := range m.snapshot.Segments() {
		ss := storedSegment{SegmentSnapshot: seg, deleted: seg.Deleted()}
		for i, name := range bandFields {
			var err error
			if ss.dicts[i], err = seg.Segment().Dictionary(name); err != nil {
				return nil, err
			}
		}
		m.segments = append(m.segments, ss)
	}
	a := &concordat.Answer{Site: m.site}
	for i, f := range m.query.Fingerprints {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		hits, err := m.near(f)
		if err != nil {
			return nil, err
		}
		if a.Matches, err = m.add(a.Matches, i, hits); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// near returns all sentences of all libraries that the probe reaches within the distance.
func (m *storedMatcher) near(f concordat.Fingerprint) ([]storedHit, error) {
	var hits []storedHit
	for i := range m.segments {
		seg := &m.segments[i]
		blocks := roaring.New()
		for band := range concordat.Bands {
			for _, r := range ranges(m.query.Probe, f.Band(band)) {
				if err := seg.collect(band, r[0], r[1], blocks); err != nil {
					return nil, err
				}
			}
		}
		for it := blocks.Iterator(); it.HasNext(); {
			var err error
			if hits, err = m.check(hits, seg, uint64(it.Next()), f); err != nil {
				return nil, err
			}
		}
	}
	return hits, nil
}

// ranges returns the ranges [lo, hi] of band values that the probe reads.
func ranges(p concordat.Probe, v uint32) [][2]uint32 {
	if p == concordat.ProbeExact {
		return [][2]uint32{{v, v}}
	}
	out := [][2]uint32{{v &^ 15, v | 15}}
	for shift := 4; shift < concordat.BandBits; shift += 4 {
		for x := uint32(1); x < 16; x++ {
			out = append(out, [2]uint32{v ^ x<<shift, v ^ x<<shift})
		}
	}
	return out
}

// collect adds to blocks the live blocks with a band value from lo to hi.
func (s *storedSegment) collect(band int, lo, hi uint32, blocks *roaring.Bitmap) error {
	var end []byte // nil for no upper limit
	if hi < values-1 {
		end = appendTerm(nil, hi+1, 0)
	}
	it := s.dicts[band].AutomatonIterator(nil, appendTerm(nil, lo, 0), end)
	for {
		e, err := it.Next()
		if err != nil {
			return err
		}
		if e == nil {
			return nil
		}
		if len(e.Term) != termBytes {
			return fmt.Errorf("term %x: %w", e.Term, errStored)
		}
		if s.postings, err = s.dicts[band].PostingsList([]byte(e.Term), s.deleted, s.postings); err != nil {
			return err
		}
		s.iterator = s.postings.Iterator(false, false, false, s.iterator)
		for {
			p, err := s.iterator.Next()
			if err != nil {
				return err
			}
			if p == nil {
				break
			}
			blocks.Add(uint32(p.Number()))
		}
	}
}

// check appends the sentences of one block that are near f.
func (m *storedMatcher) check(hits []storedHit, seg *storedSegment, doc uint64, f concordat.Fingerprint) ([]storedHit, error) {
	var number uint32
	var ordinal int
	var err error
	m.fps, m.spans = m.fps[:0], m.spans[:0]
	verr := seg.VisitDocument(doc, func(name string, _ byte, value []byte, _ []uint64) bool {
		switch name {
		case "_id":
			var ok bool
			if number, ordinal, ok = parseBlockID(value); !ok {
				err = fmt.Errorf("a band has an entry %x, which is not valid: %w", value, errStored)
			}
		case fieldFingerprints:
			var bad error
			m.fps, bad = decodeFingerprints(m.fps, value)
			err = cmp.Or(err, bad)
		case fieldSpans:
			m.spans = append(m.spans, value...) // copy, since value is valid only within this call
		}
		return err == nil || name == "_id" // zap would release its buffer twice if the visit ended at _id
	})
	if err = cmp.Or(err, verr); err != nil {
		return nil, err
	}
	var kept []byte
	for i, g := range m.fps {
		d := f.Distance(g)
		if !within(d, f.NibbleDistance(g), m.query.MaxDistance, m.query.MaxHashes) || !reaches(m.query.Probe, f, g) {
			continue
		}
		if kept == nil {
			kept = slices.Clone(m.spans)
		}
		// The ordinal within the document is set once the document's length is known.
		hits = append(hits, storedHit{number: number, ordinal: ordinal, distance: d, hashes: f.NibbleDistance(g), fp: g, spans: kept,
			position: i})
	}
	return hits, nil
}

// add converts the hits of query fingerprint i to matches.
func (m *storedMatcher) add(out []concordat.Match, i int, hits []storedHit) ([]concordat.Match, error) {
	// The hits include every sentence whose fingerprint is near enough, so the documents that contain it can be counted here.
	holders := make(map[concordat.Fingerprint]map[uint32]struct{})
	for _, h := range hits {
		if holders[h.fp] == nil {
			holders[h.fp] = make(map[uint32]struct{})
		}
		holders[h.fp][h.number] = struct{}{}
	}
	var ms []concordat.Match
	for _, h := range hits {
		d, err := m.meta(h.number)
		if err != nil {
			return nil, err
		}
		source := concordat.Ref{Site: m.site, Library: d.library, Document: d.id}
		if len(m.query.Libraries) > 0 && !slices.Contains(m.query.Libraries, d.library) || slices.Contains(m.query.Exclude, source) {
			continue
		}
		sp, err := spanAt(h.spans, h.position)
		if err != nil {
			return nil, err
		}
		ms = append(ms, concordat.Match{
			Sentence: i, Source: source, Title: d.title, Ordinal: h.ordinal*blockSize(d.sentences) + h.position,
			Span: sp, Distance: h.distance, Hashes: h.hashes, Documents: len(holders[h.fp]),
		})
	}
	slices.SortFunc(ms, func(a, b concordat.Match) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.Source.Library, b.Source.Library),
			cmp.Compare(a.Source.Document, b.Source.Document), cmp.Compare(a.Ordinal, b.Ordinal))
	})
	if m.query.Limit > 0 && len(ms) > m.query.Limit {
		ms = ms[:m.query.Limit]
	}
	return append(out, ms...), nil
}

// meta returns a document's stored metadata.
func (m *storedMatcher) meta(number uint32) (*meta, error) {
	if d := m.metas[number]; d != nil {
		return d, nil
	}
	b, err := storedField(m.snapshot, blockID(number, 0), fieldDocument)
	if err != nil {
		return nil, err
	}
	d, err := decodeMeta(b)
	if err != nil {
		return nil, fmt.Errorf("document %d: %w", number, err)
	}
	m.metas[number] = d
	return d, nil
}
