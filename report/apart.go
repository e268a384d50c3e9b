package report

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
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
	maxTitleItem  = 6   // maximum words in a line that begins like a list item; anything longer is text
	maxTitleAlone = 30  // maximum words of a lone title line above the first paragraph
	maxPlain      = 40  // maximum words in consecutive long plain lines of a title page; anything longer is text
	leastPlain    = 8   // minimum words in a long plain line
	leastRunning  = 3   // minimum repetitions of a running head
	pageApart     = 600 // minimum bytes between repetitions
	fewestRunning = 3   // minimum words in a running head
	maxRunning    = 16  // maximum words in a running head
	maxFooter     = 24  // maximum words in a footer with the marks of an imprint, such as who downloaded what and when
	maxHeadRow    = 24  // maximum words in consecutive running heads; anything longer is duplicated text
	maxImprint    = 45  // maximum words in a notice
	maxKeywords   = 60  // maximum words in a line of keywords or codes
	maxCodes      = 12  // maximum words in a line that begins with a classification code
)

// PartsApart returns the parts of a document that are not its author's prose, in text order without overlaps.
func PartsApart(text string) []Apart {
	ls := lines(text)
	out := titlePage(text, ls)
	out = append(out, contentsPages(text, ls)...)
	out = append(out, plainContents(ls)...)
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
// apart. It ends above lines that together are too long for a title, because text can be in short lines without full stops too.
func titlePage(text string, ls []line) []Apart {
	first, last, n, count := -1, -1, 0, 0
	plain, above, before := 0, 0, -1 // words of the latest long plain lines, with the count and the last line above them
	for i, l := range ls {
		if l.trimmed == "" {
			continue
		}
		words := measureWords(l.trimmed)
		if i > 0 && last == i-1 && goesOnFrom(ls[last].trimmed, l.trimmed) {
			last, count = last-1, count-1 // the first line of a paragraph
			break
		}
		if words > maxTitleItem && listItem.MatchString(l.trimmed) {
			break
		}
		if words > maxTitleLine || endsSentence(l.trimmed) && words > 4 || !titled(l.trimmed) {
			break
		}
		if n += words; n > maxTitlePage {
			return nil // the whole text is in short lines
		}
		if words < leastPlain || !isPlain(l.trimmed) {
			plain = 0
		} else {
			if plain == 0 {
				above, before = count, last
			}
			if plain += words; plain > maxPlain {
				count, last = above, before
				break
			}
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

// isPlain reports whether a line lacks the marks of a title page, that is, fewer than two words of five begin with a capital or a digit.
// Languages without capitals have only the digits.
func isPlain(l string) bool {
	words, marks := 0, 0
	for f := range strings.FieldsSeq(l) {
		r, _ := utf8.DecodeRuneInString(strings.TrimLeft(f, "(（[{<《\"'“„«*#"))
		words++
		if unicode.IsUpper(r) || unicode.IsDigit(r) {
			marks++
		}
	}
	return 5*marks < 2*words
}

// PlainWords returns the number of words in the lines of a span that lack the marks of a title page.
func PlainWords(text string, s concordat.Span) int {
	n := 0
	for l := range strings.Lines(s.In(text)) {
		if isPlain(l) {
			n += measureWords(l)
		}
	}
	return n
}

// listItem matches the beginning of a list item, with the heading that PDF readers put on its line.
var listItem = regexp.MustCompile(`^[^*•\n]{1,40}\s[*•]\s+\pL|^[*•▪●○–-]\s+\pL|^[0-9a-z]{1,2}\)\s`)

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

// Maximum words in a contents entry.
const (
	maxContentsEntry = 22
	meanEntry        = 13 // on average, numbers included
)

// isEntry reports whether a line that ends in a page number could be an entry in a contents page.
func isEntry(l string) bool { return isContentsEntry(strings.TrimRight(l, "0123456789ivxlc \t")) }

// isContentsEntry reports whether the words before a page number could be a heading: they begin like one and contain no end of a sentence.
// A page of prose with a number at the end of each line is not a contents page.
func isContentsEntry(l string) bool {
	at := strings.TrimRight(strings.TrimSpace(l), ".…·⋯-—－ \t\u00a0")
	if measureWords(at) > maxContentsEntry || !titled(at) {
		return false
	}
	return !sentenceInside.MatchString(at)
}

// sentenceInside matches the end of a sentence of several words, followed by another sentence.
var sentenceInside = regexp.MustCompile(`(?:\PL\p{Ll}{2,}\PL+){3,}.*\p{Ll}{2,}[.!?]\s+\p{Lu}|\p{Han}{6,}[。！？]`)

// entriesIn returns the number of contents entries in a line, and where they end: one if the line ends in a page number, or more if
// several entries were joined. Text can follow a whole contents page, as on the next page of a PDF.
func entriesIn(l string) (entries, end int) {
	at := leader.FindAllStringIndex(l, -1)
	end = len(l)
	if len(at) >= leastContents {
		end = at[len(at)-1][1]
	}
	if len(at) > 0 && measureWords(l[:end]) <= wordsForLeader*len(at) {
		n, from := 0, 0
		for _, x := range at {
			if isContentsEntry(l[from:x[0]]) {
				n++
			}
			from = x[1]
		}
		if 2*n < len(at) {
			return 0, 0
		}
		return n, end
	}
	if isContentsLine(l) && isEntry(l) {
		return 1, len(l)
	}
	return 0, 0
}

var (
	// pageAtEnd matches a line that ends in a number with nothing to set it off, as in many contents pages extracted from PDFs.
	pageAtEnd = regexp.MustCompile(`^(.*\pL.*\S)\s([0-9]{1,4})$`)
	// subsection matches the number and title of a subsection.
	subsection = regexp.MustCompile(`^[0-9]{1,2}(?:\.[0-9]{1,2})+\.?\s+\pL`)
	// contentsTitle matches the heading of a contents page, folded as [heading] does.
	contentsTitle = regexp.MustCompile(`^(?:table of )?contents$|^inhalt(?:sverzeichnis)?$|^gliederung$|^table des matières$|^sommaire$|^índice(?: general)?$|^sumário$|^(?:indice|sommario)$|^inhoud(?:sopgave)?$|^spis treści$|^оглавление$|^содержание$|^目\s?[录錄次]$|^目次$`)
)

// plainContents returns the runs of short lines that end in ascending page numbers with nothing to set them off. They must stand under the
// heading of a contents page or include numbered subsections; table rows have neither.
func plainContents(ls []line) []Apart {
	var out []Apart
	for i := 0; i < len(ls); i++ {
		first, last, n, page, numbered, words := -1, i, 0, 0, 0, 0
		k := i
		for ; k < len(ls) && k-last <= 2; k++ { // an entry may be wrapped or set apart
			m := pageAtEnd.FindStringSubmatch(ls[k].trimmed)
			if m == nil || !isEntry(ls[k].trimmed) || endsSentence(m[1]) {
				continue
			}
			at, _ := strconv.Atoi(m[2])
			if at < page {
				break
			}
			if first < 0 {
				first = k
			}
			if subsection.MatchString(m[1]) {
				numbered++
			}
			last, page, n, words = k, at, n+1, words+measureWords(m[0])
		}
		if first < 0 {
			continue
		}
		from := first
		for j := first - 1; j >= max(0, first-2); j-- {
			if contentsTitle.MatchString(heading(ls[j].trimmed)) {
				from = j
			}
		}
		if n >= leastContents && words <= meanEntry*n && (from < first || n > leastContents && numbered >= 2) {
			out = append(out, Apart{concordat.Span{Start: ls[from].Start, End: ls[last].End}, AsContents})
		}
		i = last
	}
	return out
}

// contentsPages returns the runs of contents lines, each with the heading of one to three words above it.
func contentsPages(text string, ls []line) []Apart {
	var out []Apart
	for i := 0; i < len(ls); i++ {
		if entries, _ := entriesIn(ls[i].trimmed); entries == 0 {
			continue
		}
		j, n, words, ends := i, 0, 0, 0
		for k := i; k < len(ls) && k-j <= 2; k++ { // an entry may be wrapped or set apart
			if entries, end := entriesIn(ls[k].trimmed); entries > 0 {
				j, n, words, ends = k, n+entries, words+measureWords(ls[k].trimmed[:end]), end
			}
		}
		if n >= leastContents && words <= meanEntry*n {
			from := i
			for k := i - 1; k >= max(0, i-2); k-- {
				if w := measureWords(ls[k].trimmed); w > 0 {
					if w <= 3 {
						from = k
					}
					break
				}
			}
			last := ls[j].End
			if ends < len(ls[j].trimmed) {
				last = ls[j].Start + strings.Index(ls[j].In(text), ls[j].trimmed) + ends
			}
			out = append(out, Apart{concordat.Span{Start: ls[from].Start, End: last}, AsContents})
		}
		i = j
	}
	return out
}

// runningHeads returns short lines that are not sentences and recur with no change except in their numbers. Lines that recur together
// with their surroundings belong to the author, because the document contains that text twice.
func runningHeads(ls []line) []Apart {
	at := map[string][]int{}
	for i, l := range ls {
		w := measureWords(l.trimmed)
		if w < fewestRunning || w > maxFooter || len(l.trimmed) > 240 || w > maxRunning && !imprintMark.MatchString(l.trimmed) {
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
	imprintMark = regexp.MustCompile(`(?i)©|\(c\)\s*[0-9]{4}|https?://\S+|\bwww\.\S+|\b[\w.-]+\.(?:org|com|net|edu|gov|info|eu|de|fr|es|it|nl|pl|ru|cn|br|pt|uk|at|ch)\b|[\w.+-]+@[\w-]+\.\w+|\b10\.[0-9]{4,9}/\S+|\bISS?[BN]N?\b|\barxiv:\S+|\b[0-9]{1,2}\.?\s\p{L}{3,10}\.?,?\s[0-9]{4}\b|\b\p{L}{3,10}\.?\s[0-9]{1,2}(?:,\s?|\s)[0-9]{4}\b|\b[0-9]{1,4}[./-][0-9]{1,2}[./-][0-9]{1,4}\b|[0-9]{4}\s?年\s?[0-9]{1,2}\s?月(?:\s?[0-9]{1,2}\s?日)?|\bvol(?:ume|\.)\s?[0-9]+|\bno\.\s?[0-9]+`)
	// filed matches a label for keywords or codes at the beginning of a line.
	filed = regexp.MustCompile(`(?i)^\s*(?:\*\*|_)?(?:(?:additional\s+)?key\s?-?words(?:\s+and\s+phrases)?|index\s+terms|general\s+terms|categories(?:\s+and\s+subject\s+descriptors)?|subject\s+(?:descriptors|classification|headings)|ACM(?:\s+\w+)?\s+(?:classification|categories)|CCS\s+concepts|JEL(?:\s+\w+)*|PACS(?:\s+\w+)?|(?:AMS\s+)?MSC(?:\s+[0-9]{4})?|schl(?:ü|ue)sselw(?:ö|oe)rter|stichworte|schlagw(?:ö|oe)rter|schlagworte|mots[- ]cl(?:(?:é|e)s?|efs)|palabras\s+claves?|codes?\s+JEL|(?:classification|klasyfikacja|clasificación)\s+JEL|klíčová\s+slova|nyckelord|nøkkelord|avainsanat|anahtar\s+kelimeler|ключові\s+слова|palavras[- ]chave|parole\s+chiave|trefwoorden|sleutelwoorden|s(?:ł|l)owa\s+kluczowe|ключевые\s+слова|关\s*键\s*词|關\s*鍵\s*詞|キーワード|中图分类号|文献标识码|文章编号|분류|키워드|الكلمات المفتاحية)(?:\*\*|_)?\s*(?:[:：.—–-]|\n)`)
	// codes matches classification codes: H.3.3, 03.65.Ud, 05C15, D12.
	codes = regexp.MustCompile(`\b[A-Z]\.[0-9](?:\.[0-9]|\.m)?\b|\b[0-9]{2}\.[0-9]{2}\.[A-Za-z+-]{2}\b|\b[0-9]{2}[A-Z][0-9]{2}\b|\b[A-Z][0-9]{2}\b`)
)

// classCode matches a line that begins with a library classification code.
var classCode = regexp.MustCompile(`^\s*(?:U(?:DC|DK)|CDU|DDC|УДК|ББК)\s*[:：]?\s*[0-9]`)

// listsWords reports whether a line of keywords is a list rather than prose after their label. A line over maxContentsEntry words must have
// a separator for every eight words and no sentence that follows another.
func listsWords(p string, words int) bool {
	if words <= maxContentsEntry {
		return true
	}
	n := 0
	for _, r := range p {
		if strings.ContainsRune(",;·•|/–、，；\n", r) {
			n++
		}
	}
	return 8*n >= words && !sentenceInside.MatchString(p)
}

// imprintOrKeywords distinguishes publishers' notices and keyword lists from paragraphs. A notice has at least one mark for every dozen
// words; a keyword list begins with a label or consists of codes.
func imprintOrKeywords(p string) (ApartAs, bool) {
	if len(p) > 20*maxKeywords {
		return "", false
	}
	words := measureWords(p)
	if words <= maxCodes && classCode.MatchString(p) {
		return AsKeywords, true
	}
	coded := 6*len(codes.FindAllStringIndex(p, 8)) >= words && strings.Count(p, ".") > 1
	if words <= maxKeywords && (filed.MatchString(p) && listsWords(p, words) || coded) {
		return AsKeywords, true
	}
	if words > maxImprint || words < 4 || !titled(p) || !strings.ContainsAny(p, "0123456789@©") {
		return "", false
	}
	marks := len(imprintMark.FindAllStringIndex(p, 20))
	return AsImprint, marks >= 2 && 12*marks >= words
}
