package report

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"concordat"
)

// bibliographyHeadings lists headings of reference lists in many languages, folded.
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

// afterHeadings lists headings that mark the end of a list of references.
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

// numbering matches what precedes the words of a heading: outline marks and chapter numbers.
var numbering = regexp.MustCompile(`^(?:#+\s*|(?:[0-9]+|[ivxlc]+|[a-z])[.)、．]\s*|[0-9]+(?:[.．][0-9]+)*[.．]?\s+|第[0-9一二三四五六七八九十百]+[章节節编編部分]+\s*|[一二三四五六七八九十]+[、.．]\s*|[【\[〔]\s*)+`)

// heading returns a line folded for lookup in a list of headings, or "" if it is too long to be one.
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
		l = strings.Join(fields, "") // spaced out like 参 考 文 献
	}
	return strings.Join(strings.Fields(l), " ")
}

// A list of references is a chain of records close together: any number of them under a bibliography heading, or at least leastRecords
// without one. An annotation between two records is compared as prose; longer text ends the list.
const (
	leastRecords = 3
	maxApart     = 1500 // maximum bytes between consecutive records
)

// bibliography returns the lists of references, in text order without overlaps: headings and the records that [Works] reads, but no
// prose. Text between entries, or after an entry in the same paragraph, is not included.
func bibliography(text string) spans { return spansOf(text, referenceLists(text)) }

func spansOf(text string, lists []referenceList) spans {
	var out []concordat.Span
	for _, l := range lists {
		if l.heading.Len() > 0 {
			out = append(out, l.heading)
		}
		for _, r := range l.records {
			out = append(out, r.Span)
		}
	}
	return filled(text, union(out))
}

// filled joins spans that are separated only by white space.
func filled(text string, s spans) spans {
	var out spans
	for _, x := range s {
		if n := len(out); n > 0 && strings.TrimSpace(text[out[n-1].End:x.Start]) == "" {
			out[n-1].End = x.End
			continue
		}
		out = append(out, x)
	}
	return out
}

// referenceList is a list of references with its heading, if any.
type referenceList struct {
	heading concordat.Span
	records []record
}

// referenceLists returns the lists of references of a text, in order.
func referenceLists(text string) []referenceList {
	var out []referenceList
	var here referenceList
	var maybe []record // entries without a byline after the last sure record; they count only if another sure record follows
	end := 0
	done := func() {
		n := 0
		for _, r := range here.records {
			n += boolInt(r.sure)
		}
		if here.heading.Len() > 0 && len(here.records) > 0 || n >= leastRecords {
			out = append(out, here)
		}
		here, maybe = referenceList{}, nil
	}
	for _, p := range linesInBlocks(text) {
		if h := heading(p[0].trimmed); bibliographyHeadings[h] {
			done()
			here.heading = concordat.Span{Start: p[0].Start, End: p[0].End}
			end = p[0].End
			p = p[1:]
		} else if afterHeadings[h] {
			done()
			continue
		}
		for _, s := range entriesOf(text, p) {
			if (len(here.records) > 0 || here.heading.Len() > 0) && s.Start-end > maxApart {
				done()
			}
			r, ok := readRecord(text, s)
			switch {
			case !ok:
				maybe = nil
				continue
			case r.sure || here.heading.Len() > 0 && (s.Start-end < leastEntry || len(maybe) > 0):
				here.records = append(append(here.records, maybe...), r)
				maybe = nil
			default:
				maybe = append(maybe, r)
				continue
			}
			end = r.End
		}
	}
	done()
	return out
}

// linesInBlocks returns the non-blank lines in groups, split at blank lines. A heading starts a new group.
func linesInBlocks(text string) [][]line {
	var out [][]line
	open := false
	for _, l := range lines(text) {
		if l.trimmed == "" {
			open = false
			continue
		}
		h := heading(l.trimmed)
		begins := bibliographyHeadings[h] || afterHeadings[h]
		if !open || begins {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], l)
		open = true
	}
	return out
}
