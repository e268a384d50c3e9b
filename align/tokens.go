package align

import (
	"strings"

	"github.com/cespare/xxhash/v2"

	"concordat/segment"
)

// token is one word, with its position in the original text: a word of a language with spaces, a Chinese word, or one character of
// another script without spaces.
type token struct {
	start, end int32  // in bytes of the original
	hash       uint64 // hash of the folded letters; equal words have equal hashes
	chars      int32  // in weighted letters; see hanWeight
	flags      uint8
}

const (
	afterClause = 1 << iota // preceded by a comma or the like
	gramWord                // one character of a word without spaces, with a pair of characters as its stem
	stopWord                // in the stop list of the text's language
	hanWord                 // Chinese characters
)

// These are the numbers of Latin letters that one character counts as. Chinese needs about a third as many characters as English, and a
// syllabary needs half as many.
const (
	hanWeight      = 3
	syllableWeight = 2
)

// sentence consists of words [first, last), with the number of walls before it.
type sentence struct{ first, last, wall int32 }

// tokens splits text into words and sentences. folded returns the folded letters of a word, which are valid until s is reused. A text
// refused by [segment.Split] has no words.
func (s *scratch) tokens(text string) (words []token, sentences []sentence, folded func(i int) []byte) {
	t := &s.text
	if t.Split(text) != nil {
		return nil, nil, nil
	}
	defer func() { t.Source = "" }() // words and Norm do not refer to it
	words = make([]token, 0, len(t.Words))
	norms := s.norms[:0]
	language := t.Language()
	first := int32(0)
	end := func() {
		if n := int32(len(words)); n > first {
			sentences = append(sentences, sentence{first: first, last: n})
			first = n
		}
	}
	for _, p := range t.Paragraphs {
		for k := p.First; k < p.Last; k++ {
			of := &t.Sentences[k]
			for i := of.First; i < of.Last; i++ {
				w := &t.Words[i]
				if i > of.First && stopped(text[t.Words[i-1].End:w.Start]) {
					end()
				}
				words, norms = s.appendWord(w, language, words, norms)
			}
			// Even an intentional line end does not end a sentence here, because copies are rarely wrapped like their source.
			if of.Span.End > int(t.Words[of.Last-1].End) {
				end()
			}
		}
		end()
	}
	s.norms = norms
	return words, sentences, func(i int) []byte { return t.Norm[norms[i][0]:norms[i][1]] }
}

func tokens(text string) (words []token, sentences []sentence) {
	words, sentences, _ = new(scratch).tokens(text)
	return words, sentences
}

// stopped reports whether a full stop or the like, followed by white space, separates two words. [segment.Split] knows abbreviations and
// requires a capital letter after the stop. Here an extra stop costs little, since short sentences are joined, whereas a missed one hides
// the start of a passage, and machine-processed text has lost its capitals.
func stopped(between string) bool {
	i := strings.IndexAny(between, ".!?")
	return i >= 0 && strings.ContainsAny(between[i:], " \n\t\u00a0")
}

func (s *scratch) appendWord(w *segment.Word, language uint32, words []token, norms [][2]int32) ([]token, [][2]int32) {
	out := token{start: w.Start, end: w.End, hash: w.Hash, chars: int32(w.Chars)}
	if w.Flags&segment.AfterClause != 0 {
		out.flags = afterClause
	}
	if w.Stop&language != 0 || w.Flags&segment.HanStop != 0 {
		out.flags |= stopWord
	}
	switch {
	case w.Flags&segment.Han != 0:
		out.chars *= hanWeight
		out.flags |= hanWord
	case w.Flags&(segment.Syllabic|segment.Unspaced) != 0:
		return s.characters(w, out, words, norms)
	}
	return append(words, out), append(norms, [2]int32{w.NormStart, w.NormEnd})
}

// characters appends each character of w, a run in a script without spaces, as a separate word. Its folded form is the character together
// with the next one.
func (s *scratch) characters(w *segment.Word, like token, words []token, norms [][2]int32) ([]token, [][2]int32) {
	t := &s.text
	s.chars = t.Characters(w, s.chars[:0])
	like.flags |= gramWord
	like.chars = 1
	if w.Flags&segment.Syllabic != 0 {
		like.chars = syllableWeight
	}
	for i, c := range s.chars {
		next := c.Norm.End
		if i+1 < len(s.chars) {
			next = s.chars[i+1].Norm.End
		}
		like.start, like.end = int32(c.Source.Start), int32(c.Source.End)
		like.hash = xxhash.Sum64(t.Norm[c.Norm.Start:c.Norm.End])
		words = append(words, like)
		norms = append(norms, [2]int32{int32(c.Norm.Start), int32(next)})
		like.flags &^= afterClause
	}
	return words, norms
}
