package concordat

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Date is the date of a document as precisely as it is known, in the form 2019, 2019-03 or 2019-03-14. The empty Date means unknown. A
// Date is never the time at which a document was added to a library.
type Date string

// DateOrigin is the origin of a Date.
type DateOrigin string

// The origins of a date.
const (
	DateOfFile DateOrigin = "file"  // the file's own metadata, unverified
	DateGiven  DateOrigin = "given" // the person who added the document
)

// dateForms are the layouts of a Date, from year to day.
var dateForms = []string{"2006", "2006-01", "2006-01-02"}

// ParseDate parses a Date in one of its forms; an empty text means unknown. It fails with ErrInvalid for any other text.
func ParseDate(s string) (Date, error) {
	d := Date(s)
	return d, d.Validate()
}

// Validate returns nil if d is empty or has one of the three forms and a year of at least 1, and ErrInvalid otherwise.
func (d Date) Validate() error {
	if d == "" {
		return nil
	}
	if from, _, ok := d.bounds(); !ok || from.Year() < 1 {
		return fmt.Errorf("date %q: %w: want YYYY, YYYY-MM or YYYY-MM-DD", string(d), ErrInvalid)
	}
	return nil
}

// bounds returns the first day of d and the first day after d.
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

// Before reports whether d is certainly earlier than e, that is, all of d is before all of e. Neither 2019 nor 2019-03 is certainly
// earlier than the other; an unknown date is never earlier than another.
func (d Date) Before(e Date) bool {
	_, end, ok := d.bounds()
	begin, _, known := e.bounds()
	return ok && known && !end.After(begin)
}

// Instant is the time at which a document was created, if it is known more precisely than as a Date. It has the form of RFC 3339, to the
// minute or second, in its original time zone, for example 2019-03-14T15:09+01:00 or 2019-03-14T14:09:26Z. The empty Instant means
// unknown.
type Instant string

// instantForms are the layouts of an Instant, to the minute and to the second, with the duration that each covers.
var instantForms = []struct {
	form string
	span time.Duration
}{{"2006-01-02T15:04Z07:00", time.Minute}, {"2006-01-02T15:04:05Z07:00", time.Second}}

// writtenInstant matches the texts that ParseInstant accepts.
var writtenInstant = regexp.MustCompile(`^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:[.,]\d+)?(?: ?(Z|UTC|[+-]\d\d:?\d\d))?$`)

// ParseInstant parses an Instant in one of its forms. It also accepts forms that are common in tables: a space can replace the T or
// precede the zone, fractions of a second are dropped, and a text without a zone is in UTC. An empty text means unknown. It fails with
// ErrInvalid for any other text.
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

// Validate returns nil if i is empty or has one of the two forms and a year of at least 1, and ErrInvalid otherwise.
func (i Instant) Validate() error {
	if i == "" {
		return nil
	}
	if from, _, ok := i.bounds(); !ok || from.Year() < 1 {
		return fmt.Errorf("time %q: %w: want YYYY-MM-DDThh:mm or YYYY-MM-DDThh:mm:ss, followed by Z or an offset such as +02:00", string(i), ErrInvalid)
	}
	return nil
}

// Date returns the day of i in the zone in which it was written.
func (i Instant) Date() Date { return Date(i[:min(len(i), len(time.DateOnly))]) }

// bounds returns the first moment of i and the first moment after i.
func (i Instant) bounds() (from, to time.Time, ok bool) {
	for _, f := range instantForms {
		if from, err := time.Parse(f.form, string(i)); err == nil && from.Format(f.form) == string(i) {
			return from, from.Add(f.span), true
		}
	}
	return from, to, false
}

// String formats i for people, for example as 2019-03-14 15:09 +01:00 or 2019-03-14 14:09:26 UTC.
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
