package compare

import (
	"cmp"
	"slices"

	"concordat"
	"concordat/align/wording"
)

const (
	// leastSpread is the minimum number of documents that must hold a short stretch in their own words for it to be common, the same as for
	// a paragraph that they hold letter by letter.
	leastSpread = 8
	// coversMost is the share of a passage that another source's passage must cover to count as the same.
	coversMost = 0.8
)

// Settle decides questions that one source alone cannot answer. passages are those of all sources, in any order, each judged by itself.
// Several copied sentences in a row are a patchwork, whatever their sources; a short stretch that many sources hold, each with small
// changes, is common wording, as it would be letter by letter.
func (w *SharedWording) Settle(passages []concordat.Passage) {
	w.support(passages)
	w.markWidespread(passages)
}

// markWidespread marks the short passages that mean nothing because many sources hold nearly the same there. A stretch of wording.LongWords
// words is not short, nor is any stretch whose source holds more next to it.
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
	ends := make([]int, len(order)) // latest end among the passages up to each
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
		if len(holders)+1 >= least && !w.besideMore(passages, order, k) {
			common = append(common, i)
		}
	}
	for _, i := range common {
		passages[i].Wording = concordat.KindCommon
	}
}

// besideMore reports whether the source of passage order[k] holds wording.LongWords words or more around it, with gaps of at most
// patchApart words.
func (w *SharedWording) besideMore(passages []concordat.Passage, order []int, k int) bool {
	p := passages[order[k]]
	words, at := w.Words.Count(p.Span), p.Span
	for x := k - 1; x >= 0 && words < wording.LongWords; x-- {
		if q := passages[order[x]]; q.Source == p.Source && mayCount(q) {
			if w.between(q.Span.End, at.Start) >= patchApart {
				break
			}
			words, at = words+w.Words.Count(q.Span), q.Span
		}
	}
	at = p.Span
	for x := k + 1; x < len(order) && words < wording.LongWords; x++ {
		if q := passages[order[x]]; q.Source == p.Source && mayCount(q) {
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
