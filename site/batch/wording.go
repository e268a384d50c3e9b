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

// batchWording is the wording shared by the documents of a batch.
type batchWording struct {
	scope     wording.Scope
	names     []string       // document names, by number in scope
	numbers   map[string]int // numbers in scope, by name
	ref       func(name string) concordat.Ref
	templates []string
	stock     *compare.Stock // stock of the site
	// holders maps the first gram of common wording to the documents displayed with it, at most MaxBeside, ordered by name.
	holders map[uint64][]string
	first   []string // the documents displayed with templates, the first MaxBeside by name
}

// maxGrams is the maximum number of grams counted at once, 16 bytes each; larger batches are counted in parts.
const maxGrams = 8 << 20

// learn records which documents contain which wording, before any two are compared, unless this was already done.
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
	w := &batchWording{scope: wording.Scope{Held: &wording.Common{}, Of: len(members)}, numbers: map[string]int{}, ref: r.ref,
		templates: compare.TemplateTexts(o.Templates), stock: r.s.Options().Stock, holders: map[uint64][]string{}}
	size := 0
	for i, m := range members {
		w.names = append(w.names, m.Name)
		w.numbers[m.Name] = i
		size += m.Characters
	}
	w.first = w.names[:min(len(members), compare.MaxBeside)]
	quoted := &wording.Counter{}
	parts := 1 + size/4/maxGrams // about one word per four letters
	for part := range parts {
		counter := &wording.Counter{Part: part, Parts: parts}
		if err := r.eachText(ctx, members, func(i int, _ store.BatchMember, text string, words *wording.Words) {
			counter.Add(i, words)
			if part == 0 {
				quoted.Add(i, compare.QuotedWords(text, words))
			}
		}); err != nil {
			return err
		}
		w.scope.Held.Join(counter.Common(2))
	}
	w.scope.Quoted = quoted.Common(2)
	if err := r.relate(ctx, w, members); err != nil {
		return err
	}
	held := newHeldAlike(w)
	err = r.eachText(ctx, members, func(_ int, m store.BatchMember, text string, words *wording.Words) {
		classes := w.shared(m.Name, text).Classes
		for _, x := range classes {
			if hs := w.holders[x.Gram]; x.Kind != "" && len(hs) < compare.MaxBeside && !slices.Contains(hs, m.Name) {
				w.holders[x.Gram] = append(hs, m.Name)
			}
		}
		held.add(m.Number, words, classes)
	})
	if err != nil {
		return err
	}
	r.wording = w
	return r.keepHeld(ctx, held, members)
}

// relate records in how many places documents share wording with each other, and which documents are mostly identical.
func (r *batchRun) relate(ctx context.Context, w *batchWording, members []store.BatchMember) error {
	places := map[[2]int32]int32{}
	sketches := make([][]uint64, len(members))
	err := r.eachText(ctx, members, func(i int, _ store.BatchMember, text string, words *wording.Words) {
		for e, n := range w.scope.Held.PlacesWith(words, i, compare.Shareable(text, w.templates, w.stock).Walls) {
			places[[2]int32{int32(i), int32(e)}] = int32(n)
		}
		sketches[i] = words.Sketch(w.scope.Held, w.scope.Of)
	})
	w.scope.Places = func(of, with int) int { return int(places[[2]int32{int32(of), int32(with)}]) }
	w.scope.Alike = func(a, b int) bool { return wording.MostlyAlike(sketches[a], sketches[b]) }
	return err
}

// eachText calls f with the words of each member, in order.
func (r *batchRun) eachText(ctx context.Context, members []store.BatchMember,
	f func(i int, m store.BatchMember, text string, words *wording.Words)) error {
	for i, m := range members {
		if err := ctx.Err(); err != nil {
			return err
		}
		d, err := r.text(ctx, m.Name)
		if err != nil {
			return err
		}
		f(i, m, d.Text, wording.Split(d.Text))
	}
	return nil
}

// shared returns the shared wording in a member's text.
func (w *batchWording) shared(name, text string) *compare.SharedWording {
	s := compare.Shareable(text, w.templates, w.stock)
	// A batch checks ctx between members instead.
	_ = s.Decide(context.Background(), &w.scope, w.numbers[name], func(i int) concordat.Ref { return w.ref(w.names[i]) })
	return s
}

// member is the text of a member, prepared for comparison.
type member struct {
	*compare.SharedWording
	prepared *align.Text
	source   atomic.Pointer[sourceText]
}

// sourceText is a member's text prepared as a source for other members, excluding the parts that one of them leaves out.
type sourceText struct {
	walls    []concordat.Span
	prepared *align.Text
}

// sourceFor returns the member's text as a source for a, excluding the parts that a check of a leaves out. Most members of a call leave
// out the same parts, so the last result is cached.
func (m *member) sourceFor(a *member) *align.Text {
	walls := a.WallsOf(m.Text, m.Words, m.References)
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

// passages returns the passages that a and b share, both evidence and shared wording, given b's name and title.
func (w *batchWording) passages(a, b *member, names [2]string, ref concordat.Ref, title string) []concordat.Passage {
	out := compare.Passages(a.prepared, b.sourceFor(a), &compare.Candidate{Ref: ref, Title: title},
		&concordat.Document{Title: title, Text: b.Text})
	for i := range out {
		out[i].Documents = w.scope.Held.Documents(a.Words, out[i].Span)
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
