package extract

import (
	"fmt"
	"path"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// readPPTX reads the slides of PowerPoint's XML format in presentation order, each with its notes.
func readPPTX(b *builder, data []byte) error {
	p, err := openZip(b, data)
	if err != nil {
		return err
	}
	p.coreProperties()
	main := p.mainPart("ppt/presentation.xml")
	slides := p.slideOrder(main)
	if len(slides) == 0 {
		return &Error{Code: Empty, Detail: "the presentation contains no slides"}
	}
	var size slideSize
	_ = p.part(main, true, func(d []byte) error { return walkXML(b, d, &size) })
	read := func(d []byte) error { return walkSlide(b, d, size) }
	comments := false
	for i, s := range slides {
		b.place(fmt.Sprintf("slide %d", i+1))
		_ = p.part(s, false, read)
		p.graphics(s)
		for _, t := range p.targets(s, "", "comments") {
			comments = true
			_ = p.part(t, true, read)
		}
		for _, t := range p.targets(s, "", "notesSlide") {
			b.place(fmt.Sprintf("slide %d, notes", i+1))
			_ = p.part(t, true, read)
			p.graphics(t)
		}
		p.embeddedObjects(s)
	}
	p.looseObjects()
	p.slideGrounds(slides, size)
	if p.has("ppt/vbaProject.bin") {
		b.flag(Flag{Code: FlagMacro, Detail: "the document contains a macro, which can change what is shown"})
	}
	p.countPictures("ppt/media/")
	p.census(func(name string) bool {
		for _, piece := range []string{"theme", "presprops", "viewprops", "tablestyles", "vba", "authors", "printersettings", "handoutmaster",
			"notesmaster", "tags/", "slidelayouts/", "slidemasters/", "diagrams/layout", "diagrams/colors", "diagrams/quickstyle", "charts/style",
			"charts/colors", "revisioninfo", "changesinfos"} {
			if strings.Contains(name, piece) {
				return true
			}
		}
		return strings.Contains(name, "/embeddings/") && p.chartData()[name] || !comments && strings.Contains(name, "comments")
	})
	return nil
}

// walkSlide reads the text of a slide, of its notes or of a diagram.
func walkSlide(b *builder, data []byte, size slideSize) error {
	err := walkXML(b, data, &slideReader{b: b, size: size})
	b.end()
	return err
}

// slideGrounds reads the text that layouts and masters put on every slide based on them; it leaves out short text, as it would a page
// header.
func (p *parts) slideGrounds(slides []string, size slideSize) {
	read := func(name string) {
		_ = p.part(name, true, func(d []byte) error {
			probe := newBuilder(PPTX, p.b.opt, p.b.lim)
			err := walkXML(probe, d, &slideReader{b: probe, size: size, ground: true})
			probe.end()
			switch s := strings.TrimSpace(probe.out.String()); {
			case s == "":
			case utf8.RuneCountInString(s) <= shortHeader && p.b.any():
				p.b.flag(Flag{Code: FlagHeaders, Detail: "page headers and footers left out"})
				p.b.leave(FlagHeaders, s)
				p.b.takeLeft(probe)
			default:
				p.b.place("layout of slides")
				p.b.unlessThere(s)
				p.b.takeLeft(probe)
			}
			return err
		})
	}
	for _, s := range slides {
		for _, layout := range p.targets(s, "", "slideLayout") {
			if p.wasRead(layout) {
				continue
			}
			read(layout)
			for _, master := range p.targets(layout, "", "slideMaster") {
				if !p.wasRead(master) {
					read(master)
				}
			}
		}
	}
}

// slideOrder returns the part names of the slides in presentation order, or by number if that order is damaged.
func (p *parts) slideOrder(main string) []string {
	byID := map[string]string{}
	for _, r := range p.relations(main) {
		if r.kind == "slide" && !r.external {
			byID[r.id] = r.target
		}
	}
	var order []string
	if data, err := p.read(main); err == nil {
		_ = walkXML(p.b, data, &slideList{use: func(id string) {
			if s := byID[id]; s != "" && p.has(s) {
				order = append(order, s)
			}
		}})
	}
	if len(order) > 0 {
		return order
	}
	for n := range p.byName {
		if strings.HasPrefix(n, "ppt/slides/slide") && strings.HasSuffix(n, ".xml") {
			order = append(order, n)
		}
	}
	sort.Slice(order, func(i, j int) bool { return partNumber(order[i]) < partNumber(order[j]) })
	return order
}

// partNumber returns the number at the end of a part's base name, for example 12 of slide12.xml.
func partNumber(name string) int {
	s := strings.TrimSuffix(path.Base(name), ".xml")
	n, err := strconv.Atoi(strings.TrimLeftFunc(s, func(r rune) bool { return r < '0' || r > '9' }))
	if err != nil {
		return 0
	}
	return n
}

// slideList reads the ids of the slides in presentation order.
type slideList struct {
	use func(id string)
}

func (r *slideList) start(name string, a attrs) {
	if name == "p:sldId" {
		for _, x := range a.list {
			if x.Name.Local == "id" && x.Name.Space != "" {
				r.use(x.Value)
			}
		}
	}
}
func (r *slideList) stop(string)  {}
func (r *slideList) chars(string) {}

// slideReader reads the text of a slide, a notes page or a diagram.
type slideReader struct {
	b      *builder
	skip   int
	inText int
	rPr    bool
	tiny   bool
	slide  bool // the slide is hidden in the presentation
	shape  slideShape
	groups int  // nesting depth in groups of shapes, which have their own coordinates
	ground bool // a layout or master, whose placeholders are not displayed
	holder bool // inside a placeholder
	size   slideSize
}

// slideSize is the size of all slides, in English Metric Units; 0 if unknown.
type slideSize struct{ width, height int64 }

// slideShape is the current shape.
type slideShape struct {
	hidden, off bool
	x, y        int64
}

func (s *slideSize) start(name string, a attrs) {
	if name == "p:sldSz" {
		s.width, _ = strconv.ParseInt(a.get("cx"), 10, 64) // 0 if it is damaged
		s.height, _ = strconv.ParseInt(a.get("cy"), 10, 64)
	}
}
func (s *slideSize) stop(string)  {}
func (s *slideSize) chars(string) {}

// place reads the properties that can hide a slide or a shape.
func (r *slideReader) place(name string, a attrs) {
	switch name {
	case "p:sld":
		r.slide = a.get("show") == "0" || a.get("show") == "false"
	case "p:grpSp":
		r.groups++
	case "p:sp", "p:graphicFrame", "p:pic":
		r.shape, r.holder = slideShape{}, false
	case "p:ph":
		r.holder = true
	case "p:cNvPr":
		r.shape.hidden = a.get("hidden") == "1" || a.get("hidden") == "true"
	case "a:off":
		r.shape.x, _ = strconv.ParseInt(a.get("x"), 10, 64)
		r.shape.y, _ = strconv.ParseInt(a.get("y"), 10, 64)
	case "a:ext":
		w, errW := strconv.ParseInt(a.get("cx"), 10, 64)
		h, errH := strconv.ParseInt(a.get("cy"), 10, 64)
		if errW == nil && errH == nil && r.groups == 0 && r.size.width > 0 {
			s := &r.shape
			s.off = s.x > r.size.width || s.y > r.size.height || s.x+w < 0 || s.y+h < 0
		}
	}
}

func (r *slideReader) start(name string, a attrs) {
	if r.skip > 0 || name == "a:fld" && strings.HasPrefix(a.get("type"), "slidenum") {
		r.skip++
		return
	}
	r.place(name, a)
	switch name {
	case "a:p":
		r.b.end()
	case "a:r", "a:fld":
		r.tiny = false
	case "a:rPr":
		r.rPr = true
		n, err := strconv.Atoi(a.get("sz")) // hundredths of a point
		r.tiny = err == nil && n <= 100*tinyPoints
	case "a:t", "m:t", "p:text":
		r.inText++
		if name == "p:text" {
			r.b.end()
		}
	case "a:br":
		r.b.line()
	case "a:tab":
		r.b.text("\t")
	}
}

func (r *slideReader) stop(name string) {
	if r.skip > 0 {
		r.skip--
		return
	}
	switch name {
	case "a:p", "p:text":
		r.b.end()
		if name == "p:text" {
			r.inText = max(0, r.inText-1)
		}
	case "a:rPr":
		r.rPr = false
	case "p:grpSp":
		r.groups = max(0, r.groups-1)
	case "a:t", "m:t":
		r.inText = max(0, r.inText-1)
	}
}

func (r *slideReader) chars(s string) {
	if r.skip > 0 { // the number of the slide
		r.b.leave(FlagHeaders, s)
	}
	if r.skip > 0 || r.inText == 0 || r.ground && r.holder {
		return
	}
	code := ""
	switch {
	case strings.TrimSpace(s) == "":
	case r.slide, r.shape.hidden:
		code = FlagHidden
	case r.shape.off:
		code = FlagOffPage
	case r.tiny:
		code = FlagTiny
	}
	r.b.spans.write(r.b, s, code, hiddenDetail[code])
}
