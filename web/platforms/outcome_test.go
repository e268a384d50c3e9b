package platforms

import (
	"testing"

	"concordat/store"
	"concordat/web/lti"
)

// TestFailureCode: a code from the platforms' specification states why a file could not be read, and each code has a description.
func TestFailureCode(t *testing.T) {
	for cause, want := range map[store.CauseCode]string{
		"unsupported": lti.CodeUnsupported, "binary": lti.CodeUnsupported, "encrypted": lti.CodeUnsupported,
		"no_text_layer": lti.CodeUnsupported, "encoding": lti.CodeUnsupported, "limit": lti.CodeTooLarge,
		"empty": lti.CodeTooSmall, "crashed": lti.CodeFailed, "": lti.CodeFailed, "something else": lti.CodeFailed,
	} {
		if got := failureCode(store.Cause{Code: cause, Detail: "x"}); got != want || failureWords[got] == "" {
			t.Errorf("%q: %s (%q), want %s", cause, got, failureWords[got], want)
		}
	}
}

// TestUrgency: each third of the threshold raises the priority by one, up to 5, and the colour is red from the threshold on.
func TestUrgency(t *testing.T) {
	for share, want := range map[float64]struct {
		priority int
		colour   string
	}{
		0: {0, "#2E6B34"}, 0.099: {0, "#2E6B34"}, 0.1: {1, "#8A5A00"}, 0.2: {2, "#8A5A00"}, 0.299: {2, "#8A5A00"}, 0.3: {3, "#B3261E"},
		0.4: {4, "#B3261E"}, 0.5: {5, "#B3261E"}, 1: {5, "#B3261E"},
	} {
		if n, colour := urgency(share, 0.3); n != want.priority || colour != want.colour {
			t.Errorf("%v: %d %s, want %d %s", share, n, colour, want.priority, want.colour)
		}
	}
}

// TestContextOf: course data is kept separate by course, or else by activity or link.
func TestContextOf(t *testing.T) {
	m := &lti.Message{}
	if got := contextOf(m); got != "" {
		t.Errorf("nothing told: %q", got)
	}
	m.Link.ID = "x"
	link := contextOf(m)
	m.Activity.ID = "x"
	activity := contextOf(m)
	m.Context.ID = "x"
	if course := contextOf(m); course != "x" || link == activity || link == course || activity == course || link == "" || activity == "" {
		t.Errorf("a course %q, an activity %q, a link %q", course, activity, link)
	}
}

// TestCutLast: a part of an archive has a name that begins with the archive's name, which can itself contain the separator.
func TestCutLast(t *testing.T) {
	for s, want := range map[string][2]string{"abc-1": {"abc", "1"}, "a-b-12": {"a-b", "12"}, "a-": {"a", ""}, "-1": {"", "1"}} {
		if before, after, ok := cutLast(s, "-"); !ok || before != want[0] || after != want[1] {
			t.Errorf("%q: %q and %q, %v", s, before, after, ok)
		}
	}
	if before, _, ok := cutLast("abc", "-"); ok || before != "abc" {
		t.Errorf("a name without a part: %q, %v", before, ok)
	}
}
