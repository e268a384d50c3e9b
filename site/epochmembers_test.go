package site_test

import (
	"errors"
	"testing"

	"concordat"
	"concordat/site"
)

// TestEpochMembers: no round of a partner is answered in an epoch of a federation that it is no member of, nor in one that the
// site does not have, though a library is open to it.
func TestEpochMembers(t *testing.T) {
	o := newOwner(t, "theses")
	text := long(passage, 30)
	o.add(t, "theses", site.Incoming{ID: "a", Title: "Rivers", Text: text})
	o.share(t, "theses", "north", sharing(true))
	a, d, ordinals := o.told(t, "north", passage, "theses")
	set := o.newSetOver(t, o.set)
	rounds := func(e concordat.Epoch) map[string]error {
		ask := *a
		ask.Epoch = e
		_, first := o.Answer(t.Context(), "north", &ask)
		all, outline := o.AnswerOutline(t.Context(), "north", &concordat.OutlineAsk{Job: a.Job, Epoch: e,
			Documents: []concordat.OutlineOf{{Handle: d.Handle, Ordinals: ordinals}}})
		if outline == nil && all.Documents[0].Refusal != nil { // of each document by itself
			outline = all.Documents[0].Refusal
		}
		_, edges := o.AnswerEdges(t.Context(), "north", &concordat.EdgesAsk{Job: a.Job, Epoch: e, Handle: d.Handle,
			Passages: []concordat.EdgePassage{{Span: concordat.Span{End: 90}, Words: []byte{1, 2, 3}}}})
		q := o.revealAsk(a, d, concordat.ShowOverlap, text, river+winter, river+winter)
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
	must(t, o.UseEpochs(t.Context(), set))
	outside(testEpoch)
	set.Members = []concordat.SiteID{"south", "north"}
	must(t, o.UseEpochs(t.Context(), set))
	if err := rounds(testEpoch)["outline"]; err != nil {
		t.Errorf("a member: %v", err)
	}
}

// reasonOf returns the reason of a refusal; empty: it is none.
func reasonOf(err error) concordat.Reason {
	var r *concordat.Refusal
	if !errors.As(err, &r) {
		return ""
	}
	return r.Reason
}
