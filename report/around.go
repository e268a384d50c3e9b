package report

import (
	"strings"
	"unicode/utf8"

	"concordat"
)

// ContextBytes is the approximate number of bytes of text shown around a passage.
const ContextBytes = 120

// RuneStart returns i clamped to text and moved back to the start of a rune.
func RuneStart(text string, i int) int {
	i = min(max(i, 0), len(text))
	for i < len(text) && i > 0 && !utf8.RuneStart(text[i]) {
		i--
	}
	return i
}

// Around returns the text before and after s in its paragraph, about 120 bytes on each side, cut at word boundaries and marked with
// ellipses.
func Around(text string, s concordat.Span) (before, after string) {
	a := RuneStart(text, s.Start-ContextBytes)
	b := max(RuneStart(text, s.End+ContextBytes), s.End)
	return LastOf(text[a:s.Start], a == 0), FirstOf(text[s.End:b], b == len(text))
}

// LastOf returns the end of s that shares a paragraph with the text that follows, starting at a word boundary. begins reports whether s
// starts its text.
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

// FirstOf returns the part of s in the same paragraph as the text before it: up to the first line break, or else up to a word boundary.
// ends reports whether s ends its text.
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
