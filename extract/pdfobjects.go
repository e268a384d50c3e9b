package extract

import (
	"bytes"
	"encoding/ascii85"
	"encoding/hex"
	"io"
	"regexp"
	"slices"
	"strconv"

	"github.com/klauspost/compress/zlib"
)

// pdfObjects finds objects of a PDF without PDFium, which shows neither the tables of fonts nor metadata. It searches for
// marks of objects instead of following cross-references, so that it finds them in damaged files too; of several with one
// number the last counts, as after an update.
type pdfObjects struct {
	data   []byte
	opt    Options
	places map[string]int    // where the bodies of objects begin, by number; nil: not looked for
	packed map[string][]byte // objects inside streams, by number; nil: not looked at
}

// Bounds: of an object, of what a stream unpacks to, of all streams of objects together.
const (
	maxPDFObject  = 1 << 16
	maxPDFStream  = 1 << 20
	maxPDFPacked  = 16 << 20
	maxPDFObjects = 100_000
)

var (
	pdfRoot     = regexp.MustCompile(`/Root\s+(\d+)\s+\d+\s+R`)
	pdfMetadata = regexp.MustCompile(`/Metadata\s+(\d+)\s+\d+\s+R`)
	pdfFirst    = regexp.MustCompile(`/First\s+(\d+)`)
)

func newPDFObjects(data []byte, o Options) *pdfObjects { return &pdfObjects{data: data, opt: o} }

// catalog returns the root of the document, or nil.
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

// find returns where the body of an object begins, or -1.
func (p *pdfObjects) find(number string) int {
	if p.places == nil {
		p.places = map[string]int{}
		for from := 0; len(p.places) < maxPDFObjects; {
			at := bytes.Index(p.data[from:], []byte("obj"))
			if at < 0 {
				break
			}
			at += from
			from = at + len("obj")
			if n := objectNumber(p.data[:at]); n != "" {
				p.places[n] = from
			}
		}
	}
	if at, ok := p.places[number]; ok {
		return at
	}
	return -1
}

// objectNumber is the number of the object whose head, "12 0 obj", begins at the end of before; empty: there is none.
func objectNumber(before []byte) string {
	head := before[max(len(before)-24, 0):]
	var number []byte
	for range 2 { // the generation, and the number before it
		rest := bytes.TrimRight(head, " \t\r\n")
		head = bytes.TrimRight(rest, "0123456789")
		if number = rest[len(head):]; len(number) == 0 {
			return ""
		}
	}
	return string(number)
}

// object returns an object, without what a stream holds, or nil.
func (p *pdfObjects) object(number string) []byte {
	at := p.find(number)
	if at < 0 {
		p.packedObjects()
		return p.packed[number]
	}
	body := p.data[at:min(len(p.data), at+maxPDFObject)]
	for _, end := range []string{"endobj", "stream"} {
		if n := bytes.Index(body, []byte(end)); n >= 0 {
			body = body[:n]
		}
	}
	return body
}

// payload returns where the bytes of a stream object are; from == to: it is none.
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

// stream returns what a stream object holds, unpacked.
func (p *pdfObjects) stream(number string) []byte {
	out, _ := io.ReadAll(io.LimitReader(p.reader(number), maxPDFStream)) // what was unpacked before damage counts
	return out
}

// reader unpacks a stream object.
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

// unpackPDF unpacks the bytes of a stream with the given dictionary.
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

// packedObjects returns the objects inside streams (ISO 32000-1, section 7.5.7), in the order of their numbers as text.
func (p *pdfObjects) packedObjects() [][]byte {
	if p.packed == nil {
		p.packed = map[string][]byte{}
		p.unpack()
	}
	numbers := make([]string, 0, len(p.packed))
	for n := range p.packed {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	out := make([][]byte, len(numbers))
	for i, n := range numbers {
		out[i] = p.packed[n]
	}
	return out
}

func (p *pdfObjects) unpack() {
	room := maxPDFPacked
	for from := 0; room > 0; {
		at := bytes.Index(p.data[from:], []byte("/ObjStm"))
		if at < 0 {
			return
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
		first, _ := strconv.Atoi(string(m[1])) // digits; a number too large is beyond the end
		body, _ := io.ReadAll(io.LimitReader(unpackPDF(dictionary, p.data[begin:end]), int64(room)))
		if room -= len(body); first <= 0 || first >= len(body) {
			continue
		}
		p.take(bytes.Fields(body[:first]), body[first:])
		from = max(from, end)
	}
}

// take notes the objects of one stream: heads are pairs of a number and a place in body.
func (p *pdfObjects) take(heads [][]byte, body []byte) {
	place := func(i int) int {
		n, err := strconv.Atoi(string(heads[i]))
		if err != nil || n < 0 || n > len(body) {
			return -1
		}
		return n
	}
	for i := 0; i+1 < len(heads) && len(p.packed) < maxPDFObjects; i += 2 {
		from, to := place(i+1), len(body)
		if i+3 < len(heads) {
			to = place(i + 3)
		}
		if from >= 0 && from <= to && to-from <= maxPDFObject {
			p.packed[string(heads[i])] = body[from:to]
		}
	}
}
