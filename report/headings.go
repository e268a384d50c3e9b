package report

import (
	"regexp"
	"strings"
	"unicode"
)

const (
	maxHeadingWords  = 12   // maximum words in a heading; two Chinese characters count as one word
	leastUnder       = 15   // minimum words in the paragraph below a heading
	maxHeadingsShare = 0.15 // share of letters in headings above which a text is considered to be in short lines, without headings
)

// The start of a numbered heading: the name of a part, or of a numbered Chinese part.
const (
	partNames = `chapter|section|part|title|kapitel|abschnitt|teil|chapitre|titre|cap[ií]tulo|título|capitolo|titolo|hoofdstuk|` +
		`rozdział|глава|раздел|appendix|anhang|annexe?|附录`
	hanPart = `第[一二三四五六七八九十百0-9]{1,4}[章节節編编篇部]`
)

// numberedHeading matches the start of a heading in a text without blank lines: Markdown's #, 2.1, Chapter 3, 第三章.
var numberedHeading = regexp.MustCompile(`^(?:#{1,6}\s|[0-9IVX]{1,4}(?:\.[0-9]{1,2}){0,3}\.?\s+\p{Lu}|(?i:` + partNames + `)\s+[0-9IVXLC]{1,6}\b|` +
	hanPart + `|[一二三四五六七八九十]{1,3}、)`)

// headings returns the headings between paragraphs, in text order: short lines that are not sentences, set apart or numbered, preceded by
// a sentence or nothing and followed by a paragraph of sentences. Identical headings do not make the text below them identical, so a
// passage ends before a heading and resumes after it.
func headings(text string) spans {
	var out spans
	ls := lines(text)
	inHeadings := 0
	for i, l := range ls {
		if l.trimmed == "" || len(l.trimmed) > 240 || endsSentence(l.trimmed) || strings.ContainsAny(l.trimmed, "|\t") || !titled(l.trimmed) {
			continue
		}
		if n := measureWords(l.trimmed); n == 0 || n > maxHeadingWords {
			continue
		}
		apart := (i == 0 || ls[i-1].trimmed == "") && (i+1 == len(ls) || ls[i+1].trimmed == "")
		if !apart && !numberedHeading.MatchString(l.trimmed) {
			continue
		}
		if above(ls, i) && proseUnder(ls, i) {
			out = append(out, trim(text, l.Span))
			inHeadings += l.Len()
		}
	}
	if float64(inHeadings) > maxHeadingsShare*float64(len(text)) {
		return nil
	}
	return out
}

// above reports whether line i is the first, or follows the end of a sentence or another heading.
func above(ls []line, i int) bool {
	for k := i - 1; k >= 0; k-- {
		if l := ls[k].trimmed; l != "" {
			return endsSentence(l) || measureWords(l) <= maxHeadingWords && k < i-1
		}
	}
	return true
}

// proseUnder reports whether a paragraph of sentences follows line i, with at most one short line in between.
func proseUnder(ls []line, i int) bool {
	between := 0
	for k := i + 1; k < len(ls); {
		if ls[k].trimmed == "" {
			k++
			continue
		}
		words, sentences := 0, false
		first := k
		for ; k < len(ls) && ls[k].trimmed != "" && words < leastUnder; k++ {
			words += measureWords(ls[k].trimmed)
			sentences = sentences || strings.ContainsFunc(ls[k].trimmed, isStop)
		}
		if words >= leastUnder {
			return sentences
		}
		if between++; between > 1 || endsSentence(ls[first].trimmed) {
			return false
		}
	}
	return false
}

// isStop reports whether a rune ends or separates sentences.
func isStop(r rune) bool {
	return strings.ContainsRune(".,;:!?。，；：！？、؟،।", r) || unicode.Is(unicode.Sentence_Terminal, r)
}
