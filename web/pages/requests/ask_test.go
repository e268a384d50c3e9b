package requests_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"concordat"
	"concordat/report"
	"concordat/web/pages/requests"
)

// TestSourcesOf: an officer can request more about a partner's document if its location is known, but not about a mirror. Each request for
// the passage is shown with it, and a request that was not answered in time is shown as expired.
func TestSourcesOf(t *testing.T) {
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
	want := []requests.Source{{Site: "north", CanAsk: true, Asks: []report.Disclosure{r.Disclosures[0], old}}, {Site: "south", Mirror: true}}
	if d := cmp.Diff(want, requests.SourcesOf(r, at, now)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := requests.SourcesOf(r, concordat.Span{Start: 60, End: 70}, now); got != nil {
		t.Errorf("a span that is no passage has %+v", got)
	}
}
