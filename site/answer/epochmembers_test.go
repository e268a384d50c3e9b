package answer_test

import (
	"errors"
	"testing"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/site"
)

// TestEpochMembers: a partner gets no answer in an epoch of a federation that it does not belong to, or in an epoch that the site does
// not have, even if a library is open to the partner.
func TestEpochMembers(t *testing.T) {
	o := sitetest.NewOwner(t, "theses")
	text := sitetest.Long(sitetest.Passage, 30)
	o.AddDocuments(t, "theses", site.Incoming{ID: "a", Title: "Rivers", Text: text})
	o.ShareWith(t, "theses", "north", sitetest.Sharing(true))
	a, d, ordinals := o.Named(t, "north", sitetest.Passage, "theses")
	set := o.NewSetOver(t, o.Set)
	rounds := func(e concordat.Epoch) map[string]error {
		ask := *a
		ask.Epoch = e
		_, first := o.Answer(t.Context(), "north", &ask)
		all, outline := o.AnswerOutline(t.Context(), "north", &concordat.OutlineAsk{Job: a.Job, Epoch: e,
			Documents: []concordat.OutlineOf{{Handle: d.Handle, Ordinals: ordinals}}})
		if outline == nil && all.Documents[0].Refusal != nil { // outlines are refused per document
			outline = all.Documents[0].Refusal
		}
		_, edges := o.AnswerEdges(t.Context(), "north", &concordat.EdgesAsk{Job: a.Job, Epoch: e, Handle: d.Handle,
			Passages: []concordat.EdgePassage{{Span: concordat.Span{End: 90}, Words: []byte{1, 2, 3}}}})
		q := o.RevealAsk(a, d, concordat.ShowOverlap, text, sitetest.River+sitetest.Winter, sitetest.River+sitetest.Winter)
		q.Epoch = e
		_, reveal := o.AnswerReveal(t.Context(), "north", q)
		_, ship := o.AnswerShip(t.Context(), "north", &concordat.ShipAsk{Epoch: e, Library: "theses"})
		return map[string]error{"ask": first, "outline": outline, "edges": edges, "reveal": reveal, "ship": ship}
	}
	outside := func(e concordat.Epoch) {
		t.Helper()
		for name, err := range rounds(e) {
			if got := reasonOf(err); got != concordat.ReasonEpoch {
				t.Errorf("%s in %s: refused for %q (%v), want %s", name, e, got, err, concordat.ReasonEpoch)
			}
		}
	}
	outside(concordat.Epoch{Federation: "health", Number: 2})
	outside(concordat.Epoch{Federation: "others", Number: 1})
	set.Members = []concordat.SiteID{"south"}
	sitetest.Must(t, o.Sets.UseEpochs(t.Context(), set))
	outside(sitetest.TestEpoch)
	set.Members = []concordat.SiteID{"south", "north"}
	sitetest.Must(t, o.Sets.UseEpochs(t.Context(), set))
	if err := rounds(sitetest.TestEpoch)["outline"]; err != nil {
		t.Errorf("a member: %v", err)
	}
}

// reasonOf returns the reason for a refusal; empty if err is not a refusal.
func reasonOf(err error) concordat.Reason {
	var r *concordat.Refusal
	if !errors.As(err, &r) {
		return ""
	}
	return r.Reason
}
