package segment

import (
	"unicode/utf8"

	"concordat/segment/runetab"
)

// Character is one folded character of a word. Several characters share a position if one original character folds to several, and one
// position covers several original characters if these compose to one.
type Character struct {
	Norm   Span // bytes in Text.Norm
	Source Span // bytes in Text.Source, including subsequent marks and invisible characters dropped by folding
}

// Characters appends the folded characters of w, a word of t, in order. Their positions in Norm are disjoint and cover the word; their
// positions in Source are in ascending order and within the word. w must not be part of a Han run.
func (t *Text) Characters(w *Word, dst []Character) []Character {
	source, norm := t.Source[w.Start:w.End], t.Norm[w.NormStart:w.NormEnd]
	if len(source) == len(norm) && utf8.RuneCountInString(source) == utf8.RuneCount(norm) {
		if d, ok := equalRunes(source, norm, w, dst); ok {
			return d
		}
	}
	f := follower{t: t, w: w, runes: runes(), out: dst, first: len(dst)}
	for i, r := range source {
		f.read(r, int(w.Start)+i, int(w.Start)+i+max(utf8.RuneLen(r), 1))
	}
	return f.settle()
}

// equalRunes does the work of Characters for a word whose folded characters match the original ones in number and length.
func equalRunes(source string, norm []byte, w *Word, dst []Character) ([]Character, bool) {
	first := len(dst)
	at := 0
	for i, r := range source {
		_, n := utf8.DecodeRune(norm[at:])
		if n != utf8.RuneLen(r) || at != i {
			return dst[:first], false
		}
		dst = append(dst, Character{Span{int(w.NormStart) + at, int(w.NormStart) + at + n}, Span{int(w.Start) + i, int(w.Start) + i + n}})
		at += n
	}
	return dst, true
}

// follower folds a word's characters again, as the splitter did, and records where each came from.
type follower struct {
	t     *Text
	w     *Word
	runes *runeData
	out   []Character
	first int // out[first:] belongs to this word
	last  rune
}

// read processes one original character, bytes [from, to).
func (f *follower) read(r rune, from, to int) {
	e := f.runes.At(r)
	switch e.Class() {
	case runetab.Mark:
		if len(f.out) == f.first {
			return
		}
		if c := f.runes.Compose(f.last, e.Target()); c != 0 {
			f.replace(c, to)
			return
		}
		f.add(e.Target(), from, to)
	case runetab.Letter, runetab.Digit:
		f.add(e.Target(), from, to)
	case runetab.Expand:
		for _, r := range f.runes.Expansion(e.Target()) {
			if r != 0 {
				f.add(r, from, to)
			}
		}
	default: // a character dropped by folding, or white space between letters written apart
		if e.Class() == runetab.Drop && len(f.out) > f.first {
			f.out[len(f.out)-1].Source.End = to
		}
	}
}

func (f *follower) add(r rune, from, to int) {
	if c := composeHangul(f.last, r); c != 0 && len(f.out) > f.first {
		f.replace(c, to)
		return
	}
	at := int(f.w.NormStart)
	if n := len(f.out); n > f.first {
		at = f.out[n-1].Norm.End
	}
	f.out = append(f.out, Character{Span{at, at + utf8.RuneLen(r)}, Span{from, to}})
	f.last = r
}

// replace composes the last character with another original one.
func (f *follower) replace(r rune, to int) {
	c := &f.out[len(f.out)-1]
	c.Norm.End = c.Norm.Start + utf8.RuneLen(r)
	c.Source.End = to
	f.last = r
}

// settle returns the characters read. If the splitter folded the word's letters differently, the whole word becomes one character.
func (f *follower) settle() []Character {
	if n := len(f.out); n > f.first && f.out[n-1].Norm.End == int(f.w.NormEnd) {
		return f.out
	}
	return append(f.out[:f.first], Character{Span{int(f.w.NormStart), int(f.w.NormEnd)}, Span{int(f.w.Start), int(f.w.End)}})
}

// composeHangul composes a leading consonant with a vowel, or a syllable without a trailing consonant with such a consonant, by the
// arithmetic of Unicode 15, section 3.12. For other pairs, it returns 0.
func composeHangul(last, r rune) rune {
	const lBase, vBase, tBase, sBase, vCount, tCount = 0x1100, 0x1161, 0x11A7, 0xAC00, 21, 28
	switch l := last; {
	case l >= lBase && l < lBase+19 && r >= vBase && r < vBase+vCount:
		return sBase + ((l-lBase)*vCount+(r-vBase))*tCount
	case l >= sBase && l < sBase+11172 && (l-sBase)%tCount == 0 && r > tBase && r < tBase+tCount:
		return l + r - tBase
	}
	return 0
}
