package extract

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
)

// readRTF reads Rich Text Format (Microsoft, Rich Text Format Specification 1.9.1).
func readRTF(b *builder, data []byte) error {
	r := &rtfReader{b: b, data: data, fonts: map[int]encoding.Encoding{}, page: charmap.Windows1252, colours: []bool{false}}
	r.st = rtfState{uc: 1, enc: nil}
	err := r.read()
	r.flush()
	b.end()
	r.pageHeaders()
	if c := r.created; c[0] > 0 {
		b.dated(fmt.Sprintf("%04d-%02d-%02d", c[0], max(c[1], 1), max(c[2], 1)))
	}
	return err
}

// rtfState is the state inherited by a group and restored at its end.
type rtfState struct {
	dest   rtfDest
	uc     int // number of replacement characters after a \u
	enc    encoding.Encoding
	hidden bool
	white  bool
	size   int    // in half points; 0 for the default
	aside  string // flag for text that is left out, such as headers, comments and deletions; empty if the text is not left out
}

type rtfDest int

const (
	rtfBody rtfDest = iota
	rtfSkip
	rtfFonts
	rtfColours
	rtfTitle
	rtfAuthor
	rtfInfo // other fields of the information group
	rtfCreated
	rtfObject // an object, which displays only its result
	rtfLabel  // label of a list
	rtfCode   // code of a field
	rtfTwice  // text in two forms; the second, in Unicode, is displayed
)

type rtfReader struct {
	b       *builder
	data    []byte
	at      int
	st      rtfState
	stack   []rtfState
	fonts   map[int]encoding.Encoding
	font    int // font being defined
	deff    int
	page    encoding.Encoding // code page of the document
	pending []byte            // bytes not yet decoded
	units   []uint16          // UTF-16 not yet paired
	drop    int               // characters to drop after \u
	star    bool              // \* was read
	colours []bool            // true for white
	white   [3]int
	created [3]int          // year, month, day
	code    fieldCode       // code of the current field
	headers []string        // page headers in reading order
	header  strings.Builder // the current header
}

func (r *rtfReader) read() error {
	for r.at < len(r.data) && !r.b.full {
		switch c := r.data[r.at]; c {
		case '{':
			r.at++
			r.flush()
			r.drop = 0
			if len(r.stack) >= 16*r.b.opt.MaxDepth {
				return limitError("RTF nesting", "MaxDepth", "too many open groups")
			}
			r.stack = append(r.stack, r.st)
		case '}':
			r.at++
			r.flush()
			r.drop = 0
			if len(r.stack) == 0 {
				return nil // the rest of the file is not part of the document
			}
			before := r.stack[len(r.stack)-1]
			r.leaveAside(before.aside)
			ended := r.st.dest == rtfCode && before.dest != rtfCode
			r.st = before
			if ended {
				r.code.writeEQ(r.b, r.write)
				r.code = fieldCode{}
			}
			r.stack = r.stack[:len(r.stack)-1]
			if len(r.stack) == 0 && isRTF(r.data) { // an RTF fragment can consist of several groups
				return nil
			}
		case '\\':
			r.at++
			r.control()
		case '\r', '\n', 0:
			r.at++
		default:
			r.at++
			r.literal(c)
		}
	}
	if len(r.stack) > 0 {
		return &Error{Code: Damaged, Detail: "the RTF text is truncated"}
	}
	return nil
}

func (r *rtfReader) literal(c byte) {
	if r.drop > 0 {
		r.drop--
		return
	}
	if len(r.units) > 0 {
		r.flush()
	}
	if r.st.dest == rtfColours {
		if c == ';' {
			w := r.white
			r.colours = append(r.colours, w[0] >= 0xf8 && w[1] >= 0xf8 && w[2] >= 0xf8)
			r.white = [3]int{}
		}
		return
	}
	r.pending = append(r.pending, c)
}

// flush decodes the pending bytes and writes the text to the group's destination.
func (r *rtfReader) flush() {
	if len(r.units) > 0 {
		r.write(string(utf16.Decode(r.units)))
		r.units = r.units[:0]
	}
	if len(r.pending) == 0 {
		return
	}
	enc := r.st.enc
	if enc == nil {
		enc = r.page
	}
	s, err := enc.NewDecoder().Bytes(r.pending)
	if err != nil {
		s = r.pending
	}
	r.pending = r.pending[:0]
	r.write(string(s))
}

func (r *rtfReader) write(s string) {
	switch r.st.dest {
	case rtfTitle:
		r.b.res.Title += s
	case rtfAuthor:
		r.b.res.Author += s
	case rtfLabel: // numbers and bullets alone are not text
		if r.st.aside == "" && strings.IndexFunc(s, unicode.IsLetter) >= 0 && utf8.RuneCountInString(strings.TrimSpace(s)) > 3 {
			r.b.text(s)
		}
	case rtfCode:
		r.code.add(s)
	case rtfBody:
		if r.st.aside != "" {
			r.aside(s)
			return
		}
		code := ""
		switch {
		case strings.TrimSpace(s) == "":
		case r.st.hidden:
			code = FlagHidden
		case r.st.white:
			code = FlagWhite
		case r.st.size > 0 && r.st.size <= 2*tinyPoints:
			code = FlagTiny
		}
		r.b.spans.write(r.b, s, code, hiddenDetail[code])
	}
}

// control reads a control word or symbol.
func (r *rtfReader) control() {
	if r.at >= len(r.data) {
		return
	}
	c := r.data[r.at]
	if c|0x20 < 'a' || c|0x20 > 'z' {
		r.at++
		r.symbol(c)
		return
	}
	from := r.at
	for r.at < len(r.data) && r.data[r.at]|0x20 >= 'a' && r.data[r.at]|0x20 <= 'z' {
		r.at++
	}
	word := string(r.data[from:min(r.at, from+40)])
	from = r.at
	if r.at < len(r.data) && r.data[r.at] == '-' {
		r.at++
	}
	for r.at < len(r.data) && r.data[r.at] >= '0' && r.data[r.at] <= '9' && r.at-from < 11 {
		r.at++
	}
	n, err := strconv.Atoi(string(r.data[from:r.at]))
	if r.at < len(r.data) && r.data[r.at] == ' ' {
		r.at++
	}
	if word == "bin" && n > 0 {
		r.at = min(len(r.data), r.at+n)
		return
	}
	r.word(word, n, err == nil)
}

func (r *rtfReader) symbol(c byte) {
	switch c {
	case '\'':
		if r.at+2 <= len(r.data) {
			n, err := strconv.ParseUint(string(r.data[r.at:r.at+2]), 16, 8)
			r.at += 2
			if err == nil {
				r.literal(byte(n))
			}
		}
	case '*':
		r.star = true
	case '~':
		r.put("\u00a0")
	case '_':
		r.put("\u2011")
	case '-': // optional hyphen
	case '\r', '\n':
		r.paragraph()
	case '\\', '{', '}':
		r.literal(c)
	}
}

// put writes s after any pending text.
func (r *rtfReader) put(s string) {
	if r.drop > 0 {
		r.drop--
		return
	}
	r.flush()
	r.write(s)
}

func (r *rtfReader) paragraph() {
	r.flush()
	switch {
	case r.st.dest != rtfBody:
	case r.st.aside != "":
		r.aside("\n\n")
	default:
		r.b.end()
	}
}

// rtfDestinations are groups with text that is not part of the document as displayed.
var rtfDestinations = map[string]rtfDest{
	"fonttbl": rtfFonts, "colortbl": rtfColours, "stylesheet": rtfSkip, "info": rtfInfo, "pict": rtfSkip, "object": rtfObject,
	"result": rtfBody,
	"upr":    rtfTwice, "ud": rtfBody, "fldinst": rtfCode, "xe": rtfSkip, "tc": rtfSkip, "bkmkstart": rtfSkip, "bkmkend": rtfSkip,
	"listtable": rtfSkip, "listoverridetable": rtfSkip, "revtbl": rtfSkip, "rsidtbl": rtfSkip, "generator": rtfSkip, "themedata": rtfSkip,
	"colorschememapping": rtfSkip, "datastore": rtfSkip, "latentstyles": rtfSkip, "filetbl": rtfSkip, "private1": rtfSkip,
	"objdata": rtfSkip, "objclass": rtfSkip, "nonshppict": rtfSkip, "atnid": rtfSkip, "atnauthor": rtfSkip,
	"pntext": rtfLabel, "listtext": rtfLabel, "mmathPr": rtfSkip, "sn": rtfSkip, "sv": rtfSkip, "falt": rtfSkip, "panose": rtfSkip,
	"ftnsep": rtfSkip, "ftnsepc": rtfSkip, "ftncn": rtfSkip, "aftnsep": rtfSkip, "aftnsepc": rtfSkip, "aftncn": rtfSkip,
}

// rtfShown are destinations marked optional whose text is nevertheless displayed.
var rtfShown = map[string]bool{"shptxt": true, "shpinst": true, "shp": true, "footnote": true, "fldrslt": true,
	"moMath": true, "shppict": false}

var rtfSigns = map[string]string{
	"tab": "\t", "emdash": "—", "endash": "–", "bullet": "•", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”",
	"emspace": " ", "enspace": " ", "qmspace": " ", "zwj": "\u200d", "zwnj": "\u200c", "ltrmark": "\u200e", "rtlmark": "\u200f",
}

// word executes a control word. n is valid only if has is true.
func (r *rtfReader) word(w string, n int, has bool) {
	star := r.star
	r.star = false
	if s, ok := rtfSigns[w]; ok {
		r.put(s)
		return
	}
	if d, ok := rtfDestinations[w]; ok {
		r.flush()
		if r.st.dest != rtfSkip && (d != rtfBody || r.st.dest == rtfObject || r.st.dest == rtfTwice) {
			r.st.dest = d
		}
		return
	}
	if code, ok := rtfAsides[w]; ok {
		if r.flush(); r.st.dest != rtfSkip && r.st.aside == "" {
			if r.st.aside = code; code == FlagComments {
				r.b.flag(Flag{Code: FlagComments, Detail: "comments are left out"})
			}
		}
		return
	}
	if star && !rtfShown[w] {
		r.flush()
		r.st.dest = rtfSkip
		return
	}
	switch w {
	case "par", "sect", "page", "row", "cell", "nestcell", "nestrow", "column":
		r.paragraph()
	case "line", "softline", "lbr":
		r.flush()
		switch {
		case r.st.dest != rtfBody:
		case r.st.aside != "":
			r.aside("\n")
		default:
			r.b.line()
		}
	case "u":
		r.unicode(n)
	case "uc":
		r.st.uc = max(0, min(n, 16))
	case "ansicpg", "mac", "pc", "pca":
		r.codePage(w, n)
	case "f", "af":
		r.setFont(n)
	case "deff":
		r.deff = n
	case "fcharset":
		if r.st.dest == rtfFonts {
			r.fonts[r.font] = rtfCharset(n)
		}
	case "plain":
		r.flush()
		r.st.hidden, r.st.white, r.st.size, r.st.enc = false, false, 0, r.fonts[r.deff]
	case "v":
		r.flush()
		r.st.hidden = !has || n != 0
	case "fs":
		r.flush()
		r.st.size = n
	case "cf":
		r.flush()
		r.st.white = n > 0 && n < len(r.colours) && r.colours[n]
	case "deleted":
		r.flush()
		switch {
		case has && n == 0 && r.st.aside == FlagTracked:
			r.st.aside = ""
		case (!has || n != 0) && r.st.aside == "":
			r.st.aside = FlagTracked
			r.b.flag(Flag{Code: FlagTracked, Detail: "deleted text of tracked changes left out"})
		}
	default:
		r.group(w, n)
	}
}

// group handles control words for the destination of the group's text, and for colours.
func (r *rtfReader) group(w string, n int) {
	switch w {
	case "red":
		r.white[0] = n
	case "green":
		r.white[1] = n
	case "blue":
		r.white[2] = n
	case "creatim":
		if r.st.dest == rtfInfo {
			r.st.dest = rtfCreated
		}
	case "yr", "mo", "dy":
		if r.st.dest == rtfCreated {
			r.created[map[string]int{"yr": 0, "mo": 1, "dy": 2}[w]] = n
		}
	case "title":
		if r.st.dest == rtfInfo {
			r.st.dest = rtfTitle
		}
	case "author":
		if r.st.dest == rtfInfo {
			r.st.dest = rtfAuthor
		}
	}
}

func (r *rtfReader) unicode(n int) {
	if len(r.pending) > 0 {
		r.flush()
	}
	if r.drop > 0 {
		r.drop--
		return
	}
	if n < 0 {
		n += 1 << 16
	}
	if n >= 0x10000 { // not allowed, but some programs write it
		r.put(string(rune(n)))
	} else {
		r.units = append(r.units, uint16(n))
	}
	r.drop = r.st.uc
}

func (r *rtfReader) setFont(n int) {
	if r.st.dest == rtfFonts {
		r.font = n
		return
	}
	r.flush()
	r.st.enc = r.fonts[n]
}

func (r *rtfReader) codePage(w string, n int) {
	switch w {
	case "mac":
		r.page = charmap.Macintosh
	case "pc":
		r.page = charmap.CodePage437
	case "pca":
		r.page = charmap.CodePage850
	default:
		if e := windowsPage(n); e != nil {
			r.page = e
		}
	}
}

// windowsPage returns the encoding of a Windows code page number, or nil.
func windowsPage(n int) encoding.Encoding {
	name := "windows-" + strconv.Itoa(n)
	switch n {
	case 932:
		name = "shift_jis"
	case 936, 54936:
		name = "gb18030"
	case 949:
		name = "euc-kr"
	case 950:
		name = "big5"
	case 437, 850, 852, 855, 866:
		name = "ibm" + strconv.Itoa(n)
	case 10000:
		name = "macintosh"
	case 10007:
		name = "x-mac-cyrillic"
	case 20866:
		name = "koi8-r"
	case 65001:
		return encoding.Nop
	}
	if c, ok := byName(name); ok {
		return c.enc
	}
	return nil
}

// rtfCharset returns the encoding of a font's character set, or nil for the document's encoding.
func rtfCharset(n int) encoding.Encoding {
	pages := map[int]int{128: 932, 129: 949, 134: 936, 136: 950, 161: 1253, 162: 1254, 163: 1258, 177: 1255, 178: 1256,
		186: 1257, 204: 1251, 222: 874, 238: 1250, 254: 437, 255: 850, 77: 10000}
	if p, ok := pages[n]; ok {
		return windowsPage(p)
	}
	return nil
}

// isRTF reports whether data begins as RTF after any blanks.
func isRTF(data []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(data, " \t\r\n\xef\xbb\xbf"), []byte(`{\rtf`))
}
