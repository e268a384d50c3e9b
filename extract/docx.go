package extract

import (
	"path"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// readDOCX reads Word's XML format: body, foot- and endnotes, text boxes; deleted text of tracked
// changes is left out and flagged.
func readDOCX(b *builder, data []byte) error {
	p, err := openZip(b, data)
	if err != nil {
		return err
	}
	main := p.mainPart("word/document.xml")
	if !p.has(main) {
		return &Error{Code: Damaged, Detail: "no main document part"}
	}
	_ = p.part("docProps/core.xml", true, func(d []byte) error { return walkXML(b, d, &coreProperties{b: b}) })
	dir := path.Dir(main)
	styles := newDocxStyles()
	ground := docxGround{styles: styles}
	_ = p.part(dir+"/styles.xml", true, func(d []byte) error { return walkXML(b, d, styles) })
	_ = p.part(dir+"/settings.xml", true, func(d []byte) error { return walkXML(b, d, &docxSettings{&ground}) })
	body := func(d []byte) error {
		r := &docxReader{b: b, styles: styles, ground: ground}
		err := walkXML(b, d, r)
		r.finish()
		return err
	}
	_ = p.part(main, false, body)
	for _, n := range []string{"footnotes", "endnotes"} {
		if p.has(dir + "/" + n + ".xml") {
			b.place(n)
			_ = p.part(dir+"/"+n+".xml", true, body)
		}
	}
	p.pageHeaders(dir, body)
	if p.has(dir + "/vbaProject.bin") {
		b.flag(Flag{Code: FlagMacro, Detail: "the document holds a macro, which can change what is shown"})
	}
	p.countPictures(dir + "/media/")
	p.countEmbedded(dir + "/embeddings/")
	return nil
}

// mainPart follows the package's own pointer to the main part, or takes the usual name.
func (p *parts) mainPart(usual string) string {
	found := ""
	data, err := p.read("_rels/.rels")
	if err == nil {
		r := &relReader{use: func(kind, target string) {
			if strings.HasSuffix(kind, "/officeDocument") && found == "" {
				found = strings.TrimPrefix(path.Clean("/"+target), "/")
			}
		}}
		_ = walkXML(p.b, data, r) // a damaged pointer leaves the usual name
	}
	if found == "" || !p.has(found) {
		return usual
	}
	return found
}

// relReader reads a relationships part.
type relReader struct {
	use func(kind, target string)
}

func (r *relReader) start(name string, a attrs) {
	if strings.HasSuffix(name, ":Relationship") {
		r.use(a.get("Type"), a.get("Target"))
	}
}
func (r *relReader) stop(string)  {}
func (r *relReader) chars(string) {}

// shortHeader is the length, in characters, up to which a page header or footer is taken for a
// running title; longer text is content and is kept.
const shortHeader = 200

// pageHeaders leaves out short headers and footers, as for PDF, and keeps long ones.
func (p *parts) pageHeaders(dir string, body func([]byte) error) {
	var names []string
	for n := range p.byName {
		if base := path.Base(n); path.Dir(n) == strings.ToLower(dir) &&
			(strings.HasPrefix(base, "header") || strings.HasPrefix(base, "footer")) && strings.HasSuffix(base, ".xml") {
			names = append(names, n)
		}
	}
	sort.Strings(names)
	for _, n := range names {
		_ = p.part(n, true, func(d []byte) error {
			probe := newBuilder(DOCX, p.b.opt, p.b.lim)
			none := newDocxStyles()
			r := &docxReader{b: probe, styles: none, ground: docxGround{styles: none}}
			err := walkXML(probe, d, r)
			r.finish()
			s := strings.TrimSpace(probe.out.String())
			switch {
			case s == "":
			case utf8.RuneCountInString(s) <= shortHeader && p.b.any():
				p.b.flag(Flag{Code: FlagHeaders, Detail: "page headers and footers left out"})
			default:
				p.b.place("page header or footer")
				return body(d)
			}
			return err
		})
	}
}

// countEmbedded flags objects below dir.
func (p *parts) countEmbedded(dir string) {
	if n := p.countBelow(dir); n > 0 {
		p.b.flag(Flag{Code: FlagAttachment, Detail: "embedded objects: documents are read as members, others are not read", Count: n})
	}
}

// countPictures flags pictures below dir: they may hold text that is not read.
func (p *parts) countPictures(dir string) {
	if n := p.countBelow(dir); n > 0 {
		p.b.flag(Flag{Code: FlagPictures, Detail: "pictures are not read; text in them is not checked", Count: n})
	}
}

// isOn reads an on-off property: present means on unless its value says off.
func isOn(a attrs) bool {
	switch a.get("val") {
	case "0", "false", "off", "none":
		return false
	}
	return true
}

func (p *parts) countBelow(dir string) int {
	n := 0
	for name := range p.byName {
		if strings.HasPrefix(name, strings.ToLower(dir)) && !strings.HasSuffix(name, "/") {
			n++
		}
	}
	return n
}

// docxReader reads one part of running text.
type docxReader struct {
	b       *builder
	styles  *docxStyles
	skip    int // depth inside elements that are not text
	inText  int // inside w:t, m:t
	inRPr   int
	inCell  int      // inside the properties of a table cell
	run     runStyle // of the run being read
	para    runStyle // of the paragraph
	ground  docxGround
	heading int
	start0  int // offset at which the heading began
	ruby    officeRuby
	drop    bool // the paragraph is a letter set large before the next one
}

// docxSkipped are elements whose text is not part of the document as shown.
func docxSkipped(name string) bool {
	switch name {
	case "w:del", "w:moveFrom", "w:instrText", "w:delText", "w:delInstrText", "mc:Fallback", "w:pict-skip", "w:sdtPr":
		return true
	}
	return false
}

func (r *docxReader) start(name string, a attrs) {
	if r.skip > 0 || docxSkipped(name) {
		if r.skip == 0 && (name == "w:del" || name == "w:moveFrom") {
			r.b.flag(Flag{Code: FlagTracked, Detail: "deleted text of tracked changes left out"})
		}
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
		r.heading, r.para = 0, r.styles.paragraph("")
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
		r.property(name, a)
	}
}

func (r *docxReader) paragraphStyle(id string) {
	r.para = r.styles.paragraph(id)
	r.heading = r.styles.level[id]
	if r.heading == 0 && strings.HasPrefix(strings.ToLower(id), "heading") {
		r.heading = 1
	}
}

// property reads what makes a run unreadable, and the ground it stands on.
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

// tinyPoints is the type size, in points, up to which nobody reads.
const tinyPoints = 2

// symbol writes a character given by its code, unless it is a private one of a symbol font.
func (r *docxReader) symbol(a attrs) {
	n, err := strconv.ParseUint(a.get("char"), 16, 32)
	if err == nil && (n < 0xe000 || n > 0xf8ff) && n >= 0x20 {
		r.write(string(rune(n)))
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
	case "w:t", "m:t":
		r.inText = max(0, r.inText-1)
	case "w:bdo", "w:dir":
		r.b.text(string(bidiPDF))
	case "w:rt", "w:ruby":
		r.ruby.stop(name, r.b)
	case "w:txbxContent":
		r.b.end()
		r.b.resume()
	case "w:tc", "w:tr", "w:tbl":
		if len(r.b.saved) == 0 {
			r.b.end()
		}
	}
}

func (r *docxReader) endParagraph() {
	if r.heading > 0 {
		if s := trimParagraph(string(r.b.para)); s != "" && len(r.b.saved) == 0 {
			r.b.label = "section " + cleanTitle(s)
		}
		r.heading = 0
	}
	if r.drop = r.drop && len(r.b.para) > 0 && countLetters(string(r.b.para)) <= maxDropped; !r.drop {
		r.b.end()
	}
}

// maxDropped is the number of letters up to which a frame holds the beginning of a word, set large.
const maxDropped = 3

func (r *docxReader) chars(s string) {
	if r.skip == 0 && r.inText > 0 {
		r.write(s)
	}
}

// write adds s and remembers where unreadable text stands.
func (r *docxReader) write(s string) {
	if r.ruby.take(s) {
		return
	}
	code := ""
	if strings.TrimSpace(s) != "" {
		style := r.run
		if style.fill == "" {
			style.fill = r.ground.under()
		}
		code = style.code()
	}
	r.b.spans.write(r.b, s, code, hiddenDetail[code])
}

// finish ends what damage left open.
func (r *docxReader) finish() {
	for r.b.end(); len(r.b.saved) > 0; r.b.end() {
		r.b.resume()
	}
}
