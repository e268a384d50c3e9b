package concordat

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
)

// LongestName is the maximum length of library and document IDs, in bytes.
const LongestName = 512

const upperHex = "0123456789ABCDEF"

// EscapeName makes any file name safe to display, store and send. It replaces control characters and bytes that are not UTF-8 with \xHH,
// using capital hexadecimal digits. Different names stay different, because a backslash that would begin such an escape is written as
// \x5C. All other names are returned unchanged.
func EscapeName(raw string) string {
	if utf8.ValidString(raw) && strings.IndexFunc(raw, unicode.IsControl) < 0 && !strings.Contains(raw, `\x`) {
		return raw
	}
	var b strings.Builder
	for i := 0; i < len(raw); {
		r, n := utf8.DecodeRuneInString(raw[i:])
		if r == utf8.RuneError && n == 1 || unicode.IsControl(r) || isEscape(raw[i:]) {
			for _, c := range []byte(raw[i : i+n]) {
				b.WriteString(`\x`)
				b.WriteByte(upperHex[c>>4])
				b.WriteByte(upperHex[c&15])
			}
		} else {
			b.WriteString(raw[i : i+n])
		}
		i += n
	}
	return b.String()
}

// UnescapeName is the inverse of EscapeName.
func UnescapeName(name string) string {
	var b strings.Builder
	for {
		i := strings.Index(name, `\x`)
		if i < 0 {
			b.WriteString(name)
			return b.String()
		}
		b.WriteString(name[:i])
		if name = name[i:]; isEscape(name) {
			b.WriteByte(byte(strings.IndexByte(upperHex, name[2])<<4 | strings.IndexByte(upperHex, name[3])))
			name = name[4:]
			continue
		}
		b.WriteString(name[:2])
		name = name[2:]
	}
}

// isEscape reports whether s begins with an escape produced by EscapeName.
func isEscape(s string) bool {
	return len(s) >= 4 && s[:2] == `\x` && strings.IndexByte(upperHex, s[2]) >= 0 && strings.IndexByte(upperHex, s[3]) >= 0
}

// ShortName returns name unchanged if it has at most LongestName bytes. It shortens a longer name to its beginning and end with the first
// eight bytes of its SHA-256 in hexadecimal between them, so that different names stay different.
func ShortName(name string) string {
	if len(name) <= LongestName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	middle := "…" + hex.EncodeToString(sum[:8]) + "…"
	room := (LongestName - len(middle)) / 2
	head, tail := room, len(name)-room
	for !utf8.RuneStart(name[head]) {
		head--
	}
	for tail < len(name) && !utf8.RuneStart(name[tail]) {
		tail++
	}
	return name[:head] + middle + name[tail:]
}
