package extract

import (
	"fmt"
	"path"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// readDOCX reads the body, footnotes, endnotes and text boxes of Word's XML format; it leaves out and flags deleted text of tracked
// changes.
func readDOCX(b *builder, data []byte) error {
	p, err := openZip(b, data)
	if err != nil {
		return err
	}
	main := p.mainPart("word/document.xml")
	if !p.has(main) {
		return &Error{Code: Damaged, Detail: "the document's main part is missing"}
	}
	p.coreProperties()
	d := &docxFile{parts: p, main: main, styles: newDocxStyles(), lists: newDocxLists()}
	d.ground.styles = d.styles
	dir := path.Dir(main)
	for _, n := range p.targets(main, dir+"/styles.xml", "styles") {
		_ = p.part(n, true, func(data []byte) error { return walkXML(b, data, d.styles) })
	}
	for _, n := range p.targets(main, dir+"/settings.xml", "settings") {
		_ = p.part(n, true, func(data []byte) error { return walkXML(b, data, &docxSettings{&d.ground}) })
	}
	for _, n := range p.targets(main, dir+"/numbering.xml", "numbering") {
		_ = p.part(n, true, func(data []byte) error { return walkXML(b, data, d.lists) })
	}
	_ = p.part(main, false, d.body(main))
	for _, kind := range []string{"footnotes", "endnotes"} {
		for _, n := range p.targets(main, dir+"/"+kind+".xml", kind) {
			b.place(kind)
			_ = p.part(n, true, d.body(n))
		}
	}
	d.pageHeaders()
	d.rest()
	return nil
}

// docxFile is a Word document whose parts are read one at a time.
type docxFile struct {
	*parts
	main   string
	styles *docxStyles
	lists  *docxLists
	ground docxGround
	read   []string // parts of running text, in order
}

// body returns a reader that adds a part of running text to the document.
func (d *docxFile) body(part string) func([]byte) error {
	return func(data []byte) error {
		d.read = append(d.read, part)
		r := d.reader(d.b, part)
		err := walkXML(d.b, data, r)
		r.finish()
		d.graphics(part)
		return err
	}
}

func (d *docxFile) reader(b *builder, part string) *docxReader {
	return &docxReader{b: b, styles: d.styles, ground: d.ground, file: d, part: part, base: len(b.saved)}
}

// rest reads or names the parts that no other part refers to, and flags content other than text.
func (d *docxFile) rest() {
	b, dir := d.b, path.Dir(d.main)
	for _, part := range d.read {
		d.embeddedObjects(part)
	}
	d.looseObjects()
	for _, r := range d.relations(d.main) {
		if r.kind == "subDocument" || r.kind == "frame" {
			b.partial(FlagPart, "a linked document is not in the file: "+cleanTitle(r.target))
		}
	}
	if d.has(dir + "/vbaProject.bin") {
		b.flag(Flag{Code: FlagMacro, Detail: "the document contains a macro, which can change what is shown"})
	}
	d.countPictures(dir + "/media/")
	comments := d.targets(d.main, "", "comments")
	for _, n := range comments {
		d.comments(n)
	}
	d.census(func(name string) bool {
		for _, piece := range []string{"theme", "settings", "fonttable", "styles", "numbering", "glossary/", "vba", "comments",
			"people", "printersettings",
			"diagrams/layout", "diagrams/colors", "diagrams/quickstyle", "charts/style", "charts/colors", "attachedtoolbars", "customizations"} {
			if strings.Contains(name, piece) {
				return true
			}
		}
		return strings.Contains(name, "/embeddings/") && d.chartData()[name]
	})
}

// chartData returns the workbooks that charts were made from; the charts themselves contain the data they display.
func (p *parts) chartData() map[string]bool {
	out := map[string]bool{}
	for name := range p.byName {
		if strings.Contains(name, "/charts/") && ext(name) == "xml" {
			for _, t := range p.targets(name, "", "package", "oleObject") {
				out[partName(t)] = true
			}
		}
	}
	return out
}

// shortHeader is the maximum length, in characters, of a page header or footer considered a running title; anything longer is content and
// is kept.
const shortHeader = 200

// pageHeaders leaves out short headers and footers, as the PDF reader does, and keeps long ones.
func (d *docxFile) pageHeaders() {
	names := d.targets(d.main, "", "header", "footer")
	sort.Strings(names)
	for _, n := range names {
		_ = d.part(n, true, func(data []byte) error {
			probe := newBuilder(DOCX, d.b.opt, d.b.lim)
			r := d.reader(probe, n)
			err := walkXML(probe, data, r)
			r.finish()
			s := strings.TrimSpace(probe.out.String())
			switch {
			case s == "":
			case utf8.RuneCountInString(s) <= shortHeader && d.b.any():
				d.b.flag(Flag{Code: FlagHeaders, Detail: "page headers and footers left out"})
				d.b.leave(FlagHeaders, s)
				d.b.takeLeft(probe)
			default:
				d.b.place("page header or footer")
				return d.body(n)(data)
			}
			return err
		})
	}
}

// isOn reads an on-off property, which is on if present, unless its value says off.
func isOn(a attrs) bool {
	switch a.get("val") {
	case "0", "false", "off", "none":
		return false
	}
	return true
}

// docxReader reads one part of running text.
type docxReader struct {
	b       *builder
	styles  *docxStyles
	skip    int  // nesting depth in elements other than text
	deleted bool // the elements are tracked changes
	inText  int  // inside w:t, m:t
	inRPr   int
	inCell  int      // inside the properties of a table cell
	run     runStyle // style of the current run
	para    runStyle // style of the current paragraph
	ground  docxGround
	heading int
	start0  int // start offset of the heading
	ruby    officeRuby
	code    bool // the skipped element is a field code
	drop    bool // the paragraph is an enlarged initial of the next one

	file   *docxFile // nil for a single XML document without other parts
	part   string    // current part
	rels   map[string]relation
	base   int // number of interrupted paragraphs when the part began
	fields docxFields
	list   docxItem
	after  []relation // graphics to read after the paragraph
}

// docxSkipped reports whether the text of an element is not part of the document as displayed.
func docxSkipped(name string) bool {
	switch name {
	case "w:del", "w:moveFrom", "w:instrText", "w:delText", "w:delInstrText", "w:sdtPr":
		return true
	}
	return false
}

func (r *docxReader) start(name string, a attrs) {
	if r.skip > 0 || docxSkipped(name) {
		if r.skip == 0 {
			if r.deleted = name == "w:del" || name == "w:moveFrom"; r.deleted {
				r.b.flag(Flag{Code: FlagTracked, Detail: "deleted text of tracked changes left out"})
			}
		}
		r.code = name == "w:instrText" || name == "w:delInstrText"
		r.skip++
		return
	}
	r.ground.start(name, a, r.inCell > 0)
	switch name {
	case "w:p":
		if !r.drop {
			r.b.end()
		}
		r.drop = false
		r.heading, r.para, r.list = 0, r.styles.paragraph(""), docxItem{}
		r.start0 = r.b.offset()
	case "w:pStyle":
		r.paragraphStyle(a.get("val"))
	case "w:r", "m:r":
		r.run = r.para
	case "w:rPr":
		r.inRPr++
	case "w:tcPr":
		r.inCell++
	case "w:t", "m:t":
		r.inText++
	case "w:tab", "w:ptab":
		if r.inRPr == 0 && a.get("pos") == "" {
			r.write("\t")
		}
	case "w:br", "w:cr":
		r.b.line()
	case "w:noBreakHyphen":
		r.write("\u2011")
	case "w:sym":
		r.symbol(a)
	case "w:framePr":
		r.drop = a.get("dropCap") == "drop" || a.get("dropCap") == "margin"
	case "w:bdo", "w:dir":
		r.b.turn(name == "w:bdo", a.get("val") == "rtl")
	case "w:rt", "w:rubyBase":
		r.ruby.start(name, len(r.b.para))
	case "w:txbxContent":
		r.b.interrupt()
	case "w:tc", "w:tr", "w:tbl":
		r.b.end()
	default:
		if !r.other(name, a) {
			r.property(name, a)
		}
	}
}

// other reads an element other than plain text, and reports whether it did.
func (r *docxReader) other(name string, a attrs) bool {
	switch name {
	case "w:fldChar", "w:ddList", "w:result", "w:listEntry":
		if s := r.fields.mark(name, a); s != "" {
			r.write(s)
		}
		r.b.alternative(r.fields.unseen)
		r.fields.unseen = ""
		if code := r.fields.ended; code != nil {
			r.fields.ended = nil
			code.writeEQ(r.b, r.write)
		}
	case "w:fldSimple":
		code := &fieldCode{}
		code.add(a.get("instr"))
		code.writeEQ(r.b, r.write)
	case "w:numPr":
		r.list = docxItem{level: r.list.level}
	case "w:ilvl":
		r.list.level, _ = strconv.Atoi(a.get("val")) // 0 if it is damaged
	case "w:numId":
		if r.inRPr == 0 {
			r.list.id = a.get("val")
		}
	case "w:altChunk":
		r.imported(a.get("id"))
	case "w:subDoc":
		r.b.partial(FlagPart, "a linked document is not in the file")
	case "v:textpath":
		if s := a.get("string"); strings.TrimSpace(s) != "" {
			r.b.interrupt()
			r.write(s)
			r.b.end()
			r.b.resume()
		}
	case "c:chart", "cx:chart":
		r.graphicAfter(a.get("id"))
	case "dgm:relIds":
		r.graphicAfter(a.get("dm"))
	case "a:txBody":
		r.b.interrupt()
	case "a:p":
		r.b.end()
	case "a:t":
		r.inText++
	default:
		return false
	}
	return true
}

// relation returns the current part's relation with the given id.
func (r *docxReader) relation(id string) (relation, bool) {
	if r.file == nil {
		return relation{}, false
	}
	if r.rels == nil {
		r.rels = map[string]relation{}
		for _, one := range r.file.relations(r.part) {
			r.rels[one.id] = one
		}
	}
	one, ok := r.rels[id]
	return one, ok
}

func (r *docxReader) graphicAfter(id string) {
	if one, ok := r.relation(id); ok && !one.external {
		r.after = append(r.after, one)
	}
}

// imported reads a file that Word displays as part of the text (altChunk: ECMA-376 part 1, section 17.17.2.1).
func (r *docxReader) imported(id string) {
	r.b.end()
	one, ok := r.relation(id)
	if !ok || one.external || !r.file.has(one.target) {
		r.b.partial(FlagPart, "an imported part is not in the file")
		return
	}
	b := r.b
	data, err := r.file.parts.read(one.target)
	var f Format
	if err == nil {
		f, err = checkInput(one.target, data, b.opt)
	}
	if b.nested >= b.opt.MaxNesting {
		err = limitError("nesting of imported parts", "MaxNesting", fmt.Sprintf("deeper than %d", b.opt.MaxNesting))
	}
	if err == nil {
		head := b.res
		b.nested++
		if f == Text {
			var s string
			if s, err = b.decodeText(data); err == nil {
				b.plainParagraphs(s)
			}
		} else {
			err = readers(f)(b, data)
		}
		b.nested--
		b.end()
		b.res.Title, b.res.Author, b.res.Date, b.res.Encoding, b.res.Format = head.Title, head.Author, head.Date, head.Encoding, head.Format
	}
	if err != nil {
		b.missing(Flag{Code: FlagPart, Bytes: int64(len(data)),
			Detail: fmt.Sprintf("an imported part is not read: %s, %d bytes: %v", one.target, len(data), asError(err).Code)})
	}
}

func (r *docxReader) paragraphStyle(id string) {
	r.para = r.styles.paragraph(id)
	r.heading = r.styles.level[id]
	if r.file != nil {
		r.list = r.file.lists.ofStyle(id, r.styles)
	}
	if r.heading == 0 && strings.HasPrefix(strings.ToLower(id), "heading") {
		r.heading = 1
	}
}

// property reads the properties that can make a run unreadable, and its background.
func (r *docxReader) property(name string, a attrs) {
	switch {
	case r.inRPr == 0:
		if name == "w:shd" && r.inCell == 0 {
			r.para.property(name, a)
		}
	case name == "w:rStyle":
		r.run = r.run.over(r.styles.style(a.get("val")))
	default:
		r.run.property(name, a)
	}
}

// tinyPoints is the maximum illegible type size, in points.
const tinyPoints = 2

// symbol writes a character specified by its code in a font.
func (r *docxReader) symbol(a attrs) {
	if n, err := strconv.ParseUint(a.get("char"), 16, 16); err == nil && n >= 0x20 {
		r.write(symbolRune(a.get("font"), rune(n)))
	}
}

func (r *docxReader) stop(name string) {
	if r.skip > 0 {
		r.skip--
		return
	}
	r.ground.stop(name)
	switch name {
	case "w:p":
		r.endParagraph()
	case "w:rPr":
		r.inRPr = max(0, r.inRPr-1)
	case "w:tcPr":
		r.inCell = max(0, r.inCell-1)
	case "w:t", "m:t", "a:t":
		r.inText = max(0, r.inText-1)
	case "w:bdo", "w:dir":
		r.b.text(string(bidiPDF))
	case "w:rt", "w:ruby":
		r.ruby.stop(name, r.b)
	case "w:txbxContent", "a:txBody":
		r.b.end()
		r.b.resume()
	case "w:tc", "w:tr", "w:tbl":
		if len(r.b.saved) == r.base {
			r.b.end()
		}
	}
}

func (r *docxReader) endParagraph() {
	if r.heading > 0 {
		if s := trimParagraph(string(r.b.para)); s != "" && len(r.b.saved) == r.base {
			r.b.label = "section " + cleanTitle(s)
		}
		r.heading = 0
	}
	if r.drop = r.drop && len(r.b.para) > 0 && countLetters(string(r.b.para)) <= maxDropped; !r.drop {
		r.b.end()
	}
	if len(r.b.saved) == r.base && !r.drop {
		for _, one := range r.after {
			label := r.b.label
			r.file.graphic(one.kind, one.target)
			r.b.label = label
		}
		r.after = r.after[:0]
	}
}

// maxDropped is the maximum number of letters in a frame with an enlarged initial.
const maxDropped = 3

func (r *docxReader) chars(s string) {
	switch {
	case r.skip > 0 && r.deleted && !r.code:
		r.b.leave(FlagTracked, s)
	case r.skip > 0 && r.code && !r.deleted:
		r.fields.instruction(s)
	case r.skip == 0 && r.inText > 0:
		r.write(s)
	}
}

// write appends s and records where the text is unreadable.
func (r *docxReader) write(s string) {
	if r.fields.hide(s) || r.ruby.take(s) {
		return
	}
	code := ""
	if strings.TrimSpace(s) != "" {
		if r.file != nil && r.list.id != "" {
			s = r.file.lists.label(&r.list) + s
		}
		style := r.run
		if style.fill == "" {
			style.fill = r.ground.under()
		}
		code = style.code()
	}
	r.b.spans.write(r.b, s, code, hiddenDetail[code])
}

// finish ends elements left open by damage.
func (r *docxReader) finish() {
	for r.b.end(); len(r.b.saved) > r.base; r.b.end() {
		r.b.resume()
	}
	r.b.text(r.fields.unclosed())
	r.b.end()
}
