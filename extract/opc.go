package extract

import (
	"archive/zip"
	"bytes"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode"
)

// relation is a reference from one part of a package to another (ECMA-376 part 2, section 6.5).
type relation struct {
	id, kind string // kind is the last element of the type's address, for example footnotes
	target   string // part name or, if external, address
	external bool
}

// relations returns a part's relations in list order; the part "" is the package itself.
func (p *parts) relations(part string) []relation {
	if known, ok := p.rels[part]; ok {
		return known
	}
	p.rels[part] = p.readRelations(part)
	return p.rels[part]
}

func (p *parts) readRelations(part string) []relation {
	dir := path.Dir(part)
	data, err := p.read(path.Join(dir, "_rels", path.Base("/"+part)+".rels"))
	if err != nil {
		return nil
	}
	r := &relReader{}
	_ = walkXML(p.b, data, r) // a damaged list still yields its first entries
	for i := range r.list {
		if one := &r.list[i]; !one.external {
			one.target = p.resolve(dir, one.target)
		}
	}
	return r.list
}

// resolve returns the name of the part that a target relative to dir refers to.
func (p *parts) resolve(dir, target string) string {
	target = strings.ReplaceAll(target, `\`, "/")
	join := func(target string) string {
		if strings.HasPrefix(target, "/") {
			return strings.TrimPrefix(path.Clean(target), "/")
		}
		return strings.TrimPrefix(path.Clean("/"+path.Join(dir, target)), "/")
	}
	name := join(target)
	if plain, err := url.PathUnescape(target); err == nil && !p.has(name) && p.has(join(plain)) {
		return join(plain)
	}
	return name
}

// relReader reads a list of relationships.
type relReader struct{ list []relation }

func (r *relReader) start(name string, a attrs) {
	if local(name) == "Relationship" {
		r.list = append(r.list, relation{a.get("Id"), path.Base(a.get("Type")), a.get("Target"), a.get("TargetMode") == "External"})
	}
}
func (r *relReader) stop(string)  {}
func (r *relReader) chars(string) {}

// targets returns the parts of the given kinds that a part refers to. If there are none, it returns the part with the usual name, if that
// exists.
func (p *parts) targets(of string, usual string, kinds ...string) []string {
	var out []string
	for _, r := range p.relations(of) {
		if !r.external && slices.Contains(kinds, r.kind) && !slices.Contains(out, r.target) {
			out = append(out, r.target)
		}
	}
	if len(out) == 0 && usual != "" && p.has(usual) {
		out = append(out, usual)
	}
	return out
}

// mainPart returns the main part that the package refers to, or else the one with the usual name.
func (p *parts) mainPart(usual string) string {
	for _, name := range p.targets("", "", "officeDocument") {
		if p.has(name) {
			return name
		}
	}
	return usual
}

// coreProperties reads the title, author and date of the package.
func (p *parts) coreProperties() {
	for _, name := range p.targets("", "docProps/core.xml", "core-properties") {
		_ = p.part(name, true, func(d []byte) error { return walkXML(p.b, d, &coreProperties{b: p.b}) })
	}
}

// graphic reads the words of a chart or diagram, unless they were read before.
func (p *parts) graphic(kind, name string) {
	if p.wasRead(name) {
		return
	}
	b := p.b
	switch kind {
	case "chart", "chartEx":
		b.place("chart")
		_ = p.part(name, false, func(d []byte) error {
			err := walkXML(b, d, &chartReader{b: b, seen: map[string]bool{}})
			b.end()
			return err
		})
		for _, t := range p.targets(name, "", "chartUserShapes") {
			p.graphic("chartUserShapes", t)
		}
	case "diagramData", "chartUserShapes":
		b.place("diagram")
		_ = p.part(name, false, func(d []byte) error { return walkSlide(b, d, slideSize{}) })
	case "diagramDrawing": // the last drawing of the diagram, whose words can differ
		_ = p.part(name, false, func(d []byte) error {
			probe := newBuilder(DOCX, b.opt, b.lim)
			err := walkSlide(probe, d, slideSize{})
			b.unlessThere(probe.out.String())
			return err
		})
	}
}

// graphicKinds lists the kinds of relations that graphic follows, a diagram's data before its drawing.
var graphicKinds = []string{"chart", "chartEx", "diagramData", "diagramDrawing", "chartUserShapes"}

// graphics reads everything that a part refers to and graphic can read.
func (p *parts) graphics(part string) {
	rels := p.relations(part)
	for _, kind := range graphicKinds {
		for _, r := range rels {
			if r.kind == kind && !r.external && p.has(r.target) {
				p.graphic(kind, r.target)
			}
		}
	}
}

// unlessThere writes the paragraphs of s that are not yet in the text.
func (b *builder) unlessThere(s string) {
	b.end()
	for para := range strings.SplitSeq(s, "\n\n") {
		if para != "" && !strings.Contains(b.out.String(), para) {
			b.text(para)
			b.end()
		}
	}
}

// chartReader reads the words displayed in a chart: titles, names of series and categories, and labels. It leaves out numbers.
type chartReader struct {
	b           *builder
	numbers     int // nesting depth in cached numbers
	rich, value bool
	word        strings.Builder // text of the current value
	seen        map[string]bool // names, which are repeated for each series
}

func (r *chartReader) start(name string, _ attrs) {
	switch name {
	case "c:numCache", "c:numLit", "cx:numDim":
		r.numbers++
	case "a:p":
		r.b.end()
	case "a:br":
		r.b.line()
	case "a:t":
		r.rich = true
	case "c:v", "cx:pt", "cx:v":
		r.value = r.numbers == 0
		r.word.Reset()
	}
}

func (r *chartReader) stop(name string) {
	switch name {
	case "c:numCache", "c:numLit", "cx:numDim":
		r.numbers = max(0, r.numbers-1)
	case "a:p":
		r.b.end()
	case "a:t":
		r.rich = false
	case "c:v", "cx:pt", "cx:v":
		if s := strings.TrimSpace(r.word.String()); r.value && s != "" && !r.seen[s] {
			r.seen[s] = true
			r.b.end()
			r.b.text(s)
			r.b.end()
		}
		r.value = false
	}
}

func (r *chartReader) chars(s string) {
	switch {
	case r.numbers > 0:
		r.b.leave(FlagNumbers, s)
	case r.rich:
		r.b.text(s)
	case r.value:
		r.word.WriteString(s)
	}
}

// embeddedObjects passes on the documents embedded in a part, to be read as members, and names those that cannot be read.
func (p *parts) embeddedObjects(part string) {
	for _, r := range p.relations(part) {
		switch {
		case r.kind != "oleObject" && r.kind != "package":
		case r.external:
			p.b.partial(FlagPart, "a linked object is not in the file")
		case p.has(r.target) && !p.wasRead(r.target):
			p.embeddedObject(r.target)
		}
	}
}

// looseObjects does the same for objects that no part refers to.
func (p *parts) looseObjects() {
	charts := p.chartData()
	for _, f := range p.zip.File {
		if n := partName(f.Name); strings.Contains(n, "/embeddings/") && !f.FileInfo().IsDir() && !charts[n] && !p.used[n] {
			p.embeddedObject(f.Name)
		}
	}
}

func (p *parts) embeddedObject(name string) {
	data, err := p.read(name)
	if err != nil || len(data) == 0 {
		p.b.missing(Flag{Code: FlagPart, Bytes: p.size(name), Detail: "an embedded object cannot be unpacked: " + name})
		return
	}
	if inner := oleObject(data); inner != nil {
		data = inner
	}
	switch f, err := Sniff(name, data); {
	case err != nil, f == OLE, f == Other, f == XLS, f == ZIP, f == TAR, f == GZIP:
		p.b.missing(Flag{Code: FlagPart, Bytes: int64(len(data)),
			Detail: fmt.Sprintf("an embedded object is not read: %s, %d bytes", name, len(data))})
	case f == Image:
		p.b.pictures(1, int64(len(data)))
	default:
		p.b.flag(Flag{Code: FlagAttachment, Detail: "embedded documents are read as members"})
		p.b.attached = append(p.b.attached, attachedFile{name, data})
	}
}

// oleObject returns the file contained in an OLE object, or nil.
func oleObject(data []byte) []byte {
	if !bytes.HasPrefix(data, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")) {
		return nil
	}
	streams, err := oleStreams(data, func(path []string, name string) bool {
		return len(path) == 0 && (name == "Package" || name == "CONTENTS" || strings.HasSuffix(name, "Ole10Native"))
	})
	if err != nil {
		return nil
	}
	for name, stream := range streams {
		if !strings.HasSuffix(name, "ole10native") {
			return stream
		}
		// [MS-OLEDS] 2.3.6; written by the packager: two names, a path, then the length of the file and the file.
		at := 6
		for range 2 {
			n := bytes.IndexByte(stream[min(at, len(stream)):], 0)
			if n < 0 {
				return nil
			}
			at += n + 1
		}
		if at += 4; at+4 > len(stream) {
			return nil
		}
		at += 4 + int(min(uint32At(stream, at), uint32(len(stream))))
		if at+4 > len(stream) {
			return nil
		}
		size := int(min(uint32At(stream, at), uint32(len(stream))))
		return stream[at+4 : min(at+4+size, len(stream))]
	}
	return nil
}

func uint32At(b []byte, at int) uint32 {
	return uint32(b[at]) | uint32(b[at+1])<<8 | uint32(b[at+2])<<16 | uint32(b[at+3])<<24
}

// wasRead reports whether a part was read.
func (p *parts) wasRead(name string) bool { return p.used[partName(name)] }

// census names the unread parts that contain text, with their numbers of letters. silent reports whether a part contains no text of the
// document.
func (p *parts) census(silent func(name string) bool) {
	for _, f := range p.zip.File {
		name := partName(f.Name)
		if p.used[name] || f.FileInfo().IsDir() || IsClutter(name) || neverText(name) || silent(name) {
			continue
		}
		p.used[name] = true
		data, err := readEntry(f, p.b.opt, p.b.lim)
		if err != nil {
			p.b.missing(Flag{Code: FlagPart, Bytes: p.size(name), Detail: f.Name + " cannot be read"})
			continue
		}
		switch letters, bytes := lettersOf(name, data); {
		case letters > 0:
			p.b.missing(Flag{Code: FlagPart, Letters: letters, Detail: fmt.Sprintf("%s is not read: %d letters", f.Name, letters)})
		case bytes > 0:
			p.b.missing(Flag{Code: FlagPart, Bytes: int64(bytes), Detail: fmt.Sprintf("%s is not read: %d bytes", f.Name, bytes)})
		}
	}
}

// size returns the size of a part in bytes, according to the directory.
func (p *parts) size(name string) int64 {
	if f := p.byName[partName(name)]; f != nil {
		return int64(min(f.UncompressedSize64, 1<<40)) // no archive unpacks to more
	}
	return 0
}

// comments flags a part that contains comments.
func (p *parts) comments(name string) {
	data, err := p.read(name)
	if err != nil {
		return
	}
	if letters, bytes := lettersOf(name, data); letters+bytes > 0 {
		p.b.flag(Flag{Code: FlagComments, Detail: "comments are left out", Letters: letters, Bytes: int64(bytes)})
	}
}

// neverText reports whether a part contains no text, whatever the package's format.
func neverText(name string) bool {
	switch ext(name) {
	case "rels", "png", "jpg", "jpeg", "gif", "bmp", "tif", "tiff", "emf", "wmf", "wdp", "ico", "webp", "odttf", "fntdata", "ttf",
		"otf", "woff",
		"woff2", "css", "js", "mp3", "mp4", "m4a", "wav", "avi", "mov", "sigs", "psdsor", "xsl", "xslt", "dtd", "rdf", "opf", "ncx",
		"smil", "pls":
		return true
	}
	if strings.Contains(name, "/media/") && ext(name) != "svg" {
		return true // pictures have a separate flag
	}
	return name == "[content_types].xml" || name == "mimetype" || strings.HasPrefix(name, "docprops/") || strings.HasPrefix(name,
		"customxml/") ||
		strings.HasPrefix(name, "_xmlsignatures/") || strings.HasPrefix(name, "meta-inf/")
}

// lettersOf counts the letters, marks and digits of a part that a reader could see, in plain text or in the character data of XML and
// HTML. It returns 0 if none of them is a letter. For a separate document, it returns the size in bytes instead.
func lettersOf(name string, data []byte) (letters, bytesOf int) {
	s, err := decodeXML(data)
	if err != nil || !strings.HasPrefix(strings.TrimLeft(s, "\ufeff \t\r\n"), "<") {
		f, err := Sniff(name, data)
		if err != nil || f == Other || f == Image || f == OLE {
			return 0, 0
		}
		if f != Text && f != RTF && f != EML && f != MHTML {
			return 0, len(data) // a separate document with an unknown number of letters
		}
		return ifWords(string(data)), 0
	}
	x := xmlScan{s: s}
	var words strings.Builder
	for {
		kind, err := x.next()
		if err != nil {
			return ifWords(words.String()), 0
		}
		if kind == xmlChars {
			words.WriteString(x.text)
		}
	}
}

// ifWords counts the characters of s if any of them is a letter.
func ifWords(s string) int {
	if strings.IndexFunc(s, unicode.IsLetter) < 0 {
		return 0
	}
	return characters(s)
}

// contentFormat recognises an Office package by its list of content types, whatever its parts are named.
func contentFormat(f *zip.File) (Format, bool) {
	r, err := f.Open()
	if err != nil {
		return "", false
	}
	defer r.Close()
	head := make([]byte, 64<<10)
	n := 0
	for n < len(head) {
		k, err := r.Read(head[n:])
		n += k
		if err != nil {
			break
		}
	}
	for _, t := range []struct {
		mark   string
		format Format
	}{{"wordprocessingml.document.main+xml", DOCX}, {"wordprocessingml.template.main+xml", DOCX},
		{"ms-word.document.macroenabled.main+xml", DOCX},
		{"ms-word.template.macroenabledtemplate.main+xml", DOCX}, {"presentationml.presentation.main+xml", PPTX},
		{"presentationml.slideshow.main+xml", PPTX}, {"presentationml.template.main+xml", PPTX},
		{"ms-powerpoint.presentation.macroenabled.main+xml", PPTX}, {"spreadsheetml.sheet.main+xml", XLSX},
		{"ms-excel.sheet.macroenabled.main+xml", XLSX}, {"spreadsheetml.template.main+xml", XLSX}} {
		if bytes.Contains(bytes.ToLower(head[:n]), []byte(t.mark)) {
			return t.format, true
		}
	}
	return "", false
}

// countPictures flags pictures below dir, because they can contain text that is not read.
func (p *parts) countPictures(dir string) {
	if n, bytes := p.countBelow(dir); n > 0 {
		p.b.pictures(n, bytes)
	}
}

// countBelow returns the number of files below dir and their total size in bytes.
func (p *parts) countBelow(dir string) (n int, bytes int64) {
	for name, f := range p.byName {
		if strings.HasPrefix(name, strings.ToLower(dir)) && !strings.HasSuffix(name, "/") {
			n++
			bytes += int64(min(f.UncompressedSize64, 1<<40)) // no archive unpacks to more
		}
	}
	return n, bytes
}
