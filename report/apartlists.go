package report

import (
	"regexp"
	"strconv"
	"strings"

	"concordat"
)

const (
	maxHeadingLine = 9   // maximum words per line in an outline or a list of abbreviations; two Chinese characters count as one word
	leastAbbrev    = 4   // minimum lines in a list of abbreviations
	maxThanks      = 120 // maximum words in acknowledgements
)

var (
	// numbered matches a numbered heading; a table row has other digits too.
	numbered = regexp.MustCompile(`(?i)^(?:` + hanPart + `|([0-9]+(?:\.[0-9]+)*)[.)]?[\s、．]|(?:` + partNames +
		`)\s?(?:[0-9]+|[A-Z]|[IVX]+)\b[.:]?)\s*\pL[^0-9]*$`)
	// abbreviated matches an abbreviation followed by its meaning.
	abbreviated = regexp.MustCompile(`^\p{Lu}[\p{Lu}\p{Ll}0-9&/.-]{0,9}[\p{Lu}0-9]\s*(?:[-–—:=]|\s)\s*\pL[^0-9]*$`)
	// thanksHead matches the heading of acknowledgements, on a separate line or before the first sentence.
	thanksHead = regexp.MustCompile(`(?i)^[\s*#_]*(?:[0-9]+(?:\.[0-9]+)*\.?\s*)?(?:acknowledge?ments?|danksagung|remerciements?|agradecimientos?|agradecimentos?|ringraziamenti|dankwoord|podziękowania|благодарност[иь]|致\s*谢|致\s*謝|鸣\s*谢|谢\s*辞|謝\s*辞|감사의\s*글)[\s*_]*(?:[:：.—–-]|$)`)
	// thanksWord matches expressions of gratitude.
	thanksWord = regexp.MustCompile(`(?i)\bthank(?:s|ful)?\b|\bgrat(?:eful|itude)|\bindebted\b|\backnowledge|\bdank(?:e|en|t|bar|baar)?\b|\bremerci|\breconnaissan|\bagrade[cç]|\bgracias\b|\bobrigad[oa]|\bringrazi|\bgrazie\b|\bgrat[io]\b|\bdziękuj|\bwdzięczn|благодар|признател|感谢|感謝|致谢|謝意|谢意|감사`)
	// sentenceEnd is a simple rule for splitting sentences.
	sentenceEnd = regexp.MustCompile(`[.!?]\s+|[。！？]`)
)

// listsApart returns the parts of a document that list its own headings or abbreviations: runs of short lines that are not sentences. A
// list that only numbers its items, without chapters, subsections or a contents heading, is the author's text.
func listsApart(ls []line) []Apart {
	var out []Apart
	for i := 0; i < len(ls); {
		j, outline, abbrev, parts := i, 0, 0, 0
		var last []int
		for ; j < len(ls) && ls[j].trimmed != "" && measureWords(ls[j].trimmed) <= maxHeadingLine && !endsSentence(ls[j].trimmed); j++ {
			if m := numbered.FindStringSubmatch(ls[j].trimmed); m != nil {
				if number := numberOf(m[1]); number == nil || after(number, last) {
					outline++
					last = number
					if len(number) != 1 {
						parts++
					}
				}
			} else if contentsTitle.MatchString(heading(ls[j].trimmed)) {
				parts++
			} else if abbreviated.MatchString(ls[j].trimmed) {
				abbrev++
			}
		}
		if n := j - i; outline >= leastContents && 2*outline >= n && parts > 0 {
			out = append(out, Apart{concordat.Span{Start: ls[i].Start, End: ls[j-1].End}, AsContents})
		} else if abbrev >= leastAbbrev && 2*abbrev >= n {
			out = append(out, Apart{concordat.Span{Start: ls[i].Start, End: ls[j-1].End}, AsAbbreviations})
		}
		i = max(j, i+1)
	}
	return out
}

// numberOf returns the parts of a number, for example 2.1.3, or nil if it is empty.
func numberOf(s string) []int {
	if s == "" {
		return nil
	}
	var out []int
	for part := range strings.SplitSeq(s, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil
		}
		out = append(out, n)
	}
	return out
}

// after reports whether a number follows another in an outline; every number follows nil.
func after(number, last []int) bool {
	for i, n := range number {
		if i >= len(last) || n != last[i] {
			return i >= len(last) || n > last[i]
		}
	}
	return false
}

// thanks returns the acknowledgements of a document: the text after their heading on the same line and below it, up to maxThanks words or
// the first paragraph in which fewer than half of the sentences thank someone. A copied page under such a heading contains no thanks and
// is not returned.
func thanks(text string, ps []concordat.Span) []Apart {
	var out []Apart
	for i := 0; i < len(ps); i++ {
		head := thanksHead.FindStringIndex(firstLine(ps[i].In(text)))
		if head == nil {
			continue
		}
		part := concordat.Span{Start: ps[i].Start}
		words, from := 0, ps[i].Start+head[1]
		for k := i; k < len(ps); k++ {
			body := text[max(from, ps[k].Start):ps[k].End]
			if words += measureWords(body); words > maxThanks || !givesThanks(body) {
				break
			}
			if strings.TrimSpace(body) != "" {
				part.End, i = ps[k].End, k
			}
		}
		if part.End > 0 {
			out = append(out, Apart{part, AsThanks})
		}
	}
	return out
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// givesThanks reports whether at least half of the sentences of a paragraph thank someone, or whether it has no sentences.
func givesThanks(p string) bool {
	n, of := 0, 0
	for _, s := range sentenceEnd.Split(p, -1) {
		if strings.TrimSpace(s) == "" {
			continue
		}
		of++
		if thanksWord.MatchString(s) {
			n++
		}
	}
	return 2*n >= of
}
