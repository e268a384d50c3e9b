package report

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"concordat"
)

// spans is a set of bytes in the form of sorted, disjoint, nonempty spans, none adjacent to another.
type spans []concordat.Span

func bySpan(a, b concordat.Span) int {
	return cmp.Or(cmp.Compare(a.Start, b.Start), cmp.Compare(a.End, b.End))
}

// union returns the bytes contained in any span of s. It sorts s.
func union(s []concordat.Span) spans {
	slices.SortFunc(s, bySpan)
	var out spans
	for _, x := range s {
		if x.End <= x.Start {
			continue
		}
		if n := len(out); n > 0 && x.Start <= out[n-1].End {
			out[n-1].End = max(out[n-1].End, x.End)
			continue
		}
		out = append(out, x)
	}
	return out
}

// and returns the bytes in both s and t.
func (s spans) and(t spans) spans {
	var out spans
	t = t.from(s)
	for i, j := 0, 0; i < len(s) && j < len(t); {
		x := concordat.Span{Start: max(s[i].Start, t[j].Start), End: min(s[i].End, t[j].End)}
		if x.Start < x.End {
			out = append(out, x)
		}
		if s[i].End < t[j].End {
			i++
		} else {
			j++
		}
	}
	return out
}

// without returns the bytes in s but not in t.
func (s spans) without(t spans) spans {
	var out spans
	t = t.from(s)
	j := 0
	for _, x := range s {
		for j < len(t) && t[j].End <= x.Start {
			j++
		}
		for k := j; k < len(t) && t[k].Start < x.End; k++ {
			if t[k].Start > x.Start {
				out = append(out, concordat.Span{Start: x.Start, End: t[k].Start})
			}
			x.Start = max(x.Start, t[k].End)
		}
		if x.Start < x.End {
			out = append(out, x)
		}
	}
	return out
}

// from returns s without the spans before the first one that can overlap t, so that a small t costs little.
func (s spans) from(t spans) spans {
	if len(t) == 0 {
		return nil
	}
	i, _ := slices.BinarySearchFunc(s, t[0].Start, func(x concordat.Span, at int) int {
		return cmp.Compare(x.End, at)
	})
	return s[i:]
}

// clip returns the part of s within text, shrunk to rune boundaries, or an empty span if there is none.
func clip(text string, s concordat.Span) concordat.Span {
	s.Start, s.End = max(s.Start, 0), min(s.End, len(text))
	if s.Start >= s.End {
		return concordat.Span{}
	}
	for s.Start < s.End && !utf8.RuneStart(text[s.Start]) {
		s.Start++
	}
	for s.End < len(text) && s.End > s.Start && !utf8.RuneStart(text[s.End]) {
		s.End--
	}
	if s.Start >= s.End {
		return concordat.Span{}
	}
	return s
}

// trim returns s without surrounding white space, which readers do not see as part of a passage.
func trim(text string, s concordat.Span) concordat.Span {
	in := s.In(text)
	s.Start += len(in) - len(strings.TrimLeftFunc(in, unicode.IsSpace))
	s.End = s.Start + len(strings.TrimSpace(in))
	return s
}

// counts reports whether r counts in scores: it is a letter, mark or digit. The scheme's normaliser keeps the same classes, so both count
// the same characters.
func counts(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)
}

const tableStep = 64 // bytes between table entries

// A Counter converts byte offsets of one text to Unicode code points and to characters.
type Counter struct {
	text   string
	points []int32 // code points before byte i × tableStep
	chars  []int32 // characters before byte i × tableStep
}

// NewCounter scans text once; each conversion scans at most tableStep bytes.
func NewCounter(text string) *Counter {
	c := &Counter{text: text, points: make([]int32, 0, len(text)/tableStep+1), chars: make([]int32, 0, len(text)/tableStep+1)}
	var points, chars int32
	next := 0
	for i, r := range text {
		for next <= i {
			c.points, c.chars = append(c.points, points), append(c.chars, chars)
			next += tableStep
		}
		points++
		if counts(r) {
			chars++
		}
	}
	for next <= len(text) {
		c.points, c.chars = append(c.points, points), append(c.chars, chars)
		next += tableStep
	}
	return c
}

// at returns the code points and characters that begin before byte i.
func (c *Counter) at(i int) (points, chars int) {
	i = min(max(i, 0), len(c.text))
	k := i / tableStep
	points, chars = int(c.points[k]), int(c.chars[k])
	from := k * tableStep
	for from < i && !utf8.RuneStart(c.text[from]) {
		from++ // skip the rest of a rune that the entry already counted
	}
	for _, r := range c.text[from:i] {
		points++
		if counts(r) {
			chars++
		}
	}
	return points, chars
}

// Points converts a span of bytes to a span of code points.
func (c *Counter) Points(s concordat.Span) concordat.Span {
	a, _ := c.at(s.Start)
	b, _ := c.at(s.End)
	return concordat.Span{Start: a, End: b}
}

// Bytes converts a span of code points to a span of bytes, clipped to the text. It is the inverse of Points.
func (c *Counter) Bytes(points concordat.Span) concordat.Span {
	return concordat.Span{Start: c.byteOf(points.Start), End: c.byteOf(points.End)}
}

// byteOf returns the offset of code point n.
func (c *Counter) byteOf(n int) int {
	if n <= 0 {
		return 0
	}
	k, _ := slices.BinarySearchFunc(c.points, n, func(p int32, n int) int { return cmp.Compare(int(p), n) })
	k = max(k-1, 0) // the last entry with fewer points
	at, seen := k*tableStep, int(c.points[k])
	for at < len(c.text) && !utf8.RuneStart(c.text[at]) {
		at++
	}
	for i := range c.text[at:] {
		if seen == n {
			return at + i
		}
		seen++
	}
	return len(c.text)
}

// Characters returns the number of letters, marks and digits in s.
func (c *Counter) Characters(s concordat.Span) int {
	_, a := c.at(s.Start)
	_, b := c.at(s.End)
	return b - a
}

func (c *Counter) sum(s spans) int {
	n := 0
	for _, x := range s {
		n += c.Characters(x)
	}
	return n
}
