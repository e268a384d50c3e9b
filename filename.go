package concordat

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
)

// LongestName bounds the identities of libraries and documents, in bytes.
const LongestName = 512

const upperHex = "0123456789ABCDEF"

// EscapeName returns the name of a file so that it can be shown, kept and sent, whatever bytes the file system or an
// archive gave: bytes that are not UTF-8 and control characters become \xHH, with two capital hexadecimal digits. Two
// different names stay different: a backslash that would begin such an escape is written \x5C. Every other name is
// returned unchanged.
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

// UnescapeName returns the name that EscapeName was given.
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

// isEscape reports whether s begins with an escape of EscapeName.
func isEscape(s string) bool {
	return len(s) >= 4 && s[:2] == `\x` && strings.IndexByte(upperHex, s[2]) >= 0 && strings.IndexByte(upperHex, s[3]) >= 0
}

// ShortName returns name if it has at most LongestName bytes. It shortens a longer one to its beginning and its end, with the first eight
// bytes of its SHA-256 in hexadecimal between them, so that different names stay different.
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
