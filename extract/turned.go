package extract

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/bidi"
)

// Direction controls that open and close stretches (Unicode Standard Annex 9, section 2).
const (
	bidiLRE, bidiRLE, bidiPDF, bidiLRO, bidiRLO = '\u202a', '\u202b', '\u202c', '\u202d', '\u202e'
	bidiLRI, bidiRLI, bidiFSI, bidiPDI          = '\u2066', '\u2067', '\u2068', '\u2069'
)

// turnedDetail is the flag detail for a stretch displayed in a different order from the stored one.
const turnedDetail = "the text is stored in a different order from the one shown; the order shown is compared"

// maxTurns is the maximum nesting of controls; the Annex allows 125.
const maxTurns = 125

// turned returns the stretches of s that direction controls display in a different order from the stored one, in reading order: letters
// under an override are reversed, and isolated stretches inside a stretch of the other direction swap places. Text that continues over
// lines is reordered line by line. If clean is set, it also removes controls without effect.
func turned(s string, clean bool) []edit {
	if !clean && !strings.Contains(s, string(bidiRLO)) && !strings.Contains(s, string(bidiLRO)) && !strings.Contains(s, string(bidiRLI)) &&
		!strings.Contains(s, string(bidiRLE)) {
		return nil
	}
	var edits []edit
	for from := 0; from < len(s); {
		to := from + strings.IndexByte(s[from:], '\n')
		if to < from {
			to = len(s)
		}
		edits = turnedLine(s, from, to, clean, edits)
		from = to + 1
	}
	return edits
}

// turn writes the control that opens a stretch of the given direction, for an element with the same effect.
func (b *builder) turn(override, fromRight bool) {
	b.directed = true
	switch {
	case override && fromRight:
		b.text(string(bidiRLO))
	case override:
		b.text(string(bidiLRO))
	case fromRight:
		b.text(string(bidiRLE))
	default:
		b.text(string(bidiLRE))
	}
}

// bidiStretch is the content between an opening control and its end: text and further stretches.
type bidiStretch struct {
	opener   rune // 0 for the line itself
	from, to int  // bytes including the controls
	parts    []bidiPart
}

type bidiPart struct {
	text  string
	inner *bidiStretch // nil for text
}

// turnedLine appends the edits of one line, bytes [from, to) of s.
func turnedLine(s string, from, to int, clean bool, edits []edit) []edit {
	line := s[from:to]
	if !strings.ContainsFunc(line, func(r rune) bool { return r >= bidiLRE && r <= bidiRLO || r >= bidiLRI && r <= bidiPDI }) {
		return edits
	}
	for _, p := range parseBidi(line, from).parts {
		st := p.inner
		if st == nil {
			continue
		}
		plain, seen := st.stored(), st.seen()
		switch {
		case plain != seen:
			edits = append(edits, edit{st.from, st.to, seen, FlagBidi, turnedDetail})
		case clean:
			edits = append(edits, edit{from: st.from, to: st.to, text: plain})
		}
	}
	return edits
}

// parseBidi finds the stretches of a line that begins at byte at.
func parseBidi(line string, at int) *bidiStretch {
	open := []*bidiStretch{{from: at, to: at + len(line)}}
	text := 0 // first byte of text not yet in a part
	put := func(i int) {
		if t := open[len(open)-1]; i > text {
			t.parts = append(t.parts, bidiPart{text: line[text:i]})
		}
	}
	closeTo := func(n, end int) {
		for len(open) > n {
			open[len(open)-1].to = at + end
			open = open[:len(open)-1]
		}
	}
	for i, r := range line {
		size := len(string(bidiLRE))
		switch {
		case r >= bidiLRE && r <= bidiRLO && r != bidiPDF, r == bidiLRI, r == bidiRLI, r == bidiFSI:
			put(i)
			text = i + size
			if len(open) > maxTurns {
				continue
			}
			inner := &bidiStretch{opener: r, from: at + i}
			t := open[len(open)-1]
			t.parts = append(t.parts, bidiPart{inner: inner})
			open = append(open, inner)
		case r == bidiPDF:
			put(i)
			text = i + size
			if n := len(open) - 1; n > 0 && !open[n].isolate() {
				closeTo(n, text)
			}
		case r == bidiPDI:
			put(i)
			text = i + size
			for n := len(open) - 1; n > 0; n-- {
				if open[n].isolate() {
					closeTo(n, text)
					break
				}
			}
		}
	}
	put(len(line))
	closeTo(1, len(line))
	return open[0]
}

func (t *bidiStretch) isolate() bool { return t.opener >= bidiLRI && t.opener <= bidiFSI }

// stored returns the text of the stretch in file order, without the controls.
func (t *bidiStretch) stored() string {
	var out strings.Builder
	for _, p := range t.parts {
		if p.inner != nil {
			out.WriteString(p.inner.stored())
		} else {
			out.WriteString(p.text)
		}
	}
	return out.String()
}

// seen returns the text of the stretch in the order in which people read it on screen: from the left, unless all its letters belong to
// right-to-left scripts.
func (t *bidiStretch) seen() string {
	left, right := directions(t.stored())
	parts := make([]string, 0, len(t.parts))
	for _, p := range t.parts {
		switch {
		case p.inner != nil:
			parts = append(parts, p.inner.seen())
		case t.opener == bidiRLO && left > 0 && right == 0, t.opener == bidiLRO && right > 0 && left == 0:
			parts = append(parts, bidi.ReverseString(p.text))
		default:
			parts = append(parts, p.text)
		}
	}
	turn := left > 0 && right == 0 && (t.opener == bidiRLO || t.opener == bidiRLE || t.opener == bidiRLI) ||
		right > 0 && left == 0 && t.opener == bidiLRO
	if turn {
		for i, j := 0, len(parts)-1; i < j; i, j = i+1, j-1 {
			parts[i], parts[j] = parts[j], parts[i]
		}
	}
	return strings.Join(parts, "")
}

// directions counts the left-to-right and right-to-left letters in s.
func directions(s string) (left, right int) {
	for _, r := range s {
		switch {
		case isRightToLeft(r):
			right++
		case unicode.IsLetter(r):
			left++
		}
	}
	return left, right
}
