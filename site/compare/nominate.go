package compare

import (
	"concordat"
	"concordat/meaning"
)

// Candidate is a source document with the sentences that nominated it.
type Candidate struct {
	Ref   concordat.Ref
	Title string
	Hits  []Hit
	Score float64
	Text  bool // its words nominate it, so no sentence needs to be confirmed
	// nearby are places where an encoder's vectors in an index stand out; There counts the sentences of prose.
	nearby []meaning.Nearby
}

// Hit is a sentence of the submission near one of a source.
type Hit struct {
	Span      concordat.Span // of the submission
	Source    concordat.Span
	Documents int
	Distance  int // bits
	Ordinal   int // of the source's sentence
}

// commonDocuments is the number of documents from which a sentence counts little for nominating.
const commonDocuments = 20

// ByBits returns how far within the gate of a sentence a match is, from its bits alone: 1 means the same fingerprint, and
// at 0 or less the match is outside.
func ByBits(s concordat.Sentence, m concordat.Match) float64 {
	return float64(s.Gate+1-m.Distance) / float64(s.Gate+1)
}

// Nominate returns the source documents near some sentence, best first: each sentence adds its nearness, where 0 or less means too far, and
// adds less if many documents hold the wording.
func Nominate(asked []concordat.Sentence, matches []concordat.Match,
	nearness func(concordat.Sentence, concordat.Match) float64) []*Candidate {
	by := map[concordat.Ref]*Candidate{}
	var out []*Candidate
	lastSentence := map[concordat.Ref]int{}
	for _, m := range matches {
		sentence := asked[m.Sentence]
		near := nearness(sentence, m)
		if near <= 0 {
			continue
		}
		c := by[m.Source]
		if c == nil {
			c = &Candidate{Ref: m.Source, Title: m.Title}
			by[m.Source] = c
			out = append(out, c)
			lastSentence[m.Source] = -1
		}
		c.Hits = append(c.Hits, Hit{sentence.Span, m.Span, m.Documents, m.Distance, m.Ordinal})
		if lastSentence[m.Source] == m.Sentence {
			continue // this is a farther match of the same sentence
		}
		lastSentence[m.Source] = m.Sentence
		weight := 1.0
		if m.Documents > commonDocuments {
			weight = commonDocuments / float64(m.Documents)
		}
		c.Score += weight * near
	}
	sortCandidates(out)
	return out
}

// Documents returns the least number of documents that hold one of the matched sentences within span: a passage is as common as its rarest
// sentence. It is 0 if no sentence of the passage was matched as a whole.
func (c *Candidate) Documents(span concordat.Span) int {
	least := 0
	for _, h := range c.Hits {
		if h.Span.Overlaps(span) && (least == 0 || h.Documents < least) {
			least = h.Documents
		}
	}
	return least
}
