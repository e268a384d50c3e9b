package report

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"concordat"
)

// longestCitation bounds the mark of a citation, including its brackets, in bytes.
const longestCitation = 300

// citationClosers maps the opening brackets of citations to the closing ones: numbers are in square brackets, authors and years in round
// ones, and the titles of Chinese works in their own marks.
var citationClosers = map[rune]rune{
	'[': ']', '［': '］', '〔': '〕', '【': '】', '(': ')', '（': '）', '《': '》', '〈': '〉',
}

var (
	// citedNumbers matches one or more numbers or ranges, perhaps with a page: 3, 1-3, 2, 5; 12, p. 4; 8：45.
	citedNumbers = regexp.MustCompile(`^\s*[0-9]{1,3}(?:\s*[-–—~～,，;；、]\s*[0-9]{1,3})*(?:\s*[,，:：]\s*(?:(?:pp?|S)\.?|第)?\s*[0-9]{1,4}(?:\s*[-–—]\s*[0-9]{1,4})?\s*页?)?\s*$`)
	// citedAuthors matches names followed by a year; if there are several, the last suffices: Smith & Jones, 2020, p. 4.
	citedAuthors = regexp.MustCompile(`(?:^|[;；\s，,（(])(?:\p{Lu}[\pL'’.\-]*|van|von|de|der|[\p{Han}·]{2,20})(?:\s*(?:et\s+al\.?|等人?|and|und|et|y|e|&|和|与|及|、|,|，)\s*(?:\p{Lu}[\pL'’.\-]*|[\p{Han}·]{2,20})?)*\s*[,，:：]?\s*(?:1[5-9]|20)[0-9]{2}[a-z]?(?:年)?(?:$|[^0-9])`)
	// citedYear matches a year alone, which is a citation if a name precedes the bracket.
	citedYear = regexp.MustCompile(`^\s*(?:1[5-9]|20)[0-9]{2}[a-z]?\s*(?:[,，:：]\s*(?:pp?\.?\s*)?[0-9]{1,4}(?:\s*[-–—]\s*[0-9]{1,4})?\s*)?$`)
	// datedNotCited matches a month before a year, or a Chinese date, neither of which is an author's name.
	datedNotCited = regexp.MustCompile(`(?i)^\s*(?:(?:in|since|until|before|after|from|early|late|mid|spring|summer|autumn|winter|fall)\s+)*(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?,?\s*(?:[0-9]{1,2},?\s+)?(?:1[5-9]|20)[0-9]{2}|(?:公元|成立于|始于|截至|至|从|自|于)\s*(?:1[5-9]|20)[0-9]{2}`)
)

// citations returns the marks of citations in the text, for example [3], (Author, 2020), （作者，2020）, Author (2020), and titles
// of works in 《》. The number of an entry in a list, which begins its line, is not one.
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

// citation returns the mark of a citation that begins with the bracket at byte at.
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

// named reports whether a text ends in a name: a word with a capital, or Chinese characters.
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

// beginsLine reports whether only space precedes byte at on its line.
func beginsLine(text string, at int) bool {
	line := text[strings.LastIndexByte(text[:at], '\n')+1 : at]
	return strings.TrimSpace(line) == ""
}

// cited reports whether a citation is in s or right after it, with only punctuation between.
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
