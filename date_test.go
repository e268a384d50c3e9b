package concordat_test

import (
	"testing"

	"concordat"
)

func TestDates(t *testing.T) {
	for s, ok := range map[string]bool{"": true, "2019": true, "2019-03": true, "2019-03-14": true, "2019-3": false, "2019-13": false,
		"2019-02-30": false, "19": false, "2019-03-14T00:00": false, "0000": false, "soon": false} {
		if _, err := concordat.ParseDate(s); (err == nil) != ok {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, c := range []struct {
		a, b   concordat.Date
		before bool
	}{
		{"2018", "2019", true}, {"2019", "2018", false}, {"2019", "2019", false},
		{"2019", "2019-03", false}, {"2019-03", "2019", false}, {"2018-12-31", "2019", true},
		{"2019-03", "2019-04-01", true}, {"2019-03-14", "2019-03", false}, {"", "2019", false}, {"2019", "", false},
	} {
		if got := c.a.Before(c.b); got != c.before {
			t.Errorf("%q before %q: %v", c.a, c.b, got)
		}
	}
}
