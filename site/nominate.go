package site

import (
	"cmp"
	"context"
	"slices"

	"concordat"
)

// Candidate is a document that may share something with the submission.
type Candidate struct {
	Source       concordat.Ref
	Fingerprints bool // nominated by a sentence
	Text         bool // nominated by words
	// Spans are the sentences of the source by which it was nominated, in order, each once.
	Spans []concordat.Span
}

// Nominate returns the documents whose text Check would look at, best first, and compare with the submission
// unless that rules them out. No text is read, and no task is kept.
func (s *Site) Nominate(ctx context.Context, sub Submission, o CheckOptions) ([]Candidate, error) {
	if err := o.Channel.check(); err != nil {
		return nil, err
	}
	libraries, err := s.libraries(ctx, o.Libraries)
	if err != nil {
		return nil, err
	}
	p, err := s.o.Profiler.Profile(concordat.Document{ID: sub.ID, Title: sub.Title, Text: sub.Text}, o.Template)
	if err != nil {
		return nil, err
	}
	found, err := s.ask(ctx, p, s.query(p, o, libraries), o, func(Progress) {})
	if err != nil {
		return nil, err
	}
	out := make([]Candidate, len(found.candidates))
	for i, c := range found.candidates {
		out[i] = Candidate{Source: c.ref, Fingerprints: len(c.hits) > 0, Text: c.text}
		for _, h := range c.hits {
			out[i].Spans = append(out[i].Spans, h.source)
		}
		slices.SortFunc(out[i].Spans, func(a, b concordat.Span) int { return cmp.Or(a.Start-b.Start, a.End-b.End) })
		out[i].Spans = slices.Compact(out[i].Spans)
	}
	return out, nil
}

// candidate is a source document with the sentences by which it was nominated.
type candidate struct {
	ref   concordat.Ref
	title string
	hits  []hit
	score float64
	text  bool // its words nominate it: no sentence needs to hold up
}

// hit is a sentence of the submission near one of a source.
type hit struct {
	span      concordat.Span // of the submission
	source    concordat.Span
	documents int
	distance  int // bits
	ordinal   int // of the source's sentence
}

// commonDocuments is the number of documents from which a sentence counts little for nominating.
const commonDocuments = 20

// nominate returns the source documents within the gate of some sentence, best first, from the matches of the site's own
// index, which tell the number of hashes that differ.
func (s *Site) nominate(asked []concordat.Sentence, matches []concordat.Match) []*candidate {
	return nominateBy(asked, matches, s.o.Profiler.Nearness)
}

// nominate is the method of this name for matches of which only bits are known: a partner's.
func nominate(asked []concordat.Sentence, matches []concordat.Match) []*candidate {
	return nominateBy(asked, matches, func(s concordat.Sentence, m concordat.Match) float64 {
		return float64(s.Gate+1-m.Distance) / float64(s.Gate+1)
	})
}

// nominateBy returns the source documents that some sentence is near, best first: each sentence adds
// how near it is, 0 or less being too far, less where many documents hold the wording.
func nominateBy(asked []concordat.Sentence, matches []concordat.Match,
	nearness func(concordat.Sentence, concordat.Match) float64) []*candidate {
	by := map[concordat.Ref]*candidate{}
	var out []*candidate
	lastSentence := map[concordat.Ref]int{}
	for _, m := range matches {
		sentence := asked[m.Sentence]
		near := nearness(sentence, m)
		if near <= 0 {
			continue
		}
		c := by[m.Source]
		if c == nil {
			c = &candidate{ref: m.Source, title: m.Title}
			by[m.Source] = c
			out = append(out, c)
			lastSentence[m.Source] = -1
		}
		c.hits = append(c.hits, hit{sentence.Span, m.Span, m.Documents, m.Distance, m.Ordinal})
		if lastSentence[m.Source] == m.Sentence {
			continue // a farther match of the same sentence
		}
		lastSentence[m.Source] = m.Sentence
		weight := 1.0
		if m.Documents > commonDocuments {
			weight = commonDocuments / float64(m.Documents)
		}
		c.score += weight * near
	}
	sortCandidates(out)
	return out
}

// documents returns the least number of documents that hold one of the matched sentences within
// span: a passage is as common as its rarest sentence. 0: no sentence of it was matched as a whole.
func (c *candidate) documents(span concordat.Span) int {
	least := 0
	for _, h := range c.hits {
		if h.span.Overlaps(span) && (least == 0 || h.documents < least) {
			least = h.documents
		}
	}
	return least
}
