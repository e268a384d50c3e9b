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

// Attributed is wording, with its place, that a text attributes to someone else: a quotation, a legal provision, a passage of scripture
// or verse. Wording that both texts attribute is legitimately shared. Attribution in only one of them proves nothing, since anyone can
// put quotation marks and a reference around a page.
type Attributed struct {
	concordat.Span
	Why AttributedAs
}

// AttributedAs is a kind of attribution.
type AttributedAs string

// The kinds of attribution.
const (
	AsQuotation AttributedAs = "quotation" // in quotation marks or set apart, with its source
	AsStatute   AttributedAs = "statute"   // with the law and the provision
	AsScripture AttributedAs = "scripture" // with chapter and verse
	AsVerse     AttributedAs = "verse"     // lines of verse with their source
	AsStatement AttributedAs = "statement" // under a heading that requires it: a declaration, a consent, a licence
	AsSkeleton  AttributedAs = "skeleton"  // code that was handed out, with comments on what to keep and where to continue
	AsNotice    AttributedAs = "notice"    // a publisher's notice: links to its pages, or a copyright mark
	AsAuthors   AttributedAs = "authors"   // names and institutions at the beginning
)

// The maximum bytes of wording that one reference to a statute or to scripture accounts for. The text after them is commentary.
const (
	maxProvision = 800
	maxPassage   = 1500
)

// Attributions returns the wording that a text attributes to others, in text order without overlaps.
func Attributions(text string) []Attributed {
	var out []Attributed
	cites := citations(text)
	for _, q := range quotations(text) {
		if q.Len() >= leastAttributed && (attributed(text, q, cites) || citedAtEnd(text, q)) {
			out = append(out, Attributed{q, AsQuotation})
		}
	}
	ps := paragraphs(text)
	for _, p := range ps {
		if notice(p.In(text)) {
			out = append(out, Attributed{p, AsNotice})
		} else if s, ok := skeleton(text, p); ok {
			out = append(out, Attributed{s, AsSkeleton})
		} else if s, ok := provision(text, p); ok {
			out = append(out, Attributed{s, AsStatute})
		} else if s, ok := scripture(text, p); ok {
			out = append(out, Attributed{s, AsScripture})
		} else if s, ok := verse(text, p, cites); ok {
			out = append(out, Attributed{s, AsVerse})
		}
	}
	out = append(out, statements(text)...)
	out = append(out, signedParagraphs(text)...)
	out = append(out, authorLines(text, ps)...)
	slices.SortFunc(out, func(x, y Attributed) int { return cmp.Or(bySpan(x.Span, y.Span), cmp.Compare(x.Why, y.Why)) })
	end := 0
	out = slices.DeleteFunc(out, func(x Attributed) bool {
		if x.Start < end {
			return true
		}
		end = x.End
		return false
	})
	known := make(spans, len(out))
	for i, x := range out {
		known[i] = x.Span
	}
	for _, x := range rightsNotices(text, known) {
		for _, s := range Without(x.Span, known) {
			out = append(out, Attributed{s, x.Why})
		}
	}
	slices.SortFunc(out, func(x, y Attributed) int { return bySpan(x.Span, y.Span) })
	return out
}

// again matches a citation of the previously cited work.
var again = regexp.MustCompile(`(?i)^[(（]\s*(?:ibid|ib|idem|id|ebd|ebenda|a\.\s?a\.\s?O|op\.\s?cit|loc\.\s?cit|同上|同前|там же|tamże|tamtéž)\b?[^()（）]{0,40}[)）]`)

// citedAtEnd reports whether a block quotation ends with its source on the last line, or is followed by a repeated citation.
func citedAtEnd(text string, q concordat.Span) bool {
	in := strings.TrimRight(q.In(text), " \t\n.。”\"")
	closed := strings.HasSuffix(in, ")") || strings.HasSuffix(in, "）")
	if i := strings.LastIndexAny(in, "(（"); closed && i >= 0 && len(in)-i <= longestCitation {
		if _, ok := citation(in, i); ok || again.MatchString(in[i:]) || chapterAndVerse.MatchString(in[i:]) {
			return true
		}
	}
	behind := strings.TrimLeft(text[q.End:min(len(text), q.End+longestCitation)], " ,.")
	return again.MatchString(behind)
}

// chapterAndVerse matches a reference to scripture in parentheses: a book with a chapter and a verse.
var chapterAndVerse = regexp.MustCompile(`^[(（\[]\s*(?:[1-4]\.?\s?|I{1,3}\s)?(?:\p{Lu}[\pL.]{1,24}(?:\s\p{L}{2,12}){0,2}|《?[\p{Han}]{2,8}》?)\s?[0-9一二三四五六七八九十百]{1,4}\s?(?::|：|,\s?|章)\s?[0-9一二三四五六七八九十]{1,4}节?(?:\s?[-–—,;.]\s?[0-9]{1,3}(?:[:,][0-9]{1,3})?)*[ab]?(?:[,;]\s?\p{Lu}{2,5})?\s*[)）\]]`)

// scripture returns the wording that precedes each reference to scripture in a paragraph, back to the previous reference.
func scripture(text string, p concordat.Span) (concordat.Span, bool) {
	in := p.In(text)
	end := 0
	for at := 0; at < len(in); {
		i := strings.IndexAny(in[at:], "(（[")
		if i < 0 || at+i-end > maxPassage {
			break
		}
		at += i
		if place := chapterAndVerse.FindStringIndex(in[at:min(len(in), at+longestCitation)]); place != nil {
			end = at + place[1]
		}
		at++
	}
	return concordat.Span{Start: p.Start, End: p.Start + end}, end > 0
}

var (
	// lawNumber matches the number of a provision, for example § 5, Art. 6 (1), Section 230(c) or 第五条.
	lawNumber = regexp.MustCompile(`§+\s*[0-9]+|(?i:\b(?:art(?:icles?|ikel|ikels|ículos?|icolo|icoli|igos?|ykuł|ykule)?|sec(?:tions?|s)?|s|paragraphs?|clauses?|regulations?)\.?\s*(?:no\.?\s*)?[0-9]+)|(?i:стать\p{L}{1,3}|(?:^|[\s(])ст\.|пункт\p{L}{0,2})\s*[0-9]+|第\s*[一二三四五六七八九十百千零〇0-9]+\s*[条條款]`)
	// lawName matches the name of a law near its number: an abbreviation in capitals, a name that contains a word for law, or a
	// collection.
	lawName = regexp.MustCompile(`\b\p{Lu}{2,}[\p{L}]*\b|\b\p{Lu}\p{Ll}?\p{Lu}\p{L}*\b|(?:\b\p{Lu}\.\s?){2,}|\bk\.\s?[ckp]\.|\bc\.\s?[cp]\.|(?i:\b(?:act|code|código|codice|kodeks\w*|wetboek|grundgesetz\w*|\p{L}*gesetz(?:buch)?(?:e?s)?|\p{L}*ordnung|verfassung|constitution|constitución|constituição|costituzione|konstytucj\w+|grondwet|convention|covenant|charter|treaty|directive|regulation|statute|ordinance|title [0-9]+|loi|ley|lei|legge|ustaw\w*|wet|convenio|convenção|convenzione|traité|tratado)\b)|(?:кодекс|закон|конституци|конвенци)\p{L}*|《[^《》\n]{2,60}》`)
)

// maxLaw is the number of bytes on either side of a provision's number that are searched for the name of the law.
const maxLaw = 200

// provision returns the paragraph, up to maxProvision bytes, if it begins with a provision and its law. A number alone identifies no law,
// because authors number their own rules too.
func provision(text string, p concordat.Span) (concordat.Span, bool) {
	in := p.In(text)
	begin := in[:min(len(in), maxLaw+longestLine)]
	if !mayNumberLaw(begin) {
		return concordat.Span{}, false
	}
	at := lawNumber.FindStringIndex(begin)
	if at == nil || at[0] > maxLaw {
		return concordat.Span{}, false
	}
	name := in[:at[0]] + " | " + in[at[1]:min(len(in), at[1]+maxLaw)]
	if !lawName.MatchString(name) {
		return concordat.Span{}, false
	}
	return concordat.Span{Start: p.Start, End: min(p.End, RuneStart(text, p.Start+maxProvision))}, true
}

// mayNumberLaw is a cheap test for whether lawNumber can match: the text has a special sign, or a number after a word whose first letter
// fits a provision or "no". Such a word can follow non-ASCII letters without a space.
func mayNumberLaw(s string) bool {
	if strings.ContainsAny(s, "§第") {
		return true
	}
	for i := 1; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' || s[i-1] >= '0' && s[i-1] <= '9' {
			continue
		}
		before := strings.TrimRightFunc(s[:i], func(r rune) bool { return r == '.' || unicode.IsSpace(r) })
		word := strings.LastIndexFunc(before, func(r rune) bool { return !unicode.IsLetter(r) }) + 1
		last := utf8.MaxRune
		for _, r := range before[word:] {
			if strings.ContainsRune("спСПſ", r) || last > unicode.MaxASCII && strings.ContainsRune("aspcrnASPCRN", r) {
				return true
			}
			last = r
		}
	}
	return false
}

// signedVerse matches a last line that names the author of the lines above.
var signedVerse = regexp.MustCompile(`\n\s*(?:[(（][^()（）\n]{0,20}\p{Lu}[^()（）\n]{2,120}[)）]|[—–-]{1,3}\s?\p{Lu}[^\n]{2,80})\s*$`)

// statementHeading matches a heading over statements that examiners, journals and laws require of everyone, in the languages most common
// at sites, folded by [heading].
var statementHeading = regexp.MustCompile(`^(?:.{0,40}\b)?(?:declarations?(?: of (?:originality|authorship|interests?|competing interests|independent work|own work))?|affidavit|statement of (?:originality|authorship|own work)|(?:originality|authorship|own work|plagiarism|consent|ethics|copyright|confidentiality) (?:statement|declaration|notice|form)|informed consent|data availability(?: statement)?|availability of data.*|(?:conflicts? of|competing) interests?|copyright|licen[cs]e|disclaimer|privacy notice|` +
	`(?:eidesstattliche |ehrenwörtliche |selbst(?:st)?ändigkeits|eigenständigkeits|einverständnis|einwilligungs|datenschutz|urheber|interessen)?erklärung(?: .{0,60})?|eidesstattliche versicherung|versicherung an eides statt|einwilligung(?: .{0,40})?|interessenkonflikte?|datenverfügbarkeit|datenschutzhinweise?|sperrvermerk|lizenz|haftungsausschluss|` +
	`déclaration(?: .{0,60})?|attestation(?: .{0,60})?|engagement de non.plagiat|consentement(?: .{0,40})?|protection des données(?: .{0,30})?|conflits? d.intérêts?|disponibilité des données|licence|mentions légales|` +
	`declaración(?: .{0,60})?|consentimiento(?: .{0,40})?|conflictos? de intereses|disponibilidad de (?:los )?datos|licencia|aviso legal|` +
	`declaração(?: .{0,60})?|termo de (?:responsabilidade|consentimento|autorização)(?: .{0,40})?|consentimento(?: .{0,40})?|conflitos? de interesses?|disponibilidade (?:de|dos) dados|licença|` +
	`dichiarazione(?: .{0,60})?|consenso informato|protezione dei dati(?: personali)?|informativa(?: .{0,40})?|conflitt[oi] (?:di|d.)\s?interess[ei]|disponibilità dei dati|licenza|` +
	`(?:.{0,30})?verklaring(?: .{0,60})?|toestemming(?: .{0,40})?|gegevensbescherming|belangenverstrengeling|beschikbaarheid van (?:de )?gegevens|licentie|` +
	`oświadczeni[ea](?: .{0,60})?|zgoda(?: .{0,40})?|ochrona danych(?: osobowych)?|klauzula(?: .{0,40})?|konflikt interesów|dostępność danych|licencja)$|` +
	`^(?:заявление|декларация|подтверждение|(?:информированное )?согласие|защита (?:персональных )?данных|конфликт интересов|доступность данных|лицензия)(?: .{0,60})?$|` +
	`^.{0,20}(?:声明|聲明|承诺书|承諾書|授权书|授權書|授权的说明|同意书|同意書|知情同意|利益冲突|数据可用性|许可协议|誓約書|宣誓書|선언문?|동의서|서약서)$`)

// maxStatement is the maximum number of words in a statement; anything longer is the author's own text under such a heading.
const maxStatement = 150

// statements returns the paragraphs under statement headings, up to the next heading or maxStatement words.
func statements(text string) []Attributed {
	var out []Attributed
	ls := lines(text)
	for i := 0; i < len(ls); i++ {
		if l := ls[i].trimmed; l == "" || len(l) > 2*longestLine || endsSentence(l) || i > 0 && ls[i-1].trimmed != "" {
			continue
		}
		if h := heading(ls[i].trimmed); h == "" || !statementHeading.MatchString(h) {
			continue
		}
		words, end := 0, i
		for k := i + 1; k < len(ls); k++ {
			l := ls[k].trimmed
			if l == "" {
				continue
			}
			n := measureWords(l)
			if words += n; words > maxStatement {
				break
			}
			if n <= maxTitleLine/2 && !endsSentence(l) && ls[k-1].trimmed == "" && end > i {
				break // the next heading
			}
			end = k
		}
		if end > i && words <= maxStatement {
			out = append(out, Attributed{concordat.Span{Start: ls[i].Start, End: ls[end].End}, AsStatement})
			i = end
		} else if end > i {
			// Nothing separates the statement from the text after it, so only its first paragraph is taken.
			k := i + 1
			for k < len(ls) && ls[k].trimmed == "" {
				k++
			}
			last := k
			for last+1 < len(ls) && ls[last+1].trimmed != "" {
				last++
			}
			if s := (concordat.Span{Start: ls[i].Start, End: ls[min(last, len(ls)-1)].End}); measureWords(s.In(text)) <= maxStatement {
				out = append(out, Attributed{s, AsStatement})
			}
		}
	}
	return out
}

var (
	// placeAndDate matches the last line of a signed text: a place, a comma and a date, or a date in Chinese.
	placeAndDate = regexp.MustCompile(`^\p{Lu}[^,\n0-9]{1,40},[^,\n0-9]{0,12}\b[0-9]{1,2}\b[^\n0-9]{1,20}(?:[0-9]{1,2}[./-]\s?)?\b[12][0-9]{3}\b.{0,4}$|[12][0-9]{3}\s?年\s?[0-9]{1,2}\s?月\s?[0-9]{1,2}\s?日$`)
	// lineToSign matches a line on which to write a place, a date or a name.
	lineToSign = regexp.MustCompile(`_{5,}|\.{8,}|…{3,}|(?:\.\s){8,}`)
)

const (
	leastSigned  = 12 // minimum words in a signed paragraph
	mostSigned   = 60 // a date does not explain a longer paragraph; letters and applications end with one too
	maxSignature = 14 // maximum words in the line under it
)

// signedParagraphs returns paragraphs followed by a line with a place and a date, or a line to sign on: declarations without a heading,
// in any language. A single text proves nothing, since anyone can write a date under a page; both documents must have one.
func signedParagraphs(text string) []Attributed {
	var out []Attributed
	ls := lines(text)
	for i, l := range ls {
		signed := placeAndDate.MatchString(l.trimmed) || lineToSign.MatchString(l.trimmed) && !isContentsLine(l.trimmed)
		if l.trimmed == "" || !signed || measureWords(l.trimmed) > maxSignature {
			continue
		}
		last := i - 1
		for last >= 0 && ls[last].trimmed == "" {
			last--
		}
		first := last
		for first > 0 && ls[first-1].trimmed != "" {
			first--
		}
		if last < 0 || !endsSentence(ls[last].trimmed) {
			continue
		}
		s := concordat.Span{Start: ls[first].Start, End: l.End}
		if n := measureWords(text[s.Start:ls[last].End]); n >= leastSigned && n < mostSigned {
			out = append(out, Attributed{s, AsStatement})
		}
	}
	return out
}

const (
	leastVerse  = 4  // minimum lines, or clauses of equal length, in verse
	longestLine = 70 // maximum letters in a line of verse
)

// verse returns a paragraph of verse if it names its source. Verse has lines that each begin with a capital or, in Chinese, clauses of
// equal length, next to a citation or the title of a work.
func verse(text string, p concordat.Span, cites spans) (concordat.Span, bool) {
	in := p.In(text)
	if !versedLines(in) && !versedClauses(in) {
		return concordat.Span{}, false
	}
	return p, len(cites.and(spans{p})) > 0 || citedAtEnd(text, p) || signedVerse.MatchString(in)
}

// versedLines reports whether a paragraph is written in lines of verse.
func versedLines(s string) bool {
	n, large := 0, 0
	for l := range strings.Lines(s) {
		l = strings.TrimSpace(l)
		if l == "" || strings.HasPrefix(l, "(") || strings.HasPrefix(l, "—") {
			continue
		}
		letters := utf8.RuneCountInString(l)
		if letters > longestLine {
			return false
		}
		n++
		first, _ := utf8.DecodeRuneInString(strings.TrimLeft(l, "“\"„«'‘’…—–- "))
		if !unicode.IsLower(first) && unicode.IsLetter(first) {
			large++
		}
	}
	return n >= leastVerse && 4*large >= 3*n
}

// versedClauses reports whether most clauses of a Chinese paragraph have the same length: four, five or seven characters.
func versedClauses(s string) bool {
	by, all := map[int]int{}, 0
	if i := strings.IndexAny(s, ":：“「"); i >= 0 && i < 3*longestLine {
		s = s[i:] // after the speaker's name
	}
	n := 0
	end := func() {
		if n > 0 {
			by[n]++
			all++
		}
		n = 0
	}
	for _, r := range hanTitle.ReplaceAllString(s, "，") {
		switch {
		case unicode.Is(unicode.Han, r):
			n++
		case unicode.IsLetter(r):
			return false
		default:
			end()
		}
	}
	end()
	most := max(by[4], by[5], by[7])
	return most >= leastVerse && 4*most >= 3*all
}
