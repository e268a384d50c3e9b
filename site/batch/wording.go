package batch

import (
	"context"
	"slices"
	"sync/atomic"

	"concordat"
	"concordat/align"
	"concordat/align/wording"
	"concordat/report"
	"concordat/site/compare"
	"concordat/store"
)

// batchWording is the wording that the documents of a batch share by right.
type batchWording struct {
	held      *wording.Common // grams that at least two of the documents hold
	of        int             // documents
	templates []string
	// holders are the documents, by name and at most MaxBeside, beside which common wording is shown, by its first gram.
	holders map[uint64][]string
	first   []string // the first documents, by name and at most MaxBeside, beside which templates are shown
}

// common returns the grams that so many of the documents hold that they do not count.
func (w *batchWording) common() *wording.Common {
	return w.held.Least(wording.Least(w.of), wording.LeastLong(w.of))
}

// maxGrams bounds the grams that are counted at a time, 8 bytes each: larger batches are counted in parts.
const maxGrams = 16 << 20

// learn counts the wording of all documents, before any two are compared, unless that was done.
func (r *batchRun) learn(ctx context.Context, members []store.BatchMember) error {
	if r.wording != nil {
		return nil
	}
	o, done, err := r.o.Options(ctx, r.job)
	if err != nil {
		return err
	}
	if done != nil {
		done()
	}
	w := &batchWording{held: &wording.Common{}, of: len(members), templates: compare.TemplateTexts(o.Templates),
		holders: map[uint64][]string{}}
	size := 0
	for _, m := range members[:min(len(members), compare.MaxBeside)] {
		w.first = append(w.first, m.Name)
	}
	for _, m := range members {
		size += m.Characters
	}
	parts := 1 + size/4/maxGrams // words of four letters, or of fewer characters if there are fewer words
	calls := &wording.Calls{}
	for part := range parts {
		counter := &wording.Counter{Part: part, Parts: parts}
		if err := r.eachText(ctx, members, func(_ store.BatchMember, _ string, words *wording.Words) {
			counter.Add(words)
			if part == 0 {
				calls.Add(words)
			}
		}); err != nil {
			return err
		}
		w.held.Join(counter.Common(2, 0))
	}
	if forms := calls.Forms(wording.Least(w.of)); len(forms) > 0 {
		if err := r.eachText(ctx, members, func(_ store.BatchMember, _ string, words *wording.Words) { w.held.Forms(words, forms) }); err != nil {
			return err
		}
	}
	held := newHeldAlike(w)
	err = r.eachText(ctx, members, func(m store.BatchMember, text string, words *wording.Words) {
		for _, s := range held.common.In(words) {
			if hs := w.holders[s.Gram]; len(hs) < compare.MaxBeside && !slices.Contains(hs, m.Name) {
				w.holders[s.Gram] = append(hs, m.Name)
			}
		}
		held.add(m.Number, text, words)
	})
	if err != nil {
		return err
	}
	r.wording = w
	return r.keepHeld(ctx, held, members)
}

// eachText calls f with the words of each member, in order.
func (r *batchRun) eachText(ctx context.Context, members []store.BatchMember,
	f func(m store.BatchMember, text string, words *wording.Words)) error {
	for _, m := range members {
		if err := ctx.Err(); err != nil {
			return err
		}
		d, err := r.text(ctx, m.Name)
		if err != nil {
			return err
		}
		f(m, d.Text, wording.Split(d.Text))
	}
	return nil
}

// shared returns what of a member's text is shared by right.
func (w *batchWording) shared(text string) *compare.SharedWording {
	s := compare.Shareable(text, w.templates)
	s.Decide(w.held, w.of)
	return s
}

// member is the text of a member, ready for comparing.
type member struct {
	*compare.SharedWording
	prepared *align.Text
	source   atomic.Pointer[sourceText]
}

// sourceText is a member's text as the source of others: without the walls that one of them puts up in it.
type sourceText struct {
	walls    []concordat.Span
	prepared *align.Text
}

// sourceFor returns the member's text as a source of a, without what a check of a leaves out of it. Most members of a call
// leave out the same, so that the last one is kept.
func (m *member) sourceFor(a *member) *align.Text {
	walls := a.WallsOf(m.Text, m.Words)
	if slices.Equal(walls, m.Walls) {
		return m.prepared
	}
	s := m.source.Load()
	if s == nil || !slices.Equal(walls, s.walls) {
		s = &sourceText{walls, align.PrepareWithout(m.Text, walls)}
		m.source.Store(s)
	}
	return s.prepared
}

// passages returns what a has in common with b, whose name and title are given: evidence, and beside it what both share
// by right.
func (w *batchWording) passages(a, b *member, names [2]string, ref concordat.Ref, title string) []concordat.Passage {
	out := compare.Passages(a.prepared, b.sourceFor(a), &compare.Candidate{Ref: ref, Title: title},
		&concordat.Document{Title: title, Text: b.Text})
	for i := range out {
		out[i].Documents = w.held.Documents(a.Words, out[i].Span)
	}
	a.Judge(out)
	return append(out, a.Beside(b.Words, ref, title, b.Text, func(x report.Wording) bool {
		hs := w.first
		switch x.Kind {
		case concordat.KindCommon:
			hs = w.holders[a.Words.First(x.Span)]
		case concordat.KindTemplate:
		default:
			return true
		}
		return slices.Contains(hs, names[0]) || slices.Contains(hs, names[1])
	})...)
}
