package extract

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// leastSpaced is the number of letters, each between spaces, that make a run; leastSpacedAll, that
// make it a habit of the text. Initials, enumerations and matrices stay below or have no vowels.
const (
	leastSpaced    = 8
	leastSpacedAll = 24
	spacedSentence = 40 // letters of a run that is flagged however long the text is
	spacedShare    = 50 // shorter runs together must be one in so many characters; headings are less
)

// spacedRun is a run of single letters with a blank after each.
type spacedRun struct {
	from, to, letters int
	spells            bool // small letters, with vowels, not in the order of the alphabet
}

// readSpaced reads the run that begins at byte i of s.
func readSpaced(s string, i int) spacedRun {
	run := spacedRun{from: i}
	lower, vowels, inOrder, last := 0, 0, 0, rune(0)
	seen := map[rune]bool{}
	for i < len(s) {
		r, n := utf8.DecodeRuneInString(s[i:])
		if scriptOf(r) == 0 || i+n < len(s) && strings.IndexByte(" \n.,", s[i+n]) < 0 {
			break
		}
		run.letters++
		if unicode.IsLower(r) {
			lower++
		}
		if r == last+1 {
			inOrder++
		}
		last = r
		seen[unicode.ToLower(r)] = true
		if strings.ContainsRune("aeiouyаеиоуыэюяαεηιουω", unicode.ToLower(r)) {
			vowels++
		}
		i += n
		for i < len(s) && (s[i] == ' ' || s[i] == '.' || s[i] == ',') {
			i++
		}
	}
	run.to = i
	k := run.letters
	run.spells = k >= leastSpaced && lower*10 >= k*8 && vowels*5 >= k && vowels*10 <= k*7 && len(seen) >= 5 && inOrder*2 < k
	return run
}

// scanSpaced flags runs of single letters between single spaces that spell something.
func scanSpaced(b *builder, s string) {
	var runs []spacedRun
	all := 0
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if scriptOf(r) == 0 || i > 0 && s[i-1] != ' ' && s[i-1] != '\n' {
			i += n
			continue
		}
		run := readSpaced(s, i)
		if run.spells {
			runs = append(runs, run)
			all += run.letters
		}
		i = max(run.to, i+n)
	}
	if all < leastSpacedAll {
		return
	}
	characters := utf8.RuneCountInString(s)
	for _, r := range runs {
		if r.letters >= spacedSentence || all*spacedShare >= characters {
			b.flag(Flag{Code: FlagSpaced, Start: r.from, End: r.to, Detail: fmt.Sprintf("%d letters spaced out", r.letters)})
		}
	}
}

// longQuotation is the length in bytes from which a quotation in rare marks is flagged.
const longQuotation = 300

// scanQuotes flags long passages between quotation marks that no typesetting tradition uses, by which
// a copied passage passes for quoted with a program and not with a reader.
func scanQuotes(b *builder, s string) {
	open := -1
	for i, r := range s {
		switch r {
		case '❝', '❛', '〝', '‟', '‛', '＂', '⹂':
			if r == '＂' && open >= 0 {
				closeQuote(b, open, i+3)
				open = -1
				continue
			}
			open = i
		case '❞', '❜', '〞', '〟':
			if open >= 0 {
				closeQuote(b, open, i+3)
			}
			open = -1
		}
	}
}

func closeQuote(b *builder, from, to int) {
	if to-from >= longQuotation {
		b.flag(Flag{Code: FlagQuoted, Start: from, End: to, Detail: "a long passage between unusual quotation marks"})
	}
}
