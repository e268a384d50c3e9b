package site

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"concordat"
	"concordat/report"
	"concordat/screen"
	"concordat/store"
)

// Parameters of the comparison of short texts.
const (
	// defaultShortThreshold is the minimum Jaccard similarity of the grams of two short texts (doc/evaluation/short.md).
	defaultShortThreshold = 0.5
	// shortSources is the maximum number of places listed for one short text.
	shortSources = 50
	// shortMeasured is the maximum number of texts measured for one short text; if there are more, the check says so.
	shortMeasured = 200_000
)

// ShortPieces returns the short pieces of a profile, with the grams that the store uses to find them. It never returns nil, because the
// pieces are known even if there are none.
func ShortPieces(p *concordat.Profile) []store.ShortPiece {
	out := make([]store.ShortPiece, len(p.Short))
	for i, piece := range p.Short {
		out[i] = store.ShortPiece{ShortPiece: piece, Grams: gramKeys(screen.GramsOf(piece.Letters))}
	}
	return out
}

// gramKeys reduces grams to 32 bits for storage. If two grams coincide, the only effect is additional candidates, which are then measured
// exactly.
func gramKeys(grams screen.Grams) []uint32 {
	out := make([]uint32, len(grams))
	for i, g := range grams {
		out[i] = uint32(g ^ g>>32)
	}
	slices.Sort(out)
	return out
}

// atMost returns an upper bound, usually exact, on the Jaccard similarity of two texts, given the keys of their grams.
func atMost(a, b []uint32) float64 {
	common := 0
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] < b[j]:
			i++
		case a[i] > b[j]:
			j++
		default:
			common, i, j = common+1, i+1, j+1
		}
	}
	return float64(common) / float64(max(len(a)+len(b)-common, 1))
}

// findShort compares a submission's short pieces with the libraries' short pieces.
func (s *Site) findShort(ctx context.Context, p *concordat.Profile, q *concordat.Query, threshold float64) (*report.ShortFindings, error) {
	f := &report.ShortFindings{Threshold: cmp.Or(threshold, defaultShortThreshold), Pieces: []report.ShortPiece{},
		Matches: []report.ShortMatch{}}
	var err error
	if f.Unindexed, err = s.o.Store.Catalogue.ShortUnknown(ctx, q.Libraries); err != nil {
		return nil, err
	}
	known := map[string][]report.ShortMatch{} // by letters, because headings are repeated
	for i, piece := range p.Short {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f.Pieces = append(f.Pieces, report.ShortPiece{Span: piece.Span, Text: piece.Text})
		matches, ok := known[piece.Letters]
		if !ok {
			var capped bool
			if matches, capped, err = s.nearShort(ctx, piece.Letters, q, f.Threshold); err != nil {
				return nil, fmt.Errorf("short texts: %w", err)
			}
			if capped {
				f.Capped++
			}
			known[piece.Letters] = matches
		}
		for _, m := range matches {
			m.Piece = i
			f.Matches = append(f.Matches, m)
		}
	}
	return f, nil
}

// nearShort returns up to shortSources places of short texts at or above the threshold, most similar first; capped means that some
// similar texts were not measured.
func (s *Site) nearShort(ctx context.Context, letters string, q *concordat.Query,
	threshold float64) (out []report.ShortMatch, capped bool, err error) {
	type hit struct {
		text       int64
		similarity float64
	}
	var hits []hit
	grams := screen.GramsOf(letters)
	least, low, high := grams.Bounds(threshold)
	keys := gramKeys(grams)
	measured := 0
	err = s.o.Store.Catalogue.ShortCandidates(ctx, keys, least, low, high, func(t store.ShortText) bool {
		if measured++; measured > shortMeasured {
			capped = true
			return false
		}
		if atMost(keys, t.Grams) < threshold-1e-9 {
			return true
		}
		if v := grams.Jaccard(screen.GramsOf(t.Letters)); v >= threshold {
			hits = append(hits, hit{t.ID, v})
		}
		return true
	})
	if err != nil {
		return nil, false, err
	}
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(cmp.Compare(b.similarity, a.similarity), cmp.Compare(a.text, b.text))
	})
	for _, h := range hits {
		places, documents, err := s.o.Store.Catalogue.ShortPlaces(ctx, h.text, q.Libraries, shortSources+len(q.Exclude))
		if err != nil {
			return nil, false, err
		}
		for _, p := range places {
			ref := s.Ref(p.Library, p.Document)
			if slices.Contains(q.Exclude, ref) {
				continue
			}
			if len(out) == shortSources {
				return out, capped, nil
			}
			out = append(out, report.ShortMatch{Source: ref, Title: p.Title, SourceSpan: p.Span, Text: p.Text, Similarity: h.similarity,
				Documents: documents})
		}
	}
	return out, capped, nil
}
