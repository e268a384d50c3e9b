package extract

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// charset is the encoding chosen for a file. A nil decoder means UTF-8.
type charset struct {
	name string
	enc  encoding.Encoding
	bom  int  // number of bytes to skip
	sure bool // the choice is based on a byte order mark, validity or a declaration, rather than guessed
}

// detectWindow is the number of bytes examined by the detector.
const detectWindow = 64 << 10

// detectEncoding chooses the encoding by byte order mark, then by validity as UTF-8, by declaration, by the pattern of zero bytes, and
// finally by letter statistics. It fails with code Binary or Encoding.
func detectEncoding(data []byte) (charset, error) {
	if c, ok := byteOrderMark(data); ok {
		return c, nil
	}
	head := data[:min(len(data), detectWindow)]
	if c, ok := wideWithoutMark(data[:len(head)&^3]); ok {
		return c, nil
	}
	if looksBinary(head) {
		return charset{}, &Error{Code: Binary, Detail: "control bytes that no text encoding uses"}
	}
	if c, ok := escapeEncoding(head); ok {
		return c, nil
	}
	if utf8.Valid(data) {
		if isASCII(data) {
			return charset{name: "us-ascii", sure: true}, nil
		}
		return charset{name: "utf-8", sure: true}, nil
	}
	if c, ok := declared(head); ok && c.fits(data) {
		return c, nil
	}
	if c, ok := nearlyUTF8(data); ok {
		return c, nil
	}
	return guessEncoding(data)
}

func isASCII(b []byte) bool {
	for _, c := range b {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

func byteOrderMark(b []byte) (charset, bool) {
	switch {
	case bytes.HasPrefix(b, []byte("\xef\xbb\xbf")):
		return charset{name: "utf-8", bom: 3, sure: true}, true
	case bytes.HasPrefix(b, []byte("\xff\xfe\x00\x00")):
		return charset{"utf-32le", utf32.UTF32(utf32.LittleEndian, utf32.IgnoreBOM), 4, true}, true
	case bytes.HasPrefix(b, []byte("\x00\x00\xfe\xff")):
		return charset{"utf-32be", utf32.UTF32(utf32.BigEndian, utf32.IgnoreBOM), 4, true}, true
	case bytes.HasPrefix(b, []byte("\xff\xfe")):
		return charset{"utf-16le", unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), 2, true}, true
	case bytes.HasPrefix(b, []byte("\xfe\xff")):
		return charset{"utf-16be", unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM), 2, true}, true
	case bytes.HasPrefix(b, []byte("\x84\x31\x95\x33")):
		return charset{"gb18030", mustEncoding("gb18030"), 4, true}, true
	}
	return charset{}, false
}

// wideWithoutMark recognises UTF-16 and UTF-32 without a byte order mark. In both, bytes of one parity take far fewer values than bytes
// of the other: zero for Latin text, a few blocks for any other alphabet. In addition, the decoded text must not contain unpaired
// surrogates or controls.
func wideWithoutMark(b []byte) (charset, bool) {
	if len(b) < 8 {
		return charset{}, false
	}
	var zeros [4]int
	for i, c := range b {
		if c == 0 {
			zeros[i&3]++
		}
	}
	quarter := len(b) / 4
	for _, w := range []struct {
		order utf32.Endianness
		name  string
		a, b  int
	}{{utf32.LittleEndian, "utf-32le", 2, 3}, {utf32.BigEndian, "utf-32be", 0, 1}} {
		if zeros[w.b]+zeros[w.a] >= 2*quarter-quarter/50 && (w.a == 2 && zeros[3] == quarter || w.a == 0 && zeros[0] == quarter) {
			return charset{w.name, utf32.UTF32(w.order, utf32.IgnoreBOM), 0, false}, true
		}
	}
	for _, w := range []struct {
		order unicode.Endianness
		name  string
		high  int
	}{{unicode.LittleEndian, "utf-16le", 1}, {unicode.BigEndian, "utf-16be", 0}} {
		enc := unicode.UTF16(w.order, unicode.IgnoreBOM)
		if plausibleUTF16(b, w.high) {
			return charset{w.name, enc, 0, false}, true
		}
	}
	return charset{}, false
}

// plausibleUTF16 decodes b as UTF-16 with high bytes at the given parity.
func plausibleUTF16(b []byte, high int) bool {
	units, spaces, bad, swapped := len(b)/2, 0, 0, 0
	for i := 0; i+1 < len(b); i += 2 {
		hi, lo := b[i+high], b[i+1-high]
		switch u := uint16(hi)<<8 | uint16(lo); {
		case u == 0x2000, u == 0x0a00, u == 0x0d00:
			swapped++
		case u == ' ', u == '\n', u == '\r', u == 0x3000, u == 0x3001, u == 0x3002:
			spaces++
		case u < 0x20 && u != '\t' && u != '\f', u >= 0xe000 && u < 0xf900, u >= 0xfff0:
			bad++
		case u >= 0xd800 && u < 0xdc00:
			if i+3 >= len(b) || b[i+2+high]&0xfc != 0xdc {
				bad++
			}
		}
	}
	// In 8-bit text decoded as UTF-16, a space is hardly ever a whole unit, so spaces decide. The other byte order turns spaces into
	// U+2000 and line ends into U+0A00, which do not occur in text.
	return bad*200 <= units && spaces*100 >= units && swapped*50 <= spaces
}

// looksBinary reports whether more than 1 in 200 bytes are controls that text does not use. 8-bit text never contains NUL bytes, but
// files that merely resemble text can contain isolated ones.
func looksBinary(head []byte) bool {
	bad := 0
	head = bytes.TrimRight(head, "\x00") // padding added by some editors
	for _, c := range head {
		if c < 0x20 && c != '\t' && c != '\n' && c != '\r' && c != '\f' && c != 0x1b && c != '\v' && c != 0x08 && c != 0x1a {
			bad++
		}
	}
	return bad*200 > len(head)
}

// escapeEncoding recognises 7-bit encodings that switch by escape sequences.
func escapeEncoding(b []byte) (charset, bool) {
	if !isASCII(b) {
		return charset{}, false
	}
	switch {
	case bytes.Contains(b, []byte("\x1b$B")), bytes.Contains(b, []byte("\x1b$@")), bytes.Contains(b, []byte("\x1b(J")):
		return charset{"iso-2022-jp", mustEncoding("iso-2022-jp"), 0, true}, true
	case bytes.Contains(b, []byte("~{")) && bytes.Contains(b, []byte("~}")) && balancedHZ(b):
		return charset{"hz-gb-2312", hzEncoding, 0, true}, true
	}
	return charset{}, false
}

// balancedHZ reports whether every shift into HZ text is followed by byte pairs and a shift out.
func balancedHZ(b []byte) bool {
	runs := 0
	for {
		i := bytes.Index(b, []byte("~{"))
		if i < 0 {
			return runs > 0
		}
		b = b[i+2:]
		j := bytes.Index(b, []byte("~}"))
		if j < 0 {
			return runs > 0
		}
		if j%2 != 0 || j == 0 {
			return false
		}
		for _, c := range b[:j] {
			if c < 0x21 || c > 0x7e {
				return false
			}
		}
		runs++
		b = b[j+2:]
	}
}

var declaration = regexp.MustCompile(`(?i)(?:<\?xml[^>]{0,200}encoding\s*=\s*["']?|<meta[^>]{0,200}charset\s*=\s*["']?|@charset\s+"|coding[:=]\s*)([A-Za-z0-9_:.-]{2,40})`)

// declared returns the encoding named in the first bytes, as in HTML, XML and program sources.
func declared(head []byte) (charset, bool) {
	m := declaration.FindSubmatch(head[:min(len(head), 4096)])
	if m == nil {
		return charset{}, false
	}
	c, ok := byName(string(m[1]))
	c.sure = true
	return c, ok && c.enc != nil
}

// byName returns the charset of an IANA or common name. Anything called GB2312 or GBK is decoded as GB18030, a superset of both, because
// real files use characters of the larger set.
func byName(name string) (charset, bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	switch name {
	case "utf-8", "utf8":
		return charset{name: "utf-8"}, true
	case "us-ascii", "ascii":
		return charset{name: "windows-1252", enc: mustEncoding("windows-1252")}, true
	case "gb2312", "gbk", "gb_2312-80", "x-gbk", "cp936", "gb18030", "euc-cn":
		return charset{name: "gb18030", enc: mustEncoding("gb18030")}, true
	case "hz-gb-2312":
		return charset{name: name, enc: hzEncoding}, true
	case "cp949", "uhc", "ks_c_5601-1987":
		return charset{name: "euc-kr", enc: mustEncoding("euc-kr")}, true
	case "cp932", "shift-jis", "windows-31j":
		return charset{name: "shift_jis", enc: mustEncoding("shift_jis")}, true
	}
	if strings.HasPrefix(name, "cp125") {
		name = "windows-" + name[2:]
	}
	for _, c := range singleBytes {
		if c.name == name {
			return charset{name: c.name, enc: c.enc}, true
		}
	}
	enc, err := htmlindex.Get(name)
	if err != nil {
		return charset{}, false
	}
	if n, err := htmlindex.Name(enc); err == nil {
		name = n
	}
	return charset{name: name, enc: enc}, true
}

func mustEncoding(name string) encoding.Encoding {
	enc, err := htmlindex.Get(name)
	if err != nil {
		panic("extract: no encoding " + name) // one of our constants, covered by every test
	}
	return enc
}

// fits reports whether data decodes with no more than 1 % replacement characters.
func (c charset) fits(data []byte) bool {
	s, err := c.decode(data[:min(len(data), detectWindow)])
	if err != nil {
		return false
	}
	bad, all := strings.Count(s, "\uFFFD"), utf8.RuneCountInString(s)
	return bad*100 <= all
}

// nearlyUTF8 accepts UTF-8 with a few broken bytes, that is, with at least 50 times as many intact multi-byte sequences as broken ones.
func nearlyUTF8(data []byte) (charset, bool) {
	good, bad := 0, 0
	for b := data; len(b) > 0; {
		r, n := utf8.DecodeRune(b)
		switch {
		case r == utf8.RuneError && n == 1:
			bad++
		case n > 1:
			good++
		}
		b = b[n:]
	}
	return charset{name: "utf-8", sure: true}, good >= 50*bad
}

// decode returns data as UTF-8, with invalid parts as U+FFFD.
func (c charset) decode(data []byte) (string, error) {
	data = data[min(c.bom, len(data)):]
	if c.enc == nil {
		return strings.ToValidUTF8(string(data), "\uFFFD"), nil
	}
	out, err := c.enc.NewDecoder().Bytes(data)
	if err != nil {
		return "", fmt.Errorf("decode %s: %w", c.name, err)
	}
	return strings.ToValidUTF8(string(out), "\uFFFD"), nil
}

func decodeHead(data []byte, c charset) string {
	s, err := c.decode(data[:min(len(data), 8192)])
	if err != nil {
		return ""
	}
	return s
}

// decodeText decodes a whole text file, and reports to the builder if the encoding is uncertain.
func (b *builder) decodeText(data []byte) (string, error) {
	c, err := detectEncoding(data)
	if err != nil {
		return "", err
	}
	return b.decodeAs(data, c)
}

func (b *builder) decodeAs(data []byte, c charset) (string, error) {
	// Four bytes of input yield at least one character of text (UTF-32), so reading more than four times the limit cannot add to the
	// text.
	if most := 4 * b.opt.MaxText; int64(len(data)) > most {
		b.missing(Flag{Code: FlagTextLimit, Bytes: int64(len(data)) - most,
			Detail: fmt.Sprintf("the text is cut off after %d bytes; raise %s to read more", b.opt.MaxText, SettingOf("MaxText"))})
		data = data[:most]
	}
	s, err := c.decode(data)
	if err != nil {
		return "", &Error{Code: Encoding, Detail: err.Error()}
	}
	bad := strings.Count(s, "\uFFFD")
	if all := utf8.RuneCountInString(s); bad*100 > all {
		return "", &Error{Code: Encoding, Detail: fmt.Sprintf("decoded as %s, %d of %d characters are invalid", c.name, bad, all)}
	}
	b.res.Encoding = c.name
	if bad > 0 {
		b.flag(Flag{Code: FlagReplacement, Detail: "bytes that are not valid " + c.name, Count: bad})
	}
	if !c.sure {
		b.flag(Flag{Code: FlagGuess, Detail: "the encoding " + c.name + " was inferred from the letters"})
	}
	return s, nil
}
