package report

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"concordat"
)

// Apart is a part of a document that is not its author's prose: a contents page, a title page, a running head, a publisher's
// notice. It is recognised by its layout, not by its content.
type Apart struct {
	concordat.Span
	Why ApartAs
}

// ApartAs names a kind of part outside the prose of a document.
type ApartAs string

// The parts.
const (
	AsContents ApartAs = "contents" // lines that end in a page number, or numbered headings
	AsTitle    ApartAs = "title"    // the lines before the first paragraph
	AsRunning  ApartAs = "running"  // a line repeated on several pages
	AsImprint  ApartAs = "imprint"  // a publisher's dates, addresses and marks
	AsKeywords ApartAs = "keywords" // codes and words that classify a document

	AsAbbreviations ApartAs = "abbreviations"    // abbreviations and their meanings
	AsThanks        ApartAs = "acknowledgements" // thanks to others
	AsConstants     ApartAs = "constants"        // a table of public constants
)

const (
	leastContents = 4   // minimum lines in a contents page
	maxTitlePage  = 120 // maximum words on a title page; two Chinese characters count as one word
	leastTitle    = 3   // minimum lines on a title page
	maxTitleLine  = 22  // maximum words per line on a title page
	maxTitleAlone = 30  // maximum words of a lone title line above the first paragraph
	leastRunning  = 3   // minimum repetitions of a running head
	pageApart     = 600 // minimum bytes between repetitions
	fewestRunning = 3   // minimum words in a running head
	maxRunning    = 16  // maximum words in a running head
	maxHeadRow    = 24  // maximum words in consecutive running heads; anything longer is duplicated text
	maxImprint    = 45  // maximum words in a notice
	maxKeywords   = 60  // maximum words in a line of keywords or codes
)

// PartsApart returns the parts of a document that are not its author's prose, in text order without overlaps.
func PartsApart(text string) []Apart {
	ls := lines(text)
	out := titlePage(text, ls)
	out = append(out, contentsPages(ls)...)
	out = append(out, listsApart(ls)...)
	out = append(out, constantTables(ls)...)
	out = append(out, runningHeads(ls)...)
	ps := paragraphs(text)
	out = append(out, thanks(text, ps)...)
	for _, p := range ps {
		if why, ok := imprintOrKeywords(p.In(text)); ok {
			out = append(out, Apart{p, why})
		}
	}
	slices.SortFunc(out, func(x, y Apart) int { return cmp.Or(bySpan(x.Span, y.Span), cmp.Compare(x.Why, y.Why)) })
	end := 0
	return slices.DeleteFunc(out, func(x Apart) bool {
		if x.Start < end {
			return true
		}
		end = x.End
		return false
	})
}

// measureWords counts the words of a line. Two Chinese characters count as one word.
func measureWords(s string) int {
	n, han := 0, 0
	in := false
	for _, r := range s {
		switch {
		case unspaced(r):
			han++
			in = false
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if !in {
				n++
			}
			in = true
		case r != '\'' && r != '’' && r != '-':
			in = false
		}
	}
	return n + (han+1)/2
}

// endsSentence reports whether a line ends the way a sentence does.
func endsSentence(l string) bool {
	last, _ := utf8.DecodeLastRuneInString(strings.TrimRight(l, " \t\"”’»)）]"))
	return strings.ContainsRune(".!?;。！？；", last)
}

// titlePage returns the short lines above the first paragraph of a document if there are several, or if they form a title that is set
// apart.
func titlePage(text string, ls []line) []Apart {
	first, last, n, count := -1, -1, 0, 0
	for i, l := range ls {
		if l.trimmed == "" {
			continue
		}
		words := measureWords(l.trimmed)
		if i > 0 && last == i-1 && goesOnFrom(ls[last].trimmed, l.trimmed) {
			last, count = last-1, count-1 // the first line of a paragraph
			break
		}
		if words > maxTitleLine || endsSentence(l.trimmed) && words > 4 || !titled(l.trimmed) {
			break
		}
		if n += words; n > maxTitlePage {
			return nil // the whole text is in short lines
		}
		if first < 0 {
			first = i
		}
		last = i
		count++
	}
	if count >= leastTitle || count > 0 && setApart(ls, last) {
		return []Apart{{concordat.Span{Start: ls[first].Start, End: ls[last].End}, AsTitle}}
	}
	if i := slices.IndexFunc(ls, func(l line) bool { return l.trimmed != "" }); count == 0 && i >= 0 && titled(ls[i].trimmed) &&
		!endsSentence(ls[i].trimmed) && measureWords(ls[i].trimmed) <= maxTitleAlone && setApart(ls, i) {
		return []Apart{{ls[i].Span, AsTitle}}
	}
	return nil
}

// setApart reports whether a blank line and a paragraph of sentences follow line i.
func setApart(ls []line, i int) bool {
	return i+1 < len(ls) && ls[i+1].trimmed == "" && proseUnder(ls, i)
}

// goesOnFrom reports whether a line continues the sentence on the previous line.
func goesOnFrom(before, l string) bool {
	return !endsSentence(before) && (!titled(l) || endsSentence(l) && measureWords(l) > 4) && measureWords(before) > 6
}

// titled reports whether a line can belong to a title page, that is, does not start in mid-sentence.
func titled(l string) bool {
	r, _ := utf8.DecodeRuneInString(strings.TrimLeft(l, "*#•–—-“\"«„ "))
	return !unicode.IsLower(r)
}

// contentsLine matches a line that ends in a page number, set off from the words.
var contentsLine = regexp.MustCompile(`\pL.*(?:\.{3,}|(?:\.\s){3,}|…+|·{3,}|⋯+|\t|\s{3,}|\s?[－—-]{3,})\s*(?:[0-9]{1,4}|[ivxlc]{1,6})\s*$`)

// isContentsLine reports whether a line is a contents line. The separator is checked first because that is cheaper.
func isContentsLine(l string) bool {
	if !strings.ContainsAny(l, "…·⋯\t") && !strings.Contains(l, "..") && !strings.Contains(l, ". .") && !strings.Contains(l, "   ") &&
		!strings.Contains(l, "--") && !strings.Contains(l, "—") {
		return false
	}
	return contentsLine.MatchString(l)
}

// leader matches the characters that set off a page number from its entry, anywhere in a line.
var leader = regexp.MustCompile(`(?:\.{4,}|(?:\.\s){4,}|…{2,}|·{4,}|⋯{2,}|-{4,})\s*(?:[0-9]{1,4}|[ivxlc]{1,6})\b`)

// wordsForLeader is the maximum number of words per dotted leader in a table of contents that was joined into one line.
const wordsForLeader = 15

// entriesIn returns the number of contents entries in a line: one if it ends in a page number, or more if several entries were joined.
func entriesIn(l string) int {
	if n := len(leader.FindAllStringIndex(l, -1)); n > 0 && measureWords(l) <= wordsForLeader*n {
		return n
	}
	if isContentsLine(l) {
		return 1
	}
	return 0
}

// contentsPages returns the runs of contents lines, each with the heading of one to three words above it.
func contentsPages(ls []line) []Apart {
	var out []Apart
	for i := 0; i < len(ls); i++ {
		if entriesIn(ls[i].trimmed) == 0 {
			continue
		}
		j, n := i, 0
		for k := i; k < len(ls) && k-j <= 2; k++ { // an entry may be wrapped or set apart
			if entries := entriesIn(ls[k].trimmed); entries > 0 {
				j, n = k, n+entries
			}
		}
		if n >= leastContents {
			from := i
			for k := i - 1; k >= max(0, i-2); k-- {
				if w := measureWords(ls[k].trimmed); w > 0 {
					if w <= 3 {
						from = k
					}
					break
				}
			}
			out = append(out, Apart{concordat.Span{Start: ls[from].Start, End: ls[j].End}, AsContents})
		}
		i = j
	}
	return out
}

// runningHeads returns short lines that are not sentences and recur with no change except in their numbers. Lines that recur together
// with their surroundings belong to the author: the document contains that text twice.
func runningHeads(ls []line) []Apart {
	at := map[string][]int{}
	for i, l := range ls {
		if w := measureWords(l.trimmed); w < fewestRunning || w > maxRunning || len(l.trimmed) > 240 {
			continue
		}
		key := lettersOnly(l.trimmed)
		if is := at[key]; key != "" && (len(is) == 0 || l.Start-ls[is[len(is)-1]].End >= pageApart) {
			at[key] = append(is, i)
		}
	}
	var out []Apart
	for _, is := range at {
		heads := is[:0:0]
		for k, i := range is {
			if wordsAlike(ls, i, is[(k+1)%len(is)]) <= maxHeadRow {
				heads = append(heads, i)
			}
		}
		if len(heads) < leastRunning {
			continue
		}
		for _, i := range heads {
			out = append(out, Apart{ls[i].Span, AsRunning})
		}
	}
	return out
}

// lettersOnly returns the letters of a line, in lower case.
func lettersOnly(l string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, l)
}

// wordsAlike returns the number of consecutive words around line i that also surround line j, ignoring numbers, up to slightly more than
// maxHeadRow. It skips lines without letters.
func wordsAlike(ls []line, i, j int) int {
	n := measureWords(ls[i].trimmed)
	for _, step := range []int{-1, 1} {
		a, b := i, j
		for n <= maxHeadRow {
			x, y := "", ""
			for a += step; a >= 0 && a < len(ls) && x == ""; a += step {
				x = lettersOnly(ls[a].trimmed)
			}
			for b += step; b >= 0 && b < len(ls) && y == ""; b += step {
				y = lettersOnly(ls[b].trimmed)
			}
			a, b = a-step, b-step
			if x == "" || x != y {
				break
			}
			n += measureWords(ls[a].trimmed)
		}
	}
	return n
}

var (
	// imprintMark matches the marks of an imprint: dates, addresses, copyright marks and publication numbers.
	imprintMark = regexp.MustCompile(`(?i)©|\(c\)\s*[0-9]{4}|https?://\S+|\bwww\.\S+|\b[\w.-]+\.(?:org|com|net|edu|gov|info|eu|de|fr|es|it|nl|pl|ru|cn|br|pt|uk|at|ch)\b|[\w.+-]+@[\w-]+\.\w+|\b10\.[0-9]{4,9}/\S+|\bISS?[BN]N?\b|\barxiv:\S+|\b[0-9]{1,2}\.?\s\p{L}{3,10}\.?,?\s[0-9]{4}\b|\b\p{L}{3,10}\.?\s[0-9]{1,2},?\s[0-9]{4}\b|\b[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{1,4}\b|[0-9]{4}\s?年\s?[0-9]{1,2}\s?月(?:\s?[0-9]{1,2}\s?日)?|\bvol(?:ume|\.)\s?[0-9]+|\bno\.\s?[0-9]+`)
	// filed matches a label for keywords or codes at the beginning of a line.
	filed = regexp.MustCompile(`(?i)^\s*(?:\*\*|_)?(?:(?:additional\s+)?key\s?-?words(?:\s+and\s+phrases)?|index\s+terms|general\s+terms|categories(?:\s+and\s+subject\s+descriptors)?|subject\s+(?:descriptors|classification|headings)|ACM(?:\s+\w+)?\s+(?:classification|categories)|CCS\s+concepts|JEL(?:\s+\w+)*|PACS(?:\s+\w+)?|(?:AMS\s+)?MSC(?:\s+[0-9]{4})?|schl(?:ü|ue)sselw(?:ö|oe)rter|stichworte|schlagw(?:ö|oe)rter|mots[- ]cl(?:é|e)s|palabras\s+clave|palavras[- ]chave|parole\s+chiave|trefwoorden|sleutelwoorden|s(?:ł|l)owa\s+kluczowe|ключевые\s+слова|关\s*键\s*词|關\s*鍵\s*詞|キーワード|中图分类号|文献标识码|文章编号|분류|키워드|الكلمات المفتاحية)(?:\*\*|_)?\s*(?:[:：.—–-]|\n)`)
	// codes matches classification codes: H.3.3, 03.65.Ud, 05C15, D12.
	codes = regexp.MustCompile(`\b[A-Z]\.[0-9](?:\.[0-9]|\.m)?\b|\b[0-9]{2}\.[0-9]{2}\.[A-Za-z+-]{2}\b|\b[0-9]{2}[A-Z][0-9]{2}\b|\b[A-Z][0-9]{2}\b`)
)

// imprintOrKeywords distinguishes publishers' notices and keyword lists from paragraphs. A notice has at least one mark for every dozen
// words; a keyword list begins with a label or consists of codes.
func imprintOrKeywords(p string) (ApartAs, bool) {
	if len(p) > 20*maxKeywords {
		return "", false
	}
	words := measureWords(p)
	if words <= maxKeywords && (filed.MatchString(p) || 6*len(codes.FindAllStringIndex(p, 8)) >= words && strings.Count(p, ".") > 1) {
		return AsKeywords, true
	}
	if words > maxImprint || words < 4 || !titled(p) || !strings.ContainsAny(p, "0123456789@©") {
		return "", false
	}
	marks := len(imprintMark.FindAllStringIndex(p, 20))
	return AsImprint, marks >= 2 && 12*marks >= words
}
