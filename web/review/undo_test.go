package review

import (
	"reflect"
	"testing"

	"concordat"
	"concordat/report"
)

// TestPlaceOfChange: an undo returns to where the change was made.
func TestPlaceOfChange(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ action, subject, start, id string }{
		{"exclude-passage", "120–480: the task sheet: page 2", "120", ""},
		{"include-passage", "0–145", "0", ""},
		{"exclude-source", "here/theses/1–2.txt", "", "sources"},
		{"own-work", "here/theses/folios.txt", "", "sources"},
		{"exclude-group", "uncited", "", "over"},
		{"count-lead", "L2", "", "leads"},
		{"set", "", "", "rules"},
	} {
		one := Change{}
		one.Action, one.Subject = c.action, c.subject
		if start, id := one.Place(); start != c.start || id != c.id {
			t.Errorf("%s %q: %q, %q, want %q, %q", c.action, c.subject, start, id, c.start, c.id)
		}
	}
}

// TestUndone: one change is undone, and later changes are preserved.
func TestUndone(t *testing.T) {
	t.Parallel()
	a, b := concordat.Ref{Site: "here", Library: "l", Document: "a"}, concordat.Ref{Site: "here", Library: "l", Document: "b"}
	out := func(refs ...concordat.Ref) report.Rules { return report.Rules{ExcludeSources: refs} }
	for _, c := range []struct {
		name                     string
		before, after, now, want report.Rules
	}{
		{"the latest", out(), out(a), out(a), out()},
		{"what others added stays", out(), out(a), out(a, b), out(b)},
		{"what was included again comes back", out(a), out(), out(b), out(b, a)},
		{"somebody took it back already", out(), out(a), out(b), out(b)},
		{"a number", report.Rules{}, report.Rules{MinCharacters: 50}, report.Rules{MinCharacters: 50, ExcludeQuotes: true},
			report.Rules{ExcludeQuotes: true}},
		{"a number that changed again stays", report.Rules{}, report.Rules{MinCharacters: 50}, report.Rules{MinCharacters: 80},
			report.Rules{MinCharacters: 80}},
	} {
		got, err := undone(c.before, c.after, c.now)
		if len(got.ExcludeSources) == 0 {
			got.ExcludeSources = nil
		}
		if len(c.want.ExcludeSources) == 0 {
			c.want.ExcludeSources = nil
		}
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v, want %+v", c.name, got, err, c.want)
		}
	}
}
