package extract

import (
	"path"
	"strconv"
	"strings"
	"unicode"
)

// readXLSX reads Excel's XML format, first the cells that contain words, sheet by sheet and row by row, then the text boxes and charts of
// each sheet. Cells that are numbers, dates or formulas without words are left out.
func readXLSX(b *builder, data []byte) error {
	p, err := openZip(b, data)
	if err != nil {
		return err
	}
	p.coreProperties()
	main := p.mainPart("xl/workbook.xml")
	book := &workbook{}
	if err := p.part(main, false, func(d []byte) error { return walkXML(b, d, book) }); err != nil {
		return err
	}
	words := &sharedStrings{}
	for _, n := range p.targets(main, path.Dir(main)+"/sharedStrings.xml", "sharedStrings") {
		_ = p.part(n, true, func(d []byte) error { return walkXML(b, d, words) })
	}
	b.leave(FlagReadings, words.readings.String())
	byID := map[string]relation{}
	for _, r := range p.relations(main) {
		byID[r.id] = r
	}
	for _, s := range book.sheets {
		r, ok := byID[s.id]
		if !ok || r.external || !p.has(r.target) {
			b.partial(FlagPart, "a sheet is not in the file: "+cleanTitle(s.name))
			continue
		}
		b.place("sheet " + cleanTitle(s.name))
		_ = p.part(r.target, false, func(d []byte) error {
			err := walkXML(b, d, &sheetReader{b: b, words: words.list, hidden: s.hidden})
			b.end()
			return err
		})
		p.sheetParts(r.target)
	}
	if p.has(path.Dir(main) + "/vbaProject.bin") {
		b.flag(Flag{Code: FlagMacro, Detail: "the document contains a macro, which can change what is shown"})
	}
	p.countPictures(path.Dir(main) + "/media/")
	p.looseObjects()
	p.census(func(name string) bool {
		for _, piece := range []string{"theme", "styles", "calcchain", "vba", "printersettings", "charts/style", "charts/colors",
			"tables/", "persons/",
			"connections", "querytables/", "pivot", "metadata", "externallinks/", "sheetmetadata", "comments", "vmldrawing", "slicer", "timeline",
			"revisions/", "usernames", "volatiledependencies", "ctrlprops/", "model/", "customproperty"} {
			if strings.Contains(name, piece) {
				return true
			}
		}
		return strings.Contains(name, "/embeddings/") && p.chartData()[name]
	})
	return nil
}

// sheetParts reads the text boxes and charts of a sheet, and flags its comments.
func (p *parts) sheetParts(sheet string) {
	for _, n := range p.targets(sheet, "", "drawing") {
		_ = p.part(n, true, func(d []byte) error { return walkSlide(p.b, d, slideSize{}) })
		p.graphics(n)
	}
	for _, n := range p.targets(sheet, "", "comments", "threadedComment") {
		p.comments(n)
	}
	p.embeddedObjects(sheet)
}

// workbook reads the list of sheets in tab order.
type workbook struct {
	sheets []struct {
		name, id string
		hidden   bool
	}
}

func (w *workbook) start(name string, a attrs) {
	if local(name) != "sheet" || len(w.sheets) >= 100_000 {
		return
	}
	id := ""
	for _, x := range a.list {
		if x.Name.Local == "id" && x.Name.Space != "" {
			id = x.Value
		}
	}
	w.sheets = append(w.sheets, struct {
		name, id string
		hidden   bool
	}{a.get("name"), id, a.get("state") == "hidden" || a.get("state") == "veryHidden"})
}
func (w *workbook) stop(string)  {}
func (w *workbook) chars(string) {}

// sharedStrings reads the strings that cells refer to by number.
type sharedStrings struct {
	list     []string
	one      strings.Builder
	inText   bool
	phonetic int // nesting depth in readings of Japanese words
	readings strings.Builder
}

func (r *sharedStrings) start(name string, _ attrs) {
	switch local(name) {
	case "si":
		r.one.Reset()
	case "rPh":
		r.phonetic++
	case "t":
		r.inText = r.phonetic == 0
	}
}

func (r *sharedStrings) stop(name string) {
	switch local(name) {
	case "si":
		r.list = append(r.list, r.one.String())
	case "rPh":
		r.phonetic = max(0, r.phonetic-1)
	case "t":
		r.inText = false
	}
}

func (r *sharedStrings) chars(s string) {
	switch {
	case r.inText:
		r.one.WriteString(s)
	case r.phonetic > 0:
		r.readings.WriteString(s)
	}
}

// sheetReader reads the cells of a single sheet.
type sheetReader struct {
	b                 *builder
	words             []string
	hidden, hiddenRow bool
	kind              string // type of the cell
	value             strings.Builder
	inValue, inText   bool
	phonetic          int
	header            bool // a page header or footer
}

func (r *sheetReader) start(name string, a attrs) {
	switch local(name) {
	case "row":
		r.hiddenRow = a.get("hidden") == "1" || a.get("hidden") == "true"
	case "c":
		r.kind = a.get("t")
		r.value.Reset()
	case "v":
		r.inValue = true
	case "rPh":
		r.phonetic++
	case "t":
		r.inText = r.phonetic == 0
	case "oddHeader", "oddFooter", "evenHeader", "evenFooter", "firstHeader", "firstFooter":
		r.b.flag(Flag{Code: FlagHeaders, Detail: "page headers and footers left out"})
		r.header = true
	}
}

func (r *sheetReader) stop(name string) {
	switch local(name) {
	case "oddHeader", "oddFooter", "evenHeader", "evenFooter", "firstHeader", "firstFooter":
		r.header = false
	case "c":
		r.cell()
	case "v":
		r.inValue = false
	case "rPh":
		r.phonetic = max(0, r.phonetic-1)
	case "t":
		r.inText = false
	}
}

func (r *sheetReader) chars(s string) {
	switch {
	case r.inValue || r.inText:
		r.value.WriteString(s)
	case r.header:
		r.b.leave(FlagHeaders, s)
	case r.phonetic > 0:
		r.b.leave(FlagReadings, s)
	}
}

// cell writes the current cell if it contains a word.
func (r *sheetReader) cell() {
	s := r.value.String()
	switch r.kind {
	case "s":
		n, err := strconv.Atoi(strings.TrimSpace(s))
		if err != nil || n < 0 || n >= len(r.words) {
			return
		}
		s = r.words[n]
	case "str", "inlineStr":
	default:
		r.b.leave(FlagNumbers, s)
		return
	}
	if strings.IndexFunc(s, unicode.IsLetter) < 0 {
		r.b.leave(FlagNumbers, s)
		return
	}
	r.b.end()
	code := ""
	if r.hidden || r.hiddenRow {
		code = FlagHidden
	}
	for i, line := range strings.Split(s, "\n") {
		if i > 0 {
			r.b.line()
		}
		r.b.spans.write(r.b, line, code, hiddenDetail[code])
	}
	r.b.end()
}
