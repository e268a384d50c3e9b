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
		return &Error{Code: Damaged, Detail: "no content.xml in it"}
	}
	_ = p.part("meta.xml", true, func(d []byte) error { return walkXML(b, d, &coreProperties{b: b}) })
	r := newODFReader(b)
	_ = p.part("styles.xml", true, func(d []byte) error { return walkXML(b, d, &odfStyles{r: r}) })
	_ = p.part("content.xml", false, func(d []byte) error { return walkXML(b, d, r) })
	b.end()
	h := &odfHeaders{}
	_ = p.part("styles.xml", true, func(d []byte) error { return walkXML(b, d, h) })
	switch s := strings.TrimSpace(h.text.String()); {
	case s == "":
	case utf8.RuneCountInString(s) <= shortHeader && b.any():
		b.flag(Flag{Code: FlagHeaders, Detail: "page headers and footers left out"})
	default:
		b.place("page header or footer")
		b.plainParagraphs(s)
	}
	p.countPictures("Pictures/")
	return nil
}

// odfHeaders gathers the text of page headers and footers, which stand among the styles.
type odfHeaders struct {
	text   strings.Builder
	inside int
}

func (h *odfHeaders) start(name string, _ attrs) {
	if h.inside > 0 || strings.HasPrefix(name, "style:header") && name != "style:header-style" || strings.HasPrefix(name, "style:footer") && name != "style:footer-style" {
		h.inside++
	}
	if name == "text:page-number" || name == "text:page-count" {
		h.inside += 1 << 20 // what stands inside is a number that changes
	}
}

func (h *odfHeaders) stop(name string) {
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
	if h.inside > 0 && h.inside < 1<<20 {
		h.text.WriteString(s)
	}
}

// odfStyles gathers the styles that make text unreadable.
type odfStyles struct {
	r  *odfReader
	id string
}

func (s *odfStyles) start(name string, a attrs) {
	switch name {
	case "style:style":
		s.id = a.get("name")
	case "style:text-properties":
		if s.id == "" {
			return
		}
		bg := a.get("background-color")
		switch {
		case a.get("display") == "none":
			s.r.bad[s.id] = FlagHidden
		case isWhite(a.get("color")) && (bg == "" || bg == "transparent" || isWhite(bg)):
			s.r.bad[s.id] = FlagWhite
		default:
			if n, err := strconv.ParseFloat(strings.TrimSuffix(a.get("font-size"), "pt"), 64); err == nil && n <= tinyPoints {
				s.r.bad[s.id] = FlagTiny
			}
		}
	}
}

func (s *odfStyles) stop(name string) {
	if name == "style:style" {
		s.id = ""
	}
}
func (s *odfStyles) chars(string) {}

// odfReader reads content.xml.
type odfReader struct {
	b       *builder
	styles  odfStyles
	bad     map[string]string // style -> flag code
	skip    int
	depth   int      // of open paragraphs
	saved   [][]byte // paragraphs interrupted by a note or a frame
	codes   []string // flag code in force, per open element
	slide   int
	heading bool
}

func newODFReader(b *builder) *odfReader {
	r := &odfReader{b: b, bad: map[string]string{}}
	r.styles.r = r
	return r
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
		r.skip++
		return
	}
	r.codes = append(r.codes, r.codeOf(a))
	switch name {
	case "text:p", "text:h":
		if r.depth > 0 {
			r.saved = append(r.saved, append([]byte(nil), r.b.para...))
			r.b.para = r.b.para[:0]
		} else {
			r.b.end()
		}
		r.depth++
		r.heading = name == "text:h"
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
	case "draw:page":
		r.slide++
		r.b.place(fmt.Sprintf("slide %d", r.slide))
	}
}

// codeOf is the flag code of the element's own style, or that of its parent.
func (r *odfReader) codeOf(a attrs) string {
	if c := r.bad[a.get("style-name")]; c != "" {
		return c
	}
	if n := len(r.codes); n > 0 {
		return r.codes[n-1]
	}
	return ""
}

func (r *odfReader) stop(name string) {
	r.styles.stop(name)
	if r.skip > 0 {
		r.skip--
		return
	}
	if n := len(r.codes); n > 0 {
		r.codes = r.codes[:n-1]
	}
	switch name {
	case "text:p", "text:h":
		if r.heading && r.depth == 1 {
			if s := trimParagraph(string(r.b.para)); s != "" && r.slide == 0 {
				r.b.label = "section " + cleanTitle(s)
			}
		}
		r.heading = false
		r.b.end()
		if r.depth = max(0, r.depth-1); r.depth > 0 && len(r.saved) > 0 {
			n := len(r.saved)
			r.b.para = append(r.b.para[:0], r.saved[n-1]...)
			r.saved = r.saved[:n-1]
		}
	}
}

func (r *odfReader) chars(s string) {
	if r.skip > 0 || r.depth == 0 {
		return
	}
	s = strings.Map(func(c rune) rune {
		if isFlowSpace(c) {
			return ' '
		}
		return c
	}, s)
	for strings.Contains(s, "  ") { // white space in the file is one space; more is text:s
		s = strings.ReplaceAll(s, "  ", " ")
	}
	r.write(s)
}

func (r *odfReader) write(s string) {
	code := ""
	if n := len(r.codes); n > 0 && strings.TrimSpace(s) != "" {
		code = r.codes[n-1]
	}
	r.b.spans.write(r.b, s, code, hiddenDetail[code])
}

var hiddenDetail = map[string]string{
	FlagHidden: "text formatted as hidden",
	FlagWhite:  "text in white",
	FlagTiny:   "text of 2 points or less",
}
