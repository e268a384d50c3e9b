package meaning

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"concordat"
)

// Lengths of sentences, in alphabetic letters; a Han character counts as three. Shorter sentences are joined to the previous one in the
// paragraph, and longer ones are split.
const (
	shortLetters  = 60
	leastLetters  = 40
	maxLetters    = 420
	pieceLetters  = 300
	hanLetters    = 3
	firstWide     = 0x2e80
	wideLanguages = 2 // a text is Chinese if more than a sixth of its characters are wide
)

// Letters returns the length of text in alphabetic letters.
func Letters(text string) int {
	n := 0
	for _, r := range text {
		if r >= firstWide {
			n += hanLetters
		} else {
			n++
		}
	}
	return n
}

// Wide reports whether a sentence is written mainly in Chinese characters.
func Wide(text string) bool {
	wide, all := 0, 0
	for _, r := range text {
		all++
		if r >= firstWide && r < 0x10000 {
			wide++
		}
	}
	return 3*wide*wideLanguages > all
}

// Sentences returns the sentences of a text, in order and disjoint; they are split at punctuation and joined so that most have 60 to 420
// letters, and none crosses a line break.
func Sentences(text string) []concordat.Span {
	var out []concordat.Span
	paragraph := true // nothing can be joined to the preceding text
	start := 0
	end := func(at int) {
		span := trimmed(text, concordat.Span{Start: start, End: at})
		start = at
		if span.Len() == 0 {
			return
		}
		if n := len(out); n > 0 && !paragraph &&
			(Letters(out[n-1].In(text)) < shortLetters || Letters(span.In(text)) < leastLetters) {
			out[n-1].End = span.End
		} else {
			out = append(out, span)
		}
		paragraph = false
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		next := i + size
		switch {
		case r == '\n' || r == '\r':
			end(next)
			paragraph = true
		case strings.ContainsRune("。！？；", r):
			next += closing(text[next:])
			end(next)
		case r == '.' || r == '!' || r == '?':
			if at := next + closing(text[next:]); begins(text[at:]) {
				next = at
				end(next)
			}
		}
		i = next
	}
	end(len(text))
	return cutLong(text, out)
}

// closing returns the length in bytes of closing marks at the start of text.
func closing(text string) int {
	return len(text) - len(strings.TrimLeft(text, "\"')]”’』」）"))
}

// begins reports whether text begins a new sentence, with white space and then a capital, a digit, a mark, or a letter without case.
func begins(text string) bool {
	rest := strings.TrimLeft(text, " \t\u00a0")
	if rest == "" || len(rest) == len(text) {
		return rest == ""
	}
	r, _ := utf8.DecodeRuneInString(rest)
	return !unicode.IsLower(r)
}

// trimmed returns the span without white space at its ends.
func trimmed(text string, s concordat.Span) concordat.Span {
	in := s.In(text)
	s.Start += len(in) - len(strings.TrimLeftFunc(in, unicode.IsSpace))
	s.End = s.Start + len(strings.TrimSpace(in))
	return s
}

// cutLong splits spans longer than maxLetters into parts of about pieceLetters, after a space or a mark.
func cutLong(text string, spans []concordat.Span) []concordat.Span {
	out := make([]concordat.Span, 0, len(spans))
	for _, s := range spans {
		if Letters(s.In(text)) <= maxLetters {
			out = append(out, s)
			continue
		}
		start, letters := s.Start, 0
		for i, r := range s.In(text) {
			at := s.Start + i
			if letters >= pieceLetters && (strings.ContainsRune(" ,;:，、；：", r) || letters >= maxLetters) {
				if part := trimmed(text, concordat.Span{Start: start, End: at}); part.Len() > 0 {
					out = append(out, part)
				}
				start, letters = at, 0
			}
			letters++
			if r >= firstWide {
				letters += hanLetters - 1
			}
		}
		if part := trimmed(text, concordat.Span{Start: start, End: s.End}); part.Len() > 0 {
			out = append(out, part)
		}
	}
	return out
}
