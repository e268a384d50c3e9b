package extract

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode"
)

// odfLevel describes the labels for a level of a list or of headings (OpenDocument 1.3 part 3, section 16.34).
type odfLevel struct {
	prefix, suffix, format string
	start                  int
}

// odfList is an open list.
type odfList struct {
	style string
	count int
}

// outlineList is the key for the numbering of headings among the list styles.
const outlineList = "\x00"

// level reads the label format of a level.
func (s *odfStyles) level(a attrs) {
	if s.lists[s.list] == nil {
		s.lists[s.list] = map[string]odfLevel{}
	}
	start, err := strconv.Atoi(a.get("start-value"))
	if err != nil {
		start = 1
	}
	s.lists[s.list][a.get("level")] = odfLevel{a.get("num-prefix"), a.get("num-suffix"), a.get("num-format"), start}
}

// labelOf returns the label of the n-th item on a level, followed by a blank, if the label contains a word; numbers and bullets alone are
// not text.
func (s *odfStyles) labelOf(style string, level, n int) string {
	l, ok := s.lists[style][strconv.Itoa(level)]
	if !ok || strings.IndexFunc(l.prefix+l.suffix, unicode.IsLetter) < 0 {
		return ""
	}
	number := ""
	if l.format != "" {
		formats := map[string]string{"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
		number = listNumber(formats[l.format], n+l.start-1)
	}
	return l.prefix + number + l.suffix + " "
}

func (r *odfReader) headingLabel(a attrs) {
	level, err := strconv.Atoi(a.get("outline-level"))
	if err != nil || level < 1 || level >= len(r.outline) {
		return
	}
	r.outline[level]++
	clear(r.outline[level+1:])
	r.label = r.styles.labelOf(outlineList, level, r.outline[level])
}

// other reads an element that is not a paragraph.
func (r *odfReader) other(name string, a attrs) {
	switch name {
	case "text:list":
		style := a.get("style-name")
		if n := len(r.lists); style == "" && n > 0 {
			style = r.lists[n-1].style
		}
		r.lists = append(r.lists, odfList{style: style})
	case "text:list-item":
		if n := len(r.lists); n > 0 {
			r.lists[n-1].count++
			r.label = r.styles.labelOf(r.lists[n-1].style, n, r.lists[n-1].count)
		}
	case "text:hidden-text":
		if s := a.get("string-value"); strings.TrimSpace(s) != "" {
			r.b.spans.write(r.b, s, FlagHidden, hiddenDetail[FlagHidden])
		}
	case "text:section-source":
		if href := a.get("href"); href != "" {
			r.b.flag(Flag{Code: FlagPart, Detail: "a section is linked to another file; only the text stored in the document is read"})
		}
	case "table:table":
		if n := a.get("name"); r.b.res.Format == string(ODS) && n != "" {
			r.b.place("sheet " + cleanTitle(n))
		}
	case "draw:object", "draw:object-ole":
		r.object(a.get("href"))
	case "presentation:header-decl", "presentation:footer-decl":
		r.declares = true
	case "form:hidden", "form:password":
	default:
		if strings.HasPrefix(name, "form:") {
			r.control(a)
		}
	}
}

// control writes what a form control displays.
func (r *odfReader) control(a attrs) {
	value := a.get("current-value")
	if value == "" {
		value = a.get("value")
	}
	for _, s := range []string{a.get("label"), value} {
		if r.depth == 0 && strings.IndexFunc(s, unicode.IsLetter) >= 0 {
			r.b.end()
			r.b.text(s)
			r.b.end()
		}
	}
}

// object records an object of the document to be read after the paragraph.
func (r *odfReader) object(href string) {
	switch name := strings.TrimPrefix(path.Clean("/"+strings.TrimPrefix(href, "./")), "/"); {
	case href == "" || r.parts == nil: // the object is inline
	case !r.parts.has(name) && !r.parts.has(name+"/content.xml"):
		r.b.partial(FlagPart, "a linked object is not in the file")
	case r.depth == 0:
		r.read(name)
	default:
		r.after = append(r.after, name)
	}
}

func (r *odfReader) objectsAfter() {
	for _, name := range r.after {
		r.read(name)
	}
	r.after = r.after[:0]
}

// objects reads the objects that nothing refers to.
func (r *odfReader) objects() {
	r.objectsAfter()
	for _, f := range r.parts.zip.File {
		if dir, isContent := strings.CutSuffix(strings.TrimPrefix(f.Name, "./"), "/content.xml"); isContent && !r.parts.wasRead(f.Name) {
			r.read(dir)
		}
	}
}

// read reads one object: a text, a chart, a formula, or a file from another program.
func (r *odfReader) read(name string) {
	content := name + "/content.xml"
	switch {
	case r.parts.wasRead(content) || r.parts.wasRead(name):
		return
	case !r.parts.has(content):
		r.parts.embeddedObject(name)
		return
	case r.within >= r.b.opt.MaxNesting:
		r.b.partial(FlagPart, fmt.Sprintf("objects nested in objects, more than %d deep", r.b.opt.MaxNesting))
		return
	}
	_ = r.parts.part(content, false, func(d []byte) error {
		inner := newODFReader(r.b)
		inner.parts, inner.within = r.parts, r.within+1
		if isMathML(d) {
			err := walkXML(r.b, d, &formulaReader{b: r.b})
			r.b.end()
			return err
		}
		err := walkXML(r.b, d, inner)
		r.b.end()
		return err
	})
}

// isMathML reports whether an object is a MathML formula.
func isMathML(data []byte) bool {
	head := string(data[:min(len(data), 1000)])
	return strings.Contains(head, "http://www.w3.org/1998/Math/MathML") && !strings.Contains(head, "<office:")
}

// formulaReader writes the letters and signs of a formula, without its source.
type formulaReader struct {
	b    *builder
	skip int
}

func (r *formulaReader) start(name string, _ attrs) {
	if r.skip > 0 || local(name) == "annotation" || local(name) == "annotation-xml" {
		r.skip++
	}
}

func (r *formulaReader) stop(string) { r.skip = max(0, r.skip-1) }

func (r *formulaReader) chars(s string) {
	if r.skip == 0 {
		r.b.flow(s)
	}
}
