package extract

import (
	"strings"
	"unicode"

	"golang.org/x/net/html/atom"
)

// A reading has at most this many letters per letter of its base, plus a few, since pinyin has six per character. Anything longer is not
// a reading.
const (
	readingLetters = 8
	readingMore    = 12
)

// reading leaves out the reading of base and counts its letters. Text that is too long for a reading becomes a paragraph after this one.
func (b *builder) reading(base, s string) {
	n := countLetters(s)
	if n == 0 {
		return
	}
	if n > readingLetters*countLetters(base)+readingMore {
		b.asides = append(b.asides, s)
		return
	}
	b.flag(Flag{Code: FlagReadings, Detail: readingsDetail})
	b.leave(FlagReadings, s)
}

const readingsDetail = "readings above or beside words (ruby, pinyin, furigana) left out"

func countLetters(s string) int {
	n := 0
	for _, r := range s {
		if unicode.IsLetter(r) {
			n++
		}
	}
	return n
}

// readings collects the readings of an HTML page.
type readings struct {
	base string          // the paragraph's text up to the ruby, or up to its last reading
	text strings.Builder // text of the open reading
	open int             // nesting depth in elements rt and rtc
}

// start begins a ruby or a reading, given the paragraph so far.
func (r *readings) start(a atom.Atom, para []byte) {
	switch a {
	case atom.Ruby:
		r.base = string(para)
	case atom.Rt, atom.Rtc:
		r.open++
	}
}

// add collects text that is not displayed inline.
func (r *readings) add(s string) {
	if r.open > 0 && r.text.Len() < 1<<16 {
		r.text.WriteString(s)
	}
}

// stop finishes a reading at its end.
func (r *readings) stop(b *builder, a atom.Atom) {
	if a != atom.Rt && a != atom.Rtc || r.open == 0 {
		return
	}
	if r.open--; r.open > 0 {
		return
	}
	para := string(b.para)
	b.reading(strings.TrimPrefix(para, r.base), r.text.String())
	r.base = para
	r.text.Reset()
}

// officeRuby is a reading in a Word or OpenDocument file, where one element contains the reading and its base.
type officeRuby struct {
	text strings.Builder
	open bool // currently inside the reading
	base int  // offset in the paragraph where the base begins
}

// start begins a reading or its base at byte at of the paragraph.
func (r *officeRuby) start(name string, at int) {
	switch name {
	case "w:rt", "text:ruby-text":
		r.open = true
	case "w:rubyBase", "text:ruby-base":
		r.base = at
	}
}

// take withholds s if it belongs to a reading.
func (r *officeRuby) take(s string) bool {
	if r.open && r.text.Len() < 1<<16 {
		r.text.WriteString(s)
	}
	return r.open
}

// stop ends a reading, or the element that contains it and its base.
func (r *officeRuby) stop(name string, b *builder) {
	r.open = false
	if name == "w:ruby" || name == "text:ruby" {
		b.reading(string(b.para[min(r.base, len(b.para)):]), r.text.String())
		r.text.Reset()
	}
}
