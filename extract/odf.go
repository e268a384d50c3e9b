package extract

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// readODF reads OpenDocument text and presentations.
func readODF(b *builder, data []byte) error {
	p, err := openZip(b, data)
	if err != nil {
		return err
	}
	if m, err := p.read("META-INF/manifest.xml"); err == nil && strings.Contains(string(m), "encryption-data") {
		return &Error{Code: Encrypted, Detail: "the document is password-protected"}
	}
	if !p.has("content.xml") {
		return &Error{Code: Damaged, Detail: "content.xml is missing"}
	}
	_ = p.part("meta.xml", true, func(d []byte) error { return walkXML(b, d, &coreProperties{b: b}) })
	r := newODFReader(b)
	r.parts = p
	_ = p.part("styles.xml", true, func(d []byte) error { return walkXML(b, d, &r.styles) })
	_ = p.part("content.xml", false, func(d []byte) error { return walkXML(b, d, r) })
	b.end()
	r.objects()
	h := &odfHeaders{}
	_ = p.part("styles.xml", true, func(d []byte) error { return walkXML(b, d, h) })
	for _, s := range []string{strings.TrimSpace(h.text.String()), strings.TrimSpace(r.declared.String())} {
		switch {
		case s == "":
		case utf8.RuneCountInString(s) <= shortHeader && b.any():
			b.flag(Flag{Code: FlagHeaders, Detail: "page headers and footers left out"})
			b.leave(FlagHeaders, s)
		default:
			b.place("page header or footer")
			b.plainParagraphs(s)
		}
	}
	p.countPictures("Pictures/")
	basic, _ := p.countBelow("Basic/")
	scripts, _ := p.countBelow("Scripts/")
	if basic+scripts > 0 {
		b.flag(Flag{Code: FlagMacro, Detail: "the document contains a macro, which can change what is shown"})
	}
	p.census(func(name string) bool {
		for _, piece := range []string{"settings.xml", "meta.xml", "styles.xml", "configurations2/", "thumbnails/",
			"objectreplacements/", "layout-cache",
			"basic/", "scripts/", "dialogs/", "current.xml"} {
			if strings.Contains(name, piece) {
				return true
			}
		}
		return false
	})
	return nil
}

// odfHeaders collects the text of page headers and footers, and the text common to all slides; the file stores both among the styles.
type odfHeaders struct {
	text   strings.Builder
	inside int
	holder int // nesting depth in elements with content that each slide fills in
}

func (h *odfHeaders) start(name string, a attrs) {
	if h.holder > 0 || name == "presentation:notes" || a.get("placeholder") == "true" {
		h.holder++
		return
	}
	if h.inside > 0 || name == "style:master-page" || strings.HasPrefix(name, "style:header") && name != "style:header-style" ||
		strings.HasPrefix(name, "style:footer") &&
			name != "style:footer-style" {
		h.inside++
	}
	if name == "text:page-number" || name == "text:page-count" {
		h.inside += 1 << 20 // the content is a changing number
	}
}

func (h *odfHeaders) stop(name string) {
	if h.holder > 0 {
		h.holder--
		return
	}
	if name == "text:page-number" || name == "text:page-count" {
		h.inside -= 1 << 20
	}
	if h.inside > 0 {
		h.inside--
		if name == "text:p" || name == "text:h" {
			h.text.WriteString("\n\n")
		}
	}
}

func (h *odfHeaders) chars(s string) {
	if h.holder == 0 && h.inside > 0 && h.inside < 1<<20 {
		h.text.WriteString(s)
	}
}

// odfStyles collects how each style displays text.
type odfStyles struct {
	styles map[string]odfStyle
	lists  map[string]map[string]odfLevel // by style and level
	id     string
	list   string
}

type odfStyle struct {
	base string
	set  runStyle
}

func (s *odfStyles) start(name string, a attrs) {
	switch name {
	case "text:list-style":
		s.list = a.get("name")
	case "text:outline-style":
		s.list = outlineList
	case "text:list-level-style-number", "text:outline-level-style":
		s.level(a)
	case "style:style":
		s.id = a.get("name")
		s.styles[s.id] = odfStyle{base: a.get("parent-style-name")}
	case "style:text-properties", "style:paragraph-properties", "style:table-cell-properties", "style:graphic-properties":
		if s.id != "" {
			st := s.styles[s.id]
			st.set.odfProperties(name, a)
			s.styles[s.id] = st
		}
	}
}

// odfProperties reads one element of properties.
func (r *runStyle) odfProperties(name string, a attrs) {
	switch bg := a.get("background-color"); bg {
	case "", "transparent":
	default:
		r.fill = readColour(bg)
	}
	switch name {
	case "style:graphic-properties":
		if f := a.get("fill"); f != "" && f != "none" {
			if r.fill = someShade; f == "solid" {
				r.fill = readColour(a.get("fill-color"))
			}
		}
	case "style:text-properties":
		if d := a.get("display"); d != "" {
			r.hidden = toggled(d == "none")
		}
		if c := a.get("color"); c != "" {
			r.foreground = readColour(c)
		}
		if a.get("use-window-font-color") == "true" {
			r.foreground = "auto"
		}
		if n, err := strconv.ParseFloat(strings.TrimSuffix(a.get("font-size"), "pt"), 64); err == nil {
			r.tiny = toggled(n <= tinyPoints)
		}
	}
}

func (s *odfStyles) stop(name string) {
	switch name {
	case "style:style":
		s.id = ""
	case "text:list-style", "text:outline-style":
		s.list = ""
	}
}
func (s *odfStyles) chars(string) {}

// style returns the properties that a style and its ancestors set.
func (s *odfStyles) style(id string, depth int) runStyle {
	st, ok := s.styles[id]
	if !ok || depth > maxBases {
		return runStyle{}
	}
	if st.base == "" {
		return st.set
	}
	return s.style(st.base, depth+1).over(st.set)
}

// odfReader reads content.xml.
type odfReader struct {
	b       *builder
	styles  odfStyles
	skip    int
	left    string     // flag for the skipped content; empty if it is not text
	meta    bool       // the element records who wrote something and when
	depth   int        // of open paragraphs
	open    []runStyle // per open element
	slide   int
	heading bool
	ruby    officeRuby

	parts    *parts   // nil for a single XML document
	after    []string // objects to be read after the paragraph
	within   int      // objects read as part of this one
	lists    []odfList
	outline  [10]int // number of headings so far on each level
	label    string  // label of the current item or heading
	declared strings.Builder
	declares bool
}

func newODFReader(b *builder) *odfReader {
	return &odfReader{b: b, styles: odfStyles{styles: map[string]odfStyle{}, lists: map[string]map[string]odfLevel{}}}
}

func odfSkipped(name string) bool {
	switch name {
	case "text:tracked-changes", "office:annotation", "text:note-citation", "office:scripts", "office:meta", "office:settings",
		"office:font-face-decls", "svg:desc", "text:index-title-template", "office:master-styles", "text:variable-decls", "text:sequence-decls":
		return true
	}
	return false
}

func (r *odfReader) start(name string, a attrs) {
	r.styles.start(name, a)
	if r.skip > 0 || odfSkipped(name) {
		if name == "text:tracked-changes" {
			r.b.flag(Flag{Code: FlagTracked, Detail: "deleted text of tracked changes left out"})
		}
		if name == "office:annotation" && r.skip == 0 {
			r.b.flag(Flag{Code: FlagComments, Detail: "comments are left out"})
		}
		if r.skip == 0 {
			r.left = map[string]string{"text:tracked-changes": FlagTracked, "office:annotation": FlagComments}[name]
		}
		r.meta = strings.HasPrefix(name, "dc:") || strings.HasPrefix(name, "meta:")
		r.skip++
		return
	}
	r.open = append(r.open, r.styleOf(name, a))
	switch name {
	case "text:p", "text:h":
		if r.depth > 0 {
			r.b.interrupt()
		} else {
			r.b.end()
		}
		r.depth++
		if r.heading = name == "text:h"; r.heading {
			r.headingLabel(a)
		}
	case "text:s":
		n, err := strconv.Atoi(a.get("c"))
		if err != nil || n < 1 {
			n = 1
		}
		r.write(strings.Repeat(" ", min(n, 1000)))
	case "text:tab":
		r.write("\t")
	case "text:line-break":
		r.b.line()
	case "text:ruby-base", "text:ruby-text":
		r.ruby.start(name, len(r.b.para))
	case "draw:page":
		r.slide++
		r.b.place(fmt.Sprintf("slide %d", r.slide))
	default:
		r.other(name, a)
	}
}

// styleOf returns the style of the text inside the element.
func (r *odfReader) styleOf(name string, a attrs) runStyle {
	var l runStyle
	if n := len(r.open); n > 0 {
		l = r.open[n-1]
	}
	if id := a.get("style-name"); id != "" {
		l = l.over(r.styles.style(id, 0))
	}
	if n := len(r.open); name == "text:hidden-paragraph" && a.get("is-hidden") == "true" && n > 0 {
		r.open[n-1].hidden = on
		r.b.spans.add(FlagHidden, hiddenDetail[FlagHidden], 0, len(r.b.para))
	}
	if name == "text:section" && (a.get("display") == "none" || a.get("is-hidden") == "true") {
		l.hidden = on
	}
	return l
}

func (r *odfReader) stop(name string) {
	r.styles.stop(name)
	if r.skip > 0 {
		r.skip--
		return
	}
	if n := len(r.open); n > 0 {
		r.open = r.open[:n-1]
	}
	switch name {
	case "text:ruby-text", "text:ruby":
		r.ruby.stop(name, r.b)
	case "text:p", "text:h":
		if r.heading && r.depth == 1 {
			if s := trimParagraph(string(r.b.para)); s != "" && r.slide == 0 {
				r.b.label = "section " + cleanTitle(s)
			}
		}
		r.heading = false
		r.b.end()
		if r.depth = max(0, r.depth-1); r.depth > 0 {
			r.b.resume()
		} else {
			r.objectsAfter()
		}
	case "text:list":
		r.lists = r.lists[:max(0, len(r.lists)-1)]
	case "presentation:header-decl", "presentation:footer-decl":
		r.declares = false
	}
}

func (r *odfReader) chars(s string) {
	if r.declares && r.declared.Len() < 1<<20 {
		r.declared.WriteString(s + "\n\n")
	}
	if r.skip > 0 && r.left != "" && !r.meta {
		r.b.leave(r.left, s)
	}
	if r.skip > 0 || r.depth == 0 {
		return
	}
	s = strings.Map(func(c rune) rune {
		if isFlowSpace(c) {
			return ' '
		}
		return c
	}, s)
	for strings.Contains(s, "  ") { // white space in the file counts as one space; further spaces are text:s
		s = strings.ReplaceAll(s, "  ", " ")
	}
	r.write(s)
}

func (r *odfReader) write(s string) {
	if r.ruby.take(s) {
		return
	}
	code := ""
	if n := len(r.open); n > 0 && strings.TrimSpace(s) != "" {
		code = r.open[n-1].code()
		s, r.label = r.label+s, ""
	}
	r.b.spans.write(r.b, s, code, hiddenDetail[code])
}

var hiddenDetail = map[string]string{
	FlagHidden:  "text formatted as hidden",
	FlagWhite:   "text in the colour of the background",
	FlagTiny:    "text of 2 points or less",
	FlagOffPage: "text outside the slide",
}
