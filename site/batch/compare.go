package batch

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/errgroup"

	"concordat"
	"concordat/report"
	"concordat/site/compare"
	"concordat/store"
)

// Passage is a passage shared by two members. A is the member whose name sorts first. It is stored with the pair as JSON, without the
// texts.
type Passage struct {
	// Side names the member whose report contains the passage. Empty, as in earlier versions, means both.
	Side      string               `json:"side,omitempty"`
	A         concordat.Span       `json:"a"`
	B         concordat.Span       `json:"b"`
	Kind      concordat.Kind       `json:"kind"`
	LikeA     float64              `json:"like_a"` // share of A's words found in B, 0 to 1; 0 if not recorded
	LikeB     float64              `json:"like_b"`
	Documents int                  `json:"documents,omitempty"` // number of documents in the batch that contain the wording
	Wording   concordat.Kind       `json:"wording,omitempty"`   // kind of shared wording; empty if it is evidence
	Why       string               `json:"why,omitempty"`       // for a form, the part it resembles
	Words     []concordat.SpanPair `json:"words,omitempty"`     // Span in A, Source in B
}

// The members of a pair.
const (
	sideA = "a"
	sideB = "b"
)

// readable returns the members that have a text, ordered by name.
func (r *batchRun) readable(ctx context.Context) ([]store.BatchMember, error) {
	all, err := r.o.Store.Batches.BatchMembers(ctx, r.id)
	var out []store.BatchMember
	for _, m := range all {
		if m.Cause.IsZero() {
			out = append(out, m)
		}
	}
	return out, err
}

// compare searches for matches between members, starting from each.
func (r *batchRun) compare(ctx context.Context) error {
	members, err := r.readable(ctx)
	if err != nil {
		return err
	}
	byName := make(map[concordat.DocumentID]*store.BatchMember, len(members))
	for i := range members {
		byName[concordat.DocumentID(members[i].Name)] = &members[i]
	}
	compared := func(m *store.BatchMember) bool { return m.Compared }
	if slices.ContainsFunc(members, func(m store.BatchMember) bool { return !compared(&m) }) {
		if err := r.learn(ctx, members); err != nil {
			return err
		}
	}
	return r.each(ctx, StageCompare, members, compared, func(ctx context.Context, m *store.BatchMember) error {
		pairs, err := r.compareOne(ctx, m, byName)
		if err != nil {
			return fmt.Errorf("compare %s: %w", m.Name, err)
		}
		return r.o.Store.Batches.PutCompared(ctx, r.id, m.Number, pairs)
	})
}

// each calls do concurrently for the members not yet done.
func (r *batchRun) each(ctx context.Context, stage string, members []store.BatchMember, isDone func(*store.BatchMember) bool,
	do func(context.Context, *store.BatchMember) error) error {
	var done atomic.Int64
	var todo []*store.BatchMember
	for i := range members {
		if isDone(&members[i]) {
			done.Add(1)
		} else {
			todo = append(todo, &members[i])
		}
	}
	if err := r.tell(ctx, stage, int(done.Load()), len(members)); err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(r.s.Options().Workers)
	for _, m := range todo {
		compare.Go(g, func() error {
			err := ctx.Err()
			if err == nil {
				err = do(ctx, m)
			}
			if err != nil {
				return err
			}
			return r.tell(ctx, stage, int(done.Add(1)), len(members))
		})
	}
	return g.Wait()
}

// compareOne returns the pairs of a member with candidates not yet claimed by another worker.
func (r *batchRun) compareOne(ctx context.Context, m *store.BatchMember,
	byName map[concordat.DocumentID]*store.BatchMember) ([]store.BatchPair, error) {
	d, err := r.text(ctx, m.Name)
	if err != nil {
		return nil, err
	}
	p, err := r.s.Options().Profiler.Profile(concordat.Document{ID: d.ID, Title: d.Title, Text: d.Text}, nil)
	if err != nil {
		return nil, err
	}
	o := compare.Options{Exact: r.job.Exact, Channel: r.job.Channel, Candidates: r.job.Candidates, Inside: true,
		Exclude: []concordat.Ref{r.ref(m.Name)}}
	q := r.inner.Query(p, o, []concordat.LibraryID{r.library})
	found, err := r.inner.Find(ctx, p, q, o, compare.NoProgress)
	if err != nil {
		return nil, err
	}
	known, err := r.o.Store.Batches.Compared(ctx, r.id, m.Number)
	if err != nil {
		return nil, err
	}
	one := &comparing{r: r, m: m, d: d, looks: compare.Looker{Text: d.Text}}
	var pairs []store.BatchPair
	for _, c := range found.Candidates {
		other := byName[c.Ref.Document]
		if other == nil || slices.Contains(known, other.Number) || r.isClaimed(m, other) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		pair, ok, err := one.with(ctx, c, other)
		if err != nil {
			return nil, err
		}
		if ok {
			pairs = append(pairs, pair)
		}
	}
	return pairs, nil
}

// comparing is the comparison of a member with its candidates.
type comparing struct {
	r     *batchRun
	m     *store.BatchMember
	d     *concordat.Document
	looks compare.Looker
}

// with compares the member with a candidate. ok is false if the comparison is not worthwhile or belongs to another worker.
func (x *comparing) with(ctx context.Context, c *compare.Candidate, other *store.BatchMember) (p store.BatchPair, ok bool, err error) {
	source, err := x.r.text(ctx, other.Name)
	if err != nil {
		return p, false, err
	}
	// It is possible that only one of the two considers the other worth comparing.
	worth, err := x.r.inner.Worthwhile(&x.looks, c, source.Text)
	if err != nil || !worth || !x.r.claim(x.m, other) {
		return p, false, err
	}
	p, err = x.r.pair(x.m, other, x.d, source)
	return p, err == nil, err
}

func pairKey(m, other *store.BatchMember) [2]int {
	return [2]int{min(m.Number, other.Number), max(m.Number, other.Number)}
}

func (r *batchRun) isClaimed(m, other *store.BatchMember) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.claimed[pairKey(m, other)]
}

// claim reserves the pair for the caller, unless another worker in this run has claimed it, and reports whether it did. If a run ends
// before the caller records its pairs, the caller is not recorded as compared either.
func (r *batchRun) claim(m, other *store.BatchMember) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	k := pairKey(m, other)
	if r.claimed[k] {
		return false
	}
	r.claimed[k] = true
	return true
}

// pair compares two members, starting from the one whose name sorts first.
func (r *batchRun) pair(m, other *store.BatchMember, d, source *concordat.Document) (store.BatchPair, error) {
	a, b := m, other
	if other.Name < m.Name {
		a, b, d, source = other, m, source, d
	}
	out := store.BatchPair{A: a.Number, B: b.Number}
	here, there := r.prepared.of(r.wording, a.Name, d.Text), r.prepared.of(r.wording, b.Name, source.Text)
	// An alignment starts from the examined text, so each of the two members gets the passages that checking it would find. It is
	// possible that only one of them has any; for example, a quotation attributed in one document is evidence against the other, which
	// reworded it.
	kept := sidePassages(sideA, r.wording.passages(here, there, [2]string{a.Name, b.Name}, r.ref(b.Name), b.Title))
	kept = append(kept, sidePassages(sideB, r.wording.passages(there, here, [2]string{b.Name, a.Name}, r.ref(a.Name), a.Title))...)
	if len(kept) == 0 {
		return out, nil
	}
	var err error
	out.Passages, err = json.Marshal(kept)
	return out, err
}

// sidePassages returns passages, as seen by one of the two members, in stored form.
func sidePassages(side string, passages []concordat.Passage) []Passage {
	var kept []Passage
	for _, p := range passages {
		k := Passage{Side: side, A: p.Span, B: p.SourceSpan, Kind: p.Kind, LikeA: p.Similarity, Documents: p.Documents,
			Wording: p.Wording, Why: p.Why, Words: p.Words}
		if side == sideB {
			k.turn()
		}
		kept = append(kept, k)
	}
	return kept
}

// turn swaps the two sides.
func (k *Passage) turn() {
	k.A, k.B, k.LikeA, k.LikeB = k.B, k.A, k.LikeB, k.LikeA
	words := make([]concordat.SpanPair, len(k.Words))
	for i, w := range k.Words {
		words[i] = concordat.SpanPair{Span: w.Source, Source: w.Span}
	}
	k.Words = words
}

// maxPrepared is the number of bytes of text that a batch keeps prepared for alignment; prepared texts take about nine times as much
// memory, and twice that with garbage. If other members leave out different spans of a text than it does itself, a second copy is kept as
// the source for the most recent such member.
const maxPrepared = 8 << 20

// preparedTexts caches texts prepared for alignment, since each is compared with many others. The zero value is ready to use and safe for
// concurrent use.
type preparedTexts struct {
	mu    sync.Mutex
	texts map[string]preparedText
	size  int
}

type preparedText struct {
	*member
	size int
}

// of returns the prepared text with the given name. If there is no space, it evicts entries in no particular order.
func (p *preparedTexts) of(w *batchWording, name, text string) *member {
	p.mu.Lock()
	t, ok := p.texts[name]
	p.mu.Unlock()
	if ok {
		return t.member
	}
	shared := w.shared(name, text)
	t = preparedText{&member{SharedWording: shared, prepared: shared.Prepare()}, len(text)}
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.texts[name]; ok || t.size > maxPrepared {
		return t.member
	}
	for other, o := range p.texts {
		if p.size+t.size <= maxPrepared {
			break
		}
		delete(p.texts, other)
		p.size -= o.size
	}
	if p.texts == nil {
		p.texts = map[string]preparedText{}
	}
	p.texts[name] = t
	p.size += t.size
	return t.member
}

// passagesOf returns the passages of a pair as seen by one of its members, whose text is own; isA states which one.
func passagesOf(packed []byte, isA bool, other concordat.Ref, title, source string) ([]concordat.Passage, error) {
	var kept []Passage
	if err := json.Unmarshal(packed, &kept); err != nil {
		return nil, fmt.Errorf("passages with %s: %w: %v", other, concordat.ErrCorrupt, err)
	}
	points := report.NewCounter(source)
	out := make([]concordat.Passage, 0, len(kept))
	for _, k := range kept {
		if k.Side == sideA && !isA || k.Side == sideB && isA {
			continue
		}
		if !isA {
			k.turn()
			if k.Side == "" && k.Kind == concordat.KindSummary {
				k.Kind = concordat.KindParaphrase // from the longer text's side, nothing is condensed
			}
		}
		p := concordat.Passage{Span: k.A, Source: other, Title: title, SourceSpan: k.B, Kind: k.Kind, Similarity: k.LikeA,
			Documents: k.Documents, Wording: k.Wording, Why: k.Why, Words: k.Words}
		if p.SourceSpan.Start < 0 || p.SourceSpan.End > len(source) || p.SourceSpan.Start > p.SourceSpan.End {
			return nil, fmt.Errorf("passages with %s: %w: a span lies outside the text", other, concordat.ErrCorrupt)
		}
		p.SourcePoints = points.Points(p.SourceSpan)
		p.Text, p.Before, p.After = compare.Around(source, p.SourceSpan)
		out = append(out, p)
	}
	return out, nil
}
