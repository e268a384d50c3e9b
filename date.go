package concordat

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Date is the date of a document, as exactly as it is known: a year, a month or a day, in the form 2019, 2019-03 or 2019-03-14. The empty
// Date is unknown. It is never the time at which a document was added to a library.
type Date string

// DateOrigin is the origin of a Date.
type DateOrigin string

// The origins of a date.
const (
	DateOfFile DateOrigin = "file"  // the file's own metadata, not verified by anyone
	DateGiven  DateOrigin = "given" // the person who added the document
)

// dateForms are the layouts of a Date, from year to day.
var dateForms = []string{"2006", "2006-01", "2006-01-02"}

// ParseDate returns the Date of a text in one of its forms; the empty text is unknown. It fails with
// ErrInvalid on any other text.
func ParseDate(s string) (Date, error) {
	d := Date(s)
	return d, d.Validate()
}

// Validate returns nil for the empty Date and for one of the three forms with a year of at least 1, otherwise ErrInvalid.
func (d Date) Validate() error {
	if d == "" {
		return nil
	}
	if from, _, ok := d.bounds(); !ok || from.Year() < 1 {
		return fmt.Errorf("date %q: %w: want YYYY, YYYY-MM or YYYY-MM-DD", string(d), ErrInvalid)
	}
	return nil
}

// bounds returns the first day of d and the first day after it.
func (d Date) bounds() (from, to time.Time, ok bool) {
	for i, form := range dateForms {
		if len(form) != len(d) {
			continue
		}
		from, err := time.Parse(form, string(d))
		if err != nil {
			return from, to, false
		}
		switch i {
		case 0:
			return from, from.AddDate(1, 0, 0), true
		case 1:
			return from, from.AddDate(0, 1, 0), true
		}
		return from, from.AddDate(0, 0, 1), true
	}
	return from, to, false
}

// Before reports whether d is certainly earlier than e: all of d lies before all of e. 2019 is not certainly earlier than 2019-03, nor the
// other way round; an unknown date is never before another.
func (d Date) Before(e Date) bool {
	_, end, ok := d.bounds()
	begin, _, known := e.bounds()
	return ok && known && !end.After(begin)
}

// Instant is the point in time at which a document was made, if more is known than its Date: RFC 3339 to the minute or to the second, with
// the zone in which it was written, 2019-03-14T15:09+01:00 or 2019-03-14T14:09:26Z. The empty Instant is unknown.
type Instant string

// instantForms are the layouts of an Instant, to the minute and to the second, and the time that each spans.
var instantForms = []struct {
	form string
	span time.Duration
}{{"2006-01-02T15:04Z07:00", time.Minute}, {"2006-01-02T15:04:05Z07:00", time.Second}}

// writtenInstant matches what ParseInstant reads.
var writtenInstant = regexp.MustCompile(`^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:[.,]\d+)?(?: ?(Z|UTC|[+-]\d\d:?\d\d))?$`)

// ParseInstant returns the Instant of a text in one of its forms. As in many tables, a blank may replace the T or precede the zone, seconds
// may have a fraction, which is dropped, and a text without a zone is in UTC. The empty text is unknown. It fails with ErrInvalid on any
// other text.
func ParseInstant(s string) (Instant, error) {
	i := Instant(s)
	if m := writtenInstant.FindStringSubmatch(s); m != nil {
		zone := m[3]
		if len(zone) == len("+0200") {
			zone = zone[:3] + ":" + zone[3:]
		}
		if zone == "" || zone == "UTC" || zone == "+00:00" || zone == "-00:00" {
			zone = "Z"
		}
		i = Instant(m[1] + "T" + m[2] + zone)
	}
	return i, i.Validate()
}

// Validate returns nil for the empty Instant and for one in one of the two forms with a year of at least 1, otherwise ErrInvalid.
func (i Instant) Validate() error {
	if i == "" {
		return nil
	}
	if from, _, ok := i.bounds(); !ok || from.Year() < 1 {
		return fmt.Errorf("time %q: %w: want 2006-01-02T15:04 or 2006-01-02T15:04:05, followed by Z or a zone such as +02:00", string(i), ErrInvalid)
	}
	return nil
}

// Date returns the day of i in the zone in which it was written.
func (i Instant) Date() Date { return Date(i[:min(len(i), len(time.DateOnly))]) }

// bounds returns the first moment of i and the first moment after it.
func (i Instant) bounds() (from, to time.Time, ok bool) {
	for _, f := range instantForms {
		if from, err := time.Parse(f.form, string(i)); err == nil && from.Format(f.form) == string(i) {
			return from, from.Add(f.span), true
		}
	}
	return from, to, false
}

// String returns i as people read it: 2019-03-14 15:09 +01:00, or UTC in place of the zone.
func (i Instant) String() string {
	from, to, ok := i.bounds()
	if !ok {
		return string(i)
	}
	form := "2006-01-02 15:04"
	if to.Sub(from) == time.Second {
		form += ":05"
	}
	if strings.HasSuffix(string(i), "Z") {
		return from.Format(form) + " UTC"
	}
	return from.Format(form + " -07:00")
}
