package web

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/report"
)

// TestPairOf: addresses number the members of a pair from 1, and the two numbers must differ.
func TestPairOf(t *testing.T) {
	t.Parallel()
	for path, want := range map[[2]string][2]int{{"1", "2"}: {0, 1}, {"2", "1"}: {1, 0}, {"1", "400"}: {0, 399}} {
		if x, y, err := pairOf(path[0], path[1]); err != nil || x != want[0] || y != want[1] {
			t.Errorf("%v: %d and %d, %v, want %v", path, x, y, err, want)
		}
	}
	for _, path := range [][2]string{{"0", "1"}, {"1", "0"}, {"1", "1"}, {"-1", "2"}, {"", "2"}, {"1", "x"}} {
		if x, y, err := pairOf(path[0], path[1]); !errors.Is(err, concordat.ErrNotFound) {
			t.Errorf("%v: %d and %d, %v", path, x, y, err)
		}
	}
}

// TestCasePath: the address of a list contains exactly the active filters.
func TestCasePath(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]caseFilter{
		"/checks": {View: "all"}, "/checks?view=failed": {View: "failed"}, "/checks?q=a+b": {View: "all", Query: "a b"},
		"/checks?mine=yes&view=new":       {View: "new", Mine: true},
		"/checks?in=b&least=5&sort=share": {View: "all", In: "b", Least: 5, Order: "share"},
	} {
		if got := f.Path(0); got != want {
			t.Errorf("%+v: %q, want %q", f, got, want)
		}
	}
	if got := (caseFilter{View: "all"}).Path(7); got != "/checks?from=7" {
		t.Errorf("got %q", got)
	}
}

// TestAsked: an officer can request more about a partner's document if its location is known, but not about a mirror. Each request for
// the passage is shown with it, and a request that was not answered in time is shown as expired.
func TestAsked(t *testing.T) {
	t.Parallel()
	at, now := concordat.Span{Start: 10, End: 50}, time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	here, north := concordat.Ref{Site: "here", Library: "l", Document: "a"}, concordat.Ref{Site: "north", Library: "l", Document: "b"}
	mirrored := concordat.Ref{Site: "south", Library: "l", Document: "c"}
	place := []concordat.Passage{{Span: at, SourceSpan: concordat.Span{Start: 1, End: 41}}}
	request := func(s concordat.Span, until time.Time) report.Disclosure {
		return report.Disclosure{Source: north, State: concordat.DisclosurePending, Until: until,
			Passages: []concordat.SpanPair{{Span: s}}}
	}
	r := &report.Report{
		Evidence: []concordat.Evidence{{Span: at, Sources: []concordat.Source{{Ref: here, Parts: place}, {Ref: north, Parts: place},
			{Ref: mirrored, Parts: place}}}},
		Partners:    []report.PartnerSource{{Ref: north, Job: "j"}, {Ref: mirrored}},
		Disclosures: []report.Disclosure{request(at, now.Add(time.Hour)), request(at, now), request(concordat.Span{Start: 60, End: 70}, now)},
	}
	old := r.Disclosures[1]
	old.State = concordat.DisclosureExpired
	want := []askedFor{{Site: "north", CanAsk: true, Asks: []report.Disclosure{r.Disclosures[0], old}}, {Site: "south", Mirror: true}}
	if d := cmp.Diff(want, asked(r, at, now)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := asked(r, concordat.Span{Start: 60, End: 70}, now); got != nil {
		t.Errorf("a span that is no passage has %+v", got)
	}
}
