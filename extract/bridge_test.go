package extract

import (
	"bytes"
	"encoding/binary"
)

// These names are exported for the tests of package extract_test.
var (
	CorpusDir = corpus
	ListFiles = files
	UnpackRTF = unpackRTF
)

// FontTables reads a font and a ToUnicode table. It returns the number of letters in the font, and the table corrected by the font.
func FontTables(font, table []byte) (letters int, written []byte) {
	f, err := readFont(bytes.NewReader(font))
	if err != nil {
		return 0, nil
	}
	room := maxPDFCodes
	t := readToUnicode(table, &room)
	t.correct(func(code int) []rune { return f.of[code] }, len(f.of))
	return len(f.of), t.write(2)
}

// Pieces reads a Word file that consists of the given piece table and text.
func Pieces(table, text []byte) (*Result, error) {
	o := Options{}.WithDefaults()
	b := newBuilder(DOC, o, newBudget(o))
	doc := make([]byte, fibLeast, fibLeast+len(text))
	binary.LittleEndian.PutUint16(doc, wordMagic)
	binary.LittleEndian.PutUint16(doc[2:], word97)
	binary.LittleEndian.PutUint32(doc[fibClxLen:], uint32(len(table)))
	binary.LittleEndian.PutUint32(doc[fibCcpText:], 1<<20)
	w := &wordFile{b: b, doc: append(doc, text...)}
	if err := w.header(); err != nil {
		return nil, err
	}
	pieces, err := w.pieces(table)
	if err != nil {
		return nil, err
	}
	if err := w.write(pieces); err != nil {
		return nil, err
	}
	return b.result()
}

// PDFObject returns the object of a PDF with the given number.
func PDFObject(data []byte, number string) string {
	return string(newPDFObjects(data, Options{}).object(number))
}
