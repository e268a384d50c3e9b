package report

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"concordat"
)

// bibliographyHeadings are the headings of lists of references in many languages, folded.
var bibliographyHeadings = words(`
references|reference|reference list|list of references|cited references|references cited|references and notes|notes and references|
bibliography|selected bibliography|works cited|cited works|literature|literature cited|cited literature|sources cited|notes|endnotes|footnotes|notes and sources
参考文献|主要参考文献|參考文獻|参考书目|參考書目|引用文献|引用文獻|文献|主要參考文獻|参考资料|引用・参考文献|参考文献一覧|文献一覧|参考文献及注释|注释与参考文献|注释|註釋|注释及参考文献|脚注|腳注|尾注|附注|引文出处|引文|文献出处|主要参考资料|参考书籍
참고문헌|참고 문헌|인용문헌|tài liệu tham khảo|daftar pustaka|daftar rujukan|bibliografi|rujukan|เอกสารอ้างอิง|บรรณานุกรม|संदर्भ|संदर्भ सूची|ग्रंथ सूची
literatur|literaturverzeichnis|literaturangaben|quellenverzeichnis|quellen|quellen- und literaturverzeichnis|literatur- und quellenverzeichnis|bibliographie
références|références bibliographiques|ouvrages cités|liste des références
referencias|referencias bibliográficas|bibliografía|obras citadas|bibliografia|referências|referências bibliográficas|referències|referències bibliogràfiques
riferimenti|riferimenti bibliografici|opere citate|bibliografie|referințe|referințe bibliografice
литература|список литературы|список использованной литературы|список использованных источников|библиография|библиографический список|источники
література|список літератури|список використаних джерел|бібліографія|литература и източници|библиографија|литература и извори
literatura|použitá literatura|seznam literatury|seznam použité literatury|zoznam použitej literatúry|použitá literatúra|piśmiennictwo|literatura cytowana|spis literatury|viri|viri in literatura|popis literature
irodalom|irodalomjegyzék|felhasznált irodalom|hivatkozások|kaynakça|kaynaklar|kaynaklar listesi|ədəbiyyat|әдебиет|пайдаланылған әдебиеттер
βιβλιογραφία|βιβλιογραφικές αναφορές|αναφορές|referenser|källförteckning|referenslista|litteratur|litteraturförteckning|litteraturliste|referanser|referanseliste|kildeliste|kilder|heimildir|heimildaskrá
kirjallisuus|kirjallisuusluettelo|lähteet|lähdeluettelo|viited|kasutatud kirjandus|kasutatud allikad|literatūra|naudota literatūra|izmantotā literatūra|literatuur|literatuurlijst|bibliografie en bronnen|bronnen|verwysings
المراجع|قائمة المراجع|المصادر|المصادر والمراجع|المراجع والمصادر|منابع|فهرست منابع|منابع و مآخذ|ביבליוגרפיה|מקורות|רשימת מקורות|גրականություն|გამოყენებული ლიტერატურა|ლიტერატურა|ადაბიყოტ|foydalanilgan adabiyotlar`)

// afterHeadings are headings that end a list of references.
var afterHeadings = words(`
appendix|appendices|annex|acknowledgements|acknowledgments|acknowledgement|acknowledgment|about the author|about the authors|index|glossary|declaration|curriculum vitae|supplementary material|footnotes|endnotes
附录|附錄|致谢|致謝|谢辞|作者简介|作者簡介|攻读学位期间发表的论文|声明|索引|附録|謝辞|부록|감사의 글
anhang|danksagung|eidesstattliche erklärung|erklärung|lebenslauf|anexo|anexos|agradecimientos|agradecimentos|annexe|annexes|remerciements|appendice|appendici|ringraziamenti
приложение|приложения|благодарности|додаток|додатки|příloha|přílohy|poděkování|príloha|prílohy|załącznik|załączniki|bilaga|bilagor|vedlegg|bilag|liite|liitteet|lisa|ek|ekler|függelék|παράρτημα|الملاحق|پیوست`)

func words(list string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.FieldsFunc(list, func(r rune) bool { return r == '|' || r == '\n' }) {
		m[w] = true
	}
	return m
}

// numbering matches the numbering before the words of a heading: marks of outline and of chapters.
var numbering = regexp.MustCompile(`^(?:#+\s*|(?:[0-9]+|[ivxlc]+|[a-z])[.)、．]\s*|[0-9]+(?:[.．][0-9]+)*[.．]?\s+|第[0-9一二三四五六七八九十百]+[章节節编編部分]+\s*|[一二三四五六七八九十]+[、.．]\s*|[【\[〔]\s*)+`)

// heading folds a line for comparison with a list of headings; "" if it is too long for one.
func heading(l string) string {
	if len(l) > 200 {
		return ""
	}
	l = strings.ToLower(strings.Trim(l, "*_ \t\u3000\u00a0"))
	l = numbering.ReplaceAllString(l, "")
	l = strings.TrimFunc(l, func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(":：.。*_#]】〕·", r)
	})
	if fields := strings.Fields(l); len(fields) > 1 && utf8.RuneCountInString(l) == 2*len(fields)-1 && unspaced([]rune(l)[0]) {
		l = strings.Join(fields, "") // 参 考 文 献, spaced out
	}
	return strings.Join(strings.Fields(l), " ")
}

// Marks of an entry in a list of references.
var (
	entryNumber = regexp.MustCompile(`^(?:[①-⑳㉑-㉟]|\[[0-9]{1,4}\]|［[0-9]{1,4}］|〔[0-9]{1,4}〕|【[0-9]{1,4}】|\([0-9]{1,3}\)|[0-9]{1,3}[.．、])\s*[\pL《“「]`)
	entryYear   = regexp.MustCompile(`(?:^|[^0-9])(?:1[5-9]|20)[0-9]{2}[a-z]?(?:[^0-9]|$)`)
	entryMark   = regexp.MustCompile(`(?i)\bdoi\b|10\.[0-9]{4,9}/|https?://|\bISBN\b|\barxiv\b|\[(?:EB|DB|CP|[JMDCNPSRGZA])(?:/OL)?\]|［[JMDCNPSR]］|\b[0-9]+\s*\([0-9]+\)\s*[:,]|\bpp?\.\s*[0-9]|\bvol\.|\bet al\b|\b[0-9]+\s*[–-]\s*[0-9]+\b|\bEds?\.|\bHrsg\.|\bPress\b|出版社|书局|学报|期刊|大学|载《|年版|第\s*[0-9]+\s*[页期卷]`)
	entryAuthor = regexp.MustCompile(`^\PL{0,3}[\p{Lu}\p{Lt}][\pL'’-]+,\s+(?:[\p{Lu}]\.|[\p{Lu}][\pL]+)`)
)

// entry reports how surely a line is one of a list of references: 2 surely, 1 perhaps, 0 not.
func entry(l string) int {
	if len(l) < 8 {
		return 0
	}
	if len(l) > 2000 {
		l = l[:2000]
	}
	n := 0
	for _, re := range []*regexp.Regexp{entryNumber, entryYear, entryMark, entryAuthor} {
		if re.MatchString(l) {
			n++
		}
	}
	return min(n, 2)
}

// bibliography returns the lists of references: what follows a heading that says so, as long as it
// looks like one, and a run of reference-like lines that ends the text. A heading alone is not
// believed, or it would take the text behind it out of the scores.
func bibliography(text string) spans {
	ls := lines(text)
	var out []concordat.Span
	for i := 0; i < len(ls); i++ {
		if !bibliographyHeadings[heading(ls[i].trimmed)] {
			continue
		}
		if end := endOfEntries(ls, i+1); end > i+1 {
			out = append(out, concordat.Span{Start: ls[i].Start, End: ls[end-1].End})
			i = end - 1
		}
	}
	if len(out) == 0 {
		if s, ok := trailingEntries(ls); ok {
			out = append(out, s)
		}
	}
	return union(out)
}

// A list of references goes on while it has an entry at least every maxPlain lines or maxPlainBytes
// bytes; longer stretches without a mark of an entry are prose.
const (
	maxPlain      = 5
	maxPlainBytes = 500
)

// endOfEntries returns the line behind the entries that begin at line from; from if there are none.
func endOfEntries(ls []line, from int) int {
	end, plain, plainBytes := from, 0, 0
	for i := from; i < len(ls); i++ {
		l := ls[i]
		switch {
		case l.trimmed == "":
			continue
		case afterHeadings[heading(l.trimmed)]:
			return end
		case entry(l.trimmed) == 2, entry(l.trimmed) == 1 && len(l.trimmed) < 400:
			end, plain, plainBytes = i+1, 0, 0
			continue
		}
		plain++
		plainBytes += len(l.trimmed)
		if plain > maxPlain || plainBytes > maxPlainBytes {
			return end
		}
		if end == i && plain <= 2 && end > from && len(l.trimmed) < 200 {
			end = i + 1 // an entry's wrapped line
		}
	}
	return end
}

// trailingEntries finds a list of references that ends the text without a heading.
func trailingEntries(ls []line) (concordat.Span, bool) {
	const least = 5 // entries
	first, sure, other := len(ls), 0, 0
	last := 0
	for i := len(ls) - 1; i >= 0; i-- {
		if ls[i].trimmed == "" {
			continue
		}
		last = max(last, i)
		if len(ls[i].trimmed) < 600 && entry(ls[i].trimmed) == 2 {
			sure++
			first = i
		} else {
			other++
		}
		if other > 2+sure {
			break
		}
	}
	if sure < least {
		return concordat.Span{}, false
	}
	return concordat.Span{Start: ls[first].Start, End: ls[last].End}, true
}
