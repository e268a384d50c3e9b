package compare

import (
	"slices"
	"strings"
	"unicode/utf8"

	"concordat"
	"concordat/align/wording"
	"concordat/report"
)

// wordsUnder is the number of words below a title that others must also contain for the title to be part of the copied text.
const wordsUnder = 20

// maxTitleLines is the maximum number of lines in a title with authors, including blank lines; anything longer is a title page supplied
// by a faculty.
const maxTitleLines = 3

// dropTitleText discards the explanation of the parts of a title page that others contain as a page of text: wording.LongWords words in a
// row, without the marks of a title page. A title page shared with documents of the same kind has the names and dates of each in between.
func (w *SharedWording) dropTitleText() {
	var out []report.Wording
	dropped := false
	for _, x := range w.Explained {
		if x.Why != string(report.AsTitle) {
			out = append(out, x)
			continue
		}
		var text []concordat.Span
		for _, s := range w.Held.RunsIn(w.Words, x.Span) {
			if report.PlainWords(w.Text, s) >= wording.LongWords {
				text = append(text, s)
			}
		}
		for _, s := range report.Without(x.Span, text) {
			x.Span = s
			out = append(out, x)
		}
		dropped = dropped || len(text) > 0
	}
	if w.Explained = out; dropped {
		w.wall()
	}
}

// dropTitles discards the explanation of a title if the following text contains wording found in other documents, since the title was
// then copied with it.
func (w *SharedWording) dropTitles() {
	all := len(w.Explained)
	w.Explained = slices.DeleteFunc(w.Explained, func(x report.Wording) bool {
		if x.Why != string(report.AsTitle) || len(strings.Split(x.In(w.Text), "\n")) > maxTitleLines {
			return false
		}
		under := concordat.Span{Start: x.End, End: x.End}
		for w.Words.Count(under) < wordsUnder && under.End < len(w.Text) {
			under.End = report.RuneStart(w.Text, min(len(w.Text), under.End+utf8.UTFMax))
		}
		held := 0
		for _, s := range w.Held.HeldIn(w.Words, under) {
			for _, s := range report.Without(s, w.Walls) {
				held += w.Words.Count(s)
			}
		}
		return held > 0 && float64(held) >= coversMost*float64(w.Words.Count(under))
	})
	if len(w.Explained) < all {
		w.wall()
	}
}
