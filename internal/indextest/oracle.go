// Package indextest contains the contract of a concordat.Index, as a test suite that every implementation must pass, and Oracle, an
// implementation simple enough to verify by reading.
package indextest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"concordat"
)

// Oracle is a concordat.Index in memory that compares every query fingerprint with every sentence. It is safe for concurrent use.
type Oracle struct {
	Site   concordat.SiteID
	Scheme concordat.Scheme

	mu   sync.Mutex
	docs map[concordat.Ref]*concordat.Profile
}

var _ concordat.Index = (*Oracle)(nil)

// Put stores copies of the profiles.
func (o *Oracle) Put(ctx context.Context, ps ...*concordat.Profile) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range ps {
		if p.Scheme != o.Scheme {
			return fmt.Errorf("scheme %s, not %s: %w", p.Scheme, o.Scheme, concordat.ErrScheme)
		}
		end := 0
		for _, s := range p.Indexed {
			if s.Span.Start < end || s.Span.End < s.Span.Start || p.Document.Text != "" && s.Span.End > len(p.Document.Text) {
				return fmt.Errorf("span %v: %w", s.Span, concordat.ErrInvalid)
			}
			end = s.Span.End
		}
		for i, t := range p.Terms {
			if t.Count < 1 || i > 0 && t.Term <= p.Terms[i-1].Term {
				return fmt.Errorf("term %v: %w", t, concordat.ErrInvalid)
			}
		}
		for i, c := range p.Cells {
			if c >= concordat.Cells || i > 0 && c <= p.Cells[i-1] {
				return fmt.Errorf("cell %d: %w", c, concordat.ErrInvalid)
			}
		}
		if p.Document.Library == "" || p.Document.ID == "" {
			return fmt.Errorf("no identity: %w", concordat.ErrInvalid)
		}
	}
	for _, p := range ps {
		c := *p
		c.Indexed, c.Terms, c.Cells = slices.Clone(p.Indexed), slices.Clone(p.Terms), slices.Clone(p.Cells)
		if o.docs == nil {
			o.docs = make(map[concordat.Ref]*concordat.Profile)
		}
		o.docs[o.ref(p)] = &c
	}
	return nil
}

func (o *Oracle) ref(p *concordat.Profile) concordat.Ref {
	return concordat.Ref{Site: o.Site, Library: p.Document.Library, Document: p.Document.ID}
}

// Delete deletes the documents.
func (o *Oracle) Delete(ctx context.Context, refs ...concordat.Ref) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range refs {
		delete(o.docs, r)
	}
	return nil
}

// Document returns a copy of a stored document.
func (o *Oracle) Document(_ context.Context, r concordat.Ref) (*concordat.Document, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	p := o.docs[r]
	if p == nil {
		return nil, concordat.ErrNotFound
	}
	d := p.Document
	return &d, nil
}

// Match compares every query fingerprint with every sentence.
func (o *Oracle) Match(ctx context.Context, q *concordat.Query) (*concordat.Answer, error) {
	if q.Scheme != o.Scheme {
		return nil, fmt.Errorf("scheme %s, not %s: %w", q.Scheme, o.Scheme, concordat.ErrScheme)
	}
	if q.MaxDistance < 0 || q.MaxDistance > concordat.Bits || q.MaxHashes < 0 || q.MaxHashes > concordat.Nibbles || q.Limit < 0 {
		return nil, fmt.Errorf("query: %w", concordat.ErrInvalid)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	a := &concordat.Answer{Site: o.Site}
	for i, f := range q.Fingerprints {
		ms := o.near(q, i, f)
		if q.Limit > 0 && len(ms) > q.Limit {
			ms = ms[:q.Limit]
		}
		a.Matches = append(a.Matches, ms...)
	}
	return a, nil
}

// near returns all matches of one query fingerprint, in order.
func (o *Oracle) near(q *concordat.Query, i int, f concordat.Fingerprint) []concordat.Match {
	var ms []concordat.Match
	for r, p := range o.docs {
		if len(q.Libraries) > 0 && !slices.Contains(q.Libraries, r.Library) || slices.Contains(q.Exclude, r) {
			continue
		}
		for n, s := range p.Indexed {
			d, hashes := f.Distance(s.Fingerprint), f.NibbleDistance(s.Fingerprint)
			if (q.MaxHashes == 0 && d <= q.MaxDistance || q.MaxHashes > 0 && hashes <= q.MaxHashes) && Reaches(q.Probe, f, s.Fingerprint) {
				ms = append(ms, concordat.Match{Sentence: i, Source: r, Title: p.Document.Title, Ordinal: n,
					Span: s.Span, Distance: d, Hashes: hashes, Documents: o.holders(s.Fingerprint)})
			}
		}
	}
	slices.SortFunc(ms, func(a, b concordat.Match) int {
		return cmp.Or(cmp.Compare(a.Distance, b.Distance), cmp.Compare(a.Source.Library, b.Source.Library),
			cmp.Compare(a.Source.Document, b.Source.Document), cmp.Compare(a.Ordinal, b.Ordinal))
	})
	return ms
}

// holders returns the number of documents that contain exactly the fingerprint f.
func (o *Oracle) holders(f concordat.Fingerprint) int {
	n := 0
	for _, p := range o.docs {
		if slices.ContainsFunc(p.Indexed, func(s concordat.Sentence) bool { return s.Fingerprint == f }) {
			n++
		}
	}
	return n
}

// Reaches reports whether a probe for f finds g, by definition: some band is equal or, with ProbeOne, differs in one of its five nibbles.
func Reaches(p concordat.Probe, f, g concordat.Fingerprint) bool {
	for band := range concordat.Bands {
		differing := 0
		for x := f.Band(band) ^ g.Band(band); x != 0; x >>= 4 {
			if x&15 != 0 {
				differing++
			}
		}
		if differing == 0 || p == concordat.ProbeOne && differing == 1 {
			return true
		}
	}
	return false
}
