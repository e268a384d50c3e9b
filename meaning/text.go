package meaning

import (
	"slices"
	"strings"
	"unicode"

	"concordat"
)

// Text is a text split into sentences with their meanings. It is read-only and safe for concurrent use.
type Text struct {
	Spans     []concordat.Span
	Rest      int    // number of sentences after MaxSentences, which were not read
	Language  string // language code; empty if unknown
	sentences []Sentence
	prose     []bool // whether each sentence can be part of a lead
	chinese   []bool // whether each sentence is written mainly in Chinese characters
	wide      bool   // whether the text is written mainly in Chinese characters
}

// MaxSentences is the maximum number of sentences per text; the rest of a longer text is not compared.
const MaxSentences = 4000

// Read is [Encoder.Read] with an encoder of t. It is safe for concurrent use.
func (t *Table) Read(text, language string) *Text {
	e := t.encoder()
	defer t.encoders.Put(e)
	return e.Read(text, language)
}

// encoder returns an encoder for the caller alone, who puts it back into t.encoders.
func (t *Table) encoder() *Encoder {
	if e, ok := t.encoders.Get().(*Encoder); ok {
		return e
	}
	return NewEncoder(t)
}

// Read splits a text in a language into sentences and encodes them. The language is a code, or empty if unknown.
func (e *Encoder) Read(text, language string) *Text {
	t := Cut(text)
	t.Language = language
	for _, i := range t.Prose() {
		e.Encode(t.Spans[i].In(text), &t.sentences[i])
	}
	return t
}

// Cut splits a text into sentences without encoding them.
func Cut(text string) *Text {
	spans := Sentences(text)
	rest := max(0, len(spans)-MaxSentences)
	spans = spans[:len(spans)-rest]
	t := &Text{Spans: spans, Rest: rest, sentences: make([]Sentence, len(spans)), prose: make([]bool, len(spans)),
		chinese: make([]bool, len(spans)), wide: Wide(text)}
	for i, s := range spans {
		if t.prose[i] = prose(s.In(text)); t.prose[i] {
			t.chinese[i] = Wide(s.In(text))
		}
	}
	return t
}

// Leave excludes from leads the sentences at least half covered by spans.
func (t *Text) Leave(spans []concordat.Span) {
	for i, s := range t.Spans {
		covered := 0
		for _, x := range spans {
			covered += max(0, min(s.End, x.End)-max(s.Start, x.Start))
		}
		if 2*covered >= s.Len() {
			t.prose[i] = false
		}
	}
}

// Without returns a copy of t without the sentences that Leave would exclude, that is, sentences at least half covered by spans.
func (t *Text) Without(spans []concordat.Span) *Text {
	out := *t
	out.prose = slices.Clone(t.prose)
	out.Leave(spans)
	return &out
}

// leastLettersOf is the minimum proportion of letters among the characters of prose. Lists of links, tables and references have fewer,
// since they contain numbers and punctuation.
const leastLettersOf = 0.72

// prose reports whether a sentence can be part of a lead, because it is long enough and reads like prose.
func prose(text string) bool {
	if Letters(text) < leastLetters || strings.Contains(text, "://") || strings.Contains(text, "@") {
		return false
	}
	letters, capital, words, all := 0, 0, 0, 0
	before := ' '
	for _, r := range text {
		switch {
		case unicode.IsLetter(r):
			letters++
			if !unicode.IsLetter(before) {
				words++
				if unicode.IsUpper(r) {
					capital++
				}
			}
			all++
		case !unicode.IsSpace(r):
			all++
		}
		before = r
	}
	return float64(letters) >= leastLettersOf*float64(all) && (words < 4 || 2*capital <= words)
}
