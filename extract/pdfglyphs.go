package extract

import (
	"encoding/binary"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode"
)

// A font in a file can itself say which letters its glyphs represent, either in the table that programs use to choose glyphs (cmap) or in
// the glyph names (table post, CFF). PDFs need neither, and half of their fonts have neither.

// fontLetters maps the glyphs of a font to characters. Several characters can share a glyph.
type fontLetters struct {
	of map[int][]rune // by glyph
	// glyph maps CIDs to glyphs in a CFF font with CIDs; nil for the identity.
	glyph map[int]int
}

// Limits on the bytes read from a font, and on the characters in its tables.
const (
	maxFont      = 16 << 20
	maxFontChars = 1 << 18
)

var errFont = errors.New("not a font")

// readFont reads the letters of an OpenType, TrueType or bare CFF font.
func readFont(r io.Reader) (fontLetters, error) {
	f := fontLetters{of: map[int][]rune{}}
	head := make([]byte, 12)
	if _, err := io.ReadFull(r, head); err != nil {
		return f, err
	}
	if head[0] == 1 && head[1] == 0 && head[2] >= 4 && head[2] < 32 && head[3] >= 1 && head[3] <= 4 {
		rest, _ := io.ReadAll(io.LimitReader(r, maxFont)) // use the letters that can be read
		err := f.readCFF(append(head, rest...))
		return f, err
	}
	switch string(head[:4]) {
	case "\x00\x01\x00\x00", "true", "OTTO":
		err := f.readTables(head, r)
		return f, err
	}
	return f, errFont
}

// readTables parses a font that consists of tables, up to the last one needed (OpenType 1.9, "Table Directory").
func (f *fontLetters) readTables(head []byte, r io.Reader) error {
	list := make([]byte, 16*int(binary.BigEndian.Uint16(head[4:])))
	if _, err := io.ReadFull(r, list); err != nil {
		return err
	}
	type place struct{ from, to int }
	places, end := map[string]place{}, 0
	for t := list; len(t) > 0; t = t[16:] {
		name, from, n := string(t[:4]), int(binary.BigEndian.Uint32(t[8:])), int(binary.BigEndian.Uint32(t[12:]))
		if name == "post" && n <= 32 { // a version without names
			continue
		}
		if (name == "cmap" || name == "post" || name == "CFF ") && from <= maxFont && n <= maxFont-from {
			places[name] = place{from, from + n}
			end = max(end, from+n)
		}
	}
	start := len(head) + len(list)
	body, _ := io.ReadAll(io.LimitReader(r, int64(max(end-start, 0)))) // use the beginning of a truncated font
	table := func(name string) []byte {
		p, ok := places[name]
		if from, to := p.from-start, min(p.to-start, len(body)); ok && from >= 0 && from < to {
			return body[from:to]
		}
		return nil
	}
	f.readCmap(table("cmap"))
	f.readPost(table("post"))
	if t := table("CFF "); t != nil {
		return f.readCFF(t)
	}
	return nil
}

// add records that glyph represents r.
func (f *fontLetters) add(glyph int, r rune) {
	if glyph > 0 && unicode.IsGraphic(r) {
		f.of[glyph] = append(f.of[glyph], r)
	}
}

// name records a glyph's name, unless something more specific is known.
func (f *fontLetters) name(glyph int, name string) {
	if r := nameLetter(name); r != 0 && len(f.of[glyph]) == 0 {
		f.add(glyph, r)
	}
}

// u16 returns two bytes at i as a number, or 0 beyond the end.
func u16(b []byte, i int) int {
	if i < 0 || i+2 > len(b) {
		return 0
	}
	return int(binary.BigEndian.Uint16(b[i:]))
}

func u32(b []byte, i int) int { return u16(b, i)<<16 | u16(b, i+2) }

// readCmap parses the Unicode subtables (OpenType 1.9, "cmap"); subtables of other encodings contain codes instead of letters.
func (f *fontLetters) readCmap(t []byte) {
	room := maxFontChars
	seen := map[int]bool{}
	for i := range min(u16(t, 2), 32) {
		platform, encoding, at := u16(t, 4+8*i), u16(t, 6+8*i), u32(t, 8+8*i)
		isUnicode := platform == 0 && encoding != 5 || platform == 3 && (encoding == 1 || encoding == 10)
		if !isUnicode || at <= 0 || at >= len(t) || seen[at] {
			continue
		}
		seen[at] = true
		switch s := t[at:]; u16(s, 0) {
		case 4:
			f.readCmap4(s, &room)
		case 6:
			for k := range min(u16(s, 8), room) {
				f.add(u16(s, 10+2*k), rune(u16(s, 6)+k))
				room--
			}
		case 12:
			for k := range min(u32(s, 12), len(s)/12) {
				first, last, glyph := u32(s, 16+12*k), u32(s, 20+12*k), u32(s, 24+12*k)
				for c := first; c <= min(last, unicode.MaxRune) && room > 0; c++ {
					f.add(glyph+c-first, rune(c))
					room--
				}
			}
		}
	}
}

func (f *fontLetters) readCmap4(s []byte, room *int) {
	n := u16(s, 6) // twice the number of segments
	for k := 0; k < n && 16+3*n+k < len(s); k += 2 {
		last, first, delta, at := u16(s, 14+k), u16(s, 16+n+k), u16(s, 16+2*n+k), 16+3*n+k
		offset := u16(s, at)
		for c := first; c <= last && c < 0xffff && *room > 0; c++ {
			*room--
			glyph := c
			if offset != 0 {
				if glyph = u16(s, at+offset+2*(c-first)); glyph == 0 {
					continue
				}
			}
			f.add((glyph+delta)&0xffff, rune(c))
		}
	}
}

// readPost parses the glyph names (OpenType 1.9, "post", version 2.0). Of the predefined names, it uses only letter names.
func (f *fontLetters) readPost(t []byte) {
	if u32(t, 0) != 0x20000 {
		return
	}
	n := u16(t, 32)
	var own []string
	for at := 34 + 2*n; at < len(t) && len(own) < 1<<16; {
		end := at + 1 + int(t[at])
		if end > len(t) {
			break
		}
		own = append(own, string(t[at+1:end]))
		at = end
	}
	const standard, capitals, small = 258, 36, 68 // a name from the Macintosh list
	for glyph := range n {
		switch i := u16(t, 34+2*glyph); {
		case i >= standard && i-standard < len(own):
			f.name(glyph, own[i-standard])
		case i >= capitals && i < capitals+26:
			f.name(glyph, string(rune('A'+i-capitals)))
		case i >= small && i < small+26:
			f.name(glyph, string(rune('a'+i-small)))
		}
	}
}

// readCFF parses the glyph names of a CFF font, or its CIDs (Adobe technical note 5176).
func (f *fontLetters) readCFF(d []byte) error {
	if len(d) < 4 {
		return errFont
	}
	_, at := cffIndex(d, int(d[2])) // names of fonts
	tops, at := cffIndex(d, at)
	strs, _ := cffIndex(d, at)
	if len(tops) == 0 {
		return errFont
	}
	top := cffDict(tops[0])
	glyphs := 0
	if at := top[17]; at > 0 {
		glyphs = u16(d, at)
	}
	const standardStrings, capitals, small = 391, 34, 66
	_, withCIDs := top[1230]
	if withCIDs {
		f.glyph = map[int]int{0: 0}
	}
	set := func(glyph, id int) {
		switch {
		case withCIDs:
			f.glyph[id] = glyph
		case id >= standardStrings && id-standardStrings < len(strs):
			f.name(glyph, string(strs[id-standardStrings]))
		case id >= capitals && id < capitals+26:
			f.name(glyph, string(rune('A'+id-capitals)))
		case id >= small && id < small+26:
			f.name(glyph, string(rune('a'+id-small)))
		}
	}
	cffCharset(d, top[15], glyphs, set)
	return nil
}

// cffCharset calls set with the name or CID of every glyph but the first.
func cffCharset(d []byte, at, glyphs int, set func(glyph, id int)) {
	if at <= 2 { // the predefined ISO Adobe charset follows the order of the standard strings
		for g := 1; at == 0 && g < min(glyphs, 229); g++ {
			set(g, g)
		}
		return
	}
	if at >= len(d) {
		return
	}
	format := d[at]
	at++
	for g := 1; g < glyphs && at+2 <= len(d); {
		first, more := u16(d, at), 0
		at += 2
		switch {
		case format == 1 && at < len(d):
			more = int(d[at])
			at++
		case format == 2:
			more = u16(d, at)
			at += 2
		}
		for k := 0; k <= more && g < glyphs; k++ {
			set(g, first+k)
			g++
		}
	}
}

// cffIndex parses an index and returns its end.
func cffIndex(d []byte, at int) (items [][]byte, end int) {
	n := u16(d, at)
	if n == 0 || at+3 > len(d) {
		return nil, at + 2
	}
	size := int(d[at+2])
	if size < 1 || size > 4 {
		return nil, len(d)
	}
	base := at + 3 + (n+1)*size - 1
	offset := func(i int) int {
		v := 0
		for k := range size {
			if p := at + 3 + i*size + k; p < len(d) {
				v = v<<8 | int(d[p])
			}
		}
		return base + v
	}
	for i := range n {
		from, to := offset(i), offset(i+1)
		if from < 0 || from > to || to > len(d) {
			return items, len(d)
		}
		items = append(items, d[from:to])
	}
	return items, offset(n)
}

// cffDict returns the last operand of each operator; two-byte operators are 1200 and up.
func cffDict(d []byte) map[int]int {
	out, last := map[int]int{}, 0
	for i := 0; i < len(d); i++ {
		switch b := int(d[i]); {
		case b == 12:
			if i++; i < len(d) {
				out[1200+int(d[i])] = last
			}
		case b < 22:
			out[b] = last
		case b == 28:
			last = int(int16(u16(d, i+1)))
			i += 2
		case b == 29:
			last = int(int32(u32(d, i+1)))
			i += 4
		case b == 30: // a real number, in half-bytes ending with 15
			for i++; i < len(d) && d[i]&15 != 15 && d[i]>>4 != 15; i++ {
				continue
			}
		case b >= 32 && b <= 246:
			last = b - 139
		case b >= 247 && b <= 250 && i+1 < len(d):
			last = (b-247)*256 + int(d[i+1]) + 108
			i++
		case b >= 251 && b <= 254 && i+1 < len(d):
			last = -(b-251)*256 - int(d[i+1]) - 108
			i++
		}
	}
	return out
}

// greekNames lists the names of Greek letters from alpha in Unicode order.
const greekNames = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma1 sigma tau upsilon phi chi psi omega"

// nameLetter returns the letter denoted by a glyph name (Adobe Glyph List, "Specification"), or 0.
func nameLetter(name string) rune {
	name, _, _ = strings.Cut(name, ".")
	if len(name) == 1 && unicode.IsLetter(rune(name[0])) {
		return rune(name[0])
	}
	digits, isNumber := strings.CutPrefix(name, "uni")
	if !isNumber || len(digits) != 4 {
		if digits, isNumber = strings.CutPrefix(name, "u"); len(digits) < 4 || len(digits) > 6 {
			isNumber = false
		}
	}
	if isNumber && strings.ToUpper(digits) == digits {
		if n, err := strconv.ParseUint(digits, 16, 32); err == nil && n <= unicode.MaxRune {
			return rune(n)
		}
	}
	if number, ok := strings.CutPrefix(name, "afii"); ok { // in Cyrillic, io comes after the sixth letter
		n, _ := strconv.Atoi(number)
		for _, run := range []struct{ first, letter int }{{10017, 'А'}, {10065, 'а'}} {
			switch i := n - run.first; {
			case i >= 0 && i < 6:
				return rune(run.letter + i)
			case i > 6 && i < 33:
				return rune(run.letter + i - 1)
			}
		}
		return 0
	}
	if lower := strings.ToLower(name); len(name) > 1 {
		for i, g := range strings.Fields(greekNames) {
			switch {
			case g == name:
				return rune('α' + i)
			case g == lower && name[1:] == lower[1:]:
				return rune('Α' + i)
			}
		}
	}
	return 0
}
