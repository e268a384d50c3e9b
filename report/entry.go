package report

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"concordat"
)

// An entry of a list of references is a record: a byline, a title, and an imprint of short fields (a journal, a place, a publisher, a
// year, pages). Prose has sentences. Both can contain a citation or a year, but only prose contains whole sentences. The thresholds below
// count words with a lower-case initial, which are rare in names, journals and publishers and frequent in sentences.
const (
	maxEntry   = 2000 // maximum bytes of an entry; longer text is not one
	leastEntry = 15   // minimum bytes of an entry
	maxTitle   = 30   // maximum lower-case words in a title
	longField  = 12   // lower-case words at which a field is a title or a sentence rather than an imprint
	annotation = 6    // lower-case words at which a field after the imprint is a comment on the work
	maxPlains  = 2    // maximum fields before the imprint that are not names: a title, and the containing work
	maxClause  = 14   // maximum Chinese characters in a clause of an imprint
)

var (
	entryNumber = regexp.MustCompile(`^(?:[①-⑳㉑-㉟]|\[[0-9]{1,4}\]|［[0-9]{1,4}］|〔[0-9]{1,4}〕|【[0-9]{1,4}】|\([0-9]{1,3}\)|[0-9]{1,3}[.．、)])\s*[\pL《“「"«\[（(【]`)
	// entryMark matches imprint marks that are rare in sentences: pages, volumes, identifiers, publishers.
	entryMark = regexp.MustCompile(`(?i)\bdoi\b|10\.[0-9]{4,9}/|https?://|\bwww\.|\bISBN\b|\barxiv\b|\[(?:EB|DB|CP|[JMDCNPSRGZA])(?:/OL)?\]|［[JMDCNPSR]］|\b[0-9]+\s*\([0-9]+\)\s*[:,：，]|\b[0-9]{4};[0-9]+|\b(?:pp?|ss?|c|с|стр|str|blz)\.\s*[0-9]|\b(?:vol|nr|no|n°|nº|t|bd|band|heft|jg|iss|т|№)\.?\s*[0-9]|\b[0-9]+\s*[–-]\s*[0-9]+\b|\bEds?\.|\bHrsg\.|\bPress\b|\bVerlag\b|出版社|书局|書局|学报|期刊|年版|第\s*[0-9]+\s*[页期卷頁號号]`)
	// entryKey matches the start of an entry: its number, a list mark, or a key like [Smi01].
	entryKey = regexp.MustCompile(`^\s*(?:[①-⑳㉑-㉟]|[\[［〔【(]\s*(?:[0-9]{1,4}|\p{Lu}[\pL+]{1,8}[0-9]{2}[a-z]?)\s*[\]］〕】)]|[0-9]{1,4}[.．、)]|[•·▪◦*–—-])\s*`)
	// kindMark matches the mark that follows a title in GB/T 7714.
	kindMark = regexp.MustCompile(`\s*[\[［](?:EB|DB|CP|[JMDCNPSRGZA])(?:/OL)?[\]］]`)
	// hanByline matches names of one or more people, or of an organisation, in Chinese characters or kana, up to the following mark.
	hanByline = regexp.MustCompile(`^(?:[\[〔（(【［][\p{Han}]{1,4}[\]〕）)】］]\s*)?(?:[\p{Han}\p{Katakana}ー·・]{2,24})(?:[、，,;；]\s*[\p{Han}·]{2,12}){0,8}\s*(?:等|著|编|主编|译|编著|校注|編|訳)*\s*(?:[.．：:（(《「『]|[，,]\s*(?:(?:1[5-9]|20)[0-9]{2}|[《「『“])|\s)`)
	// placeAndPublisher matches the end of an entry: Berlin: Springer.
	placeAndPublisher = regexp.MustCompile(`[,.]\s\p{Lu}[\pL-]+(?:\s\p{Lu}[\pL-]+)?:\s\p{Lu}[\pL&.\s-]{2,40}$`)
	// citedBehind matches a citation at the end of a sentence: an imprint in parentheses that names a place and a publisher, or only a
	// year.
	citedBehind = regexp.MustCompile(`[(（][^()（）:：]{12,200}[)）]\s*[.,;。]?\s*$`)
)

// record is an entry of a list of references, read as a work. Text that follows it in the same paragraph is not included.
type record struct {
	Work
	sure bool // it begins with an author
}

// readRecord reads s, a line or a few wrapped lines, as an entry. ok is false for prose, and for an entry that cannot be read as a work,
// which is compared word by word instead.
func readRecord(text string, s concordat.Span) (r record, ok bool) {
	s = trim(text, s)
	if s.Len() < leastEntry || s.Len() > maxEntry {
		return r, false
	}
	entry := s.In(text)
	if !datable(citedBehind.ReplaceAllString(entry, "")) {
		return r, false
	}
	from := len(entryKey.FindString(entry))
	at := byline(entry[from:])
	if at == 0 && !entryMark.MatchString(entry) || at > 0 && goesOn(entry[from+at:]) {
		return r, false
	}
	end := recordEnd(entry, from+at)
	if end == 0 || !datable(entry[:end]) {
		return r, false
	}
	r.sure = at > 0
	r.Work, ok = parseWork(text, concordat.Span{Start: s.Start, End: s.Start + end}, s.Start+from+at)
	return r, ok
}

// goesOn reports whether a sentence continues after names, with a lower-case word other than one like mRNA or p53.
func goesOn(s string) bool {
	s = strings.TrimLeft(s, " \u00a0\n\t,.:")
	w := s[:wordLength(s)]
	first, n := utf8.DecodeRuneInString(w)
	next, _ := utf8.DecodeRuneInString(s[len(w):])
	return unicode.IsLower(first) && w[n:] == strings.ToLower(w[n:]) && !unicode.IsDigit(next)
}

// datable reports whether a text has a year or an address; every entry needs one.
func datable(s string) bool {
	return hasYear(s) || strings.Contains(s, "://") || strings.Contains(s, "10.") && workDOI.MatchString(s)
}

// hasYear reports whether some number in s can be the year of a work: 1500 to 2099.
func hasYear(s string) bool {
	digits := 0
	for i := 0; i <= len(s); i++ {
		if i < len(s) && isDigit(s[i]) {
			digits++
			continue
		}
		if digits == 4 && isYear(s[i-4:i]) {
			return true
		}
		digits = 0
	}
	return false
}

func isYear(s string) bool { return s >= "1500" && s < "2100" }

// byline returns the end of the names at the beginning of an entry, or 0 if there are none.
func byline(s string) int {
	first, _ := utf8.DecodeRuneInString(s)
	switch {
	case unspaced(first) || strings.ContainsRune("[〔（(【［", first):
		return len(hanByline.FindString(s))
	case unicode.IsUpper(first) || unicode.IsLower(first) || unicode.IsTitle(first):
		return casedByline(s)
	case unicode.IsLetter(first):
		return uncasedByline(s)
	}
	return 0
}

// uncasedByline implements byline for scripts without capitals: a few words before a year in parentheses, a full stop or a colon.
func uncasedByline(s string) int {
	i := strings.IndexAny(s, "(.:：（")
	if i <= 0 || len(strings.Fields(s[:i])) > 8 {
		return 0
	}
	return i
}

// nameLinks are lower-case words that occur between and within names.
var nameLinks = words(`and|und|et|en|og|och|oraz|with|avec|van|von|dem|des|dos|das|della|degli|del|ter|ten|bin|ibn|for|für|the|eds|hrsg|dir|coord|org|comp|al|de|di|da|do|du|la|le|el|of|in|y|e|i|a|и|та|др|u|o`)

// casedByline implements byline for scripts with capitals: names, initials and linking words, up to a year, a colon, a quotation or a
// full stop after a name; or, if a title follows a comma, up to the last mark before the first lower-case word.
func casedByline(s string) int {
	var marks []nameMark
	var here nameMark
	prev := ""
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case unicode.IsLetter(r):
			n = wordLength(s[i:])
			w := s[i : i+n]
			if !unicode.IsUpper(r) && !unicode.IsTitle(r) {
				if !nameLinks[strings.ToLower(w)] {
					return endOfNames(s, marks)
				}
			} else {
				here.add(w)
			}
			prev = w
		case unicode.IsDigit(r):
			if n := min(len(s), i+4); hasYear(s[i:n]) && !isDigit(s[min(n, len(s)-1)]) && (here.names > 1 || here.initial) {
				return i
			}
			return endOfNames(s, marks)
		case r == '(' || r == '（':
			if here.names == 0 && !here.initial {
				return 0
			}
			if year := bylineYear.FindStringIndex(s[i:]); year != nil {
				return i + year[1]
			}
			end := strings.IndexAny(s[i:], ")）")
			if end < 0 || end >= 16 {
				return endOfNames(s, marks)
			}
			n = end // (Eds.)
		case strings.ContainsRune("“\"„«‘‚《「", r):
			if here.names == 0 {
				return 0
			}
			return i
		case r == ':' || r == '：':
			if here.names == 0 {
				return 0
			}
			return i + n
		case r == '.' || r == '．':
			if here.names > 0 && utf8.RuneCountInString(prev) > 3 && !nameLinks[strings.ToLower(prev)] {
				return i + n
			}
			here.at = i + n
			marks = append(marks, here)
		case strings.ContainsRune(",;，、", r):
			here.at = i + n
			marks = append(marks, here)
		}
		i += n
	}
	return 0
}

// bylineYear matches a year in parentheses after names, with the marks around it.
var bylineYear = regexp.MustCompile(`^[(（]\s*(?:\p{L}{1,5}\.?\s)?(?:1[5-9]|20)[0-9]{2}[a-z]?(?:[,，][^()（）]{0,24})?\s*[)）]\s*[.:,．：，]?\s*`)

// nameMark is a comma or a full stop in a byline, with the names before it.
type nameMark struct {
	at, names int
	initial   bool // an initial, or a name in capitals
}

func (m *nameMark) add(name string) {
	runes := utf8.RuneCountInString(name)
	m.initial = m.initial || strings.ToUpper(name) == name
	if runes > 2 {
		m.names++
	}
}

// endOfNames returns the end of the names before the lower-case word of a title or sentence, which is the last mark before a capital.
// Without an initial, at least two names are required.
func endOfNames(s string, marks []nameMark) int {
	for _, m := range slices.Backward(marks) {
		if !m.initial && m.names < 2 {
			return 0
		}
		title, _ := utf8.DecodeRuneInString(strings.TrimLeft(s[m.at:], " \u00a0\n\t"))
		if !unicode.IsLower(title) {
			return m.at
		}
	}
	return 0
}

// wordLength returns the length in bytes of the word at the start of s: letters, marks, hyphens and apostrophes.
func wordLength(s string) int {
	n := strings.IndexFunc(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && !strings.ContainsRune("-'’‐", r)
	})
	if n < 0 {
		return len(s)
	}
	return n
}

// recordEnd returns the end of a record whose byline ends at byte at, or 0 if prose follows.
func recordEnd(entry string, at int) int {
	end, plains, longs, imprint := 0, 0, 0, false
	fields := fieldsOf(entry, at)
	for i, f := range fields {
		m := measureField(f.In(entry))
		if m.small > maxTitle {
			break
		}
		if imprint && !m.marked && m.small >= annotation && !m.named() {
			break
		}
		if m.small >= longField {
			longs++
		}
		if !m.named() && !m.marked {
			plains++
		}
		if longs > 1 || plains > maxPlains {
			if imprint {
				break
			}
			return 0
		}
		imprint = imprint || m.marked || i > 0 && m.named() && m.capital
		end = f.End
	}
	if !imprint || end == 0 {
		return 0
	}
	return end
}

// fieldsOf splits an entry, starting at byte at, at possible sentence ends: after a full stop that does not belong to an initial or a
// short abbreviation, or after another mark that only ends sentences. A quoted title is one field.
func fieldsOf(entry string, at int) []concordat.Span {
	var out []concordat.Span
	from, word, closer := at, 0, ""
	add := func(end int) {
		if s := trim(entry, concordat.Span{Start: from, End: end}); s.Len() > 0 {
			out = append(out, s)
		}
		from = end
	}
	for i, r := range entry[at:] {
		i += at
		n := utf8.RuneLen(r)
		switch {
		case closer != "":
			if strings.ContainsRune(closer, r) {
				closer = ""
			}
			word = 4
			continue
		case strings.ContainsRune("“„«《「", r):
			if rest := entry[i:]; strings.ContainsAny(rest[:min(len(rest), 400)][n:], closers[r]+"》") {
				closer = closers[r] + "》"
			}
		case unicode.IsLetter(r) || unicode.IsMark(r):
			word++
			continue
		case unicode.IsDigit(r), r == ')', r == ']', r == '”', r == '"':
			word = 4
			continue
		case r == '.' || r == '?' || r == '!':
			next, _ := utf8.DecodeRuneInString(entry[min(len(entry), i+n):])
			if (word > 2 || r != '.') && (i+n >= len(entry) || unicode.IsSpace(next) || strings.ContainsRune("”\"»", next)) {
				add(i + n)
			}
		case r == '。' || r == '！' || r == '？':
			add(i + n)
		}
		word = 0
	}
	add(len(entry))
	return out
}

// fieldMeasure counts the words in a field by their initials.
type fieldMeasure struct {
	small   int  // words in lower case, words of scripts without capitals, and pairs of Chinese characters
	large   int  // capitalised words, and numbers
	clauses bool // some Chinese clause is longer than in an imprint
	capital bool // it begins with a capital or a Chinese character
	marked  bool // it has imprint marks, and too few other words for a sentence
}

// named reports whether a field consists of names rather than a sentence.
func (m fieldMeasure) named() bool { return !m.clauses && (m.small <= 3 || m.small <= m.large) }

// measureField computes the measure of a field. A quoted title within it counts as one name.
func measureField(f string) fieldMeasure {
	var m fieldMeasure
	first, _ := utf8.DecodeRuneInString(f)
	m.capital = unicode.IsUpper(first) || unicode.Is(unicode.Han, first)
	m.marked = hasYear(f) || entryMark.MatchString(f) || placeAndPublisher.MatchString(f)
	if title := workQuoted.FindStringIndex(f); title != nil {
		f = f[:title[0]] + " X " + f[title[1]:]
	} else if kind := kindMark.FindStringIndex(f); kind != nil && kind[0] <= 300 {
		f = f[kind[1]:]
	}
	f = hanTitle.ReplaceAllString(f, " X ")
	if u := workURL.FindStringIndex(f); u != nil {
		f = f[:u[0]] + f[u[1]:]
	}
	han, clause := 0, 0
	for i := 0; i < len(f); {
		r, n := utf8.DecodeRuneInString(f[i:])
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana):
			han++
			clause++
			m.clauses = m.clauses || clause > maxClause
		case unicode.IsLetter(r):
			n = wordLength(f[i:])
			switch {
			case unicode.IsUpper(r) || unicode.IsTitle(r):
				m.large++
			case n > utf8.RuneLen(r):
				m.small++
			}
		case unicode.IsDigit(r):
			n = len(f[i:]) - len(strings.TrimLeftFunc(f[i:], unicode.IsDigit))
			m.large++
		case strings.ContainsRune("，、；：,;:.．()（）·", r):
			clause = 0
		}
		i += max(n, 1)
	}
	m.small += han / 2
	if m.small >= longField && m.small > 2*m.large {
		m.marked = m.marked && m.small <= maxTitle && entryMark.MatchString(tail(f, 60))
	}
	return m
}

// hanTitle matches the title of a Chinese or Japanese work in title marks.
var hanTitle = regexp.MustCompile(`[《〈「『][^《》〈〉「」『』]{1,300}[》〉」』]`)
