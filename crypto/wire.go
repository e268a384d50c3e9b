package crypto

import (
	"encoding/binary"
	"fmt"
	"time"
	"unicode"
	"unicode/utf8"
)

// decoder reads fixed layouts. The first read beyond the end marks it as failed; later reads return zeros, so callers need to check only
// once, with end.
type decoder struct {
	b   []byte
	bad bool
}

// take returns the next n bytes, sharing the input's memory.
func (d *decoder) take(n int) []byte {
	if d.bad || n < 0 || n > len(d.b) {
		d.bad = true
		return nil
	}
	b := d.b[:n:n]
	d.b = d.b[n:]
	return b
}

func (d *decoder) u8() uint8 {
	if b := d.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (d *decoder) u16() uint16 {
	if b := d.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (d *decoder) u32() uint32 {
	if b := d.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (d *decoder) u64() uint64 {
	if b := d.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

// array32 reads an array of 32 bytes.
func (d *decoder) array32() (a [32]byte) {
	copy(a[:], d.take(len(a)))
	return a
}

func (d *decoder) array16() (a [16]byte) {
	copy(a[:], d.take(len(a)))
	return a
}

// time reads milliseconds since 1970, up to the end of the year 9999.
func (d *decoder) time() time.Time {
	ms := d.u64()
	if ms > maxMillis {
		d.bad = true
		return time.Time{}
	}
	return time.UnixMilli(int64(ms)).UTC()
}

// text reads n bytes of UTF-8 without control characters, since it will be shown on screens.
func (d *decoder) text(n int) string {
	s := string(d.take(n))
	if !printable(s) {
		d.bad = true
	}
	return s
}

// count reads a byte and refuses values above most.
func (d *decoder) count(most int) int {
	n := int(d.u8())
	if n > most {
		d.bad = true
		return 0
	}
	return n
}

// end returns ErrFormat unless the input was read exactly to its end.
func (d *decoder) end(what string) error {
	if d.bad || len(d.b) != 0 {
		return fmt.Errorf("%s: %w", what, ErrFormat)
	}
	return nil
}

const maxMillis = 253402300799999 // the end of the year 9999

func appendTime(b []byte, t time.Time) []byte {
	return binary.BigEndian.AppendUint64(b, uint64(min(max(t.UnixMilli(), 0), maxMillis)))
}

// milli converts t to its stored form, in whole milliseconds and UTC.
func milli(t time.Time) time.Time { return t.UTC().Truncate(time.Millisecond) }

func printable(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		// Category Cf includes marks that reverse or hide the following text on a screen.
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r == '\u2028' || r == '\u2029' {
			return false
		}
	}
	return true
}
