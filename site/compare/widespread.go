package compare

import (
	"cmp"
	"slices"

	"concordat"
	"concordat/align/wording"
)

const (
	// leastSpread is the minimum number of documents that must contain variations of a short stretch for it to be common, the same as for
	// a paragraph they contain verbatim.
	leastSpread = 8
	// coversMost is the share of a passage that another source's passage must cover for the two to count as the same.
	coversMost = 0.8
)

// Settle decides questions that cannot be answered from one source alone. passages holds the passages of all sources, in any order, each
// already judged separately. Several consecutive copied sentences are a patchwork, whatever their sources; a short stretch that many
// sources contain with small changes is common wording, just as if it were verbatim.
func (w *SharedWording) Settle(passages []concordat.Passage) {
	w.support(passages)
	w.markWidespread(passages)
	w.markFormulas(passages)
}

// markWidespread marks short passages that mean nothing because many sources contain nearly the same text. A stretch of wording.LongWords
// words is not short, nor is one whose source contains more text next to it.
func (w *SharedWording) markWidespread(passages []concordat.Passage) {
	least := wording.Least(w.Of)
	if least == 0 {
		return
	}
	least = max(least, leastSpread)
	order := make([]int, len(passages))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(passages[i].Span.Start, passages[j].Span.Start) })
	ends := make([]int, len(order)) // latest end of any passage up to each one
	for k, i := range order {
		ends[k] = passages[i].Span.End
		if k > 0 {
			ends[k] = max(ends[k], ends[k-1])
		}
	}
	holders := map[concordat.Ref]bool{}
	var common []int
	for k, i := range order {
		p := &passages[i]
		if !mayCount(*p) || w.Words.Count(p.Span) >= wording.LongWords {
			continue
		}
		clear(holders)
		count := func(j int) {
			q := passages[j].Span
			if float64(min(q.End, p.Span.End)-max(q.Start, p.Span.Start)) >= coversMost*float64(p.Span.Len()) {
				holders[passages[j].Source] = true
			}
		}
		for x := k; x >= 0 && ends[x] > p.Span.Start && len(holders)+1 < least; x-- {
			count(order[x])
		}
		for x := k + 1; x < len(order) && passages[order[x]].Span.Start < p.Span.End && len(holders)+1 < least; x++ {
			count(order[x])
		}
		if len(holders)+1 >= least && !w.besideMore(passages, order, k, nil) {
			common = append(common, i)
		}
	}
	for _, i := range common {
		passages[i].Wording = concordat.KindCommon
	}
}

// besideMore reports whether the source of passage order[k] shares wording.LongWords words or more around it, with gaps of at most
// patchApart words. Pieces for which ignored returns true do not add to them; nil ignores none.
func (w *SharedWording) besideMore(passages []concordat.Passage, order []int, k int, ignored func(x int) bool) bool {
	p := passages[order[k]]
	words, at := w.Words.Count(p.Span), p.Span
	for x := k - 1; x >= 0 && words < wording.LongWords; x-- {
		if q := passages[order[x]]; q.Source == p.Source && mayCount(q) && (ignored == nil || !ignored(x)) {
			if w.between(q.Span.End, at.Start) >= patchApart {
				break
			}
			words, at = words+w.Words.Count(q.Span), q.Span
		}
	}
	at = p.Span
	for x := k + 1; x < len(order) && words < wording.LongWords; x++ {
		if q := passages[order[x]]; q.Source == p.Source && mayCount(q) && (ignored == nil || !ignored(x)) {
			if w.between(at.End, q.Span.Start) >= patchApart {
				break
			}
			words, at = words+w.Words.Count(q.Span), q.Span
		}
	}
	return words >= wording.LongWords
}

// mayCount reports whether a passage is evidence, or would be if it were not isolated.
func mayCount(p concordat.Passage) bool {
	return p.Wording == "" || p.Wording == concordat.KindSentence
}
