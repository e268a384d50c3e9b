package extract

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/richardlehane/mscfb"
	"golang.org/x/text/encoding/charmap"
)

// oleStreams reads the wanted streams of a compound file, by lower-case path; none is longer than the file.
func oleStreams(data []byte, want func(path []string, name string) bool) (map[string][]byte, error) {
	doc, err := mscfb.New(bytes.NewReader(data))
	if err != nil {
		return nil, &Error{Code: Damaged, Detail: err.Error()}
	}
	got := map[string][]byte{}
	total := 0
	for n := 0; n < 100000; n++ {
		e, err := doc.Next()
		if err != nil {
			break // the end, or damage; missing streams are detected below
		}
		key := strings.ToLower(strings.Join(append(append([]string(nil), e.Path...), e.Name), "/"))
		if !want(e.Path, e.Name) || got[key] != nil {
			continue
		}
		b, err := io.ReadAll(io.LimitReader(e, int64(len(data))))
		if err != nil && len(b) == 0 {
			continue
		}
		if total += len(b); total > 4*len(data)+1<<20 {
			return nil, limitError("streams of the file", "MaxUnpacked", "some overlap")
		}
		got[key] = b
	}
	return got, nil
}

// readDOC reads the pieces of text in the binary format of Word 97 and later, in order ([MS-DOC], sections 2.4.1 and 2.8.35).
func readDOC(b *builder, data []byte) error {
	macro := false
	streams, err := oleStreams(data, func(path []string, name string) bool {
		name = strings.ToLower(name)
		macro = macro || len(path) > 0 && name == "_vba_project"
		return len(path) == 0 && (name == "worddocument" || name == "0table" || name == "1table" || name == "\x05summaryinformation")
	})
	if err != nil {
		return err
	}
	w := &wordFile{b: b, doc: streams["worddocument"]}
	if err := w.header(); err != nil {
		return err
	}
	if macro {
		b.flag(Flag{Code: FlagMacro, Detail: "the document contains a macro, which can change what is shown"})
	}
	b.summary(streams["\x05summaryinformation"])
	table := streams["0table"]
	if w.flags&0x0200 != 0 {
		table = streams["1table"]
	}
	pieces, err := w.pieces(table)
	if err != nil {
		return err
	}
	return w.write(pieces)
}

type wordFile struct {
	b     *builder
	doc   []byte
	flags uint16
	parts [8]int // lengths of the parts of the text, in characters
}

// Offsets in the file information block.
const (
	fibFlags    = 0x0a
	fibCcpText  = 0x4c
	fibClx      = 0x01a2
	fibClxLen   = 0x01a6
	fibLeast    = fibClxLen + 4
	fEncrypted  = 0x0100
	wordMagic   = 0xa5ec
	word97      = 0x00c1
	pieceLength = 8
)

func (w *wordFile) header() error {
	if len(w.doc) < fibLeast {
		return &Error{Code: Damaged, Detail: "the Word file has no header"}
	}
	if binary.LittleEndian.Uint16(w.doc) != wordMagic {
		return &Error{Code: Unsupported, Detail: "a Word format older than Word 97"}
	}
	w.flags = binary.LittleEndian.Uint16(w.doc[fibFlags:])
	if w.flags&fEncrypted != 0 {
		return &Error{Code: Encrypted, Detail: "the document is password-protected"}
	}
	if v := binary.LittleEndian.Uint16(w.doc[2:]); v < word97 {
		return &Error{Code: Unsupported, Detail: fmt.Sprintf("a Word format older than Word 97 (version %d)", v)}
	}
	for i := range w.parts {
		w.parts[i] = int(int32(binary.LittleEndian.Uint32(w.doc[fibCcpText+4*i:])))
	}
	return nil
}

// wordPiece is a run of characters in the WordDocument stream.
type wordPiece struct {
	chars, at int
	wide      bool // UTF-16 rather than windows-1252 with one byte per character
}

// pieces reads the piece table.
func (w *wordFile) pieces(table []byte) ([]wordPiece, error) {
	at := int(binary.LittleEndian.Uint32(w.doc[fibClx:]))
	n := int(binary.LittleEndian.Uint32(w.doc[fibClxLen:]))
	if at < 0 || n <= 0 || at > len(table) || n > len(table)-at {
		return nil, &Error{Code: Damaged, Detail: "the Word file's piece table is missing"}
	}
	clx := table[at : at+n]
	for len(clx) >= 3 && clx[0] == 1 { // this entry contains the formatting of pieces
		skip := 3 + int(binary.LittleEndian.Uint16(clx[1:]))
		if skip > len(clx) {
			break
		}
		clx = clx[skip:]
	}
	if len(clx) < 5 || clx[0] != 2 {
		return nil, &Error{Code: Damaged, Detail: "the Word file's piece table is damaged"}
	}
	plc := clx[5:]
	if m := int(binary.LittleEndian.Uint32(clx[1:])); m >= 0 && m < len(plc) {
		plc = plc[:m]
	}
	count := (len(plc) - 4) / (4 + pieceLength)
	var pieces []wordPiece
	for i := range max(count, 0) {
		from, to := binary.LittleEndian.Uint32(plc[4*i:]), binary.LittleEndian.Uint32(plc[4*i+4:])
		fc := binary.LittleEndian.Uint32(plc[4*(count+1)+pieceLength*i+2:])
		p := wordPiece{chars: int(to) - int(from), at: int(fc &^ 0x40000000), wide: fc&0x40000000 == 0}
		if !p.wide {
			p.at /= 2
		}
		if to < from {
			return nil, &Error{Code: Damaged, Detail: "the Word file's pieces are out of order"}
		}
		pieces = append(pieces, p)
	}
	return pieces, nil
}

// Parts of the text, in their order in the file.
var wordParts = [8]string{"", "footnotes", "header", "macro", "comments", "endnotes", "text boxes", "header"}

// write decodes the pieces and writes the parts of the text visible to a reader.
func (w *wordFile) write(pieces []wordPiece) error {
	part, left := 0, w.parts[0]
	field := &wordField{b: w.b}
	var headers, comments []uint16
	var damaged error
	total := 0
	for _, p := range pieces {
		size := p.chars
		if p.wide {
			size *= 2
		}
		if p.at > len(w.doc) || size > len(w.doc)-p.at {
			damaged = &Error{Code: Damaged, Detail: "a piece of the Word text is missing"}
			size = max(0, len(w.doc)-p.at)
			p.at = min(p.at, len(w.doc))
		}
		if total += size; total > 2*len(w.doc) {
			return &Error{Code: Damaged, Detail: "the Word file's pieces overlap"}
		}
		for _, u := range w.units(w.doc[p.at:p.at+size], p.wide) {
			for left <= 0 && part < len(w.parts)-1 {
				part++
				left = w.parts[part]
				field.finish()
				if left > 0 && wordParts[part] != "header" {
					w.b.place(wordParts[part])
				}
			}
			left--
			switch wordParts[part] {
			case "header":
				headers = append(headers, u)
			case "comments":
				comments = append(comments, u)
			case "macro":
			default:
				field.unit(u)
			}
		}
	}
	field.finish()
	w.headers(field, headers)
	if s := string(utf16.Decode(comments)); characters(s) > 0 {
		w.b.flag(Flag{Code: FlagComments, Detail: "comments are left out", Letters: characters(s)})
	}
	return damaged
}

// headers leaves out short page headers and footers. It keeps long ones, and keeps all of them if the document has no other text.
func (w *wordFile) headers(field *wordField, units []uint16) {
	letters := 0
	for _, u := range units {
		if u > ' ' {
			letters++
		}
	}
	switch {
	case letters > shortHeader, letters > 0 && !w.b.any():
		w.b.place("page header or footer")
		for _, u := range units {
			field.unit(u)
		}
		field.finish()
	case letters > 0:
		w.b.flag(Flag{Code: FlagHeaders, Detail: "page headers and footers left out"})
		w.b.leave(FlagHeaders, string(utf16.Decode(units)))
	}
}

func (w *wordFile) units(raw []byte, wide bool) []uint16 {
	if wide {
		u := make([]uint16, len(raw)/2)
		for i := range u {
			u[i] = binary.LittleEndian.Uint16(raw[2*i:])
		}
		return u
	}
	u := make([]uint16, len(raw))
	for i, c := range raw {
		u[i] = uint16(charmap.Windows1252.DecodeByte(c))
		if c < 0x20 || u[i] == 0xfffd {
			u[i] = uint16(c)
		}
	}
	return u
}

// wordField writes characters, reducing fields to their results.
type wordField struct {
	b     *builder
	depth []bool       // for each open field, whether its instruction is being read
	codes []*fieldCode // for each open field; nil if text followed its code
	units []uint16
}

func (f *wordField) unit(u uint16) {
	switch u {
	case 0x13:
		f.flush()
		if len(f.depth) < 1000 {
			f.depth, f.codes = append(f.depth, true), append(f.codes, &fieldCode{})
		}
	case 0x14:
		if n := len(f.depth); n > 0 {
			f.depth[n-1] = false
		}
	case 0x15:
		if n := len(f.depth); n > 0 {
			code := f.codes[n-1]
			if f.depth, f.codes = f.depth[:n-1], f.codes[:n-1]; code != nil && !f.inCode() {
				f.flush()
				code.writeEQ(f.b, f.b.text)
			}
		}
	default:
		if !f.inCode() {
			clear(f.codes)
			f.shown(u)
		} else if n := len(f.depth); f.depth[n-1] && f.codes[n-1] != nil {
			f.codes[n-1].add(string(utf16.Decode([]uint16{u})))
		}
	}
}

// inCode reports whether the following text is part of an instruction.
func (f *wordField) inCode() bool { return slices.Contains(f.depth, true) }

func (f *wordField) shown(u uint16) {
	switch u {
	case 0x0d, 0x07, 0x0c, 0x0e: // paragraph, cell, page, column
		f.flush()
		f.b.end()
	case 0x0b:
		f.flush()
		f.b.line()
	case 0x1e:
		f.units = append(f.units, 0x2011)
	case 0x1f, 0x01, 0x02, 0x05, 0x08, 0x00, 0x03, 0x04: // optional hyphen, pictures, note marks
	default:
		f.units = append(f.units, u)
	}
	if len(f.units) > 1<<16 {
		f.flush()
	}
}

func (f *wordField) flush() {
	f.b.text(string(utf16.Decode(f.units)))
	f.units = f.units[:0]
}

// finish ends a part of the text, because fields do not extend beyond it.
func (f *wordField) finish() {
	f.flush()
	f.b.end()
	f.depth, f.codes = f.depth[:0], f.codes[:0]
}

// summary reads title and author from a property set ([MS-OLEPS] section 2.21).
func (b *builder) summary(s []byte) {
	if len(s) < 48 {
		return
	}
	at := int(binary.LittleEndian.Uint32(s[44:]))
	if at < 48 || at > len(s)-8 {
		return
	}
	set := s[at:]
	n := min(int(binary.LittleEndian.Uint32(set[4:])), (len(set)-8)/8, 100)
	values, page := map[uint32][]byte{}, 1252
	for i := range max(n, 0) {
		id, off := binary.LittleEndian.Uint32(set[8+8*i:]), int(binary.LittleEndian.Uint32(set[12+8*i:]))
		if off < 0 || off > len(set)-8 {
			continue
		}
		v := set[off:]
		switch kind := binary.LittleEndian.Uint32(v); {
		case id == 1 && kind == 2:
			page = int(binary.LittleEndian.Uint16(v[4:]))
		case (id == 2 || id == 4) && kind == 30:
			if m := int(binary.LittleEndian.Uint32(v[4:])); m > 0 && m <= len(v)-8 {
				values[id] = bytes.TrimRight(v[8:8+m], "\x00")
			}
		}
	}
	text := func(v []byte) string {
		if e := windowsPage(page); e != nil {
			if d, err := e.NewDecoder().Bytes(v); err == nil {
				return string(d)
			}
		}
		return strings.ToValidUTF8(string(v), "")
	}
	b.res.Title, b.res.Author = text(values[2]), text(values[4])
}
