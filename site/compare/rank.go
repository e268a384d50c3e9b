package compare

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"concordat"
	"concordat/meaning"
)

// Parameters for ranking documents by sentence vectors (doc/evaluation/meaning-index.md).
const (
	sentenceDocuments = 100 // documents found through cells for one sentence
	askedTogether     = 64  // sentences per query to the index
	stretchBest       = 3   // number of sentences per stretch that count, the ones that stand out most
	usualFrom         = 10  // first rank, by closeness to a sentence, of the documents that represent the norm
	usualTo           = 20  // last rank of these documents
)

// scored is a document, identified by its number in a ranking, and how much it stands out.
type scored struct {
	document int
	score    float64
	at       int // index of its nearest direction, if vectors rank it
}

// ranking ranks documents in one script that are close to sentences of a text.
type ranking struct {
	text       *meaning.Text
	cells      *meaning.Cells
	candidates []*Candidate
	at         map[concordat.Ref]int
	rows       [][]scored // one per sentence
}

func newRanking(t *meaning.Text, cells *meaning.Cells) *ranking {
	return &ranking{text: t, cells: cells, at: map[concordat.Ref]int{}, rows: make([][]scored, len(t.Spans))}
}

// add records the documents found through cells for a sentence, best first.
func (r *ranking) add(sentence int, matches []concordat.TextMatch) {
	all := make([]float64, len(matches))
	for i, x := range matches {
		all[i] = x.Score
	}
	usual := usualOf(all)
	for _, x := range matches {
		at, ok := r.at[x.Source]
		if !ok {
			at = len(r.candidates)
			r.at[x.Source] = at
			r.candidates = append(r.candidates, &Candidate{Ref: x.Source, Title: x.Title})
		}
		r.rows[sentence] = append(r.rows[sentence], scored{document: at, score: x.Score/usual - 1})
	}
}

// usualOf returns the mean of values usualFrom to usualTo, in descending order, or of the lower half if there are too few.
func usualOf(values []float64) float64 {
	of := values[min(usualFrom, len(values)/2):min(usualTo, len(values))]
	sum := 0.0
	for _, x := range of {
		sum += x
	}
	return sum / float64(max(len(of), 1))
}

// stretches returns, for each stretch of the text, up to the given number of documents that stand out most in it, best first.
func (r *ranking) stretches(most int) [][]scored {
	var out [][]scored
	r.text.Stretches(func(first, end int) {
		by := map[int][]float64{}
		for _, row := range r.rows[first:end] {
			for _, x := range row {
				by[x.document] = append(by[x.document], x.score)
			}
		}
		of := make([]scored, 0, len(by))
		for document, scores := range by {
			slices.SortFunc(scores, func(a, b float64) int { return cmp.Compare(b, a) })
			x := scored{document: document}
			for _, s := range scores[:min(len(scores), stretchBest)] {
				x.score += max(0, s)
			}
			of = append(of, x)
		}
		slices.SortFunc(of, func(a, b scored) int {
			return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.document, b.document))
		})
		out = append(out, of[:min(len(of), most)])
	})
	return out
}

// foremostOf returns up to the given number of documents. Documents ranked first for some stretch come first, then documents ranked
// second for some stretch, and so on.
func foremostOf(stretches [][]scored, most int) []int {
	var out []int
	known := map[int]bool{}
	for rank := 0; len(out) < most; rank++ {
		var of []scored
		longer := false
		for _, s := range stretches {
			if rank < len(s) {
				longer = true
				of = append(of, s[rank])
			}
		}
		if !longer {
			break
		}
		slices.SortStableFunc(of, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
		for _, x := range of {
			if !known[x.document] && len(out) < most {
				known[x.document] = true
				out = append(out, x.document)
			}
		}
	}
	return out
}

// byVectors ranks documents found by cells according to the vectors of their sentences, and returns the documents that stand out most,
// best first.
func (m *Comparer) byVectors(ctx context.Context, r *ranking, most Nomination, in vectorIndex) ([]*Candidate, error) {
	found := r.stretches(most.Find.Stretch)
	of := foremostOf(found, most.Find.All)
	if len(of) > most.Keep.Stretch || in.places { // otherwise all are kept, and their nearest places are not needed
		asked := map[int]map[int]bool{} // for each document, the sentences in whose stretches it was found
		for _, d := range of {
			asked[d] = map[int]bool{}
		}
		n := 0
		r.text.Stretches(func(first, end int) {
			for _, x := range found[n] {
				if in := asked[x.document]; in != nil {
					for i := first; i < end; i++ {
						in[i] = true
					}
				}
			}
			n++
		})
		near, err := m.nearest(ctx, r, of, asked, in)
		if err != nil {
			return nil, err
		}
		r.rows = near
		of = foremostOf(r.stretches(most.Keep.Stretch), most.Keep.All)
		if in.places {
			r.nearby(of)
		}
	}
	out := make([]*Candidate, len(of))
	for i, d := range of {
		out[i] = r.candidates[d]
	}
	return out, nil
}

// nearbyEach is the number of places per document that are passed to the encoder because the vectors of the index stand out there.
const nearbyEach = 3

// nearby sets the places where the documents stand out most, in descending order.
func (r *ranking) nearby(of []int) {
	by := map[int][]scored{} // by document; each scored has a sentence of the text in place of the document
	for sentence, row := range r.rows {
		for _, x := range row {
			if x.score > 0 {
				by[x.document] = append(by[x.document], scored{sentence, x.score, x.at})
			}
		}
	}
	for _, d := range of {
		rows := by[d]
		slices.SortStableFunc(rows, func(a, b scored) int { return cmp.Compare(b.score, a.score) })
		for _, x := range rows[:min(len(rows), nearbyEach)] {
			r.candidates[d].nearby = append(r.candidates[d].nearby, meaning.Nearby{Here: x.document, There: x.at})
		}
	}
}

// nearest returns, for each sentence, how much the given documents stand out.
func (m *Comparer) nearest(ctx context.Context, r *ranking, of []int, asked map[int]map[int]bool, in vectorIndex) ([][]scored, error) {
	candidates := make([]*Candidate, len(of))
	for i, d := range of {
		candidates[i] = r.candidates[d]
	}
	near := make([]map[int]scored, len(of)) // for each document, by sentence
	err := m.each(ctx, "meaning", candidates, NoProgress, func(ctx context.Context, i int) error {
		directions, err := in.directions(ctx, candidates[i])
		if errors.Is(err, concordat.ErrNotFound) {
			return nil // deleted in the meantime
		}
		if err != nil {
			return err
		}
		near[i] = map[int]scored{}
		for sentence := range asked[of[i]] {
			most, at := directions.Nearest(r.cells, r.text, sentence)
			near[i][sentence] = scored{of[i], float64(most), at}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	rows := make([][]scored, len(r.rows))
	for _, by := range near {
		for sentence, x := range by {
			rows[sentence] = append(rows[sentence], x)
		}
	}
	for _, row := range rows {
		slices.SortFunc(row, func(a, b scored) int {
			return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.document, b.document))
		})
		all := make([]float64, len(row))
		for i, x := range row {
			all[i] = x.score
		}
		usual := usualOf(all)
		for i := range row {
			row[i].score -= usual
		}
	}
	return rows, nil
}
