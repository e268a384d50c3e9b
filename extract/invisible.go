package extract

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// invisible reports whether r is invisible and affects only how its neighbours join or look.
func invisible(r rune) bool {
	switch {
	case r < 0x34f:
		return r == 0xad
	case r < 0x200b:
		return r == 0x34f || r == 0x115f || r == 0x1160 || r == 0x17b4 || r == 0x17b5 || r >= 0x180b && r <= 0x180f
	case r < 0x3164:
		return r <= 0x200d || r >= 0x2060 && r <= 0x2064 || r >= 0x206a && r <= 0x206f
	}
	return r == 0x3164 || r == 0xffa0 || r == 0xfeff || r >= 0xfe00 && r <= 0xfe0f || r >= 0xfff9 && r <= 0xfffb ||
		r >= 0x1bca0 && r <= 0x1bca3 || r >= 0x1d173 && r <= 0x1d17a || r >= 0xe0001 && r <= 0xe007f || r >= 0xe0100 && r <= 0xe01ef
}

// ordinary reports whether an invisible character between two others is normal in their scripts. Scripts without spaces mark possible
// line breaks, others mark how letters join, and formulas mark products.
func ordinary(r, before, after rune) bool {
	switch {
	case r == 0xad: // possible hyphenation, in scripts that hyphenate
		return !unicode.In(before, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao)
	case r == 0x200b:
		return unicode.In(before, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Javanese,
			unicode.Balinese, unicode.Tai_Tham, unicode.New_Tai_Lue, unicode.Tai_Le, unicode.Cham)
	case r == 0x200c || r == 0x200d: // joiners
		return scriptOf(before) == 0 && !unicode.In(before, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai,
			unicode.Lao, unicode.Georgian, unicode.Hebrew)
	case r == 0x34f:
		return unicode.In(before, unicode.Hebrew, unicode.M)
	case r >= 0x2061 && r <= 0x2064: // next to a single-letter sign
		return !unicode.IsLower(before) || !unicode.IsLower(after)
	case r == 0x115f || r == 0x1160:
		return conjoining(before) || conjoining(after)
	case r >= 0x180b && r <= 0x180f:
		return unicode.In(before, unicode.Mongolian, unicode.Phags_Pa)
	case r >= 0xfe00 && r <= 0xfe0f, r >= 0xe0100 && r <= 0xe01ef: // selects one of several forms of a character
		return unicode.In(before, unicode.Han, unicode.Mongolian, unicode.Myanmar, unicode.Phags_Pa, unicode.Manichaean)
	}
	return false
}

// conjoining reports whether r is part of a Korean syllable.
func conjoining(r rune) bool {
	return r >= 0x1100 && r <= 0x11ff || r >= 0xa960 && r <= 0xa97f || r >= 0xd7b0 && r <= 0xd7ff
}

// scanControls flags invisible characters inside words. It flags direction controls unless some text runs from right to left.
func scanControls(b *builder, s string) {
	if strings.IndexFunc(s, func(r rune) bool { return invisible(r) || isBidi(r) }) < 0 {
		return
	}
	rightToLeft := strings.IndexFunc(s, isRightToLeft) >= 0
	before := ' '
	for i, r := range s {
		n := utf8.RuneLen(r)
		switch {
		case invisible(r):
			after := nextVisible(s[i+n:])
			if inLetters(before, after) && !ordinary(r, before, after) {
				b.flag(Flag{Code: FlagZeroWidth, Start: i, End: i + n, Detail: fmt.Sprintf("invisible U+%04X inside a word", r)})
			}
			continue // before is still the preceding letter
		case isBidi(r):
			after := nextVisible(s[i+n:])
			override := r == bidiLRO || r == bidiRLO
			if override || !rightToLeft && inLetters(before, after) {
				b.flag(Flag{Code: FlagBidi, Start: i, End: i + n, Detail: fmt.Sprintf("U+%04X changes the order in which text is shown", r)})
			}
			continue
		}
		before = r
	}
}

func isBidi(r rune) bool {
	return r == 0x61c || r == 0x200e || r == 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

func nextVisible(s string) rune {
	for _, r := range s {
		if !invisible(r) && !isBidi(r) {
			return r
		}
	}
	return ' '
}

// inLetters reports whether both are letters or marks on letters.
func inLetters(a, b rune) bool {
	return (unicode.IsLetter(a) || unicode.IsMark(a)) && (unicode.IsLetter(b) || unicode.IsMark(b))
}
