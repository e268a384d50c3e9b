package ask

import (
	"testing"

	"concordat"
	"concordat/internal/storetest"
	"concordat/report"
	"concordat/store"
)

// TestNotAskedAgain: a partner is not asked again for a passage that it has shown or has not decided on yet. It is asked again if it
// refused, if the earlier request was for another level or place, or if only the words in common are known and the text is wanted.
func TestNotAskedAgain(t *testing.T) {
	here, there := concordat.Span{Start: 3, End: 90}, concordat.Span{Start: 500, End: 590}
	ref := concordat.Ref{Site: "north", Library: "theses", Document: "d"}
	asked := report.Disclosure{Source: ref, Level: concordat.ShowPassage, State: concordat.DisclosurePending,
		Passages: []concordat.SpanPair{{Span: here, Source: there}}}
	for _, c := range []struct {
		name   string
		change func(p *concordat.Passage, d *report.Disclosure)
		level  concordat.Show
		want   bool
	}{
		{"undecided", func(*concordat.Passage, *report.Disclosure) {}, concordat.ShowPassage, true},
		{"refused", func(_ *concordat.Passage, d *report.Disclosure) { d.State = concordat.DisclosureRefused }, concordat.ShowPassage, false},
		{"undecided at another level", func(*concordat.Passage, *report.Disclosure) {}, concordat.ShowOverlap, false},
		{"undecided for another place", func(p *concordat.Passage, _ *report.Disclosure) { p.SourceSpan.End++ }, concordat.ShowPassage, false},
		{"undecided for another document", func(_ *concordat.Passage, d *report.Disclosure) { d.Source.Document = "e" },
			concordat.ShowPassage, false},
		{"shown", func(p *concordat.Passage, d *report.Disclosure) {
			p.Text, d.State = "The lamp burned rape oil.", concordat.DisclosureRefused
		}, concordat.ShowPassage, true},
		{"words in common known, and wanted", func(p *concordat.Passage, d *report.Disclosure) {
			p.Shared, d.State = []concordat.Span{here}, concordat.DisclosureRefused
		}, concordat.ShowOverlap, true},
		{"words in common known, the text wanted", func(p *concordat.Passage, d *report.Disclosure) {
			p.Shared, d.State = []concordat.Span{here}, concordat.DisclosureRefused
		}, concordat.ShowPassage, false},
	} {
		p, d := concordat.Passage{Source: ref, Span: here, SourceSpan: there}, asked
		c.change(&p, &d)
		if got := revealed(&report.Findings{Disclosures: []report.Disclosure{d}}, &p, c.level); got != c.want {
			t.Errorf("%s: not asked again: %v, want %v", c.name, got, c.want)
		}
	}
}

// TestExposure: totals of what a partner was shown are returned, with as many individual disclosures as requested.
func TestExposure(t *testing.T) {
	db := storetest.SQLite(t)
	x := store.Showing{Partner: "north", Hash: "h", Form: store.FormWords, Library: "a", Document: "1",
		Epoch: concordat.Epoch{Federation: "health", Number: 1}, Sentences: 3, Characters: 40}
	other := x
	other.Document, other.Hash = "2", "g"
	if err := db.Asks.Show(t.Context(), x, other); err != nil {
		t.Fatal(err)
	}
	s := &Asker{o: Options{Store: db}}
	for most, want := range map[int]int{0: 0, 1: 1, 9: 2} {
		got, err := s.Exposure(t.Context(), "north", most)
		if err != nil || len(got.Sums) != 1 || got.Sums[0].Documents != 2 || len(got.Documents) != want {
			t.Errorf("at most %d: %+v, %v; want %d", most, got, err, want)
		}
	}
}
