package extract

import (
	"bytes"
	"encoding/ascii85"
	"encoding/hex"
	"io"
	"iter"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"

	"github.com/klauspost/compress/zlib"
)

// pdfObjects finds objects in a PDF without PDFium, which exposes neither font tables nor metadata. It searches for the marks of objects
// instead of following cross-references, so it finds them in damaged files too; if several have the same number, the last one counts, as
// after an update.
type pdfObjects struct {
	data   []byte
	opt    Options
	places []uint32             // start of each object's body, by number; 0 if not found; nil before searching
	packed map[int]packedObject // objects inside streams, by number; nil before reading
	order  []int                // numbers in packed, in order
	fonts  fontRoom
	cut    bool // objects inside streams were skipped
	// tooLarge means that font tables contradict their letters in a document that is too large to copy.
	tooLarge bool
}

// packedObject is an object inside a stream.
type packedObject struct {
	body []byte
	at   int // position of its stream
}

// Limits on an object, on the decompressed size of a stream, on all object streams together and the objects in them, and on object
// numbers, as in PDFium.
const (
	maxPDFObject  = 1 << 16
	maxPDFStream  = 1 << 20
	maxPDFPacked  = 64 << 20
	maxPDFObjects = 1 << 20
	maxPDFNumber  = 4 << 20
)

var (
	pdfRoot     = regexp.MustCompile(`/Root\s+(\d+)\s+\d+\s+R`)
	pdfMetadata = regexp.MustCompile(`/Metadata\s+(\d+)\s+\d+\s+R`)
	pdfFirst    = regexp.MustCompile(`/First\s+(\d+)`)
)

func newPDFObjects(data []byte, o Options) *pdfObjects {
	return &pdfObjects{data: data, opt: o, fonts: newFontRoom()}
}

// catalog returns the document's root, or nil.
func (p *pdfObjects) catalog() []byte {
	at := bytes.LastIndex(p.data, []byte("/Root"))
	if at < 0 {
		return nil
	}
	m := pdfRoot.FindSubmatch(p.data[at:min(len(p.data), at+64)])
	if m == nil {
		return nil
	}
	return p.object(string(m[1]))
}

// find returns the start of an object's body, or -1.
func (p *pdfObjects) find(number string) int {
	n, err := strconv.Atoi(number)
	if err != nil {
		return -1
	}
	return p.place(n)
}

// place is like find, for an integer.
func (p *pdfObjects) place(number int) int {
	if p.places == nil {
		p.places = []uint32{0}
		for from := 0; from < math.MaxUint32; {
			at := bytes.Index(p.data[from:], []byte("obj"))
			if at < 0 {
				break
			}
			at += from
			from = at + len("obj")
			if n := objectNumber(p.data[:at]); n >= 0 {
				p.places = append(p.places, make([]uint32, max(n+1-len(p.places), 0))...)
				p.places[n] = uint32(from)
			}
		}
	}
	if number >= 0 && number < len(p.places) && p.places[number] > 0 {
		return int(p.places[number])
	}
	return -1
}

// objectNumber returns the number of the object whose header, for example "12 0 obj", is at the end of before, or -1 if there is none.
func objectNumber(before []byte) int {
	head := before[max(len(before)-24, 0):]
	var number []byte
	for range 2 { // the generation, and the number before it
		rest := bytes.TrimRight(head, " \t\r\n\f\x00")
		head = bytes.TrimRight(rest, "0123456789")
		if number = rest[len(head):]; len(number) == 0 {
			return -1
		}
	}
	n, err := strconv.Atoi(string(number))
	if err != nil || n > maxPDFNumber {
		return -1
	}
	return n
}

// object returns an object without the content of its stream, or nil.
func (p *pdfObjects) object(number string) []byte {
	n, err := strconv.Atoi(number)
	if err != nil {
		return nil
	}
	return p.numbered(n)
}

// numbered is like object, for an integer.
func (p *pdfObjects) numbered(number int) []byte {
	p.unpack()
	at := p.place(number)
	if in, ok := p.packed[number]; ok && in.at > at || at < 0 {
		return in.body
	}
	body := p.data[at:min(len(p.data), at+maxPDFObject)]
	for _, end := range []string{"endobj", "stream"} {
		if n := bytes.Index(body, []byte(end)); n >= 0 {
			body = body[:n]
		}
	}
	return body
}

// payload returns the range of bytes of a stream object; from equals to if it is not a stream.
func (p *pdfObjects) payload(number string) (from, to int) {
	at := p.find(number)
	if at < 0 {
		return 0, 0
	}
	return p.payloadAt(at)
}

func (p *pdfObjects) payloadAt(at int) (from, to int) {
	n := bytes.Index(p.data[at:min(len(p.data), at+maxPDFObject)], []byte("stream"))
	if n < 0 || bytes.Contains(p.data[at:at+n], []byte("endobj")) {
		return 0, 0
	}
	from = at + n + len("stream")
	if bytes.HasPrefix(p.data[from:], []byte("\r")) {
		from++
	}
	if bytes.HasPrefix(p.data[from:], []byte("\n")) {
		from++
	}
	if n = bytes.Index(p.data[from:], []byte("endstream")); n < 0 {
		return 0, 0
	}
	return from, from + n
}

// stream returns the decompressed content of a stream object.
func (p *pdfObjects) stream(number string) []byte {
	out, _ := io.ReadAll(io.LimitReader(p.reader(number), maxPDFStream)) // use the bytes decompressed before any damage
	return out
}

// reader decompresses a stream object.
func (p *pdfObjects) reader(number string) io.Reader {
	at := p.find(number)
	if at < 0 {
		return bytes.NewReader(nil)
	}
	from, to := p.payloadAt(at)
	if from == to {
		return bytes.NewReader(nil)
	}
	return unpackPDF(p.data[at:from], p.data[from:to])
}

// unpackPDF decompresses the bytes of a stream with the given dictionary.
func unpackPDF(dictionary, body []byte) io.Reader {
	var r io.Reader = bytes.NewReader(body)
	switch {
	case bytes.Contains(dictionary, []byte("/ASCII85Decode")), bytes.Contains(dictionary, []byte("/A85")):
		body, _, _ = bytes.Cut(body, []byte("~>"))
		r = ascii85.NewDecoder(bytes.NewReader(body))
	case bytes.Contains(dictionary, []byte("/ASCIIHexDecode")), bytes.Contains(dictionary, []byte("/AHx")):
		body, _, _ = bytes.Cut(body, []byte(">"))
		r = hex.NewDecoder(bytes.NewReader(bytes.Join(bytes.Fields(body), nil)))
	}
	if !bytes.Contains(dictionary, []byte("/FlateDecode")) && !bytes.Contains(dictionary, []byte("/Fl ")) {
		return r
	}
	z, err := zlib.NewReader(r)
	if err != nil {
		return bytes.NewReader(nil)
	}
	return z
}

// packedObjects returns the objects inside streams (ISO 32000-1, section 7.5.7), ordered by number.
func (p *pdfObjects) packedObjects() iter.Seq2[int, []byte] {
	p.unpack()
	return func(yield func(int, []byte) bool) {
		for _, n := range p.order {
			if !yield(n, p.packed[n].body) {
				return
			}
		}
	}
}

// unpack reads the objects inside streams on its first call.
func (p *pdfObjects) unpack() {
	if p.packed != nil {
		return
	}
	p.packed = map[int]packedObject{}
	room := maxPDFPacked
	for from := 0; ; {
		at := bytes.Index(p.data[from:], []byte("/ObjStm"))
		if at < 0 {
			break
		}
		if room == 0 {
			p.cut = true
			break
		}
		at += from
		from = at + len("/ObjStm")
		start := bytes.LastIndex(p.data[:at], []byte(" obj"))
		if start < 0 || at-start > maxPDFObject {
			continue
		}
		begin, end := p.payloadAt(start)
		if begin == end {
			continue
		}
		dictionary := p.data[start:begin]
		m := pdfFirst.FindSubmatch(dictionary)
		if m == nil {
			continue
		}
		first, _ := strconv.Atoi(string(m[1])) // digits; a number that is too large is beyond the end
		body, _ := io.ReadAll(io.LimitReader(unpackPDF(dictionary, p.data[begin:end]), int64(room)))
		if room -= len(body); first <= 0 || first >= len(body) {
			continue
		}
		p.take(body[:first], body[first:], start)
		from = max(from, end)
	}
	p.order = slices.Sorted(maps.Keys(p.packed))
}

// take records the objects in the stream at a position; heads consists of pairs of a number and an offset in body.
func (p *pdfObjects) take(heads, body []byte, at int) {
	last, from := -1, 0
	note := func(to int) {
		switch _, known := p.packed[last]; {
		case last < 0 || last > maxPDFNumber || from < 0 || from > to || to > len(body):
		case to-from > maxPDFObject:
			p.cut = p.cut || bytes.Contains(body[from:to], []byte("/ToUnicode"))
		case !known && len(p.packed) >= maxPDFObjects:
			p.cut = true
		default:
			p.packed[last] = packedObject{body[from:to], at}
		}
	}
	for {
		number, ok := firstNumber(&heads)
		place, okPlace := firstNumber(&heads)
		if !ok || !okPlace {
			break
		}
		note(place)
		last, from = number, place
	}
	note(len(body))
}

// firstNumber removes the first word and returns its number, or -1 if it is not a number or is too large. ok reports
// whether there is a word.
func firstNumber(words *[]byte) (number int, ok bool) {
	s := bytes.TrimLeft(*words, " \t\r\n\f\x00")
	if len(s) == 0 {
		return 0, false
	}
	n := bytes.IndexAny(s, " \t\r\n\f\x00")
	if n < 0 {
		n = len(s)
	}
	*words = s[n:]
	number, err := strconv.Atoi(string(s[:n]))
	if err != nil || number < 0 {
		return -1, true
	}
	return number, true
}
