package compare

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"concordat"
	"concordat/meaning"
)

// cellLength is how many times the average a document is that loses half of what it would count if it were short.
const cellLength = 3

// Nominated bounds the documents of each writing that cells nominate.
type Nominated struct {
	Stretch int // for one stretch
	All     int // of a text
}

// How many documents are nominated by their cells (doc/evaluation/meaning.md): an encoder tells apart what the table cannot, so that
// it is worth reading more of them for it.
var (
	ForTable   = Nominated{7, 40}
	ForEncoder = Nominated{50, 200}
)

// nominateMeaning returns the documents that are nearest to stretches of a text by the cells of their sentences, for each writing
// the best first; none if the index has no cells. missing is the number of documents whose cells are not known.
func (m *Comparer) nominateMeaning(ctx context.Context, t *meaning.Text, q *concordat.Query) (near []*Candidate, missing int, err error) {
	if !m.Profiler.Meaning() || len(q.Libraries) == 0 {
		return nil, 0, nil
	}
	cells, err := meaning.DefaultCells()
	if err != nil {
		return nil, 0, err
	}
	most := ForTable
	if m.Encoder != nil {
		most = ForEncoder
	}
	out, of, err := ByCells(ctx, m.Index, q, t.Stretches(cells), most)
	if err == nil && m.Known != nil {
		out, err = m.Known(ctx, out)
	}
	return out, of.NotMeant, err
}

// Reached says what a search by cells did not reach.
type Reached struct {
	NotMeant int                 // documents whose cells are not known
	Missing  []concordat.ShardID // shards that did not answer
}

// ByCells returns the documents of an index that are nearest to stretches of a text by the cells of their sentences, for each writing
// the best first.
func ByCells(ctx context.Context, in concordat.TextSearcher, q *concordat.Query, stretches []meaning.Stretch,
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
		ask := &concordat.TextQuery{Cells: true, Libraries: q.Libraries, Exclude: q.Exclude, Limit: most.Stretch,
			AverageLength: cellLength * float64(stats.Words) / float64(stats.Documents)}
		for i := range stretches {
			ask.Windows = append(ask.Windows, stretches[i].Cells(chinese))
		}
		a, err := in.SearchText(ctx, ask)
		if err != nil {
			return nil, reached, fmt.Errorf("search by meaning: %w", err)
		}
		reached.Missing = append(reached.Missing, a.Missing...)
		out = append(out, foremost(a.Matches, most.All)...)
	}
	reached.Missing = slices.Compact(slices.Sorted(slices.Values(reached.Missing)))
	return out, reached, nil
}

// foremost returns the documents of matches, at most so many: those that come first for some stretch, then those that come second for
// one, and so on. By scores alone the many documents near one stretch would leave no place for those of another.
func foremost(matches []concordat.TextMatch, most int) []*Candidate {
	rank := map[concordat.Ref]int{} // the least of a document, from 0
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

// FlagNotMeant says that leads to some documents are found by their words alone.
const FlagNotMeant = "not_meant"

// notMeant returns the flag that so many documents have no cells, none for 0.
func notMeant(documents int) []concordat.Flag {
	if documents == 0 {
		return nil
	}
	return []concordat.Flag{{Code: FlagNotMeant, Count: documents, Detail: fmt.Sprintf(
		"%d documents were added before this site kept the cells of meaning: leads to them are found by shared words alone until concordat reindex has run",
		documents)}}
}

// FlagLeadsEnd says that leads were not looked for in the last sentences of a long text.
const FlagLeadsEnd = "leads_end"

func notRead(sentences int) []concordat.Flag {
	if sentences == 0 {
		return nil
	}
	return []concordat.Flag{{Code: FlagLeadsEnd, Count: sentences, Detail: fmt.Sprintf(
		"leads were looked for in the first %d sentences; the %d after them were not compared by their meaning", meaning.MaxSentences,
		sentences)}}
}

// FlagLongSources says that leads to some documents were looked for in their first sentences alone.
const FlagLongSources = "long_sources"

// longSources returns the flag that so many documents are longer than what is compared of them, none for 0.
func longSources(documents int) []concordat.Flag {
	if documents == 0 {
		return nil
	}
	return []concordat.Flag{{Code: FlagLongSources, Count: documents, Detail: fmt.Sprintf(
		"%d of the documents compared for leads are so long that only their first %d sentences were compared by their meaning", documents,
		meaning.MaxSentences)}}
}

// joinCandidates returns what words nominate, at most leadCandidates, and what cells nominate besides.
func joinCandidates(words, cells []*Candidate) []*Candidate {
	out := slices.DeleteFunc(slices.Clone(words), func(c *Candidate) bool { return !c.Text })
	out = out[:min(len(out), leadCandidates)]
	known := map[concordat.Ref]bool{}
	for _, c := range out {
		known[c.Ref] = true
	}
	for _, c := range cells {
		if !known[c.Ref] {
			known[c.Ref] = true // the cells of several writings may nominate it
			out = append(out, c)
		}
	}
	return out
}
