package answer

import (
	"context"
	"slices"

	"concordat"
	"concordat/store"
)

// readJob adds the hits of the job's earlier asks to docs.
func (s *Answerer) readJob(ctx context.Context, q *question, docs []*found) error {
	if q.first {
		return nil
	}
	for _, f := range docs {
		if err := s.readBefore(ctx, q, f); err != nil {
			return err
		}
	}
	return nil
}

// readBefore reads the job's data about a document, provided its text has not changed.
func (s *Answerer) readBefore(ctx context.Context, q *question, f *found) error {
	known, err := s.o.Store.Answers.AnswerDocument(ctx, q.from, q.ask.Job, f.handle)
	if isNotFound(err) {
		return nil
	}
	if err != nil || known.Hash != f.row.Hash {
		return err
	}
	f.before, err = s.o.Store.Answers.AnswerHits(ctx, q.from, q.ask.Job, f.handle)
	return err
}

// maxHits is the maximum number of hits in one document kept from one ask.
const maxHits = 4096

// hits returns the hits of a document in the store's form.
func (q *question) hits(f *found, told bool) []store.AnswerHit {
	n := min(len(f.hits), maxHits)
	out := make([]store.AnswerHit, n)
	for i, h := range f.hits[:n] {
		out[i] = store.AnswerHit{Handle: f.handle, Sentence: q.name(h.Sentence), Ordinal: h.Ordinal, Span: h.match.Span,
			Distance: h.match.Distance, Weight: h.weight, Told: told}
	}
	return out
}

// keep records with the job the level at which each document was disclosed. The first metadata documents get level metadata with their
// hits, and the others get the given level; the documents in below get none.
func (s *Answerer) keep(ctx context.Context, q *question, docs []*found, metadata int, level concordat.Show, below []*found) error {
	var rows []store.AnswerDocument
	var hits []store.AnswerHit
	var shown []store.Showing
	for i, f := range slices.Concat(docs, below) {
		row := store.AnswerDocument{Handle: f.handle, Library: f.row.Library, Document: f.row.ID, Hash: f.row.Hash}
		switch {
		case i < metadata:
			row.Told = concordat.ShowMetadata
			shown = append(shown, store.Showing{Partner: q.from, Hash: f.row.Hash, Form: store.FormMatches, Library: f.row.Library,
				Document: f.row.ID, Epoch: q.ask.Epoch, Sentences: f.ordinals()})
		case i >= len(docs) || slices.ContainsFunc(f.before, func(h store.AnswerHit) bool { return h.Told }):
			// nothing was disclosed, or more was disclosed earlier
		default:
			row.Told = level
		}
		rows, hits = append(rows, row), append(hits, q.hits(f, i < metadata)...)
	}
	if err := s.o.Store.Answers.AddAnswerHits(ctx, q.from, q.ask.Job, rows, hits); err != nil {
		return err
	}
	return s.o.Store.Asks.Show(ctx, shown...)
}

// ordinals returns the number of matching sentences in the document.
func (f *found) ordinals() int {
	seen := map[int]bool{}
	for _, h := range f.hits {
		seen[h.Ordinal] = true
	}
	return len(seen)
}

// paired reports whether at least n sentences of the job can be paired one to one with matching sentences of the document. Many variants
// of one sentence, or one sentence close to many others, do not count as many matches. It computes a bipartite matching (Kuhn 1955, by
// augmenting paths).
func (q *question) paired(f *found, n int) bool {
	edges := map[[8]byte][]int{}
	var order [][8]byte
	add := func(sentence [8]byte, ordinal int) {
		if _, ok := edges[sentence]; !ok {
			order = append(order, sentence)
		}
		edges[sentence] = append(edges[sentence], ordinal)
	}
	for _, h := range f.before {
		add(h.Sentence, h.Ordinal)
	}
	for _, h := range f.hits[:min(len(f.hits), maxHits)] {
		add(q.name(h.Sentence), h.Ordinal)
	}
	held := map[int][8]byte{} // ordinal to its asked sentence
	var place func(sentence [8]byte, tried map[int]bool) bool
	place = func(sentence [8]byte, tried map[int]bool) bool {
		for _, o := range edges[sentence] {
			if tried[o] {
				continue
			}
			tried[o] = true
			other, taken := held[o]
			if !taken || place(other, tried) {
				held[o] = sentence
				return true
			}
		}
		return false
	}
	for i := 0; i < len(order) && n > 0; i++ {
		if place(order[i], map[int]bool{}) {
			n--
		}
	}
	return n <= 0
}
