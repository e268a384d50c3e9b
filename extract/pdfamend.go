package extract

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
)

var (
	pdfStartXRef = regexp.MustCompile(`startxref\s+(\d+)`)
	pdfSize      = regexp.MustCompile(`/Size\s+(\d+)`)
	pdfTrailer   = regexp.MustCompile(`/(?:Root|Info)\s+\d+\s+\d+\s+R|/ID\s*\[[^\]]*\]`)
	pdfHead      = regexp.MustCompile(`^\s*\d+\s+\d+\s+obj`)
)

// pdfEnd is the last object table of a file.
type pdfEnd struct {
	dictionary []byte // dictionary of the trailer
	place      int    // position of the table
	isTable    bool   // the table is a plain one rather than a stream
	size       int    // size over all tables; every object number is smaller. 0 if there is no table that an update could build on
}

// fromHeader returns the file starting with its header, where offsets are counted from.
func (p *pdfObjects) fromHeader() []byte {
	const within = 1024
	return p.data[max(bytes.Index(p.data[:min(len(p.data), within)], []byte("%PDF")), 0):]
}

// lastTrailer finds the last object table.
func (p *pdfObjects) lastTrailer() pdfEnd {
	const tail = 2048
	data := p.fromHeader()
	last := pdfStartXRef.FindAllSubmatch(data[max(len(data)-tail, 0):], -1)
	if last == nil {
		return pdfEnd{}
	}
	place, err := strconv.Atoi(string(last[len(last)-1][1]))
	if err != nil || place < 0 || place >= len(data) {
		return pdfEnd{}
	}
	end := pdfEnd{place: place, isTable: bytes.HasPrefix(data[place:], []byte("xref"))}
	end.dictionary = data[place:min(place+maxPDFObject, len(data))]
	if at := bytes.Index(data[place:], []byte("trailer")); end.isTable && at >= 0 {
		end.dictionary = data[place+at : min(place+at+maxPDFObject, len(data))]
	}
	if !end.isTable && !pdfHead.Match(end.dictionary) {
		return pdfEnd{}
	}
	for _, mark := range []string{"stream", "startxref"} {
		if n := bytes.Index(end.dictionary, []byte(mark)); n >= 0 {
			end.dictionary = end.dictionary[:n]
		}
	}
	if size := pdfSize.FindSubmatch(end.dictionary); size != nil {
		end.size, _ = strconv.Atoi(string(size[1])) // the match consists of digits; a number that is too large is outside PDFium's range
	}
	return end
}

// amended returns the file with objects replaced or added, as an update appended to it (ISO 32000-1, section 7.5.6). If there is no table
// that the update can build on, the file ends without one, and PDFium searches for objects; if several have the same number, the last one
// counts.
func (p *pdfObjects) amended(objects map[int][]byte) []byte {
	end := p.lastTrailer()
	places, numbers := map[int]int{}, slices.Sorted(maps.Keys(objects))
	const each = 128 // bytes around an object and for its table entry; growing would copy a large file again
	size := len(p.data) + maxPDFObject + each*(len(numbers)+1)
	for _, o := range objects {
		size += len(o)
	}
	out := bytes.NewBuffer(make([]byte, 0, size))
	out.Write(p.fromHeader())
	out.WriteString("\n")
	for _, n := range numbers {
		places[n] = out.Len()
		fmt.Fprintf(out, "%d 0 obj\n%s\nendobj\n", n, objects[n])
	}
	at := out.Len()
	trailer := fmt.Sprintf("%s/Prev %d", bytes.Join(pdfTrailer.FindAll(end.dictionary, -1), nil), end.place)
	holder := max(end.size, numbers[len(numbers)-1]+1)
	switch {
	case end.size <= 0:
		at = 0
	case end.isTable:
		out.WriteString("xref\n")
		for _, n := range numbers {
			fmt.Fprintf(out, "%d 1\n%010d 00000 n \n", n, places[n])
		}
		fmt.Fprintf(out, "trailer\n<<%s/Size %d>>\n", trailer, holder)
	default:
		var index, rows bytes.Buffer
		places[holder] = at
		for _, n := range append(numbers, holder) {
			fmt.Fprintf(&index, "%d 1 ", n)
			place := places[n]
			rows.Write([]byte{1, byte(place >> 24), byte(place >> 16), byte(place >> 8), byte(place), 0})
		}
		fmt.Fprintf(out, "%d 0 obj\n<</Type/XRef%s/Size %d/W[1 4 1]/Index[%s]/Length %d>>stream\n%s\nendstream\nendobj\n", holder, trailer,
			holder+1, index.String(), rows.Len(), rows.String())
	}
	fmt.Fprintf(out, "startxref\n%d\n%%%%EOF\n", at)
	return out.Bytes()
}
