package extract

import (
	"fmt"
	"unicode/utf8"

	"concordat/segment/spaced"
)

// Words are also spaced out for typographic reasons, and in the text that programs read from figures. Text is therefore flagged only if
// one in fifty of its characters is a spaced-out letter, or if a run is as long as a sentence.
const (
	leastSpacedAll = 24 // minimum total letters of all runs if the dictionary does not know their words
	spacedSentence = 40 // minimum letters of a run that is flagged whatever the length of the text
	spacedShare    = 50 // together, shorter runs must make up one in this many characters
)

// scanSpaced flags words with spaced-out letters. Matching joins the same runs.
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
				Detail: fmt.Sprintf("%d letters with spaces between them; matched as “%s”", r.Letters, shortened(r.Joined))})
		}
	}
}

// shortened returns the beginning of s, for use in a message.
func shortened(s string) string {
	const most = 60
	if cut := cutString(s, most); len(cut) < len(s) {
		return cut + "…"
	}
	return s
}
