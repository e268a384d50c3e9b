package index

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"concordat"
)

// Match answers q from the derived table. It sees every document whose Put returned before the call. It sees a document that is being put
// either completely or not at all.
func (s *Shard) Match(ctx context.Context, q *concordat.Query) (*concordat.Answer, error) {
	a, _, err := s.MatchFound(ctx, q)
	return a, err
}

// MatchFound is like Match, but also returns the fingerprint found for each match, because a caller that merges the answers of several
// shards asks all of them how many documents contain it.
func (s *Shard) MatchFound(ctx context.Context, q *concordat.Query) (*concordat.Answer, []concordat.Fingerprint, error) {
	done, err := s.use()
	if err != nil {
		return nil, nil, err
	}
	defer done()
	if err := checkQuery(q, s.opt.Scheme); err != nil {
		return nil, nil, err
	}
	v := s.state.current(len(q.Fingerprints))
	m := matcher{query: q, view: &v, site: s.opt.Site}
	m.filter(&s.state)
	k := lookups.Get().(*lookup)
	defer lookups.Put(k)
	k.probe, k.most, k.cap, k.capped = q.Probe, q.MaxDistance, uint32(s.opt.BandCap), 0
	k.hashes = q.MaxHashes
	if err := m.fly(ctx, k); err != nil {
		return nil, nil, err
	}
	return &concordat.Answer{Site: s.opt.Site, Matches: m.matches, Capped: k.capped}, m.fps, nil
}

// lookups keeps the buffers of look-ups, about 15 KB each, for later queries.
var lookups = sync.Pool{New: func() any { return new(lookup) }}

// checkQuery returns an error for a query that a shard with that scheme cannot answer.
func checkQuery(q *concordat.Query, scheme concordat.Scheme) error {
	if q.Scheme != scheme {
		return fmt.Errorf("the query uses scheme %s, but the shard uses scheme %s: %w", q.Scheme, scheme, concordat.ErrScheme)
	}
	if q.MaxDistance < 0 || q.MaxDistance > concordat.Bits || q.MaxHashes < 0 || q.MaxHashes > concordat.Nibbles || q.Limit < 0 {
		return fmt.Errorf("query value out of range: distance %d, %d hashes, limit %d: %w", q.MaxDistance, q.MaxHashes, q.Limit, concordat.ErrInvalid)
	}
	if q.Probe != concordat.ProbeExact && q.Probe != concordat.ProbeOne {
		return fmt.Errorf("unknown value %d for the query's probe: %w", q.Probe, concordat.ErrInvalid)
	}
	for i, f := range q.Fingerprints {
		if !valid(f) {
			return fmt.Errorf("fingerprint %d of the query is longer than %d bits: %w", i, concordat.Bits, concordat.ErrInvalid)
		}
	}
	return nil
}

// valid reports whether the unused bits of f are zero.
func valid(f concordat.Fingerprint) bool { return f[0]>>60 == 0 && f[1]>>40 == 0 }

// matcher turns found entries into the matches of an answer.
type matcher struct {
	query     *concordat.Query
	view      *view
	site      concordat.SiteID
	libraries []bool                 // by the number of a library; nil means all
	excluded  map[*document]struct{} // never matched
	matches   []concordat.Match
	fps       []concordat.Fingerprint // fingerprints of matches
	same      []candidate             // candidates at one distance; reused
	asked     int                     // index of the fingerprint whose entries are added
	touch     byte                    // prevents the compiler from removing loads that only warm the cache
}

// candidate is a sentence that might be reported.
type candidate struct {
	doc       *document
	ordinal   uint32
	documents int
	hashes    int
	fp        concordat.Fingerprint
}

// filter prepares the query's libraries and exclusions for the matcher's view.
func (m *matcher) filter(s *state) {
	if len(m.query.Libraries) > 0 {
		m.libraries = make([]bool, len(m.view.libraries))
		for i, id := range m.view.libraries {
			m.libraries[i] = slices.Contains(m.query.Libraries, id)
		}
	}
	if len(m.query.Exclude) == 0 {
		return
	}
	// Exclusion is by key rather than by document, so both versions of a document being replaced are excluded.
	m.excluded = make(map[*document]struct{}, len(m.query.Exclude))
	wanted := make(map[key]struct{}, len(m.query.Exclude))
	for _, r := range m.query.Exclude {
		if r.Site == m.site {
			wanted[key{r.Library, r.Document}] = struct{}{}
		}
	}
	s.mu.Lock()
	complete := s.view.epoch == m.view.epoch
	for k := range wanted {
		if d := s.byKey[k]; d != nil {
			m.excluded[d] = struct{}{}
		}
	}
	s.mu.Unlock()
	if complete {
		return
	}
	for _, d := range m.view.docs {
		if _, ok := wanted[d.key]; ok {
			m.excluded[d] = struct{}{}
		}
	}
}

// wants reports whether the query allows matches in d.
func (m *matcher) wants(d *document) bool {
	if m.libraries != nil && !m.libraries[d.library] {
		return false
	}
	_, excluded := m.excluded[d]
	return !excluded
}

// add appends the matches of query fingerprint i, for which fs were found.
func (m *matcher) add(ctx context.Context, i int, fs []found) error {
	if len(fs) > 1 {
		slices.SortFunc(fs, func(a, b found) int {
			return cmp.Or(cmp.Compare(a.distance, b.distance), compareFingerprints(a.fp, b.fp),
				cmp.Compare(a.level, b.level), cmp.Compare(a.entry, b.entry))
		})
	}
	first := len(m.matches)
	m.asked = i
	for len(fs) > 0 && (m.query.Limit == 0 || len(m.matches)-first < m.query.Limit) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		distance := fs[0].distance
		m.same = m.same[:0]
		for len(fs) > 0 && fs[0].distance == distance {
			n := 1
			for n < len(fs) && fs[n].fp == fs[0].fp {
				n++
			}
			m.gather(fs[:n])
			fs = fs[n:]
		}
		if err := m.emit(i, first, distance); err != nil {
			return err
		}
	}
	return nil
}

// gather appends the wanted sentences with a given fingerprint, possibly from several levels.
func (m *matcher) gather(fs []found) {
	start, documents := len(m.same), 0
	last := ^uint32(0)
	for _, f := range fs {
		var occs []occurrence
		if f.level < 0 {
			occs = m.view.freshOccs[f.entry : f.entry+1]
		} else {
			occs = m.view.levels[f.level].occs(f.entry)
		}
		// A document's sentences are adjacent in the list and in one level.
		for _, o := range occs {
			d := m.view.docs[o.doc]
			if !m.view.lives(d) {
				continue
			}
			if o.doc != last {
				documents++
				last = o.doc
			}
			if m.wants(d) {
				m.same = append(m.same, candidate{doc: d, ordinal: o.ordinal})
			}
		}
	}
	hashes := m.query.Fingerprints[m.asked].NibbleDistance(fs[0].fp)
	for j := start; j < len(m.same); j++ {
		m.same[j].documents, m.same[j].hashes, m.same[j].fp = documents, hashes, fs[0].fp
	}
}

// emit appends the candidates at one distance in order, up to the limit.
func (m *matcher) emit(i, first, distance int) error {
	slices.SortFunc(m.same, func(a, b candidate) int {
		return cmp.Or(cmp.Compare(a.doc.key.library, b.doc.key.library),
			cmp.Compare(a.doc.key.id, b.doc.key.id), cmp.Compare(a.ordinal, b.ordinal))
	})
	for _, c := range m.same {
		if m.query.Limit > 0 && len(m.matches)-first == m.query.Limit {
			return nil
		}
		sp, err := c.doc.span(c.ordinal)
		if err != nil {
			return fmt.Errorf("document %s/%s: %w: %w", c.doc.key.library, c.doc.key.id, err, concordat.ErrCorrupt)
		}
		m.fps = append(m.fps, c.fp)
		m.matches = append(m.matches, concordat.Match{
			Sentence:  i,
			Source:    concordat.Ref{Site: m.site, Library: c.doc.key.library, Document: c.doc.key.id},
			Title:     c.doc.title,
			Ordinal:   int(c.ordinal),
			Span:      sp,
			Distance:  distance,
			Hashes:    c.hashes,
			Documents: c.documents,
		})
	}
	return nil
}
