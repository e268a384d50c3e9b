package store

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"concordat"
)

// maxName is the maximum length of ids, keys, paths and hashes, in bytes: PostgreSQL cannot index values larger than a third of its 8 KiB
// page.
const maxName = 2048

// stamp returns t as stored: microseconds since 1970, or 0 for the zero time.
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

// cleanText makes s suitable for a text column. PostgreSQL accepts neither NUL nor invalid UTF-8, and titles come from documents that can
// contain both.
func cleanText(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	return strings.ReplaceAll(s, "\x00", "\uFFFD")
}

// checkName returns an error if a name is empty, or if one of the engines could not store it or compare it exactly.
func checkName[S ~string](what string, s S) error {
	switch {
	case s == "":
		return fmt.Errorf("%w: the %s is empty", concordat.ErrInvalid, what)
	case len(s) > maxName:
		return fmt.Errorf("%w: the %s has %d bytes, but at most %d are allowed", concordat.ErrInvalid, what, len(s), maxName)
	case !utf8.ValidString(string(s)) || strings.ContainsRune(string(s), 0):
		return fmt.Errorf("%w: the %s %q is not valid UTF-8", concordat.ErrInvalid, what, s)
	}
	return nil
}

// full is the error for exceeding a limit; its value is the message. It is both concordat.ErrChanged, since the item would fit in another
// state, and concordat.ErrInvalid.
type full string

// Error returns the message.
func (f full) Error() string { return string(f) }

// Unwrap returns concordat.ErrChanged and concordat.ErrInvalid.
func (f full) Unwrap() []error { return []error{concordat.ErrChanged, concordat.ErrInvalid} }
