package extract

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// metadataDate is how files write a date: 2019-03-14T12:00:00Z, D:20190314120000+01'00', 2019/3, 2019.
var metadataDate = regexp.MustCompile(`^(?:D:)?([0-9]{4})(?:[-/.]?([0-9]{2})(?:[-/.]?([0-9]{2}))?)?(?:[^0-9]|[0-9]{6}|[0-9]{4}|$)`)

// defaultDays are days that programs write where they know none: the beginnings of their clocks.
var defaultDays = []string{"1601-01-01", "1900-01-01", "1904-01-01", "1970-01-01", "1980-01-01"}

// dated notes the date of the document, if the raw metadata holds one and none was noted before.
func (b *builder) dated(raw string) {
	m := metadataDate.FindStringSubmatch(strings.TrimSpace(raw))
	if m == nil || b.res.Date != "" || m[1] < "1000" {
		return
	}
	for n := 3; n >= 1; n-- {
		form := []string{"2006", "2006-01", "2006-01-02"}[n-1]
		date := strings.TrimRight(strings.Join(m[1:1+n], "-"), "-")
		if _, err := time.Parse(form, date); err == nil {
			if !slices.Contains(defaultDays, date) {
				b.res.Date = date
			}
			return
		}
	}
}
