package ask

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"concordat"
	"concordat/align"
	"concordat/site/compare"
	"concordat/store"
)

// edges performs the edge round. It returns the exact copies within stretches that are probably copied, and the number of this site's
// words whose order was disclosed.
func (r *round) edges(ctx context.Context, job concordat.JobID, n *nominated, full *align.Text,
	literal []align.Passage) (copies []align.Passage, words int, st *concordat.Statement, err error) {
	a := &concordat.EdgesAsk{Job: job, Epoch: r.p.Epoch, Handle: n.Handle}
	own := make([]align.Order, len(literal))
	for i, l := range literal {
		if own[i], err = full.Order(r.p.SketchKey, l.A); err != nil {
			return nil, 0, nil, err
		}
		a.Passages = append(a.Passages, concordat.EdgePassage{Span: l.B, Words: own[i].Words})
		words += len(own[i].Words)
	}
	showing := store.Showing{Partner: r.answer.site, Hash: store.TextHash(r.fw.sub.Text), Form: store.FormEdges, Epoch: r.p.Epoch}
	for _, l := range literal {
		showing.Characters += l.A.Len()
	}
	if err := r.fw.s.o.Store.Asks.Show(ctx, showing); errors.Is(err, concordat.ErrRefused) {
		return nil, 0, nil, nil
	} else if err != nil {
		return nil, 0, nil, fmt.Errorf("record disclosure to site %s: %w", r.answer.site, err)
	}
	e, err := r.p.Partner.Edges(ctx, a)
	if refused := (*concordat.Refusal)(nil); errors.As(err, &refused) && !errors.Is(err, concordat.ErrUnavailable) {
		return nil, words, nil, nil // the partner is strict, so passages keep their sentence boundaries
	}
	if err != nil {
		return nil, words, nil, err
	}
	if e == nil || len(e.Passages) != len(a.Passages) {
		return nil, words, nil, fmt.Errorf("%w: invalid passage boundaries", errGarbage)
	}
	for i, found := range e.Passages {
		for _, x := range found {
			if x.From < 0 || x.To <= x.From || x.To > len(own[i].Spans) || x.Span.Start < literal[i].B.Start || x.Span.End > literal[i].B.End ||
				x.Span.Len() <= 0 {
				return nil, words, nil, fmt.Errorf("%w: invalid passage boundaries", errGarbage)
			}
			copies = append(copies, align.Passage{
				A: concordat.Span{Start: own[i].Spans[x.From].Start, End: own[i].Spans[x.To-1].End}, B: x.Span,
				Kind: concordat.KindVerbatim, Similarity: 1,
			})
		}
	}
	return copies, words, &e.Statement, nil
}

// together returns the copies with exact edges, and the parts of the rough passages around them.
func (fw *forwarding) together(rough, copies []align.Passage) []concordat.Passage {
	var out []concordat.Passage
	for _, c := range copies {
		p := concordat.Passage{Span: c.A, SourceSpan: c.B, Kind: c.Kind, Similarity: 1}
		if !slices.ContainsFunc(out, func(q concordat.Passage) bool { return q.Span == p.Span && q.SourceSpan == p.SourceSpan }) {
			out = append(out, p)
		}
	}
	var copied []concordat.Span // in the source
	for _, c := range copies {
		copied = append(copied, c.B)
	}
	copied = compare.Joined(copied)
	for _, p := range rough {
		for _, x := range between(p, copies) {
			whole := x.A == p.A
			x.A = compare.Tight(fw.sub.Text, x.A)
			left := x.B.Len()
			for _, c := range copied {
				left -= max(0, min(c.End, x.B.End)-max(c.Start, x.B.Start))
			}
			if x.A.Len() == 0 || !whole && fw.count.Characters(x.A) < leastRest || maxWider*left < x.A.Len() && (!whole || left < x.B.Len()) {
				continue // nothing remains on one side, so the rest of the other side has no counterpart
			}
			out = append(out, concordat.Passage{Span: x.A, SourceSpan: x.B, Kind: p.Kind, Similarity: steps(p.Similarity)})
		}
	}
	return out
}

// maxWider is the maximum length ratio between the two sides of a passage's remainder.
const maxWider = 3

// between returns the parts of a rough passage between its copies, each with the source text between the same copies.
func between(p align.Passage, copies []align.Passage) []align.Passage {
	var out []align.Passage
	rest := p
	for _, c := range sortedSpans(copies) {
		if !c.A.Overlaps(p.A) || !c.B.Overlaps(p.B) {
			continue
		}
		if c.A.Start > rest.A.Start {
			x := rest
			x.A.End, x.B.End = c.A.Start, max(x.B.Start, c.B.Start)
			out = append(out, x)
		}
		rest.A.Start, rest.B.Start = max(rest.A.Start, c.A.End), min(max(p.B.Start, c.B.End), p.B.End)
	}
	if rest.A.Start < p.A.End {
		out = append(out, rest)
	}
	return out
}

func sortedSpans(ps []align.Passage) []align.Passage {
	out := slices.Clone(ps)
	slices.SortFunc(out, func(a, b align.Passage) int { return cmp.Compare(a.A.Start, b.A.Start) })
	return out
}
