package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/align"
	"concordat/align/wording"
	"concordat/report"
)

// maxHeld is the maximum number of bytes of text held in memory for waiting candidates; further texts are read again later.
const maxHeld = 64 << 20

// maxHeldWords is the corresponding limit for texts held with their words, which take about ten times as much memory.
const maxHeldWords = maxHeld / 16

// Align compares the submission with the text of each candidate and returns all passages, starting with those of the best candidate. It
// skips candidates ruled out by a quick look. Before any comparison, shared learns which wording the candidates legitimately share; of is
// the number of documents that could contain it. asked are the sentences of the submission, and q is the query that found the candidates.
func (m *Comparer) Align(ctx context.Context, shared *SharedWording, q *concordat.Query, asked []concordat.Sentence,
	candidates []*Candidate,
	of int, progress Progress) ([]concordat.Passage, error) {
	if len(candidates) == 0 {
		return nil, nil
	}
	progress("verify", 0, len(candidates))
	texts := make([]*concordat.Document, len(candidates))
	split := make([]*wording.Words, len(candidates))
	var held atomic.Int64
	var mu sync.Mutex // protects counter and quoted
	counter := wording.CounterOf(shared.Words)
	quoted := wording.CounterOf(quotedWords(shared.Words, shared.Attributed))
	own := shared.Words.Of(concordat.Span{End: len(shared.Text)})
	places := make([]int, len(candidates)) // where a candidate and the submission share wording
	looks := Looker{Text: shared.Text}
	err := m.each(ctx, "verify", candidates, progress, func(ctx context.Context, i int) error {
		d, err := m.source(ctx, candidates[i])
		if err != nil || d == nil {
			return err
		}
		worth, err := m.Worthwhile(&looks, candidates[i], d.Text)
		if err != nil || !worth {
			return err
		}
		words := wording.Split(d.Text)
		places[i] = own.PlacesWith(words, i+1, nil)[0]
		var theirs *wording.Words
		if len(shared.Attributed) > 0 {
			theirs = QuotedWords(d.Text, words)
		}
		mu.Lock()
		counter.Add(i+1, words)
		if theirs != nil {
			quoted.Add(i+1, theirs)
		}
		mu.Unlock()
		size := held.Add(int64(len(d.Text)))
		if size <= maxHeldWords {
			split[i] = words
		}
		if size > maxHeld {
			d = &concordat.Document{}
		}
		texts[i] = d
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := m.countExact(ctx, counter, shared, q, asked); err != nil {
		return nil, err
	}
	grams := counter.Common(2)
	look := newSketches(grams, of, func(i int) *wording.Words {
		if i == 0 {
			return shared.Words
		}
		return split[i-1]
	})
	err = shared.Decide(ctx, &wording.Scope{Held: grams, Of: of, Quoted: quoted.Common(2), Alike: look.alike,
		Places: func(i, _ int) int { return places[i-1] }}, 0,
		func(i int) concordat.Ref { return candidates[i-1].Ref })
	if err != nil {
		return nil, err
	}
	prepared := shared.Prepare()
	found := make([][]concordat.Passage, len(candidates))
	cited := make([]report.SharedWorks, len(candidates))
	err = m.each(ctx, "align", candidates, progress, func(ctx context.Context, i int) (err error) {
		d, words := texts[i], split[i]
		texts[i], split[i] = nil, nil
		if d != nil && d.ID == "" {
			d, err = m.source(ctx, candidates[i])
		}
		if err == nil && d != nil {
			if words == nil {
				words = wording.Split(d.Text)
			}
			cites := report.ReadBibliography(d.Text)
			found[i] = Passages(prepared, align.PrepareWithout(d.Text, shared.WallsOf(d.Text, words, cites.Lists)), candidates[i], d)
			for k := range found[i] {
				found[i][k].Documents = grams.Documents(shared.Words, found[i][k].Span)
			}
			shared.Judge(found[i])
			found[i] = append(found[i], shared.Beside(words, candidates[i].Ref, cmp.Or(d.Title, candidates[i].Title), d.Text, nil)...)
			for k := range found[i] {
				found[i][k].Documents = max(0, found[i][k].Documents-1) // exclude the submission
			}
			cited[i], _ = report.BothCite(shared.works, cites.Works, candidates[i].Ref, cmp.Or(d.Title, candidates[i].Title))
		}
		return err
	})
	shared.Cited = slices.DeleteFunc(cited, func(w report.SharedWorks) bool { return w.Works == 0 })
	all := slices.Concat(found...)
	shared.Settle(all)
	return all, err
}

// sketches determines which texts are mostly identical. It is not safe for concurrent use.
type sketches struct {
	of func(text int) []uint64
}

// newSketches returns sketches of texts, each computed on first use. A text without words resembles no other text.
func newSketches(held *wording.Common, of int, words func(text int) *wording.Words) *sketches {
	made := map[int][]uint64{}
	return &sketches{func(i int) []uint64 {
		x, ok := made[i]
		if w := words(i); !ok && w != nil {
			x = w.Sketch(held, of)
			made[i] = x
		}
		return x
	}}
}

// alike reports whether two texts are mostly identical.
func (s *sketches) alike(a, b int) bool { return wording.MostlyAlike(s.of(a), s.of(b)) }

// countExact counts the documents, candidates or not, that contain a sentence of the submission exactly, because with very common
// wording, only some of the documents become candidates. Excluded documents, for example an earlier version of the submission, are
// indistinguishable in an answer and possibly part of the count, so they are subtracted.
func (m *Comparer) countExact(ctx context.Context, counter *wording.Counter, shared *SharedWording, q *concordat.Query,
	asked []concordat.Sentence) error {
	if len(asked) == 0 {
		return nil
	}
	exact := &concordat.Query{Scheme: q.Scheme, Libraries: q.Libraries, Exclude: q.Exclude, Limit: 1}
	for _, x := range asked {
		exact.Fingerprints = append(exact.Fingerprints, x.Fingerprint)
	}
	a, err := m.Index.Match(ctx, exact)
	if err != nil {
		return fmt.Errorf("count common wording: %w", err)
	}
	for _, x := range a.Matches {
		if n := x.Documents - len(q.Exclude); x.Distance == 0 && n > wording.Absolute {
			counter.AtLeast(shared.Words, asked[x.Sentence].Span, n+1)
		}
	}
	return nil
}

// each calls do concurrently with the index of each candidate.
func (m *Comparer) each(ctx context.Context, stage string, candidates []*Candidate, progress Progress,
	do func(context.Context, int) error) error {
	var done atomic.Int64
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(m.Workers)
	for i := range candidates {
		g.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := Guard(func() error { return do(ctx, i) }); err != nil {
				return err
			}
			progress(stage, int(done.Add(1)), len(candidates))
			return nil
		})
	}
	return g.Wait()
}

// source returns a candidate's document, or nil if it was deleted in the meantime.
func (m *Comparer) source(ctx context.Context, c *Candidate) (*concordat.Document, error) {
	d, err := m.Index.Document(ctx, c.Ref)
	if errors.Is(err, concordat.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("source %s: %w", c.Ref, err)
	}
	return d, nil
}

// Worthwhile reports whether a source deserves a word-by-word comparison. It does if a nominating sentence is confirmed or, if words
// nominated it, if some place in it shares enough words with a place in the submission.
func (m *Comparer) Worthwhile(l *Looker, c *Candidate, source string) (bool, error) {
	if related, err := m.Related(l.Text, c, source); err != nil || related || !c.Text {
		return related, err
	}
	return l.look(source) >= align.LeastGlance, nil
}

// Looker provides quick looks at sources for a submission, concurrently. The text of the submission is prepared on first use.
type Looker struct {
	Text   string
	once   sync.Once
	glance *align.Glance
	pool   sync.Pool // pool of *align.Looker
}

func (l *Looker) look(source string) float64 {
	l.once.Do(func() { l.glance = align.NewGlance(l.Text) })
	x, ok := l.pool.Get().(*align.Looker)
	if !ok {
		x = l.glance.Looker()
	}
	defer l.pool.Put(x)
	return x.Look(source)
}

// leastResemblance is the minimum exact resemblance of a nominating sentence for comparing the whole document. A fingerprint within the
// gate indicates 0.4 or more; unrelated sentences that get that close by chance have less than 0.1, and a large library has many of them.
const leastResemblance = 0.25

// Related reports whether some nominating sentence of the candidate is confirmed word by word, at a hundredth of the cost of comparing
// the documents.
func (m *Comparer) Related(text string, c *Candidate, source string) (bool, error) {
	for _, h := range c.Hits {
		if h.Source.End > len(source) || h.Source.Start < 0 || h.Source.Start > h.Source.End {
			continue // the document was replaced in the meantime
		}
		r, err := m.Profiler.Resemblance(h.Span.In(text), h.Source.In(source))
		if err != nil || r >= leastResemblance {
			return err == nil, err
		}
	}
	return false, nil
}

// Passages aligns the submission with one source, d, and returns the passages. Both texts must be prepared.
func Passages(submission, source *align.Text, c *Candidate, d *concordat.Document) []concordat.Passage {
	var out []concordat.Passage
	var points *report.Counter
	for _, p := range align.Pair(submission, source, align.Options{}) {
		if points == nil {
			points = report.NewCounter(d.Text)
		}
		text, before, after := Around(d.Text, p.B)
		out = append(out, concordat.Passage{
			Span: p.A, Source: c.Ref, Title: cmp.Or(d.Title, c.Title), SourceSpan: p.B, SourcePoints: points.Points(p.B),
			Kind: p.Kind, Similarity: p.Similarity, Text: text, Before: before, After: after, Words: p.Words,
		})
	}
	return out
}

// Around returns the text of a span, with some context on either side.
func Around(text string, span concordat.Span) (in, before, after string) {
	from := max(0, span.Start-contextBytes)
	for from < span.Start && !StartsRune(text, from) {
		from++
	}
	to := min(len(text), span.End+contextBytes)
	for to > span.End && !StartsRune(text, to) {
		to--
	}
	return span.In(text), text[from:span.Start], text[span.End:to]
}

func StartsRune(text string, at int) bool {
	return at >= len(text) || text[at]&0xC0 != 0x80
}
