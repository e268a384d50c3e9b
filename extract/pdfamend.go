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
)

// amended returns the file with the contents of the given stream objects replaced, as an update after its end (ISO 32000-1,
// section 7.5.6); nil: it has no table of objects that an update can follow.
func (p *pdfObjects) amended(streams map[string][]byte) []byte {
	const tail = 2048
	last := pdfStartXRef.FindAllSubmatch(p.data[max(len(p.data)-tail, 0):], -1)
	if last == nil {
		return nil
	}
	previous, err := strconv.Atoi(string(last[len(last)-1][1]))
	if err != nil || previous < 0 || previous >= len(p.data) {
		return nil
	}
	dictionary := p.data[previous:min(previous+maxPDFObject, len(p.data))]
	asTable := bytes.HasPrefix(dictionary, []byte("xref"))
	if at := bytes.Index(p.data[previous:], []byte("trailer")); asTable && at >= 0 {
		dictionary = p.data[previous+at : min(previous+at+maxPDFObject, len(p.data))]
	}
	for _, end := range []string{"stream", "startxref"} {
		if n := bytes.Index(dictionary, []byte(end)); n >= 0 {
			dictionary = dictionary[:n]
		}
	}
	size := pdfSize.FindSubmatch(dictionary)
	if size == nil {
		return nil
	}
	holder, err := strconv.Atoi(string(size[1]))
	if err != nil {
		return nil
	}
	out := bytes.NewBuffer(bytes.Clone(p.data))
	out.WriteString("\n")
	places := map[int]int{}
	for number, body := range streams {
		n, err := strconv.Atoi(number)
		if err != nil {
			return nil
		}
		places[n] = out.Len()
		fmt.Fprintf(out, "%d 0 obj\n<</Length %d>>stream\n%s\nendstream\nendobj\n", n, len(body), body)
	}
	at := out.Len()
	trailer := fmt.Sprintf("%s/Prev %d", bytes.Join(pdfTrailer.FindAll(dictionary, -1), nil), previous)
	numbers := slices.Sorted(maps.Keys(places))
	if asTable {
		out.WriteString("xref\n")
		for _, n := range numbers {
			fmt.Fprintf(out, "%d 1\n%010d 00000 n \n", n, places[n])
		}
		fmt.Fprintf(out, "trailer\n<<%s/Size %d>>\n", trailer, holder)
	} else {
		var index, rows bytes.Buffer
		for _, n := range append(numbers, holder) {
			fmt.Fprintf(&index, "%d 1 ", n)
			place, ok := places[n]
			if !ok {
				place = at
			}
			rows.Write([]byte{1, byte(place >> 24), byte(place >> 16), byte(place >> 8), byte(place), 0})
		}
		fmt.Fprintf(out, "%d 0 obj\n<</Type/XRef%s/Size %d/W[1 4 1]/Index[%s]/Length %d>>stream\n%s\nendstream\nendobj\n", holder, trailer,
			holder+1, index.String(), rows.Len(), rows.String())
	}
	fmt.Fprintf(out, "startxref\n%d\n%%%%EOF\n", at)
	return out.Bytes()
}
