package align

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cespare/xxhash/v2"
)

// token is one word with its place in the original text.
type token struct {
	start, end int32  // bytes of the original
	hash       uint64 // of the folded word; equal words have equal hashes
	chars      int32  // weighted letters: see hanWeight
	flags      uint8
}

const (
	isHan       = 1 << iota // Han characters
	afterClause             // a comma or the like stands before the word
)

// hanWeight is how many letters of an alphabet one Han character counts for: Chinese says in about
// a third of the characters what English says, and all lengths below are in Latin letters.
const hanWeight = 3

// sentence is words [first, last) of one sentence.
type sentence struct{ first, last int32 }

// tokens cuts text into words (runs of letters, marks and digits, lower-cased; single Han
// characters) and sentences. folded returns the folded letters of a word.
func tokens(text string) (words []token, sentences []sentence, folded func(i int) string) {
	var first int32
	var clause, ended, breakLine bool
	end := func() {
		if n := int32(len(words)); n > first {
			sentences = append(sentences, sentence{first, n})
			first = n
		}
	}
	lower := strings.ToLower
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if !wordRune(r) {
			switch {
			case strings.ContainsRune(".!?", r):
				ended = true
			case strings.ContainsRune("。！？；", r):
				end()
			case strings.ContainsRune(",;:，、：", r):
				clause = true
			case unicode.IsSpace(r):
				if ended {
					end()
				}
				if r == '\n' {
					if breakLine {
						end()
					}
					breakLine = true
				}
				i += size
				continue
			case strings.ContainsRune("\"')]»”’", r) && ended:
				i += size
				continue
			}
			if r != '.' && r != '!' && r != '?' {
				ended = false
			}
			breakLine = false
			i += size
			continue
		}
		w := token{start: int32(i)}
		if clause {
			w.flags |= afterClause
		}
		ended, clause, breakLine = false, false, false
		if unicode.Is(unicode.Han, r) {
			i += size
			w.flags |= isHan
			w.chars = hanWeight
		} else {
			for i < len(text) {
				r, size := utf8.DecodeRuneInString(text[i:])
				if !wordRune(r) || unicode.Is(unicode.Han, r) {
					break
				}
				i += size
				w.chars++
			}
		}
		w.end = int32(i)
		w.hash = xxhash.Sum64String(lower(text[w.start:w.end]))
		words = append(words, w)
	}
	end()
	return words, sentences, func(i int) string { return lower(text[words[i].start:words[i].end]) }
}

func wordRune(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || unicode.IsMark(r)
}
