package pdf

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The logical structure of the pages, for screen readers (ISO 32000-2, 14.7 and 14.8; ISO 14289-1). Every line is drawn as marked content
// of an element, or as an artifact if it is a rule, a repeated header or a page number.

// element is a node of the structure tree.
type element struct {
	kind   string // standard structure type (ISO 32000-2, 14.8.4)
	parent *element
	kids   []*element // for containers
	marks  []mark     // for elements with content
	links  []*link    // for a Link, one per line
	number int        // object number, once assigned
}

// mark is a piece of marked content with the given id on a page.
type mark struct{ page, id int }

// leaves lists the structure types whose elements contain lines; all others contain elements.
var leaves = []string{"H1", "H2", "H3", "H4", "P", "Lbl", "LBody", "TH", "TD", "Link"}

func (e *element) leaf() bool { return slices.Contains(leaves, e.kind) }

// child appends a new element to e and returns it.
func (e *element) child(kind string) *element {
	c := &element{kind: kind, parent: e}
	e.kids = append(e.kids, c)
	return c
}

// last returns the list or table at the end of e, adding one if necessary.
func (e *element) last(kind string) *element {
	if n := len(e.kids); n > 0 && e.kids[n-1].kind == kind {
		return e.kids[n-1]
	}
	return e.child(kind)
}

// within makes everything drawn by f part of e.
func (d *doc) within(e *element, f func()) {
	before := d.at
	d.at = e
	f()
	d.at = before
}

// as puts everything drawn by f into a new element of the given kind.
func (d *doc) as(kind string, f func()) { d.within(d.at.child(kind), f) }

// artifact marks everything drawn by f as an artifact. kind is a property list, or empty.
func (d *doc) artifact(kind string, f func()) {
	if kind == "" {
		d.f.RawWriteStr("/Artifact BMC")
	} else {
		d.f.RawWriteStr("/Artifact <<" + kind + ">> BDC")
	}
	f()
	d.f.RawWriteStr("EMC")
}

// rule draws a separating or framing line.
func (d *doc) rule(width, x1, y1, x2, y2 float64) {
	d.artifact("/Type /Layout", func() {
		d.f.SetLineWidth(width)
		d.f.Line(x1, y1, x2, y2)
	})
}

// mark marks everything that f draws on this page as content of e, or as an artifact if e is nil.
func (d *doc) mark(e *element, f func()) {
	if e == nil {
		d.artifact("/Type /Pagination", f)
		return
	}
	page := d.f.PageNo()
	m := mark{page, d.marks[page]}
	d.marks[page]++
	e.marks = append(e.marks, m)
	d.f.RawWriteStr(fmt.Sprintf("/%s <</MCID %d>> BDC", e.kind, m.id))
	f()
	d.f.RawWriteStr("EMC")
}

// prune removes empty elements from e, and reports whether e is empty.
func (e *element) prune() bool {
	e.kids = slices.DeleteFunc(e.kids, (*element).prune)
	return len(e.kids) == 0 && len(e.marks) == 0 && e.kind != "TD" && e.kind != "TH"
}

// walk calls f for e and all elements below it, in reading order.
func (e *element) walk(f func(*element)) {
	f(e)
	for _, k := range e.kids {
		k.walk(f)
	}
}

// pageObject returns the number of a page's object in a file made by fpdf.
func pageObject(page int) int { return 1 + 2*page }

// tagged adds the document structure to a file made by fpdf; page numbers and contents do not change, and the catalogue refers to the
// structure tree.
func (d *doc) tagged(b []byte) ([]byte, error) {
	m := trailer.FindSubmatch(b[max(0, len(b)-400):])
	if m == nil {
		return nil, errForeign
	}
	number := func(i int) int { n, _ := strconv.Atoi(string(m[i])); return n } // the pattern matches only digits
	size, root, xref := number(1), number(2), number(4)
	d.root.prune()
	tree, parents := size, size+1
	metadata, next := size+2, size+3
	d.root.walk(func(e *element) { e.number = next; next++ })
	annotations := map[int]string{} // annotations of each page, as references
	for _, l := range d.links {
		l.number = next
		annotations[l.page] += fmt.Sprintf("%d 0 R ", next)
		next++
	}
	out := bytes.NewBuffer(make([]byte, 0, len(b)+120*(next-size)))
	out.Write(b[:bytes.IndexByte(b, '\n')+1])
	offsets := make([]int, next)
	put := func(n int, text string) {
		offsets[n] = out.Len()
		fmt.Fprintf(out, "%d 0 obj\n%s\nendobj\n", n, text)
	}
	texts, err := objects(b, xref, size)
	if err != nil {
		return nil, err
	}
	for n := 1; n < size; n++ {
		text := texts[n]
		switch page := (n - 1) / 2; {
		case n == root:
			text = strings.TrimSuffix(text, ">>") + fmt.Sprintf("/MarkInfo <</Marked true>>\n/StructTreeRoot %d 0 R\n/Metadata %d 0 R\n"+
				"/ViewerPreferences <</DisplayDocTitle true>>\n>>", tree, metadata)
		case text == oneRange:
			text = manyRanges()
		case n == pageObject(page) && page >= 1 && page <= d.f.PageCount():
			text = strings.TrimSuffix(text, ">>") + fmt.Sprintf("/StructParents %d\n/Tabs /S\n", page-1)
			if refs := annotations[page]; refs != "" {
				text += "/Annots [ " + refs + "]\n"
			}
			text += ">>"
		}
		put(n, text)
	}
	put(tree, fmt.Sprintf("<</Type /StructTreeRoot /K %d 0 R /ParentTree %d 0 R /ParentTreeNextKey %d>>", d.root.number, parents,
		d.f.PageCount()+len(d.links)))
	put(parents, d.parentTree())
	packet := d.packet()
	put(metadata, fmt.Sprintf("<</Type /Metadata /Subtype /XML /Length %d>>\nstream\n%s\nendstream", len(packet), packet))
	d.root.walk(func(e *element) { put(e.number, e.object(tree)) })
	for i, l := range d.links {
		put(l.number, l.object(d.f.PageCount()+i))
	}
	at := out.Len()
	fmt.Fprintf(out, "xref\n0 %d\n0000000000 65535 f \n", next)
	for _, offset := range offsets[1:] {
		fmt.Fprintf(out, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(out, "trailer\n<<\n/Size %d\n/Root %d 0 R\n/Info %d 0 R\n>>\nstartxref\n%d\n%%%%EOF\n", next, root, number(3), at)
	return out.Bytes(), nil
}

// objects returns the texts of all objects in a file made by fpdf, by number.
func objects(b []byte, xref, size int) ([]string, error) {
	begins := []int{xref}
	at := make([]int, size)
	for n := 1; n < size; n++ {
		offset, err := objectOffset(b, xref, n)
		if err != nil {
			return nil, err
		}
		at[n] = offset
		begins = append(begins, offset)
	}
	slices.Sort(begins)
	out := make([]string, size)
	for n := 1; n < size; n++ {
		i, _ := slices.BinarySearch(begins, at[n])
		if i+1 == len(begins) {
			return nil, errForeign
		}
		text, head := bytes.CutPrefix(b[at[n]:begins[i+1]], []byte(fmt.Sprintf("%d 0 obj\n", n)))
		text, foot := bytes.CutSuffix(text, []byte("\nendobj\n"))
		if !head || !foot {
			return nil, errForeign
		}
		out[n] = string(text)
	}
	return out, nil
}

// oneRange is the map from codes to characters that fpdf writes; it maps each code to itself. A range must not span different first bytes
// (ISO 32000-2, 9.10.3); programs that enforce this would find no text.
var oneRange = toUnicode("1 beginbfrange\n<0000> <FFFF> <0000>\nendbfrange")

// manyRanges returns the same map in ranges of 256 codes.
func manyRanges() string {
	var b strings.Builder
	for row := range 256 {
		if row%64 == 0 {
			b.WriteString("64 beginbfrange\n")
		}
		fmt.Fprintf(&b, "<%02X%02X> <%02XFF> <%02X%02X>\n", row, max(1-row, 0), row, row, max(1-row, 0))
		if row%64 == 63 {
			b.WriteString("endbfrange\n")
		}
	}
	return toUnicode(strings.TrimSuffix(b.String(), "\n"))
}

// toUnicode returns a ToUnicode map object with the given ranges, in the form written by fpdf.
func toUnicode(ranges string) string {
	s := "/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n/CIDSystemInfo\n<</Registry (Adobe)\n/Ordering (UCS)\n" +
		"/Supplement 0\n>> def\n/CMapName /Adobe-Identity-UCS def\n/CMapType 2 def\n1 begincodespacerange\n<0000> <FFFF>\n" +
		"endcodespacerange\n" + ranges + "\nendcmap\nCMapName currentdict /CMap defineresource pop\nend\nend"
	return fmt.Sprintf("<</Length %d>>\nstream\n%s\nendstream", len(s), s)
}

// elementHead starts the dictionary of an element, and of no other object.
const elementHead = "<</S/"

// object returns the dictionary of e; the parent of the root is the structure tree.
func (e *element) object(tree int) string {
	parent := tree
	if e.parent != nil {
		parent = e.parent.number
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s%s/P %d 0 R", elementHead, e.kind, parent)
	if e.kind == "TH" {
		b.WriteString("/A<</O/Table/Scope/Column>>")
	}
	if len(e.marks) > 0 {
		fmt.Fprintf(&b, "/Pg %d 0 R", pageObject(e.marks[0].page))
	}
	b.WriteString("/K[")
	for _, k := range e.kids {
		fmt.Fprintf(&b, "%d 0 R ", k.number)
	}
	for _, m := range e.marks {
		if m.page == e.marks[0].page {
			fmt.Fprintf(&b, "%d ", m.id)
		} else {
			fmt.Fprintf(&b, "<</Type /MCR /Pg %d 0 R /MCID %d>> ", pageObject(m.page), m.id)
		}
	}
	for _, l := range e.links {
		fmt.Fprintf(&b, "<</Type /OBJR /Pg %d 0 R /Obj %d 0 R>> ", pageObject(l.page), l.number)
	}
	b.WriteString("]>>")
	return b.String()
}

// parentTree lists the elements of each page's marked content, followed by the element of each link (ISO 32000-2, 14.7.5.4).
func (d *doc) parentTree() string {
	of := make([][]int, d.f.PageCount()+1)
	for page := range of {
		of[page] = make([]int, d.marks[page])
	}
	d.root.walk(func(e *element) {
		for _, m := range e.marks {
			of[m.page][m.id] = e.number
		}
	})
	var b strings.Builder
	b.WriteString("<</Nums [\n")
	for page, elements := range of[1:] {
		fmt.Fprintf(&b, "%d [", page)
		for _, n := range elements {
			fmt.Fprintf(&b, "%d 0 R ", n)
		}
		b.WriteString("]\n")
	}
	for i, l := range d.links {
		fmt.Fprintf(&b, "%d %d 0 R\n", d.f.PageCount()+i, l.of.number)
	}
	b.WriteString("]>>")
	return b.String()
}

// notXML matches characters that XML does not allow.
var notXML = regexp.MustCompile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd]")

// packet returns the XMP metadata: the title, and the claim of conformance to PDF/UA-1 (ISO 14289-1, 5).
func (d *doc) packet() string {
	title := notXML.ReplaceAllString(plain(d.title()+" – "+d.in.Say("similarity report")), "")
	title = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(title)
	return `<?xpacket begin="` + "\ufeff" + `" id="W5M0MpCehiHzreSzNTczkc9d"?>
<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
<rdf:Description rdf:about="" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:pdfuaid="http://www.aiim.org/pdfua/ns/id/">
<dc:title><rdf:Alt><rdf:li xml:lang="x-default">` + title + `</rdf:li></rdf:Alt></dc:title>
<pdfuaid:part>1</pdfuaid:part>
</rdf:Description></rdf:RDF></x:xmpmeta>
<?xpacket end="w"?>`
}
