package report

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"concordat"
)

// longestCitation is the maximum length of a citation mark in bytes, including its brackets.
const longestCitation = 300

// citationClosers maps opening citation brackets to closing ones: square brackets for numbers, round ones for authors and years, and
// dedicated marks for titles of Chinese works.
var citationClosers = map[rune]rune{
	'[': ']', '［': '］', '〔': '〕', '【': '】', '(': ')', '（': '）', '《': '》', '〈': '〉',
}

var (
	// citedNumbers matches one or more numbers or ranges, optionally with a page: 3, 1-3, 2, 5; 12, p. 4; 8：45.
	citedNumbers = regexp.MustCompile(`^\s*[0-9]{1,3}(?:\s*[-–—~～,，;；、]\s*[0-9]{1,3})*(?:\s*[,，:：]\s*(?:(?:pp?|S)\.?|第)?\s*[0-9]{1,4}(?:\s*[-–—]\s*[0-9]{1,4})?\s*页?)?\s*$`)
	// citedAuthors matches names followed by a year; of several names, the last suffices: Smith & Jones, 2020, p. 4.
	citedAuthors = regexp.MustCompile(`(?:^|[;；\s，,（(])(?:\p{Lu}[\pL'’.\-]*|van|von|de|der|[\p{Han}·]{2,20})(?:\s*(?:et\s+al\.?|等人?|and|und|et|y|e|&|和|与|及|、|,|，)\s*(?:\p{Lu}[\pL'’.\-]*|[\p{Han}·]{2,20})?)*\s*[,，:：]?\s*(?:1[5-9]|20)[0-9]{2}[a-z]?(?:年)?(?:$|[^0-9])`)
	// citedYear matches a year alone, which is a citation if a name precedes the brackets.
	citedYear = regexp.MustCompile(`^\s*(?:1[5-9]|20)[0-9]{2}[a-z]?\s*(?:[,，:：]\s*(?:pp?\.?\s*)?[0-9]{1,4}(?:\s*[-–—]\s*[0-9]{1,4})?\s*)?$`)
	// datedNotCited matches a month before a year and Chinese dates, which are not citations.
	datedNotCited = regexp.MustCompile(`(?i)^\s*(?:(?:in|since|until|before|after|from|early|late|mid|spring|summer|autumn|winter|fall)\s+)*(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?,?\s*(?:[0-9]{1,2},?\s+)?(?:1[5-9]|20)[0-9]{2}|(?:公元|成立于|始于|截至|至|从|自|于)\s*(?:1[5-9]|20)[0-9]{2}`)
)

// citations returns the citation marks in the text, for example [3], (Author, 2020), （作者，2020）, Author (2020), and titles of works in 《》.
// A number at the start of a line is the number of a list entry, not a citation.
func citations(text string) spans {
	var out []concordat.Span
	for at := 0; at < len(text); {
		i := strings.IndexAny(text[at:], "[［〔【(（《〈")
		if i < 0 {
			break
		}
		at += i
		s, ok := citation(text, at)
		if !ok {
			_, n := utf8.DecodeRuneInString(text[at:])
			at += n
			continue
		}
		out = append(out, s)
		at = s.End
	}
	return union(out)
}

// citation returns the citation mark that starts with the bracket at byte at.
func citation(text string, at int) (concordat.Span, bool) {
	r, n := utf8.DecodeRuneInString(text[at:])
	closer := citationClosers[r]
	window := text[at+n : min(len(text), at+longestCitation)]
	end := strings.IndexRune(window, closer)
	if end < 0 || strings.ContainsRune(window[:end], r) {
		return concordat.Span{}, false
	}
	in := window[:end]
	s := concordat.Span{Start: at, End: at + n + end + utf8.RuneLen(closer)}
	switch r {
	case '《', '〈':
		return s, strings.TrimSpace(in) != "" && !strings.Contains(in, "\n\n")
	case '(', '（':
		return s, !datedNotCited.MatchString(in) && (citedAuthors.MatchString(in) || citedYear.MatchString(in) && named(text[:at]))
	}
	return s, citedNumbers.MatchString(in) && !beginsLine(text, at)
}

// named reports whether a text ends in a name: a capitalised word or Chinese characters.
func named(before string) bool {
	before = strings.TrimRight(before, " \u00a0")
	before = strings.TrimSuffix(strings.TrimSuffix(before, "et al."), "et al")
	before = strings.TrimRight(before, " \u00a0")
	last, _ := utf8.DecodeLastRuneInString(before)
	if unicode.Is(unicode.Han, last) {
		return true
	}
	if i := strings.LastIndexFunc(before, func(r rune) bool { return unicode.IsSpace(r) || r == '(' || r == '（' }); i >= 0 {
		_, n := utf8.DecodeRuneInString(before[i:])
		before = before[i+n:]
	}
	first, _ := utf8.DecodeRuneInString(before)
	return unicode.IsUpper(first) && unicode.IsLetter(last)
}

// beginsLine reports whether byte at is preceded only by space on its line.
func beginsLine(text string, at int) bool {
	line := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
	return strings.TrimSpace(line) == ""
}

// cited reports whether a citation lies in s or follows it, separated only by punctuation.
func (b *builder) cited(s concordat.Span) bool {
	if len(spans{s}.and(b.citations)) > 0 {
		return true
	}
	rest := b.text[s.End:min(len(b.text), s.End+longestCitation)]
	next := strings.IndexFunc(rest, func(r rune) bool { return counts(r) || r == '\n' || strings.ContainsRune("[［〔【(（", r) })
	if next < 0 {
		return false
	}
	_, ok := citation(b.text, s.End+next)
	return ok && !counts(rune(rest[next]))
}
