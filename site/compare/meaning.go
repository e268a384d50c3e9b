package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"concordat"
	"concordat/meaning"
	"concordat/profile"
)

// cellLength is the ratio to the average length at which a document's matches count half as much.
const cellLength = 3

// Nominated limits the number of documents nominated in each script.
type Nominated struct {
	Stretch int // per stretch
	All     int // per text
}

// Nomination limits the number of documents found through the cells of sentences, and the number kept after ranking by vectors.
type Nomination struct{ Find, Keep Nominated }

// These are the numbers of documents nominated by meaning (doc/evaluation/meaning-index.md). An encoder distinguishes documents better
// than the table does, so more are nominated for it.
var (
	ForTable   = Nomination{Nominated{50, 200}, Nominated{4, 20}}
	ForEncoder = Nomination{Nominated{200, 1000}, Nominated{50, 200}}
)

// nearTexts are the documents that a search by meaning found.
type nearTexts struct {
	near    []*Candidate // best first
	missing int          // documents whose cells are not known
	sent    int          // sentences that went to the encoder
	vectors bool         // the encoder's vectors were searched too
}

// nominateMeaning returns the documents nearest to stretches of a text, or none if the index has no cells. They are found by the cells of
// their sentences and ranked by the vectors of these sentences, from the encoder, if it has an index, and from the table.
func (m *Comparer) nominateMeaning(ctx context.Context, t *meaning.Text, text string, q *concordat.Query) (out nearTexts, err error) {
	if !m.Profiler.Meaning() || len(q.Libraries) == 0 {
		return out, nil
	}
	cells, err := meaning.DefaultCells()
	if err != nil {
		return out, err
	}
	var first []*Candidate
	most := ForTable
	if m.Encoder != nil {
		if first, out.sent, err = m.byEncoder(ctx, t, text, q); err != nil {
			return out, err
		}
		if out.vectors = first != nil; !out.vectors {
			most = ForEncoder
		}
	}
	near, stats, err := m.ByMeaning(ctx, t, cells, q, most)
	near = joinNear(first, near)
	if err == nil && m.Known != nil {
		near, err = m.Known(ctx, near)
	}
	if stats != nil {
		out.near, out.missing = near, stats.Documents-stats.Meant
	}
	return out, err
}

// joinNear returns the first candidates, followed by the others that are not among them.
func joinNear(first, others []*Candidate) []*Candidate {
	known := map[concordat.Ref]bool{}
	for _, c := range first {
		known[c.Ref] = true
	}
	out := slices.Clip(first)
	for _, c := range others {
		if !known[c.Ref] {
			out = append(out, c)
		}
	}
	return out
}

// byEncoder returns the documents nearest to stretches of a text according to the index of the encoder's vectors, with the places where
// they are near. It returns nil if there is no such index or the encoder fails; then the table's cells find documents, and the
// verification reports the reason.
func (m *Comparer) byEncoder(ctx context.Context, t *meaning.Text, text string, q *concordat.Query) (near []*Candidate, sent int,
	err error) {
	in := m.Encoder.indexed.Load()
	if in == nil {
		return nil, 0, nil
	}
	vectors := *in
	prose := t.Prose()
	var sentences []sentence
	for _, i := range prose[:min(len(prose), mostAsked)] {
		sentences = append(sentences, sentence{text: t.Spans[i].In(text), task: m.Task, owned: m.Task != ""})
	}
	if len(sentences) == 0 {
		return nil, 0, nil
	}
	got, sent, err := m.Encoder.encode(ctx, nil, sentences)
	var failed *serverError
	if errors.As(err, &failed) && ctx.Err() == nil {
		return nil, sent, nil
	}
	if err != nil {
		return nil, sent, err
	}
	space := vectors.Space()
	if !space.Takes(got[0]) {
		return nil, sent, nil // the encoder has a different model by now, and its index will be replaced
	}
	near, _, err = m.byIndex(ctx, t.In(space, got), space.Cells(), q, ForEncoder, vectorIndex{vectors,
		func(ctx context.Context, c *Candidate) (meaning.Directions, error) {
			return vectors.Directions(ctx, c.Ref)
		}, true})
	if errors.Is(err, concordat.ErrUnavailable) && ctx.Err() == nil {
		return nil, sent, nil // the index was switched off in the meantime
	}
	return near, sent, err
}

// mostAsked is the maximum number of sentences of a text for which vectors are requested to search the index of vectors.
const mostAsked = 500

// vectorIndex is an index that finds documents by cells and ranks them by vectors.
type vectorIndex struct {
	concordat.TextSearcher
	directions func(context.Context, *Candidate) (meaning.Directions, error)
	places     bool // whether to return the places where documents are near
}

// ByMeaning returns the documents of the index nearest to stretches of a text, best first and alternating between scripts, and how
// complete the search was. It ranks them by the table's vectors.
func (m *Comparer) ByMeaning(ctx context.Context, t *meaning.Text, cells *meaning.Cells, q *concordat.Query,
	most Nomination) ([]*Candidate, *concordat.TextStats, error) {
	in, err := m.tableIndex(cells)
	if err != nil {
		return nil, nil, err
	}
	return m.byIndex(ctx, t, cells, q, most, in)
}

// tableIndex returns the table's index of documents, with vectors computed from their texts.
func (m *Comparer) tableIndex(cells *meaning.Cells) (vectorIndex, error) {
	table, err := meaning.Default()
	if err != nil {
		return vectorIndex{}, err
	}
	encoders := sync.Pool{New: func() any { return meaning.NewEncoder(table) }}
	return vectorIndex{TextSearcher: m.Index, directions: func(ctx context.Context, c *Candidate) (meaning.Directions, error) {
		d, err := m.source(ctx, c)
		if err != nil || d == nil {
			return nil, cmp.Or(err, concordat.ErrNotFound)
		}
		e := encoders.Get().(*meaning.Encoder)
		defer encoders.Put(e)
		return e.Directions(d.Text, profile.LanguageOf(d.Text), cells), nil
	}}, nil
}

// byIndex does the work of ByMeaning with any index.
func (m *Comparer) byIndex(ctx context.Context, t *meaning.Text, cells *meaning.Cells, q *concordat.Query, most Nomination,
	in vectorIndex) ([]*Candidate, *concordat.TextStats, error) {
	stats, err := in.TextStats(ctx, nil)
	if err != nil || stats.Documents == 0 || stats.Words == 0 {
		return nil, stats, err
	}
	questions := t.Questions(cells)
	var scripts [2][]*Candidate
	for i, chinese := range []bool{false, true} {
		r := newRanking(t, cells)
		for some := range slices.Chunk(questions, askedTogether) {
			a, err := in.SearchText(ctx, cellQuery(q, stats, some, chinese, sentenceDocuments))
			if err != nil {
				return nil, nil, fmt.Errorf("search by meaning: %w", err)
			}
			for from := 0; from < len(a.Matches); {
				window, end := a.Matches[from].Window, from
				for end < len(a.Matches) && a.Matches[end].Window == window {
					end++
				}
				r.add(some[window].Sentence, a.Matches[from:end])
				from = end
			}
		}
		if scripts[i], err = m.byVectors(ctx, r, most, in); err != nil {
			return nil, nil, err
		}
	}
	return inTurn(scripts[0], scripts[1]), stats, nil
}

// inTurn returns the candidates of two lists in turn, so that each script has some of the first ones, whose places an encoder reads.
func inTurn(a, b []*Candidate) []*Candidate {
	out := make([]*Candidate, 0, len(a)+len(b))
	for i := range max(len(a), len(b)) {
		if i < len(a) {
			out = append(out, a[i])
		}
		if i < len(b) {
			out = append(out, b[i])
		}
	}
	return out
}

// cellQuery returns the query for documents in one script that are close to questions.
func cellQuery(q *concordat.Query, stats *concordat.TextStats, questions []meaning.Question, chinese bool, most int) *concordat.TextQuery {
	out := &concordat.TextQuery{Cells: true, Libraries: q.Libraries, Exclude: q.Exclude, Limit: most,
		AverageLength: cellLength * float64(stats.Words) / float64(stats.Documents)}
	for i := range questions {
		out.Windows = append(out.Windows, questions[i].Cells(chinese))
	}
	return out
}

// ForPartners limits the number of documents nominated by a partner's cells.
var ForPartners = Nominated{7, 40}

// Reached counts the documents and shards that a search by cells missed.
type Reached struct {
	NotMeant int                 // documents with unknown cells
	Missing  []concordat.ShardID // shards that did not answer
}

// ByCells returns the documents in an index with sentence cells closest to the query, best first for each script. It does not rank them
// by vectors, since a partner sends none.
func ByCells(ctx context.Context, in concordat.TextSearcher, q *concordat.Query, questions []meaning.Question,
	most Nominated) ([]*Candidate, Reached, error) {
	stats, err := in.TextStats(ctx, nil)
	if err != nil {
		return nil, Reached{}, err
	}
	reached := Reached{stats.Documents - stats.Meant, stats.Missing}
	if stats.Documents == 0 || stats.Words == 0 {
		return nil, reached, nil
	}
	var out []*Candidate
	for _, chinese := range []bool{false, true} {
		a, err := in.SearchText(ctx, cellQuery(q, stats, questions, chinese, most.Stretch))
		if err != nil {
			return nil, reached, fmt.Errorf("search by meaning: %w", err)
		}
		reached.Missing = append(reached.Missing, a.Missing...)
		out = append(out, foremost(a.Matches, most.All)...)
	}
	reached.Missing = slices.Compact(slices.Sorted(slices.Values(reached.Missing)))
	return out, reached, nil
}

// foremost returns up to the given number of matching documents. Documents ranked first for some stretch come first, then documents
// ranked second for some stretch, and so on. If only scores mattered, many documents close to one stretch would crowd out those close to
// another.
func foremost(matches []concordat.TextMatch, most int) []*Candidate {
	rank := map[concordat.Ref]int{} // best rank of each document, from 0
	by := map[concordat.Ref]*Candidate{}
	var out []*Candidate
	at := 0
	for i, x := range matches {
		if at++; i == 0 || matches[i-1].Window != x.Window {
			at = 0
		}
		c := by[x.Source]
		if c == nil {
			c = &Candidate{Ref: x.Source, Title: x.Title}
			by[x.Source], rank[x.Source] = c, at
			out = append(out, c)
		}
		c.Score, rank[x.Source] = max(c.Score, x.Score), min(rank[x.Source], at)
	}
	sortCandidates(out)
	slices.SortStableFunc(out, func(a, b *Candidate) int { return cmp.Compare(rank[a.Ref], rank[b.Ref]) })
	return out[:min(len(out), most)]
}

// FlagNotMeant is the code of a flag stating that leads to some documents can be found only by words.
const FlagNotMeant = "not_meant"

// notMeant returns a flag stating that the given number of documents have no cells, or nil for 0.
func notMeant(documents int) []concordat.Flag {
	if documents == 0 {
		return nil
	}
	return []concordat.Flag{{Code: FlagNotMeant, Count: documents, Detail: fmt.Sprintf(
		"%d documents were added before this site indexed documents by meaning: leads to them are found by shared words alone until an administrator completes the index under Settings",
		documents)}}
}

// FlagLeadsEnd is the code of a flag stating that the end of a long text was not searched for leads.
const FlagLeadsEnd = "leads_end"

func notRead(sentences int) []concordat.Flag {
	if sentences == 0 {
		return nil
	}
	return []concordat.Flag{{Code: FlagLeadsEnd, Count: sentences, Detail: fmt.Sprintf(
		"leads were looked for in the first %d sentences; the %d after them were not compared by meaning", meaning.MaxSentences,
		sentences)}}
}

// FlagLongSources is the code of a flag stating that only the beginnings of some documents were searched for leads.
const FlagLongSources = "long_sources"

// longSources returns a flag stating that the given number of documents exceed the compared part, or nil for 0.
func longSources(documents int) []concordat.Flag {
	if documents == 0 {
		return nil
	}
	return []concordat.Flag{{Code: FlagLongSources, Count: documents, Detail: fmt.Sprintf(
		"%d of the documents compared for leads are so long that only their first %d sentences were compared by meaning", documents,
		meaning.MaxSentences)}}
}

// joinCandidates returns up to leadCandidates candidates by words, and further ones by cells. A candidate nominated by both has the
// places where vectors stand out.
func joinCandidates(words, cells []*Candidate) []*Candidate {
	out := slices.DeleteFunc(slices.Clone(words), func(c *Candidate) bool { return !c.Text })
	out = out[:min(len(out), leadCandidates)]
	at := map[concordat.Ref]int{}
	for i, c := range out {
		at[c.Ref] = i
	}
	for _, c := range cells {
		i, known := at[c.Ref]
		switch {
		case !known:
			at[c.Ref] = len(out) // cells of several scripts can nominate it
			out = append(out, c)
		case len(out[i].nearby) == 0 && len(c.nearby) > 0:
			both := *out[i]
			both.nearby = c.nearby
			out[i] = &both
		}
	}
	return out
}
