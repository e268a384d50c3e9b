package compare

import (
	"concordat"
	"concordat/meaning"
)

// Candidate is a source document, with the sentences that nominated it.
type Candidate struct {
	Ref   concordat.Ref
	Title string
	Hits  []Hit
	Score float64
	Text  bool // its words nominate it, so no sentence needs to be confirmed
	// nearby are places where an encoder's vectors in an index stand out; There counts the sentences of prose.
	nearby []meaning.Nearby
}

// Hit is a sentence of the submission close to a sentence of a source.
type Hit struct {
	Span      concordat.Span // in the submission
	Source    concordat.Span
	Documents int
	Distance  int // in bits
	Ordinal   int // ordinal of the source's sentence
}

// commonDocuments is the number of documents at which a sentence counts little for nomination.
const commonDocuments = 20

// ByBits returns how far inside its sentence's gate a match is, from its distance alone. The value 1 means an identical fingerprint, and
// 0 or less means outside.
func ByBits(s concordat.Sentence, m concordat.Match) float64 {
	return float64(s.Gate+1-m.Distance) / float64(s.Gate+1)
}

// Nominate returns the source documents close to some sentence, best first. Each sentence adds its nearness, or nothing if it is 0 or
// less, and adds less if many documents contain the wording.
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
			continue // a more distant match of the same sentence
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

// Documents returns the lowest number of documents for any matched sentence within span, because a passage is as common as its rarest
// sentence. It is 0 if no whole sentence of the passage matched.
func (c *Candidate) Documents(span concordat.Span) int {
	least := 0
	for _, h := range c.Hits {
		if h.Span.Overlaps(span) && (least == 0 || h.Documents < least) {
			least = h.Documents
		}
	}
	return least
}
