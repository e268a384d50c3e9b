package pdf

import (
	"bytes"
	"compress/zlib"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// File is a file of the report to be attached to the PDF.
type File struct {
	Name    string // for example report.json
	Type    string // MIME type
	About   string // description for readers
	Content []byte
}

// Signature configures how Seal signs.
type Signature struct {
	Name, Reason string // for readers
	At           time.Time
	// Size is the maximum size of the signature in bytes; space for it is reserved in advance.
	Size int
	// Sign signs content and returns a detached CMS SignedData in DER.
	Sign func(content []byte) ([]byte, error)
}

// Seal attaches files to the pages made by Write (ISO 32000-2, 7.11.4 and 14.13), signs them if s is not nil (12.8), and returns the
// result. The signature covers every byte except the signature itself. Seal appends an incremental update (7.5.6), so that the bytes of
// the pages do not change.
func Seal(pages []byte, files []File, s *Signature) ([]byte, error) {
	u, err := newUpdate(pages)
	if err != nil {
		return nil, fmt.Errorf("seal pdf: %w", err)
	}
	var names []string // sorted, as a name tree requires (7.9.6)
	var list strings.Builder
	for _, f := range files {
		spec := u.file(f)
		names = append(names, fmt.Sprintf("%s %d 0 R", textString(f.Name), spec))
		fmt.Fprintf(&list, " %d 0 R", spec)
	}
	slices.Sort(names)
	catalog := u.catalog + "\n/Version /1.7"
	if len(files) > 0 {
		catalog += "\n/AF [" + list.String() + " ]"
		catalog += "\n/Names << /EmbeddedFiles << /Names [ " + strings.Join(names, " ") + " ] >> >>"
	}
	place := 0
	if s != nil {
		sig := u.next()
		place = u.signature(sig, s)
		widget := u.add(fmt.Sprintf("<< /Type /Annot /Subtype /Widget /FT /Sig /T %s /V %d 0 R /P %d 0 R /Rect [0 0 0 0] /F 132 >>",
			textString("Signature"), sig, u.first))
		// The first page lists its annotations; the signature field is one of them, invisible.
		if i := strings.Index(u.firstPage, "/Annots ["); i >= 0 {
			u.put(u.first, u.firstPage[:i]+fmt.Sprintf("/Annots [ %d 0 R ", widget)+u.firstPage[i+len("/Annots ["):])
		} else {
			u.put(u.first, strings.TrimSuffix(u.firstPage, ">>")+fmt.Sprintf("\n/Annots [ %d 0 R ]\n>>", widget))
		}
		catalog += fmt.Sprintf("\n/AcroForm << /Fields [ %d 0 R ] /SigFlags 3 >>", widget)
	}
	u.put(u.root, "<<\n"+catalog+"\n>>")
	u.end()
	if s == nil {
		return u.b, nil
	}
	return sign(u.b, place, s)
}

// update is an incremental update appended to a file.
type update struct {
	b         []byte
	size      int // number of objects, including the free one
	root      int
	info      int
	first     int // object number of the first page
	firstPage string
	catalog   string // entries of the catalogue dictionary
	xref      int    // offset of the cross-reference table of the file so far
	offsets   map[int]int
}

var (
	trailer = regexp.MustCompile(`trailer\s*<<\s*/Size (\d+)\s*/Root (\d+) 0 R\s*/Info (\d+) 0 R\s*>>\s*startxref\s*(\d+)\s*%%EOF\s*$`)
	// fpdf writes an attachment list even if there are no attachments.
	noNames    = regexp.MustCompile(`/Names\s*<<\s*(/EmbeddedFiles\s*<<\s*/Names\s*\[\s*\]\s*>>\s*)?>>`)
	errForeign = errors.New("the PDF was not created by this program")
)

func newUpdate(b []byte) (*update, error) {
	m := trailer.FindSubmatch(b[max(0, len(b)-400):])
	if m == nil {
		return nil, errForeign
	}
	number := func(i int) int { n, _ := strconv.Atoi(string(m[i])); return n } // the pattern matches only digits
	u := &update{size: number(1), root: number(2), info: number(3), first: 3, xref: number(4), offsets: map[int]int{}}
	var err error
	if u.catalog, err = object(b, u.xref, u.root); err != nil {
		return nil, err
	}
	if u.firstPage, err = object(b, u.xref, u.first); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(u.firstPage, "<</Type /Page") {
		return nil, errForeign
	}
	u.catalog = noNames.ReplaceAllString(u.catalog, "")
	if strings.Contains(u.catalog, "/Names") {
		return nil, errForeign
	}
	u.catalog = strings.TrimSpace(strings.TrimSuffix(strings.TrimPrefix(u.catalog, "<<"), ">>"))
	u.b = append(bytes.Clone(b), '\n')
	return u, nil
}

// object returns the text of an object in a file with a single plain cross-reference table.
func object(b []byte, xref, n int) (string, error) {
	offset, err := objectOffset(b, xref, n)
	if err != nil {
		return "", err
	}
	begin := []byte(fmt.Sprintf("%d 0 obj\n", n))
	end := bytes.Index(b[offset:], []byte("\nendobj"))
	if !bytes.HasPrefix(b[offset:], begin) || end < len(begin) {
		return "", errForeign
	}
	return string(b[offset+len(begin) : offset+end]), nil
}

// tableHead matches the start of the cross-reference table: "xref", "0 N". A free entry follows, and every entry is twenty bytes long.
var tableHead = regexp.MustCompile(`^xref\s0 \d+\s`)

// objectOffset returns the offset of an object.
func objectOffset(b []byte, xref, n int) (int, error) {
	xref = min(max(xref, 0), len(b))
	head := tableHead.FindIndex(b[xref:min(xref+40, len(b))])
	if head == nil {
		return 0, errForeign
	}
	at := xref + head[1] + 20*n
	if at+10 > len(b) {
		return 0, errForeign
	}
	offset, err := strconv.Atoi(string(b[at : at+10]))
	if err != nil || offset >= len(b) {
		return 0, errForeign
	}
	return offset, nil
}

func (u *update) next() int {
	u.size++
	return u.size - 1
}

// put writes object n and returns the offset of its text.
func (u *update) put(n int, text string) int {
	u.offsets[n] = len(u.b)
	u.b = fmt.Appendf(u.b, "%d 0 obj\n", n)
	at := len(u.b)
	u.b = append(append(u.b, text...), "\nendobj\n"...)
	return at
}

func (u *update) add(text string) int {
	n := u.next()
	u.put(n, text)
	return n
}

// file writes an attachment and returns the object number of its file specification.
func (u *update) file(f File) int {
	var z bytes.Buffer
	w := zlib.NewWriter(&z)
	_, err := w.Write(f.Content)
	if err = errors.Join(err, w.Close()); err != nil {
		panic(err) // writing to a buffer cannot fail
	}
	stream := u.add(fmt.Sprintf("<< /Type /EmbeddedFile /Subtype /%s /Filter /FlateDecode /Length %d /Params << /Size %d >> >>\nstream\n%s\nendstream",
		nameOf(f.Type), z.Len(), len(f.Content), z.Bytes()))
	return u.add(fmt.Sprintf("<< /Type /Filespec /F %s /UF %s /Desc %s /AFRelationship /Data /EF << /F %d 0 R /UF %d 0 R >> >>",
		textString(f.Name), textString(f.Name), textString(f.About), stream, stream))
}

// nameOf encodes a name (ISO 32000-2, 7.3.5).
func nameOf(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "#%02X", c)
		}
	}
	return b.String()
}

// textString encodes a text string in UTF-16 (ISO 32000-2, 7.9.2.2).
func textString(s string) string {
	out := []byte{0xfe, 0xff}
	for _, x := range utf16.Encode([]rune(s)) {
		out = append(out, byte(x>>8), byte(x))
	}
	return "<" + hex.EncodeToString(out) + ">"
}

// rangeRoom is the width of each number in a byte range, which is filled in last.
const rangeRoom = 10

// signature writes the signature dictionary with space for its value, and returns the offset of that space.
func (u *update) signature(n int, s *Signature) int {
	zeros := strings.Repeat("0", rangeRoom)
	return u.put(n, fmt.Sprintf("<< /Type /Sig /Filter /Adobe.PPKLite /SubFilter /adbe.pkcs7.detached /M (D:%s) /Name %s /Reason %s\n/ByteRange [0 %s %s %s]\n/Contents <%s> >>",
		s.At.UTC().Format("20060102150405Z"), textString(s.Name), textString(s.Reason), zeros, zeros, zeros, strings.Repeat("0", 2*s.Size)))
}

// end writes the cross-reference table and the trailer.
func (u *update) end() {
	at := len(u.b)
	u.b = append(u.b, "xref\n0 1\n0000000000 65535 f \n"...)
	for n := 1; n < u.size; n++ {
		if offset, ok := u.offsets[n]; ok {
			u.b = fmt.Appendf(u.b, "%d 1\n%010d 00000 n \n", n, offset)
		}
	}
	id := sha256.Sum256(u.b)
	u.b = fmt.Appendf(u.b, "trailer\n<< /Size %d /Root %d 0 R /Info %d 0 R /Prev %d /ID [<%x> <%x>] >>\nstartxref\n%d\n%%%%EOF\n", u.size,
		u.root, u.info, u.xref, id[:16], id[:16], at)
}

// sign returns b with the byte range and the signature filled in. The space for the signature begins at from.
func sign(b []byte, from int, s *Signature) ([]byte, error) {
	open := from + bytes.Index(b[from:], []byte("/Contents <")) + len("/Contents ")
	after := open + 2 + 2*s.Size
	numbers := from + bytes.Index(b[from:], []byte("/ByteRange [0 ")) + len("/ByteRange [0 ")
	for i, n := range []int{open, after, len(b) - after} {
		copy(b[numbers+i*(rangeRoom+1):], fmt.Sprintf("%-*d", rangeRoom, n))
	}
	der, err := s.Sign(append(bytes.Clone(b[:open]), b[after:]...))
	if err != nil {
		return nil, fmt.Errorf("sign pdf: %w", err)
	}
	if len(der) > s.Size {
		return nil, fmt.Errorf("sign pdf: the signature has %d bytes, but there is room for only %d", len(der), s.Size)
	}
	hex.Encode(b[open+1:], der)
	return b, nil
}
