package align

import (
	"slices"
	"unicode"
)

// match is a stretch of words in each text with the same letters: [a0, a1) of A and [b0, b1) of B.
type match struct{ a0, a1, b0, b1 int32 }

// matches returns the equal runs of a passage, in order. Chinese has no spaces, and the end of a line or a passage affects how adjacent
// characters are segmented into words. Words therefore also count as equal if their characters are equal, wherever the words begin.
func matches(ta, tb *Text, s stretch) []match {
	var out []match
	a, b := s.a0, s.b0
	for _, r := range diff(ta.words[s.a0:s.a1], tb.words[s.b0:s.b1]) {
		m := match{s.a0 + r.a, s.a0 + r.a + r.n, s.b0 + r.b, s.b0 + r.b + r.n}
		if letters := han(ta, a, m.a0); len(letters) > 0 && slices.Equal(letters, han(tb, b, m.b0)) {
			m.a0, m.b0 = a, b
		}
		if k := len(out) - 1; k >= 0 && out[k].a1 == m.a0 && out[k].b1 == m.b0 {
			out[k].a1, out[k].b1 = m.a1, m.b1
		} else {
			out = append(out, m)
		}
		a, b = m.a1, m.b1
	}
	if len(out) == 0 {
		return nil
	}
	// At its edges, the passage can contain part of a source word.
	first, last := &out[0], &out[len(out)-1]
	if letters, before := han(ta, s.a0, first.a0), hanBefore(tb, first.b0); len(letters) > 0 && len(letters) <= len(before) &&
		slices.Equal(letters, before[len(before)-len(letters):]) {
		first.a0 = s.a0
	}
	if letters, after := han(ta, last.a1, s.a1), hanAfter(tb, last.b1); len(letters) > 0 && len(letters) <= len(after) &&
		slices.Equal(letters, after[:len(letters)]) {
		last.a1 = s.a1
	}
	return out
}

// edgeWords is the maximum number of source words searched for part of a word.
const edgeWords = 4

// hanBefore returns the characters of the Chinese words that precede a word.
func hanBefore(t *Text, word int32) []rune {
	from := word
	for from > 0 && word-from < edgeWords && isHan(t.words[from-1]) {
		from--
	}
	return han(t, from, word)
}

// hanAfter returns the characters of the Chinese words starting at a word.
func hanAfter(t *Text, word int32) []rune {
	to := word
	for int(to) < len(t.words) && to-word < edgeWords && isHan(t.words[to]) {
		to++
	}
	return han(t, word, to)
}

// han returns the characters of words [first, last), or nil if one of them is not Chinese or is excluded from comparison.
func han(t *Text, first, last int32) []rune {
	var out []rune
	for _, w := range t.words[first:last] {
		if !isHan(w) {
			return nil
		}
		for _, r := range t.source[w.start:w.end] {
			if unicode.IsLetter(r) || unicode.IsNumber(r) {
				out = append(out, r)
			}
		}
	}
	return out
}

// isHan reports whether a word is Chinese and not excluded from comparison.
func isHan(w token) bool { return w.flags&hanWord != 0 && w.hash != mutedHash }
