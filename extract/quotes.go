package extract

import (
	"strings"
	"unicode"
)

// A quotation in unusual marks is flagged if it has at least longQuotation bytes. If it has more than maxQuotation bytes, its closing
// mark is assumed to belong to another quotation. Reports do not consider such text a quotation either, and the same applies to text of
// several paragraphs.
const (
	longQuotation = 300
	maxQuotation  = 3000
)

// strangeQuote specifies in which texts a quotation mark is unusual.
type strangeQuote struct {
	closers string
	to      quoteTo
}

type quoteTo uint8

const (
	toAll       quoteTo = iota // not used like this in any typographic tradition
	toAlphabets                // used only in Chinese, Japanese and Korean
	toEnglish                  // used in other European languages
)

// strangeQuotes are marks that make a copied passage look quoted to a program but not, or not immediately, to a reader.
var strangeQuotes = map[rune]strangeQuote{
	'❝': {"❞", toAll}, '❛': {"❜", toAll}, '‟': {"”", toAll}, '‛': {"’", toAll}, '⹂': {"“”", toAll}, '🙶': {"🙷", toAll},
	'〝': {"〞〟", toAlphabets}, '＂': {"＂", toAlphabets}, '「': {"」", toAlphabets}, '『': {"』", toAlphabets}, '﹁': {"﹂", toAlphabets},
	'﹃': {"﹄", toAlphabets}, '｢': {"｣", toAlphabets},
	'«': {"»", toEnglish}, '»': {"«", toEnglish}, '„': {"“”", toEnglish}, '‹': {"›", toEnglish},
}

// scanQuotes flags long passages between quotation marks that are unusual in their text.
func scanQuotes(b *builder, s string) {
	if !strings.ContainsFunc(s, func(r rune) bool { _, ok := strangeQuotes[r]; return ok }) {
		return
	}
	english := isEnglish(s)
	open, mark, last := -1, strangeQuote{}, ' '
	for i, r := range s {
		if r == '\n' && last == '\n' {
			open = -1
		}
		last = r
		if open >= 0 && strings.ContainsRune(mark.closers, r) {
			if q := s[open:i]; len(q) >= longQuotation && len(q) <= maxQuotation && mark.strange(q, english) {
				b.flag(Flag{Code: FlagQuoted, Start: open, End: i + len(string(r)),
					Detail: "a long passage in quotation marks that are unusual in its language"})
			}
			open = -1
			continue
		}
		if m, ok := strangeQuotes[r]; ok && (open < 0 || i-open > maxQuotation || m.to < mark.to) {
			open, mark = i, m
		}
	}
}

// strange reports whether the mark is unusual in passage q; english reports whether the text is English.
func (m strangeQuote) strange(q string, english bool) bool {
	switch m.to {
	case toAlphabets:
		return !strings.ContainsFunc(q, func(r rune) bool {
			return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)
		})
	case toEnglish:
		return english && isEnglish(q)
	}
	return true
}

// isEnglish reports whether one word in eight of s is among the commonest English words; in other European languages, hardly any word is.
func isEnglish(s string) bool {
	words, common := 0, 0
	for _, w := range strings.FieldsFunc(s[:min(len(s), 100_000)], func(r rune) bool { return !unicode.IsLetter(r) }) {
		words++
		switch strings.ToLower(w) {
		case "the", "of", "and", "to", "that", "is", "with", "was", "this", "which", "it", "for":
			common++
		}
	}
	return words >= 20 && common*8 >= words
}
