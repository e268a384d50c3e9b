package report

import (
	"strings"
	"unicode/utf8"

	"concordat"
)

// ContextBytes is the approximate number of bytes of text shown around a passage.
const ContextBytes = 120

// RuneStart returns i, limited to text and moved back to the beginning of a rune.
func RuneStart(text string, i int) int {
	i = min(max(i, 0), len(text))
	for i < len(text) && i > 0 && !utf8.RuneStart(text[i]) {
		i--
	}
	return i
}

// Around returns the text before and after s in its paragraph, about 120 bytes each, cut between words and marked with an
// ellipsis.
func Around(text string, s concordat.Span) (before, after string) {
	a := RuneStart(text, s.Start-ContextBytes)
	b := max(RuneStart(text, s.End+ContextBytes), s.End)
	return LastOf(text[a:s.Start], a == 0), FirstOf(text[s.End:b], b == len(text))
}

// LastOf returns the end of s that belongs to the paragraph of what follows s, starting at the beginning of a word.
// begins says whether s is at the beginning of its text.
func LastOf(s string, begins bool) string {
	if i := strings.LastIndexByte(strings.TrimRight(s, " \t"), '\n'); i >= 0 {
		return s[i+1:]
	}
	if begins || s == "" {
		return s
	}
	if i := strings.IndexByte(s, ' '); i >= 0 && i < len(s)/2 {
		s = s[i+1:]
	}
	return "…" + s
}

// FirstOf returns the beginning of s that belongs to the paragraph of what precedes s, up to the end of a word. ends
// says whether s is at the end of its text.
func FirstOf(s string, ends bool) string {
	if i := strings.IndexByte(s, '\n'); i >= 0 {
		return s[:i]
	}
	if ends || s == "" {
		return s
	}
	if i := strings.LastIndexByte(s, ' '); i > len(s)/2 {
		s = s[:i]
	}
	return s + "…"
}
