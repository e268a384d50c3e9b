package report

import (
	"slices"

	"concordat"
)

// partGap is the maximum number of source bytes between two passages displayed as one piece. ownGap is the maximum number of submission
// bytes between them; anything longer is the author's own text, which must not be part of a piece. If both texts were compared word by
// word, ownGap also applies to the source, because the comparison either skipped the text between the passages, for example the next
// question on a form, or chose not to join them.
const (
	partGap = 200
	ownGap  = 24
)

// joinParts joins passages of one source into fewer pieces; neighbours that are also consecutive in the source become one piece if the
// source text between them is known. ps must be in order of Span and is not modified.
func joinParts(ps []concordat.Passage) []concordat.Passage {
	var out []piece
	for _, p := range ps {
		if n := len(out); n > 0 && out[n-1].join(p) {
			continue
		}
		out = append(out, piece{Passage: p, text: []byte(p.Text)})
	}
	parts := make([]concordat.Passage, len(out))
	for i, p := range out {
		p.Text = string(p.text)
		p.Similarity = min(p.weighted(), 1)
		parts[i] = p.Passage
	}
	return parts
}

// piece is a passage that grows by joining; text is its Text, stored so that the cost of growing depends only on the added text.
type piece struct {
	concordat.Passage
	text    []byte
	sum     float64 // similarity × bytes of the passages joined after the first
	bytes   int     // bytes of the passages joined after the first
	ownSpan int     // bytes of the first passage; 0 until another one is joined
	byKind  map[concordat.Kind]int
	owned   bool // the piece owns its Words slice
}

func (a *piece) weighted() float64 {
	if a.ownSpan == 0 {
		return a.Similarity
	}
	return (a.Similarity*float64(a.ownSpan) + a.sum) / float64(a.ownSpan+a.bytes)
}

// join merges b into a if they form one piece, and reports whether it did.
func (a *piece) join(b concordat.Passage) bool {
	gap := partGap
	if len(a.Words) > 0 && len(b.Words) > 0 {
		gap = ownGap
	}
	if b.SourceSpan.Start < a.SourceSpan.Start || b.SourceSpan.Start-a.SourceSpan.End > gap || b.Span.Start-a.Span.End > ownGap {
		return false
	}
	if a.Kind != b.Kind && b.Span.Start >= a.Span.End {
		return false // different kinds are displayed separately
	}
	if !a.joinText(b) {
		return false
	}
	if a.ownSpan == 0 {
		a.ownSpan = a.Span.Len()
		a.byKind = map[concordat.Kind]int{a.Kind: a.ownSpan}
	}
	a.byKind[b.Kind] += b.Span.Len()
	a.Kind = mostly(a.byKind)
	a.sum += b.Similarity * float64(b.Span.Len())
	a.bytes += b.Span.Len()
	a.Span.End = max(a.Span.End, b.Span.End)
	if b.SourceSpan.End >= a.SourceSpan.End {
		a.SourceSpan.End, a.After = b.SourceSpan.End, b.After
	}
	if a.SourcePoints.Len() > 0 && b.SourcePoints.Len() > 0 {
		a.SourcePoints.End = max(a.SourcePoints.End, b.SourcePoints.End)
	} else {
		a.SourcePoints = concordat.Span{}
	}
	a.Documents = max(a.Documents, b.Documents)
	a.joinWords(b.Words)
	a.Shared = slices.Concat(a.Shared, b.Shared) // in order, provided the passages are
	return true
}

// joinText appends the text that b adds to a, filling any gap from the surrounding text. If a byte between the two is unknown, it changes
// nothing and returns false.
func (a *piece) joinText(b concordat.Passage) bool {
	if len(a.text) == 0 && b.Text == "" {
		return true // neither may be displayed
	}
	if len(a.text) != a.SourceSpan.Len() || len(b.Text) != b.SourceSpan.Len() {
		return false
	}
	gap := b.SourceSpan.Start - a.SourceSpan.End
	switch {
	case gap > len(a.After):
		return false
	case gap > 0:
		a.text = append(append(a.text, a.After[:gap]...), b.Text...)
	case b.SourceSpan.End > a.SourceSpan.End:
		a.text = append(a.text, b.Text[-gap:]...)
	}
	return true
}

// joinWords appends the pairs that follow the last pair on both sides.
func (a *piece) joinWords(words []concordat.SpanPair) {
	for _, w := range words {
		if n := len(a.Words); n > 0 && (w.Span.Start < a.Words[n-1].Span.End || w.Source.Start < a.Words[n-1].Source.End) {
			continue
		}
		if !a.owned {
			a.Words, a.owned = slices.Clone(a.Words), true
		}
		a.Words = append(a.Words, w)
	}
}
