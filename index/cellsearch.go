package index

import (
	"context"
	"slices"

	"concordat"
)

// cellSearch answers one query by cells.
type cellSearch struct {
	site    concordat.SiteID
	query   *concordat.TextQuery
	table   cellTable
	epoch   uint64
	norms   []float64 // score factor for each lengthCode
	scores  []float64 // per document of the table; zero except at touched
	touched []uint32
	// exclude and libraries come from the query; nil libraries means all of them.
	exclude   map[key]struct{}
	libraries map[concordat.LibraryID]bool
}

// searchCells implements SearchText for queries by cells. It reads only the table, in about 20 ns per cell and per document listed in it.
func (s *Shard) searchCells(ctx context.Context, q *concordat.TextQuery) (*concordat.TextAnswer, error) {
	done, err := s.use()
	if err != nil {
		return nil, err
	}
	defer done()
	c := &cellSearch{site: s.opt.Site, query: q, norms: make([]float64, maxLengthCode+1), exclude: map[key]struct{}{}}
	c.table, c.epoch = s.state.currentCells()
	c.scores = make([]float64, len(c.table.docs))
	for code := range c.norms {
		c.norms[code] = (bm25K1 + 1) / (1 + lengthNorm(code, q.AverageLength))
	}
	for _, r := range q.Exclude {
		if r.Site == s.opt.Site {
			c.exclude[key{r.Library, r.Document}] = struct{}{}
		}
	}
	for _, l := range q.Libraries {
		if c.libraries == nil {
			c.libraries = map[concordat.LibraryID]bool{}
		}
		c.libraries[l] = true
	}
	a := &concordat.TextAnswer{Site: s.opt.Site}
	for window := range q.Windows {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		c.score(q.Windows[window])
		a.Matches = append(a.Matches, c.best(window)...)
	}
	return a, nil
}

// score adds the weights of a window's cells to the scores of the documents in these cells.
func (c *cellSearch) score(window []concordat.WeightedTerm) {
	for _, t := range window {
		if t.Term >= concordat.Term(concordat.Cells) {
			continue
		}
		for _, l := range c.table.levels {
			for _, doc := range l.find(concordat.Cell(t.Term)) {
				if c.scores[doc] == 0 {
					c.touched = append(c.touched, doc)
				}
				c.scores[doc] += t.Weight
			}
		}
	}
}

// best returns the documents with the best scores, best first, and clears the scores.
func (c *cellSearch) best(window int) []concordat.TextMatch {
	var best []concordat.TextMatch
	for _, doc := range c.touched {
		d := c.table.docs[doc]
		score := c.scores[doc] * c.norms[lengthCode(d.words)]
		c.scores[doc] = 0
		if len(best) == c.query.Limit && score < best[len(best)-1].Score || !c.wanted(d) {
			continue
		}
		best = keepBest(best, concordat.TextMatch{Window: window, Title: d.title, Score: score,
			Source: concordat.Ref{Site: c.site, Library: d.key.library, Document: d.key.id}}, c.query.Limit)
	}
	c.touched = c.touched[:0]
	return best
}

// wanted reports whether a document exists and the query includes it.
func (c *cellSearch) wanted(d *document) bool {
	if died := d.died.Load(); died != 0 && died <= c.epoch || c.libraries != nil && !c.libraries[d.key.library] {
		return false
	}
	_, excluded := c.exclude[d.key]
	return !excluded
}

// keepBest inserts m into its window's best matches if it is among the first limit of them.
func keepBest(best []concordat.TextMatch, m concordat.TextMatch, limit int) []concordat.TextMatch {
	at, _ := slices.BinarySearchFunc(best, m, compareTextMatches)
	if at == limit {
		return best
	}
	if len(best) == limit {
		best = best[:len(best)-1]
	}
	return slices.Insert(best, at, m)
}
