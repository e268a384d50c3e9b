package compare

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"concordat"
)

// Channel selects how source documents are nominated. With Both, fingerprints find similar sentences, while words find passages that were
// rewritten or are too short for fingerprints.
type Channel string

// The channels.
const (
	ChannelBoth         Channel = ""
	ChannelFingerprints Channel = "fingerprints"
	ChannelText         Channel = "text"
)

// Check returns ErrInvalid if the channel is unknown.
func (c Channel) Check() error {
	if c != ChannelBoth && c != ChannelFingerprints && c != ChannelText {
		return fmt.Errorf("channel %q: %w: want fingerprints, text, or an empty value for both", c, concordat.ErrInvalid)
	}
	return nil
}

// Parameters of the search by windows; doc/evaluation/retrieval.md has the measurements.
const (
	windowTerms     = 16
	windowDocuments = 2
	commonShare     = 10 // a term in more than one document in ten is common
	fewDocuments    = 5  // a term in at most this many documents is not common
	// longestList is the maximum number of documents with a term that is looked up. The cost of a check must not grow without limit as
	// the library grows, and a relevant passage has rarer terms.
	longestList = 20_000
	// leastShare is the minimum score for comparing a document, as a share of the window's maximum, reached if every term occurs many
	// times. Documents that merely share a subject score less.
	leastShare = 0.1
	// textCandidates is the maximum number of documents compared only because of their words.
	textCandidates = 60
)

// nominateText returns the source documents that best match a window of the submission, starting with those among the best for several
// windows, or for more and rarer words. missing lists the shards that did not answer.
func (m *Comparer) nominateText(ctx context.Context, p *concordat.Profile,
	q *concordat.Query, inside bool) (out []*Candidate, missing []concordat.ShardID, err error) {
	terms := distinctTerms(p.Windows)
	stats, err := m.Index.TextStats(ctx, terms)
	if err != nil || stats.Documents == 0 || stats.Words == 0 {
		return nil, nil, err
	}
	if inside {
		stats.Documents--
		for i, held := range stats.Holding {
			stats.Holding[i] = max(0, held-1)
		}
		if stats.Documents <= 0 {
			return nil, nil, nil // there are no other documents
		}
	}
	w := &weigher{terms: terms, stats: stats}
	t := &concordat.TextQuery{
		Libraries: q.Libraries, Exclude: q.Exclude, Limit: windowDocuments,
		AverageLength: float64(stats.Words) / float64(stats.Documents),
	}
	highest := make([]float64, len(p.Windows))
	for i, window := range p.Windows {
		t.Windows = append(t.Windows, w.best(window))
		for _, term := range t.Windows[i] {
			highest[i] += term.Weight * concordat.BM25Max
		}
	}
	a, err := m.Index.SearchText(ctx, t)
	if err != nil {
		return nil, nil, err
	}
	by := map[concordat.Ref]*Candidate{}
	for _, x := range a.Matches {
		if x.Score < leastShare*highest[x.Window] {
			continue
		}
		c := by[x.Source]
		if c == nil {
			c = &Candidate{Ref: x.Source, Title: x.Title, Text: true}
			by[x.Source] = c
			out = append(out, c)
		}
		c.Score += x.Score
	}
	sortCandidates(out)
	return out, append(stats.Missing, a.Missing...), nil
}

func sortCandidates(cs []*Candidate) {
	slices.SortStableFunc(cs, func(a, b *Candidate) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), strings.Compare(a.Ref.String(), b.Ref.String()))
	})
}

// distinctTerms returns the terms of all windows, ascending.
func distinctTerms(windows [][]concordat.TermCount) []concordat.Term {
	var out []concordat.Term
	for _, w := range windows {
		for _, t := range w {
			out = append(out, t.Term)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// weigher selects the terms of a window.
type weigher struct {
	terms []concordat.Term
	stats *concordat.TextStats
}

// best returns the windowTerms terms of a window with the highest tf-idf, in term order, each with its idf as weight. It leaves out terms
// found in no document, or in too many.
func (w *weigher) best(window []concordat.TermCount) []concordat.WeightedTerm {
	type weighed struct {
		concordat.WeightedTerm
		tfidf float64
	}
	var all []weighed
	n := w.stats.Documents
	for _, t := range window {
		i, _ := slices.BinarySearch(w.terms, t.Term)
		held := w.stats.Holding[i]
		if held == 0 || held > max(n/commonShare, fewDocuments) || held > longestList {
			continue
		}
		// Robertson and Zaragoza 2009, section 3.1, with 1 added to keep it above 0. Documents can have been added between the two
		// counts.
		idf := math.Log(1 + (float64(max(n, held)-held)+0.5)/(float64(held)+0.5))
		all = append(all, weighed{concordat.WeightedTerm{Term: t.Term, Weight: idf}, float64(t.Count) * idf})
	}
	slices.SortFunc(all, func(a, b weighed) int { return cmp.Or(cmp.Compare(b.tfidf, a.tfidf), cmp.Compare(a.Term, b.Term)) })
	all = all[:min(len(all), windowTerms)]
	out := make([]concordat.WeightedTerm, len(all))
	for i := range all {
		out[i] = all[i].WeightedTerm
	}
	slices.SortFunc(out, func(a, b concordat.WeightedTerm) int { return cmp.Compare(a.Term, b.Term) })
	return out
}

// merge returns up to most candidates to compare. Candidates nominated by fingerprints come first, followed by candidates nominated only
// by words, for which it reserves up to three tenths of most. A candidate nominated by both also counts as nominated by words. left is
// the number of fingerprint candidates left out.
func merge(prints, texts []*Candidate, most int) (out []*Candidate, left int) {
	by := make(map[concordat.Ref]*Candidate, len(prints))
	for _, c := range prints {
		by[c.Ref] = c
	}
	only := texts[:0:0]
	for _, c := range texts {
		if known := by[c.Ref]; known != nil {
			known.Text = true
		} else {
			only = append(only, c)
		}
	}
	only = only[:min(len(only), textCandidates)]
	room := most - min(len(only), most*3/10)
	left = max(0, len(prints)-room)
	out = append(out, prints[:len(prints)-left]...)
	return append(out, only[:min(len(only), most-len(out))]...), left
}
