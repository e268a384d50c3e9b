package wire

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"concordat"
)

// ErrFormat is wrapped by the errors of all Parse functions.
var ErrFormat = errors.New("unexpected message format")

// coder writes or reads one message. Each function that describes a layout names every field once, for both directions. The first error
// is kept, and values read after it are zero. Writing does not modify the message or anything it refers to, so several goroutines can
// write one message concurrently.
type coder struct {
	reading bool
	version int    // version of the payload, once known
	b       []byte // written so far, or remaining to be read
	err     error
}

func (c *coder) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
		c.b = nil
	}
}

// write returns the bytes of layout appended to b; the error wraps concordat.ErrInvalid.
func write(b []byte, what string, layout func(c *coder)) ([]byte, error) {
	c := &coder{b: b}
	layout(c)
	if c.err != nil {
		return nil, fmt.Errorf("write %s: %w: %w", what, concordat.ErrInvalid, c.err)
	}
	return c.b, nil
}

// read applies layout to all of b; the error wraps ErrFormat.
func read(b []byte, what string, layout func(c *coder)) error {
	c := &coder{reading: true, b: b}
	layout(c)
	if c.err == nil && len(c.b) > 0 {
		c.fail("%d unexpected bytes at the end of the message", len(c.b))
	}
	if c.err != nil {
		return fmt.Errorf("read %s: %w: %w", what, ErrFormat, c.err)
	}
	return nil
}

// take returns the next n bytes, or nil after an error.
func (c *coder) take(n int) []byte {
	if c.err == nil && n > len(c.b) {
		c.fail("need %d more bytes, but only %d are left", n, len(c.b))
	}
	if c.err != nil {
		return nil
	}
	p := c.b[:n:n]
	c.b = c.b[n:]
	return p
}

// bytes codes a field of fixed length.
func (c *coder) bytes(p []byte) {
	if c.reading {
		copy(p, c.take(len(p)))
		return
	}
	c.b = append(c.b, p...)
}

// uint codes *v in width bytes.
func (c *coder) uint(v *uint64, width int) {
	if !c.reading {
		if width < 8 && *v >= 1<<(8*width) {
			c.fail("number %d does not fit into %d bytes", *v, width)
			return
		}
		for i := width - 1; i >= 0; i-- {
			c.b = append(c.b, byte(*v>>(8*i)))
		}
		return
	}
	*v = 0
	for _, x := range c.take(width) {
		*v = *v<<8 | uint64(x)
	}
}

func (c *coder) uint32(v *uint32) {
	u := uint64(*v)
	c.uint(&u, 4)
	if c.reading {
		*v = uint32(u)
	}
}

// num codes *v, a number from 0 to most, in width bytes.
func (c *coder) num(v *int, width, most int) {
	if !c.reading && (*v < 0 || *v > most) {
		c.fail("number %d is not between 0 and %d", *v, most)
		return
	}
	u := uint64(*v)
	c.uint(&u, width)
	if c.reading {
		if u > uint64(most) {
			c.fail("number %d is greater than %d", u, most)
			u = 0
		}
		*v = int(u)
	}
}

// payload codes the version of a payload; oldest is the oldest readable version.
func (c *coder) payload(oldest int) {
	c.version = Version
	c.num(&c.version, 1, math.MaxUint8)
	if c.err == nil && (c.version < oldest || c.version > Version) {
		c.fail("%w: version %d, want %d", ErrVersion, c.version, Version)
	}
}

// constant writes x when writing, and refuses anything else when reading.
func (c *coder) constant(x int, what string) {
	v := x
	c.num(&v, 1, math.MaxUint8)
	if c.reading && c.err == nil && v != x {
		c.fail("%s %d, want %d", what, v, x)
	}
}

func (c *coder) flag(v *bool) {
	n := 0
	if *v {
		n = 1
	}
	c.num(&n, 1, 1)
	if c.reading {
		*v = n == 1
	}
}

// unlimited encodes a negative number, meaning "no limit".
const unlimited = math.MaxUint32

// left codes a number that can be negative, meaning no limit; a negative number is read back as -1.
func (c *coder) left(v *int) {
	u := uint64(unlimited)
	if *v >= 0 {
		u = uint64(*v)
		if !c.reading && u >= unlimited {
			c.fail("number %d is not less than %d", u, uint64(unlimited))
			return
		}
	}
	c.uint(&u, 4)
	if c.reading {
		*v = int(u)
		if u == unlimited {
			*v = -1
		}
	}
}

// share codes a number from 0 to 1 in millionths.
func (c *coder) share(v *float64) {
	n := 0
	if !c.reading {
		if !(*v >= 0 && *v <= 1) {
			c.fail("share %v is not between 0 and 1", *v)
			return
		}
		n = int(math.Round(*v * 1e6))
	}
	c.num(&n, 4, 1e6)
	if c.reading {
		*v = float64(n) / 1e6
	}
}

// Times are milliseconds since 1970 UTC, in two's complement; the lowest number means the zero time. They are limited to the years 1 to
// 9999, which every calendar of this project can display.
const (
	noTime   = math.MinInt64
	leastMs  = -62135596800000
	maxMs    = 253402300799999
	maxNames = 512 // in bytes, the longest identity (doc/operations.md)
)

func (c *coder) time(t *time.Time) {
	ms := int64(noTime)
	if !c.reading && !t.IsZero() {
		ms = t.UnixMilli()
		if ms < leastMs || ms > maxMs {
			c.fail("year %d is not between 1 and 9999", t.Year())
			return
		}
	}
	u := uint64(ms)
	c.uint(&u, 8)
	if !c.reading {
		return
	}
	*t = time.Time{}
	if ms = int64(u); ms == noTime || c.err != nil {
		return
	}
	// The zero time has only one encoding.
	if ms <= leastMs || ms > maxMs {
		c.fail("time of %d ms is out of range", ms)
		return
	}
	*t = time.UnixMilli(ms).UTC()
}

// name codes an identity as valid UTF-8 of least to maxNames bytes, prefixed with a two-byte length.
func name[S ~string](c *coder, s *S, least int) {
	n := len(*s)
	if !c.reading && (n < least || n > maxNames) {
		c.fail("name has %d bytes, want %d to %d", n, least, maxNames)
		return
	}
	c.num(&n, 2, maxNames)
	if c.reading && c.err == nil && n < least {
		c.fail("name has %d bytes, want at least %d", n, least)
	}
	chars(c, s, n)
}

// exact codes a text of up to limit bytes, unchanged, prefixed with a four-byte length.
func (c *coder) exact(s *string, most int) {
	n := len(*s)
	c.num(&n, 4, most)
	chars(c, s, n)
}

// displayText codes a text for people of up to limit bytes (at most 65,535), prefixed with a two-byte length. Writing truncates longer
// texts and replaces invalid UTF-8, because an unusual title must not make the whole answer fail.
func (c *coder) displayText(s *string, most int) {
	if !c.reading {
		p := clip(strings.ToValidUTF8(*s, "\uFFFD"), most)
		s = &p
	}
	n := len(*s)
	c.num(&n, 2, most)
	chars(c, s, n)
}

func chars[S ~string](c *coder, s *S, n int) {
	if !c.reading {
		if c.err == nil && !utf8.ValidString(string(*s)) {
			c.fail("text is not valid UTF-8")
			return
		}
		c.b = append(c.b, *s...)
		return
	}
	p := c.take(n)
	if !utf8.Valid(p) {
		c.fail("text is not valid UTF-8")
		p = nil
	}
	*s = S(p)
}

func clip(s string, most int) string {
	if len(s) <= most {
		return s
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// blob codes up to limit bytes, prefixed with a length of width bytes; an empty blob is read back as nil.
func (c *coder) blob(p *[]byte, width, most int) {
	n := len(*p)
	c.num(&n, width, most)
	if !c.reading {
		c.b = append(c.b, *p...)
		return
	}
	*p = nil
	if q := c.take(n); len(q) > 0 {
		*p = slices.Clone(q)
	}
}

// enum codes *v as its index in all.
func enum[S ~string](c *coder, v *S, all []S) {
	n := 0
	if !c.reading {
		if n = slices.Index(all, *v); n < 0 {
			c.fail("%q is not one of %q", *v, all)
			return
		}
	}
	c.num(&n, 1, len(all)-1)
	if c.reading {
		*v = all[n]
	}
}

// list codes least to most elements, prefixed with a count of width bytes. size is the minimum size of an element in bytes; with it, a
// reader can refuse, before allocating, a count that exceeds the remaining bytes.
func list[T any](c *coder, s *[]T, width, least, most, size int, each func(*T)) {
	n := len(*s)
	if !c.reading && n < least {
		c.fail("list has %d elements, want at least %d", n, least)
		return
	}
	c.num(&n, width, most)
	if c.reading {
		*s = nil
		switch {
		case c.err != nil:
			return
		case n < least:
			c.fail("list has %d elements, want at least %d", n, least)
			return
		case n > len(c.b)/size:
			c.fail("list has %d elements of at least %d bytes each, but only %d bytes are left", n, size, len(c.b))
			return
		case n == 0:
			return
		}
		*s = make([]T, n)
	}
	for i := range *s {
		if c.err != nil {
			return
		}
		each(&(*s)[i])
	}
}

func (c *coder) span(s *concordat.Span) {
	c.num(&s.Start, 4, math.MaxInt32)
	c.num(&s.End, 4, math.MaxInt32)
	if s.Start > s.End {
		c.fail("span ends before it starts: %d to %d", s.Start, s.End)
	}
}

func (c *coder) fingerprint(f *concordat.Fingerprint) {
	if !c.reading {
		c.b, _ = f.AppendBinary(c.b) // this never fails
		return
	}
	p := c.take(concordat.FingerprintBytes)
	if c.err != nil {
		return
	}
	var err error
	if *f, err = concordat.ParseFingerprint(p); err != nil {
		c.fail("%w", err)
	}
}

func (c *coder) epoch(e *concordat.Epoch) {
	name(c, &e.Federation, 1)
	c.uint32(&e.Number)
	if e.Number == 0 {
		c.fail("epoch number must not be 0")
	}
}

// reasons lists reasons in the order of their codes; code 0 means no refusal.
var reasons = []concordat.Reason{
	"", concordat.ReasonLibrary, concordat.ReasonPurpose, concordat.ReasonLevel, concordat.ReasonBudget,
	concordat.ReasonEmbargo, concordat.ReasonExpired, concordat.ReasonEpoch, concordat.ReasonScheme,
	concordat.ReasonGate, concordat.ReasonUnknown, concordat.ReasonApproval, concordat.ReasonBusy,
	concordat.ReasonFault, ReasonKey,
}

// ReasonKey refuses a message sealed to a key that no longer exists; the message did not run, and the sender must fetch the card and seal
// it again. The reason is not passed on beyond the two ends of the transport.
const ReasonKey concordat.Reason = "key"

const (
	maxWords = 1000 // bytes of an explanation
	maxTitle = 4096 // bytes of a title, author or contact
)

// refusal codes *r; if there is no refusal, all fields of *r are zero.
func (c *coder) refusal(r **concordat.Refusal) {
	v := concordat.Refusal{}
	if *r != nil {
		v = **r
		if v.Reason == "" {
			c.fail("refusal is missing its reason")
		}
	}
	enum(c, &v.Reason, reasons)
	c.displayText(&v.Words, maxWords)
	c.time(&v.Retry)
	if !c.reading {
		return
	}
	*r = nil
	if v.Reason != "" {
		*r = &v
	} else if v.Words != "" || !v.Retry.IsZero() {
		c.fail("refusal has details but is missing its reason")
	}
}
