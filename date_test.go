package concordat_test

import (
	"errors"
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

func TestInstants(t *testing.T) {
	for s, want := range map[string]struct{ kept, said string }{
		"":                              {"", ""},
		"2026-05-31T14:03:09+02:00":     {"2026-05-31T14:03:09+02:00", "2026-05-31 14:03:09 +02:00"},
		"2026-05-31T14:03-05:00":        {"2026-05-31T14:03-05:00", "2026-05-31 14:03 -05:00"},
		"2026-05-31 14:03":              {"2026-05-31T14:03Z", "2026-05-31 14:03 UTC"},
		"2026-05-31 14:03:09.250 +0200": {"2026-05-31T14:03:09+02:00", "2026-05-31 14:03:09 +02:00"},
		"2026-05-31 14:03 UTC":          {"2026-05-31T14:03Z", "2026-05-31 14:03 UTC"},
		"2026-05-31T14:03:09+00:00":     {"2026-05-31T14:03:09Z", "2026-05-31 14:03:09 UTC"},
	} {
		i, err := concordat.ParseInstant(s)
		if err != nil || string(i) != want.kept || i.String() != want.said || len(s) > 10 && string(i.Date()) != s[:10] {
			t.Errorf("%q: %q (%s), %v", s, string(i), i, err)
		}
		if again, err := concordat.ParseInstant(string(i)); again != i || err != nil {
			t.Errorf("%q is read as %q, %v", string(i), string(again), err)
		}
	}
	for _, s := range []string{"2026-05-31", "2026-05-31T", "2026-05-31T25:00Z", "2026-02-30T10:00Z", "2026-05-31T14:03+99:00", "14:03",
		"0000-05-31T14:03Z"} {
		if i, err := concordat.ParseInstant(s); !errors.Is(err, concordat.ErrInvalid) {
			t.Errorf("%q: %q, %v", s, string(i), err)
		}
	}
}
