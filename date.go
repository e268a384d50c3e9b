package concordat

import (
	"fmt"
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
