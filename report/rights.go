package report

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"concordat"
)

const (
	rightsGap     = 40  // maximum words from one mark of a rights notice to the next
	rightsDensity = 25  // maximum words per mark
	rightsTail    = 25  // maximum words of the sentences that a notice begins and ends in, on either side of its marks
	mostRights    = 200 // maximum words in a rights notice
	mostRightsAll = 300 // maximum words in all of them; a text with more is about such notices
	nearRights    = 3000
)

var (
	// rightsSign matches the signs by which works are registered or reserved in any language: a copyright mark with its year, or a serial
	// number. A law or a sentence about rights has neither.
	rightsSign = regexp.MustCompile(`(?i)©|\(c\)\s*(?:1[5-9]|20)[0-9]{2}\b|\bcopyright\s+(?:c\s+)?(?:1[5-9]|20)[0-9]{2}\b|\b(?:e-?|p-?)?ISS?[BN]N?(?:-1[03])?[:\s]*[0-9][0-9X-]{6,}`)
	// rightsBeside matches marks found next to those signs: links, addresses, publication numbers, dates, volumes, prices.
	rightsBeside = regexp.MustCompile(`(?i)https?://\S+|\bwww\.\S+|[\w.+-]+@[\w-]+\.\w+|\b10\.[0-9]{4,9}/\S+|\bvol(?:ume|\.)\s?[0-9]+|[$€£¥]\s?[0-9]+[.,][0-9]{2}\b|\b[0-9]{1,2}\.?\s\p{L}{3,10}\.?,?\s[0-9]{4}\b|\b\p{L}{3,10}\.?\s[0-9]{1,2}(?:,\s?|\s)[0-9]{4}\b`)
)

// rightsStems holds a part of each match of rightsSign, in lower case.
var rightsStems = []string{"©", "(c)", "copyright", "issn", "isbn"}

// aroundRights returns the parts of a text around the stems, in order and disjoint, because the expressions cost too much on a whole text.
func aroundRights(text string) spans {
	lower := []byte(text)
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	var out []concordat.Span
	for _, stem := range rightsStems {
		for at := 0; ; at += len(stem) {
			i := bytes.Index(lower[at:], []byte(stem))
			if i < 0 {
				break
			}
			at += i
			out = append(out, concordat.Span{Start: RuneStart(text, max(0, at-nearRights)), End: RuneStart(text, min(len(text), at+nearRights))})
		}
	}
	return union(out)
}

// rightsNotices returns the notices of rights in running text: a sign of rights and further marks, one for every rightsDensity words,
// with the sentences they stand in. Text extracted from PDFs often has no blank lines around them. None reaches across the wording in
// known, which is in text order without overlaps. In a single text this proves nothing, because anyone can add marks to a page.
func rightsNotices(text string, known spans) []Attributed {
	type mark struct {
		concordat.Span
		sign bool
	}
	var marks []mark
	for _, near := range aroundRights(text) {
		in := near.In(text)
		for i, re := range []*regexp.Regexp{rightsSign, rightsBeside} {
			for _, m := range re.FindAllStringIndex(in, -1) {
				if s := (concordat.Span{Start: near.Start + m[0], End: near.Start + m[1]}); len(known.and(spans{s})) == 0 {
					marks = append(marks, mark{s, i == 0})
				}
			}
		}
	}
	slices.SortFunc(marks, func(x, y mark) int { return bySpan(x.Span, y.Span) })
	var out []Attributed
	all := 0
	for i := 0; i < len(marks); {
		j, n, sign, end := i, 1, marks[i].sign, marks[i].End
		for j+1 < len(marks) {
			gap := concordat.Span{Start: end, End: max(end, marks[j+1].Start)}
			if measureWords(gap.In(text)) > rightsGap || len(known.and(spans{gap})) > 0 {
				break
			}
			j++
			if marks[j].Start >= end {
				n++
			}
			sign, end = sign || marks[j].sign, max(end, marks[j].End)
		}
		s := concordat.Span{Start: marks[i].Start, End: end}
		if words := measureWords(s.In(text)); sign && n >= 2 && words <= mostRights && words <= rightsDensity*n {
			s = sentencesAround(text, s)
			out = append(out, Attributed{s, AsNotice})
			all += measureWords(s.In(text))
		}
		i = j + 1
	}
	if all > mostRightsAll {
		return nil
	}
	return out
}

// sentencesAround returns s with the rest of the sentences that it begins and ends in, up to rightsTail words on either side and within
// their paragraphs.
func sentencesAround(text string, s concordat.Span) concordat.Span {
	before := text[RuneStart(text, max(0, s.Start-maxProvision)):s.Start]
	if i := strings.LastIndex(before, "\n\n"); i >= 0 {
		before = before[i+2:]
	}
	if at := sentenceEnd.FindAllStringIndex(before, -1); len(at) > 0 {
		before = before[at[len(at)-1][1]:]
	}
	if measureWords(before) > rightsTail {
		before = ""
	}
	after := text[s.End:RuneStart(text, min(len(text), s.End+maxProvision))]
	if i := strings.Index(after, "\n\n"); i >= 0 {
		after = after[:i]
	}
	if measureWords(after) > rightsTail {
		end := 0
		for _, at := range sentenceEnd.FindAllStringIndex(after, -1) {
			if measureWords(after[:at[1]]) > rightsTail {
				break
			}
			end = at[1]
		}
		after = after[:end]
	}
	return trim(text, concordat.Span{Start: s.Start - len(before), End: s.End + len(after)})
}
