package extract

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxMarks is the maximum number of marks over and under a letter that are put in order; no language has more.
const maxMarks = 4

// reordered returns the edits that put marks of letters into the order in which they compose. Marks above and below a letter look the
// same in either order (Unicode Standard Annex 15, "Canonical Ordering"). If two marks are above a letter, their order shows which is
// closer to it; but if a letter with these marks exists in only one order, that order is meant.
func reordered(s string) []edit {
	var edits []edit
	for at := 0; at < len(s); {
		r, size := utf8.DecodeRuneInString(s[at:])
		end := at + size
		if !maybeMark(s[end:]) {
			at = end
			continue
		}
		marks := 0
		for end < len(s) {
			m, n := utf8.DecodeRuneInString(s[end:])
			if !unicode.Is(unicode.Mn, m) {
				break
			}
			end += n
			marks++
		}
		if unicode.IsLetter(r) && marks > 0 && marks <= maxMarks {
			if text := inOrder(s[at:end]); text != "" {
				edits = append(edits, edit{from: at, to: end, text: text})
			}
		}
		at = end
	}
	return edits
}

// maybeMark reports whether s can start with a mark; Latin and East Asian letters are not marks.
func maybeMark(s string) bool {
	return len(s) > 1 && s[0] >= 0xcc && (s[0] < 0xe3 || s[0] == 0xef)
}

// inOrder returns a letter with its marks in the order in which they compose; "" if they already are.
func inOrder(letter string) string {
	apart := norm.NFD.String(letter)
	marks := []rune(apart)[1:]
	if len(marks) < 2 || len(marks) > maxMarks {
		return ""
	}
	base, _ := utf8.DecodeRuneInString(apart)
	if composed := composedInTurn(letter); norm.NFC.String(letter) != composed {
		return norm.NFC.String(letter)
	} else if utf8.RuneCountInString(composed) == 1 {
		return ""
	}
	best := ""
	permuted(marks, len(marks), func(marks []rune) {
		if c := norm.NFC.String(string(base) + string(marks)); best == "" && utf8.RuneCountInString(c) == 1 {
			best = c
		}
	})
	return best
}

// composedInTurn composes a letter with its marks one at a time, in their present order, as the folding of words does.
func composedInTurn(letter string) string {
	var out strings.Builder
	last := ""
	for _, r := range letter {
		c := norm.NFC.String(last + string(r))
		if last == "" || utf8.RuneCountInString(c) == 1 && norm.NFD.String(c) == norm.NFD.String(last)+norm.NFD.String(string(r)) {
			last = c
			continue
		}
		out.WriteString(last)
		last = string(r)
	}
	return out.String() + last
}

// permuted calls f with every permutation of the first n runes (Heap 1963).
func permuted(runes []rune, n int, f func([]rune)) {
	if n <= 1 {
		f(runes)
		return
	}
	for i := range n {
		permuted(runes, n-1, f)
		k := 0
		if n%2 == 0 {
			k = i
		}
		runes[k], runes[n-1] = runes[n-1], runes[k]
	}
}
