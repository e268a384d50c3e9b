package extract

import "strings"

// readXML reads XML in a vocabulary without a reader; it takes all character data and makes each element a paragraph unless it is in the
// middle of text. Word and OpenDocument files in a single XML document go to their readers.
func readXML(b *builder, data []byte) error {
	c, err := detectEncoding(data)
	if err != nil {
		return err
	}
	head := decodeHead(data, c)
	switch {
	case strings.Contains(head, "<office:document"):
		b.res.Format = string(ODT)
		_ = walkXML(b, data, &coreProperties{b: b}) // the damage will be found again below
		r := newODFReader(b)
		err := walkXML(b, data, r)
		b.end()
		return err
	case strings.Contains(head, "<w:wordDocument"), strings.Contains(head, "<pkg:package"), strings.Contains(head, "<w:document"):
		b.res.Format = string(DOCX)
		r := &docxReader{b: b, styles: &docxStyles{}}
		err := walkXML(b, data, r)
		b.end()
		return err
	}
	s, err := b.decodeAs(data, c)
	if err != nil {
		return err
	}
	if isScholarly(strings.ToLower(head)) {
		err = walkDecoded(b, s, &scholarly{b: b})
		for b.end(); len(b.saved) > 0; b.end() {
			b.resume()
		}
		return err
	}
	r := &xmlText{b: b}
	err = walkDecoded(b, s, r)
	b.end()
	return err
}

// xmlText writes all character data.
type xmlText struct {
	b     *builder
	mixed []bool // for each open element, whether it contains text directly
	data  strings.Builder
}

func (r *xmlText) start(string, attrs) {
	r.flush()
	if n := len(r.mixed); n > 0 && !r.mixed[n-1] {
		r.b.end()
	}
	r.mixed = append(r.mixed, false)
}

func (r *xmlText) stop(string) {
	r.flush()
	n := len(r.mixed) - 1
	r.mixed = r.mixed[:max(n, 0)]
	if n <= 0 || !r.mixed[n-1] {
		r.b.end()
	}
}

func (r *xmlText) chars(s string) {
	if n := len(r.mixed); n > 0 && strings.TrimSpace(s) != "" {
		r.mixed[n-1] = true
	}
	r.data.WriteString(s)
}

// flush writes the text collected so far. News feeds contain HTML as text; the markup is not content.
func (r *xmlText) flush() {
	s := r.data.String()
	r.data.Reset()
	if strings.Contains(s, "</") || strings.Contains(s, "<br") || strings.Contains(s, "<p>") {
		r.b.htmlText(s)
		return
	}
	r.b.flow(s)
}
