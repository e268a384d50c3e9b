package report

import (
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"concordat"
)

const (
	// leadIn is the number of bytes before a quotation searched for its introduction, about one clause.
	leadIn = 240
	// leastAttributed is the minimum length of a reported quotation in bytes. Anything shorter is a term.
	leastAttributed = 40
	// maxAlone is the maximum number of words in consecutive quotations accepted on the strength of their references alone. Anyone can
	// put quotation marks and a reference around a page; longer quotations are legitimately shared only if others quote them too (see
	// [Attributions]).
	maxAlone = 60
	// aloneApart is the number of words between two quotations at which they are no longer consecutive.
	aloneApart = 15
	// maxAttributed is the maximum share of a text in attributed quotations at which they are still legitimately shared; a text composed
	// of quotations needs human judgement.
	maxAttributed = 0.25
)

// legalSource matches a numbered provision of a statute, regulation or contract.
var legalSource = regexp.MustCompile(`§+\s*[0-9]|(?i:\b(?:art(?:icles?|ikels?|\.)|sections?|secs?\.|paragraphs?|clauses?|rules?|regulation|directive|act)\s*\(?(?:[a-z]{2,3}\)?\s*)?(?:no\.?\s*)?[0-9])|第\s*[一二三四五六七八九十百千0-9]+\s*[条款章]`)

// clauseEnd matches the end of text that can introduce a quotation: the end of a line or sentence. A full stop after one or two letters
// marks an abbreviation instead.
var clauseEnd = regexp.MustCompile(`[\n。！？!?;；]|[\pL\pN)\]”"]{3}\.\s+`)

// AttributedQuotations returns the short quotations in a text that name their source, in text order without overlaps. A citation, the
// title of a work or a statutory provision must appear in the introductory clause or right after the quotation. It omits runs of
// quotations with more than maxAlone words in all, and returns nothing if quotations make up more than maxAttributed of the text.
func AttributedQuotations(text string) []concordat.Span {
	var out []concordat.Span
	var cites spans
	sum := 0
	for _, q := range quotations(text) {
		if q.Len() < leastAttributed {
			continue
		}
		if cites == nil {
			cites = citations(text)
		}
		if attributed(text, q, cites) {
			out = append(out, q)
		}
	}
	out = inShortRows(text, out)
	for _, q := range out {
		sum += q.Len()
	}
	if float64(sum) > maxAttributed*float64(len(text)) {
		return nil
	}
	return out
}

// inShortRows returns the quotations in runs of at most maxAlone words.
func inShortRows(text string, qs []concordat.Span) []concordat.Span {
	var out []concordat.Span
	for i := 0; i < len(qs); {
		from, words := i, 0
		for ; i < len(qs) && (i == from || measureWords(text[qs[i-1].End:qs[i].Start]) < aloneApart); i++ {
			words += measureWords(qs[i].In(text))
		}
		if words <= maxAlone {
			out = append(out, qs[from:i]...)
		}
	}
	return out
}

// attributed reports whether a source is named before or after a quotation.
func attributed(text string, q concordat.Span, cites spans) bool {
	from := max(0, q.Start-leadIn)
	for from < q.Start && !utf8.RuneStart(text[from]) {
		from++
	}
	before := text[from:q.Start]
	if ends := clauseEnd.FindAllStringIndex(strings.TrimRight(before, " :：,，\n"), -1); ends != nil {
		n := ends[len(ends)-1][1]
		from, before = from+n, before[n:]
	}
	if legalSource.MatchString(before) {
		return true
	}
	behind := text[q.End:min(len(text), q.End+longestCitation)]
	next := strings.IndexFunc(behind, func(r rune) bool { return counts(r) || r == '\n' || strings.ContainsRune("[［〔【(（", r) })
	if next >= 0 && strings.ContainsRune("[［〔【(（", firstRune(behind[next:])) {
		line, _, _ := strings.Cut(behind[next:], "\n")
		if _, ok := citation(text, q.End+next); ok || legalSource.MatchString(line) {
			return true
		}
	}
	return slices.ContainsFunc(cites.from(spans{{Start: from, End: q.Start}}),
		func(c concordat.Span) bool { return c.Start >= from && c.End <= q.Start })
}

func firstRune(s string) rune {
	r, _ := utf8.DecodeRuneInString(s)
	return r
}

// References returns the lists of references in a text, in text order without overlaps.
func References(text string) []concordat.Span { return bibliography(text) }

// Given returns the template wording in a text, in text order without overlaps: every run of at least templateRun characters, and every
// line, that also occurs in a template.
func Given(text string, templates []string) []concordat.Span {
	return union(append(wordingOf(text, templates), wholeLines(text, givenLines(templates))...))
}

// Without returns the parts of a span outside the others, which must be in text order without overlaps.
func Without(s concordat.Span, others []concordat.Span) []concordat.Span {
	return spans{s}.without(others)
}
