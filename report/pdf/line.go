package pdf

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// textStyle determines how a piece of text is drawn.
type textStyle struct {
	size  float64 // in points
	grey  bool    // for context and remarks
	bold  bool    // drawn with an outline, since neither font has a bold variant
	apart bool    // words missing on the other side, underlined and shaded
	// wording marks quoted text, whose paragraphs run in the direction of their first letter.
	wording bool
}

// run is a stretch of text in one style.
type run struct {
	text string
	textStyle
}

// piece is an unbreakable unit: a letter with its marks, or an escape.
type piece struct {
	text   string
	style  *textStyle
	face   *face
	width  float64 // in points
	escape bool    // a boxed placeholder for a character that cannot be drawn
	space  bool
	begins bool // a line can begin with it
	newRow bool // it ends a line and draws nothing

	// Fields for right-to-left text.

	raw    string  // the characters that the text represents
	letter bool    // strong left-to-right
	turned bool    // strong right-to-left
	digit  bool    // digit in any script
	level  int     // embedding level, set for each line
	indent float64 // indent in points of a line that begins with the piece
}

// escape returns the code point to display for a character that fonts lack or that would be invisible.
func escape(r rune) string { return fmt.Sprintf("[U+%04X]", r) }

// drawn reports whether r can be drawn as is. Invisible characters are evidence of tampering and are displayed as code points; of the
// right-to-left scripts, only Hebrew and Arabic are laid out.
func drawn(r rune) bool {
	switch {
	case r >= 1<<16, r < ' ', r >= 0x7f && r < 0xa0, r == 0xad:
		return false
	case unicode.In(r, unicode.Cf, unicode.Co, unicode.Cs, unicode.Zl, unicode.Zp):
		return false
	case unicode.In(r, unicode.Syriac, unicode.Thaana, unicode.Nko):
		return false
	}
	return true
}

// plain replaces the characters of s that cannot be drawn, for strings outside pages, for example titles and bookmarks.
func plain(s string) string {
	var b strings.Builder
	for _, r := range s {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			b.WriteByte(' ')
		case r >= 1<<16, r < ' ':
			b.WriteString(escape(r))
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// noStart lists characters that cannot start a line, and noEnd characters that cannot end one (the common set of W3C, Requirements for
// Chinese Text Layout, section 3.1.4).
const (
	noStart = "、，。．：；！？）〕］｝〉》」』】〗’”…—·％‰℃,.:;!?)]}%ー々"
	noEnd   = "（〔［｛〈《「『【〖‘“([{"
)

// wide reports whether a line can break next to r without a space.
func wide(r rune) bool {
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || r >= 0x3000 && r <= 0x303f || r >= 0xff00 &&
		r <= 0xffef
}

// pieces splits runs into unbreakable pieces.
func (d *doc) pieces(runs []run) []piece {
	var out []piece
	last := ' '
	for i := range runs {
		l := &runs[i].textStyle
		for _, r := range runs[i].text {
			switch {
			case r == '\r':
				continue
			case r == '\n':
				out, last = append(out, piece{newRow: true}), ' '
				continue
			case r == '\t':
				r = ' '
			}
			p := d.piece(r, l)
			p.begins = !p.space && mayBreak(last, r, p.escape)
			if n := len(out); n > 0 && unicode.In(r, unicode.Mn) && !p.escape && !out[n-1].newRow && !out[n-1].escape &&
				out[n-1].face == p.face && out[n-1].style == l {
				out[n-1].text += p.text
				out[n-1].raw += p.raw
				out[n-1].width += p.width
				continue
			}
			out, last = append(out, p), r
		}
	}
	return d.shape(out)
}

func mayBreak(before, r rune, escaped bool) bool {
	switch {
	case escaped:
		return true
	case strings.ContainsRune(noStart, r), strings.ContainsRune(noEnd, before):
		return false
	case unicode.IsSpace(before):
		return before != '\u00a0' && before != '\u202f' // no-break spaces in numbers
	case before == '-' || before == '/':
		return unicode.IsLetter(r)
	}
	return wide(before) || wide(r)
}

func (d *doc) piece(r rune, l *textStyle) piece {
	if drawn(r) {
		for _, f := range d.faces {
			if w, ok := f.width(r); ok {
				return piece{text: string(r), raw: string(r), style: l, face: f, width: w * l.size / 1000, space: unicode.IsSpace(r),
					turned: turned(r), digit: unicode.IsDigit(r), letter: unicode.IsLetter(r) && !turned(r)}
			}
		}
	}
	s := escape(r)
	p := piece{text: s, raw: s, style: l, face: d.faces[0], escape: true, letter: true}
	for _, c := range s {
		w, _ := p.face.width(c)
		p.width += w * l.size / 1000
	}
	p.width += 2 * boxMargin
	d.escaped++
	return p
}

// boxMargin is the space in points between an escape and either side of its box.
const boxMargin = 1

// lines breaks pieces into lines no wider than w. It omits nothing, so the lines together contain all the text. Spaces at the end of a
// line can extend past w.
func lines(ps []piece, w float64) [][]piece {
	var out [][]piece
	start, at, brk := 0, 0, 0
	used := 0.0
	base, paragraph := direction(ps), true
	cut := func(end int) {
		if paragraph {
			base = direction(ps[start:])
		}
		paragraph = ps[end-1].newRow
		lay(ps[start:end], base, w)
		out = append(out, ps[start:end])
		start, at, brk, used = end, end, end, 0
	}
	for at < len(ps) {
		p := ps[at]
		if p.newRow {
			cut(at + 1)
			continue
		}
		if p.begins && at > start {
			brk = at
		}
		if used+p.width > w && !p.space && at > start {
			if brk > start {
				cut(brk)
			} else {
				cut(at) // a word wider than the column
			}
			continue
		}
		used += p.width
		at++
	}
	if start < len(ps) {
		cut(len(ps))
	}
	if len(out) == 0 {
		out = append(out, nil)
	}
	return out
}

// lay positions the pieces of a line of width w in a paragraph with the given base level.
func lay(line []piece, base int, w float64) {
	if base == 0 && !slices.ContainsFunc(line, func(p piece) bool { return p.turned }) {
		return
	}
	level(line, base)
	if base == 1 {
		used := 0.0
		for _, p := range line {
			used += p.width
		}
		line[0].indent = max(w-used, 0)
	}
}

// leading is the distance between baselines relative to the type size.
const leading = 1.4

// draw draws a line with its upper left corner at x, y.
func (d *doc) draw(line []piece, x, y, h float64) {
	if slices.ContainsFunc(line, func(p piece) bool { return p.level > 0 }) {
		d.turn(line, x+line[0].indent, y, h)
		return
	}
	base := y + h*0.74
	for i := 0; i < len(line); {
		p := line[i]
		if p.newRow {
			i++
			continue
		}
		j, w, text := i+1, p.width, p.text
		for !p.escape && j < len(line) && !line[j].newRow && !line[j].escape && line[j].style == p.style && line[j].face == p.face {
			w += line[j].width
			text += line[j].text
			j++
		}
		d.segment(p, text, x, y, w, h, base)
		x += w
		i = j
	}
}

// segment draws text in one style and font.
func (d *doc) segment(p piece, text string, x, y, w, h, base float64) {
	f := d.f
	l := p.style
	if l.apart {
		f.SetFillColor(222, 222, 222)
		f.Rect(x, y+h*0.06, w, h*0.88, "F")
		f.SetLineWidth(0.8)
		f.Line(x, base+1.8, x+w, base+1.8)
	}
	if p.escape {
		f.SetLineWidth(0.4)
		f.Rect(x+0.3, y+h*0.1, w-0.6, h*0.8, "D")
		x += boxMargin
	}
	f.SetFont(p.face.name, "", l.size)
	level := 0
	if l.grey {
		level = 95
	}
	if level != d.level {
		f.SetTextColor(level, level, level)
		d.level = level
	}
	if l.bold {
		f.SetLineWidth(l.size / 30)
		f.SetTextRenderingMode(2)
	}
	f.Text(x, base, text)
	if l.bold {
		f.SetTextRenderingMode(0)
	}
}

// shorten returns s on one line, truncated to n code points.
func shorten(s string, n int) string {
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	for i := range s {
		if n == 0 {
			return s[:i] + "…"
		}
		n--
	}
	return s
}
