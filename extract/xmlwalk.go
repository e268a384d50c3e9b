package extract

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strings"
)

// xmlReader receives the elements of an XML part. Names are "prefix:local" with the prefix that
// namespaces below gives, whatever prefix the file uses.
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

// namespaces gives the short prefix of the namespaces the readers know. Strict and transitional
// OOXML differ only in these addresses.
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

// xmlScope resolves prefixes.
type xmlScope struct {
	short map[string]string // file's prefix -> ours
	undo  []scopeChange
	depth int
}

type scopeChange struct {
	depth      int
	prefix     string
	old        string
	wasDefined bool
}

func (sc *xmlScope) open(el xml.StartElement) {
	sc.depth++
	for _, a := range el.Attr {
		prefix, ok := "", a.Name.Space == "" && a.Name.Local == "xmlns"
		if a.Name.Space == "xmlns" {
			prefix, ok = a.Name.Local, true
		}
		if !ok {
			continue
		}
		short := namespaces[a.Value]
		if short == "" {
			short = "?"
		}
		old, was := sc.short[prefix]
		sc.undo = append(sc.undo, scopeChange{sc.depth, prefix, old, was})
		sc.short[prefix] = short
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
	}
	if sc.depth > 0 {
		sc.depth--
	}
}

func (sc *xmlScope) name(n xml.Name) string {
	if s, ok := sc.short[n.Space]; ok {
		return s + ":" + n.Local
	}
	return n.Space + ":" + n.Local
}

// walkXML gives the elements of data to r. Entities of a document type are not expanded and
// nothing outside is fetched, so entity bombs are plain text here. Depth is bounded by MaxDepth.
func walkXML(b *builder, data []byte, r xmlReader) error {
	c, ok := byteOrderMark(data)
	if !ok {
		if c, ok = declared(data[:min(len(data), 4096)]); !ok {
			c = charset{name: "utf-8"}
		}
	}
	s, err := c.decode(data)
	if err != nil {
		return &Error{Code: Encoding, Detail: err.Error()}
	}
	return walkDecoded(b, s, r)
}

// walkDecoded is walkXML for text that is decoded already.
func walkDecoded(b *builder, s string, r xmlReader) error {
	d := xml.NewDecoder(strings.NewReader(s))
	d.Strict = false
	d.Entity = xml.HTMLEntity
	d.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	return walkTokens(b, d, r)
}

func walkTokens(b *builder, d *xml.Decoder, r xmlReader) error {
	sc := &xmlScope{short: map[string]string{}}
	var names []string
	for !b.full {
		t, err := d.RawToken()
		if errors.Is(err, io.EOF) {
			if len(names) > 0 {
				return &Error{Code: Damaged, Detail: fmt.Sprintf("XML ends inside <%s>", names[len(names)-1])}
			}
			return nil
		}
		if err != nil {
			return &Error{Code: Damaged, Detail: err.Error()}
		}
		switch t := t.(type) {
		case xml.StartElement:
			sc.open(t)
			if len(names) >= b.opt.MaxDepth {
				return limitError("XML nesting", "MaxDepth", fmt.Sprintf("deeper than %d elements", b.opt.MaxDepth))
			}
			n := sc.name(t.Name)
			names = append(names, n)
			r.start(n, attrs{t.Attr})
		case xml.EndElement:
			if n := len(names); n > 0 {
				r.stop(names[n-1])
				names = names[:n-1]
				sc.close()
			}
		case xml.CharData:
			r.chars(string(t))
		}
	}
	return nil
}

// coreProperties reads title, author and date of OOXML, OpenDocument and EPUB metadata.
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
	case "dc:date": // of OpenDocument it is the last change
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
