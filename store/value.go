package store

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"concordat"
)

// maxName bounds ids, keys, paths and hashes, in bytes: PostgreSQL cannot index values larger than a third of its 8 KiB page.
const maxName = 2048

// stamp returns t as the store keeps it: microseconds since 1970, 0 for the zero time.
func stamp(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

// instant is the inverse of stamp.
func instant(us int64) time.Time {
	if us == 0 {
		return time.Time{}
	}
	return time.UnixMicro(us).UTC()
}

// cleanText returns s fit for a text column: PostgreSQL accepts neither NUL nor invalid UTF-8, and titles come from documents
// that hold both.
func cleanText(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.ReplaceAll(s, "\x00", "\uFFFD")
}

// checkName refuses a name that is empty or that some engine could not store or compare exactly.
func checkName[S ~string](what string, s S) error {
	switch {
	case s == "":
		return fmt.Errorf("%w: empty %s", concordat.ErrInvalid, what)
	case len(s) > maxName:
		return fmt.Errorf("%w: %s of %d bytes, at most %d", concordat.ErrInvalid, what, len(s), maxName)
	case !utf8.ValidString(string(s)) || strings.ContainsRune(string(s), 0):
		return fmt.Errorf("%w: %s %q is not UTF-8 text", concordat.ErrInvalid, what, s)
	}
	return nil
}

// full is the error, with this text, for exceeding a limit. It is both concordat.ErrChanged, since the item would fit in another state,
// and concordat.ErrInvalid.
type full string

// Error returns the text.
func (f full) Error() string { return string(f) }

// Unwrap returns the two sentinels.
func (f full) Unwrap() []error { return []error{concordat.ErrChanged, concordat.ErrInvalid} }
