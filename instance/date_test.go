package instance

import (
	"testing"
	"time"

	"concordat"
	"concordat/extract"
)

func TestDateToComeIsUnknown(t *testing.T) {
	day := func(days int) string { return time.Now().AddDate(0, 0, days).Format(time.DateOnly) }
	for _, c := range []struct{ given, file, want string }{
		{"", "2019-05-05", "2019-05-05"}, {"", day(0), day(0)}, {"", day(1), day(1)}, {"", day(3), ""}, {"", "2999", ""},
		{"2999", "2019", "2999"}, {"", "", ""},
	} {
		if got, _ := DateOf(c.given, &extract.Result{Date: c.file}); got != concordat.Date(c.want) {
			t.Errorf("given %q, file %q: got %q, want %q", c.given, c.file, got, c.want)
		}
	}
}
