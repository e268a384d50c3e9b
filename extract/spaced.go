package extract

import (
	"fmt"
	"unicode/utf8"

	"concordat/spaced"
)

// Typography spaces words out too, and figures read by a program come out so: what is flagged is one
// letter in fifty characters of the text, or a run as long as a sentence.
const (
	leastSpacedAll = 24 // letters of all runs together, where the dictionary does not know their words
	spacedSentence = 40 // letters of a run that is flagged however long the text is
	spacedShare    = 50 // shorter runs together must be one in so many characters
)

// scanSpaced flags words whose letters are written apart. Matching joins the same runs.
func scanSpaced(b *builder, s string) {
	runs := spaced.Find(s)
	if len(runs) == 0 {
		return
	}
	all := 0
	for _, r := range runs {
		all += r.Letters
	}
	often := all*spacedShare >= utf8.RuneCountInString(s)
	for _, r := range runs {
		if r.Letters >= spacedSentence || often && (all >= leastSpacedAll || r.Known && r.Small) {
			b.flag(Flag{Code: FlagSpaced, Start: r.Start, End: r.End,
				Detail: fmt.Sprintf("%d letters spaced out; matched as “%s”", r.Letters, shortened(r.Joined))})
		}
	}
}

// shortened is the beginning of s, for a sentence about it.
func shortened(s string) string {
	const most = 60
	if cut := cutString(s, most); len(cut) < len(s) {
		return cut + "…"
	}
	return s
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
