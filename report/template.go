package report

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"concordat"
)

const (
	// templateRun is the minimum length in characters of a run of template wording, about four English words. Shorter templates must
	// match in full.
	templateRun = 20
	// hanRun is the corresponding length for consecutive Chinese characters, since blanks in a Chinese form are closer together.
	hanRun = 9
)

// rollBase is the multiplier of the rolling hash, modulo 2^64 (Karp and Rabin 1987); it is odd and spreads bits well. Every candidate is
// verified rune by rune, so a collision costs only time.
const rollBase = 0x9E3779B97F4A7C15

// wordingOf returns the template wording in text: every run of at least templateRun characters, or hanRun Chinese ones, that a template
// also contains, in whatever context. Case, spaces and punctuation are ignored.
func wordingOf(text string, templates []string) spans {
	if len(templates) == 0 {
		return nil
	}
	own, at := foldRunes(text)
	var out []concordat.Span
	byLength := map[int][][]rune{} // whole short templates, and windows of longer ones, by length
	for _, t := range templates {
		r, _ := foldRunes(t)
		if n := min(len(r), templateRun); n > 0 {
			byLength[n] = append(byLength[n], r)
		}
	}
	add := func(ts [][]rune, n int, within func([]rune) bool) {
		for _, i := range windows(own, ts, n) {
			if within(own[i : i+n]) {
				out = append(out, concordat.Span{Start: at[i], End: at[i+n]})
			}
		}
	}
	for n, ts := range byLength {
		add(ts, n, func([]rune) bool { return true })
	}
	add(byLength[templateRun], hanRun, isHan)
	return union(out)
}

// isHan reports whether all characters are Chinese.
func isHan(rs []rune) bool {
	return !slices.ContainsFunc(rs, func(r rune) bool { return !unicode.Is(unicode.Han, r) })
}

// foldRunes returns the characters of s in lower case with their byte offsets, followed by the end offset of the last one.
func foldRunes(s string) ([]rune, []int) {
	var rs []rune
	var at []int
	end := 0
	for i, r := range s {
		if counts(r) {
			rs, at = append(rs, unicode.ToLower(r)), append(at, i)
			end = min(i+utf8.RuneLen(r), len(s))
		}
	}
	return rs, append(at, end)
}

// windows returns the positions in own of all runs of n runes that occur in a template.
func windows(own []rune, templates [][]rune, n int) []int {
	type place struct{ template, at int }
	known := map[uint64]place{}
	for k, t := range templates {
		roll(t, n, func(i int, h uint64) {
			if _, ok := known[h]; !ok {
				known[h] = place{k, i}
			}
		})
	}
	var out []int
	roll(own, n, func(i int, h uint64) {
		p, ok := known[h]
		if ok && string(templates[p.template][p.at:p.at+n]) == string(own[i:i+n]) {
			out = append(out, i)
		}
	})
	return out
}

// roll calls f with the hash of every run of n runes in rs, in order.
func roll(rs []rune, n int, f func(at int, hash uint64)) {
	if len(rs) < n {
		return
	}
	var h, top uint64 = 0, 1
	for i := 1; i < n; i++ {
		top *= rollBase
	}
	for i, r := range rs {
		if i >= n {
			h -= uint64(rs[i-n]) * top
		}
		h = h*rollBase + uint64(r)
		if i >= n-1 {
			f(i-n+1, h)
		}
	}
}

// leastLine is the minimum number of characters of a line compared with the lines of a template as a whole.
const leastLine = 4

// givenLines returns the template lines shorter than templateRun, folded: headings and labels of a form, which count as its wording only
// on a separate line.
func givenLines(templates []string) map[string]bool {
	out := map[string]bool{}
	for _, t := range templates {
		for line := range strings.Lines(t) {
			if rs, _ := foldRunes(line); len(rs) >= leastLine && len(rs) < templateRun {
				out[string(rs)] = true
			}
		}
	}
	return out
}

// wholeLines returns the lines of text that equal one of the given lines.
func wholeLines(text string, given map[string]bool) []concordat.Span {
	if len(given) == 0 {
		return nil
	}
	var out []concordat.Span
	for _, l := range lines(text) {
		if len(l.trimmed) > 8*templateRun {
			continue
		}
		if rs, _ := foldRunes(l.trimmed); given[string(rs)] {
			out = append(out, l.Span)
		}
	}
	return out
}

// givenLine reports whether a short text is one of the given lines.
func (b *builder) givenLine(text string) bool {
	rs, _ := foldRunes(text)
	return b.given[string(rs)]
}
