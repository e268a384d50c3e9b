package extract

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// xmlReader receives the elements of an XML part. Names are "prefix:local" with the prefix from namespaces below, whatever prefix the
// file uses.
type xmlReader interface {
	start(name string, attr attrs)
	stop(name string)
	chars(s string)
}

// attrs are the attributes of one element.
type attrs struct {
	list []xml.Attr
}

// get returns the attribute with the given local name, or "".
func (a attrs) get(local string) string {
	for _, x := range a.list {
		if x.Name.Local == local {
			return x.Value
		}
	}
	return ""
}

// namespaces maps each namespace known to the readers to its short prefix. Strict and transitional OOXML differ only in these addresses.
var namespaces = map[string]string{
	"http://schemas.openxmlformats.org/wordprocessingml/2006/main":              "w",
	"http://purl.oclc.org/ooxml/wordprocessingml/main":                          "w",
	"http://schemas.openxmlformats.org/drawingml/2006/main":                     "a",
	"http://purl.oclc.org/ooxml/drawingml/main":                                 "a",
	"http://schemas.openxmlformats.org/presentationml/2006/main":                "p",
	"http://purl.oclc.org/ooxml/presentationml/main":                            "p",
	"http://schemas.openxmlformats.org/officeDocument/2006/math":                "m",
	"http://purl.oclc.org/ooxml/officeDocument/math":                            "m",
	"http://schemas.openxmlformats.org/markup-compatibility/2006":               "mc",
	"http://schemas.openxmlformats.org/drawingml/2006/diagram":                  "dgm",
	"http://schemas.openxmlformats.org/drawingml/2006/chart":                    "c",
	"http://purl.oclc.org/ooxml/drawingml/diagram":                              "dgm",
	"http://purl.oclc.org/ooxml/drawingml/chart":                                "c",
	"http://purl.org/dc/terms/":                                                 "dcterms",
	"http://schemas.microsoft.com/office/drawing/2014/chartex":                  "cx",
	"http://schemas.openxmlformats.org/officeDocument/2006/relationships":       "r",
	"http://purl.oclc.org/ooxml/officeDocument/relationships":                   "r",
	"http://schemas.openxmlformats.org/drawingml/2006/wordprocessingDrawing":    "wp",
	"http://purl.oclc.org/ooxml/drawingml/wordprocessingDrawing":                "wp",
	"http://schemas.openxmlformats.org/drawingml/2006/picture":                  "pic",
	"http://schemas.openxmlformats.org/drawingml/2006/lockedCanvas":             "lc",
	"http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing":       "xdr",
	"http://schemas.openxmlformats.org/spreadsheetml/2006/main":                 "x",
	"urn:oasis:names:tc:opendocument:xmlns:form:1.0":                            "form",
	"http://www.w3.org/1998/Math/MathML":                                        "math",
	"http://schemas.openxmlformats.org/package/2006/metadata/core-properties":   "cp",
	"http://purl.org/dc/elements/1.1/":                                          "dc",
	"urn:oasis:names:tc:opendocument:xmlns:text:1.0":                            "text",
	"urn:oasis:names:tc:opendocument:xmlns:office:1.0":                          "office",
	"urn:oasis:names:tc:opendocument:xmlns:table:1.0":                           "table",
	"urn:oasis:names:tc:opendocument:xmlns:drawing:1.0":                         "draw",
	"urn:oasis:names:tc:opendocument:xmlns:presentation:1.0":                    "presentation",
	"urn:oasis:names:tc:opendocument:xmlns:style:1.0":                           "style",
	"urn:oasis:names:tc:opendocument:xmlns:meta:1.0":                            "meta",
	"urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0":                  "svg",
	"http://openoffice.org/2000/text":                                           "text",
	"http://openoffice.org/2000/office":                                         "office",
	"http://www.gribuser.ru/xml/fictionbook/2.0":                                "fb",
	"urn:schemas-microsoft-com:vml":                                             "v",
	"http://schemas.microsoft.com/office/word/2003/wordml":                      "w",
	"http://www.idpf.org/2007/opf":                                              "opf",
	"urn:oasis:names:tc:opendocument:xmlns:container":                           "ocf",
	"http://schemas.openxmlformats.org/package/2006/relationships":              "rel",
	"http://schemas.openxmlformats.org/officeDocument/2006/extended-properties": "ep",
}

// unknownNamespace represents any namespace missing from the tables here.
const unknownNamespace = "?"

// officeExtensions lists the namespaces beyond the standard that current office programs understand, so that they display a Choice that
// requires one (ECMA-376 part 3, section 7.6; [MS-DOCX] and [MS-PPTX], section 2.1).
var officeExtensions = func() map[string]bool {
	out := map[string]bool{"urn:schemas-microsoft-com:office:office": true, "urn:schemas-microsoft-com:office:word": true,
		"urn:schemas-microsoft-com:office:powerpoint": true, "urn:schemas-microsoft-com:office:excel": true}
	for _, s := range []string{"word/2010/wordml", "word/2010/wordprocessingShape", "word/2010/wordprocessingGroup",
		"word/2010/wordprocessingCanvas", "word/2010/wordprocessingInk", "word/2010/wordprocessingDrawing", "word/2006/wordml",
		"word/2012/wordml", "word/2015/wordml/symex", "word/2016/wordml/cid", "word/2018/wordml", "word/2018/wordml/cex",
		"word/2020/wordml/sdtdatahash", "word/2023/wordml/word16du", "drawing/2010/main", "drawing/2012/main", "drawing/2013/main/command",
		"drawing/2014/main", "drawing/2016/11/main", "drawing/2016/ink", "drawing/2016/SVG/main", "drawing/2017/model3d",
		"drawing/2018/sketchyshapes", "drawing/2008/diagram", "drawing/2010/chartDrawing", "drawing/2007/8/2/chart", "drawing/2012/chart",
		"drawing/2014/chart", "drawing/2017/03/chart", "drawing/2015/9/8/chartex", "drawing/2015/10/21/chartex",
		"drawing/2016/5/9/chartex", "drawing/2016/5/10/chartex", "drawing/2016/5/11/chartex", "drawing/2016/5/12/chartex",
		"drawing/2016/5/13/chartex", "drawing/2016/5/14/chartex", "drawing/2010/slicer", "drawing/2012/slicer", "drawing/2010/picture",
		"powerpoint/2010/main", "powerpoint/2012/main", "powerpoint/2013/main", "powerpoint/2015/main", "powerpoint/2015/09/main",
		"powerpoint/2016/slidezoom", "powerpoint/2017/10/main", "powerpoint/2018/8/main", "spreadsheetml/2009/9/main",
		"spreadsheetml/2009/9/ac", "spreadsheetml/2010/11/main", "spreadsheetml/2010/11/ac", "spreadsheetml/2014/revision",
		"spreadsheetml/2015/02/main", "spreadsheetml/2014/11/main", "spreadsheetml/2016/revision3", "excel/2006/main"} {
		out["http://schemas.microsoft.com/office/"+s] = true
	}
	return out
}()

// xmlScope resolves prefixes.
type xmlScope struct {
	short map[string]string   // the file's prefix -> ours
	names map[xml.Name]string // names resolved since the last change of short
	undo  []scopeChange
	depth int
}

type scopeChange struct {
	depth      int
	prefix     string
	old        string
	wasDefined bool
}

func (sc *xmlScope) open(list []xml.Attr) {
	sc.depth++
	for _, a := range list {
		prefix, ok := "", a.Name.Space == "" && a.Name.Local == "xmlns"
		if a.Name.Space == "xmlns" {
			prefix, ok = a.Name.Local, true
		}
		if !ok {
			continue
		}
		short := namespaces[a.Value]
		if short == "" && officeExtensions[a.Value] {
			short = "ms"
		}
		if short == "" {
			short = unknownNamespace
		}
		old, was := sc.short[prefix]
		sc.undo = append(sc.undo, scopeChange{sc.depth, prefix, old, was})
		sc.short[prefix] = short
		clear(sc.names)
	}
}

func (sc *xmlScope) close() {
	for n := len(sc.undo); n > 0 && sc.undo[n-1].depth >= sc.depth; n-- {
		if c := sc.undo[n-1]; c.wasDefined {
			sc.short[c.prefix] = c.old
		} else {
			delete(sc.short, c.prefix)
		}
		sc.undo = sc.undo[:n-1]
		clear(sc.names)
	}
	if sc.depth > 0 {
		sc.depth--
	}
}

func (sc *xmlScope) name(n xml.Name) string {
	if s, ok := sc.names[n]; ok {
		return s
	}
	prefix, ok := sc.short[n.Space]
	if !ok {
		prefix = n.Space
	}
	s := prefix + ":" + n.Local
	sc.names[n] = s
	return s
}

// walkXML passes the elements of data to r. Entities of a document type are not expanded and nothing external is fetched, so entity bombs
// are plain text here. Depth is limited by MaxDepth.
func walkXML(b *builder, data []byte, r xmlReader) error {
	s, err := decodeXML(data)
	if err != nil {
		return &Error{Code: Encoding, Detail: err.Error()}
	}
	return walkDecoded(b, s, r)
}

// decodeXML decodes a part in the encoding stated by its byte order mark or declaration, or else in UTF-8.
func decodeXML(data []byte) (string, error) {
	c, ok := byteOrderMark(data)
	if !ok {
		if c, ok = declared(data[:min(len(data), 4096)]); !ok {
			c = charset{name: "utf-8"}
		}
	}
	return c.decode(data)
}

// walkDecoded is walkXML for text that is already decoded.
func walkDecoded(b *builder, s string, r xmlReader) error {
	x := &xmlScan{s: s}
	sc := &xmlScope{short: map[string]string{}, names: map[xml.Name]string{}}
	alt := &alternatives{scope: sc}
	var names []string
	skipped := 0 // depth of the outermost element that no program displays; 0 if none
	for !b.full {
		kind, err := x.next()
		if errors.Is(err, io.EOF) {
			if len(names) > 0 {
				return &Error{Code: Damaged, Detail: fmt.Sprintf("XML ends inside <%s>", names[len(names)-1])}
			}
			return nil
		}
		if err != nil {
			return &Error{Code: Damaged, Detail: err.Error()}
		}
		switch kind {
		case xmlStart:
			sc.open(x.attrs)
			if len(names) >= b.opt.MaxDepth {
				return limitError("XML nesting", "MaxDepth", fmt.Sprintf("deeper than %d elements", b.opt.MaxDepth))
			}
			n := sc.name(x.name)
			names = append(names, n)
			if skipped == 0 && alt.skips(n, x.name, x.attrs, names) {
				skipped = len(names)
			}
			if skipped == 0 {
				r.start(n, attrs{x.attrs})
			}
		case xmlStop:
			if n := len(names); n > 0 {
				if skipped == 0 {
					r.stop(names[n-1])
				}
				if skipped == n {
					skipped = 0
					b.alternative(alt.lost.String())
					alt.lost.Reset()
				} else if local(names[n-1]) == "p" {
					alt.lost.WriteByte('\n')
				}
				alt.leave(names)
				names = names[:n-1]
				sc.close()
			}
		case xmlChars:
			if skipped == 0 {
				r.chars(x.text)
			} else if local(names[len(names)-1]) == "t" && alt.lost.Len() <= maxAlternatives {
				alt.lost.WriteString(x.text)
			}
		}
	}
	return nil
}

// alternatives decides which of several alternatives for the same content a current program displays (ECMA-376 part 3, sections 7 and 9):
// the first Choice with requirements that it understands, or else the Fallback. Elements in an ignorable namespace that is not understood
// are left out, unless their content must be processed.
type alternatives struct {
	scope   *xmlScope
	taken   []bool // for each open AlternateContent, whether one of its alternatives was displayed
	ignored map[string]bool
	process map[string]bool // prefix:name or prefix:* as in the file
	lost    strings.Builder // text of the alternative that is not displayed
}

// skips reports whether the last element of names, called raw in the file, is hidden together with everything in it.
func (a *alternatives) skips(name string, raw xml.Name, list []xml.Attr, names []string) bool {
	for _, x := range list {
		switch {
		case x.Name.Local == "Ignorable" && a.scope.short[x.Name.Space] == "mc":
			a.ignored = addWords(a.ignored, x.Value)
		case x.Name.Local == "ProcessContent" && a.scope.short[x.Name.Space] == "mc":
			a.process = addWords(a.process, x.Value)
		}
	}
	switch name {
	case "mc:AlternateContent":
		a.taken = append(a.taken, false)
		return false
	case "mc:Choice", "mc:Fallback":
		n := len(a.taken) - 1
		if n < 0 || len(names) < 2 || names[len(names)-2] != "mc:AlternateContent" {
			return false
		}
		if a.taken[n] || name == "mc:Choice" && !a.understands(attrs{list}.get("Requires")) {
			return true
		}
		a.taken[n] = true
		return false
	}
	prefix := raw.Space
	return a.ignored[prefix] && a.scope.short[prefix] == unknownNamespace && !a.process[prefix+":"+raw.Local] && !a.process[prefix+":*"]
}

// understands reports whether programs understand the namespaces of all prefixes in a list.
func (a *alternatives) understands(required string) bool {
	prefixes := strings.Fields(required)
	for _, p := range prefixes {
		if s, ok := a.scope.short[p]; !ok || s == unknownNamespace {
			return false
		}
	}
	return len(prefixes) > 0
}

// leave closes the last element of names.
func (a *alternatives) leave(names []string) {
	if n := len(a.taken); n > 0 && names[len(names)-1] == "mc:AlternateContent" {
		a.taken = a.taken[:n-1]
	}
}

func addWords(set map[string]bool, words string) map[string]bool {
	if set == nil {
		set = map[string]bool{}
	}
	for _, w := range strings.Fields(words) {
		set[w] = true
	}
	return set
}

// coreProperties reads the title, author and date from OOXML, OpenDocument and EPUB metadata.
type coreProperties struct {
	b     *builder
	field *string
	date  string
}

func (c *coreProperties) start(name string, _ attrs) {
	c.field = nil
	switch name {
	case "dc:title":
		c.field = &c.b.res.Title
	case "dc:creator":
		c.field = &c.b.res.Author
	case "dcterms:created", "meta:creation-date":
		c.date, c.field = "", &c.date
		return
	case "dc:date": // in OpenDocument it is the last change
		if c.b.res.Format == string(EPUB) {
			c.date, c.field = "", &c.date
			return
		}
	case "meta:initial-creator":
		if c.b.res.Author == "" {
			c.field = &c.b.res.Author
		}
	}
	if c.field != nil && *c.field != "" {
		*c.field += "; "
	}
}

func (c *coreProperties) stop(string) {
	if c.field == &c.date {
		c.b.dated(c.date)
	}
	c.field = nil
}

func (c *coreProperties) chars(s string) {
	if c.field != nil && len(*c.field) < 2000 {
		*c.field += s
	}
}
