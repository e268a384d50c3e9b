package answer_test

import (
	"strings"
	"testing"

	"concordat"
	"concordat/align"
	"concordat/internal/sitetest"
	"concordat/site"
	"concordat/store"
)

// TestOwnTemplatesAreNoAnswer: text that a library itself hands out gets no answer and does not appear in an outline or its edges.
func TestOwnTemplatesAreNoAnswer(t *testing.T) {
	for _, outline := range []string{concordat.OutlineWords, concordat.OutlineFingerprints} {
		t.Run(outline, func(t *testing.T) {
			o := sitetest.NewOwner(t, "theses")
			text := sitetest.River + sitetest.Winter + "\n\n" + sitetest.Form + "\n\n" + sitetest.Garden + sitetest.Harbour
			o.AddDocuments(t, "theses", site.Incoming{ID: "a", Text: text})
			o.ShareWith(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Outline: outline, Matches: 1,
				Limits: store.Limits{Sentences: -1, Burst: -1, Disclosures: -1, Documents: -1, Characters: -1, Opened: -1}})
			if l := o.Told(t, "north", o.Question(t, sitetest.Form, concordat.ShowMetadata, "theses")).Libraries[0]; !l.Exists {
				t.Fatalf("without a template: %+v", l)
			}
			sitetest.Must(t, o.Store.Catalogue.PutTemplate(t.Context(), store.Template{Library: "theses", Name: "form", Text: sitetest.Form}))
			if l := o.Told(t, "north", o.Question(t, sitetest.Form, concordat.ShowMetadata, "theses")).Libraries[0]; l.Exists || l.Documents != 0 ||
				l.Sentences != 0 {
				t.Errorf("with it: %+v", l)
			}
			a := o.Question(t, sitetest.River+sitetest.Winter, concordat.ShowMetadata, "theses")
			tell := o.Told(t, "north", a)
			if len(tell.Documents) != 1 || len(tell.Hits) == 0 {
				t.Fatalf("of other wording: %+v", tell)
			}
			of := concordat.OutlineOf{Handle: tell.Documents[0].Handle}
			for _, h := range tell.Hits {
				of.Ordinals = append(of.Ordinals, h.Ordinal)
			}
			got, err := o.AnswerOutline(t.Context(), "north", &concordat.OutlineAsk{Job: a.Job, Epoch: a.Epoch,
				Documents: []concordat.OutlineOf{of}})
			sitetest.Must(t, err)
			at := strings.Index(text, sitetest.Form)
			wall := concordat.Span{Start: at, End: at + len(strings.TrimSpace(sitetest.Form))}
			units := got.Documents[0].Units
			for _, u := range units {
				if u.Span.Overlaps(wall) {
					t.Errorf("the outline shows %q", u.Span.In(text))
				}
			}
			if len(units) < 3 {
				t.Errorf("only %d units", len(units))
			}
			order, err := align.Prepare(text).Order(sitetest.Key("sketch of "+sitetest.TestEpoch.String()), concordat.Span{End: len(text)})
			sitetest.Must(t, err)
			e, err := o.AnswerEdges(t.Context(), "north", &concordat.EdgesAsk{Job: a.Job, Epoch: a.Epoch, Handle: of.Handle,
				Passages: []concordat.EdgePassage{{Span: concordat.Span{End: len(text)}, Words: order.Words}}})
			sitetest.Must(t, err)
			if len(e.Passages[0]) == 0 {
				t.Error("no copies are told")
			}
			for _, c := range e.Passages[0] {
				if c.Span.Overlaps(wall) {
					t.Errorf("the edges show %q", c.Span.In(text))
				}
			}
		})
	}
}
