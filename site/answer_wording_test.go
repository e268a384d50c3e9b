package site_test

import (
	"strings"
	"testing"

	"concordat"
	"concordat/align"
	"concordat/site"
	"concordat/store"
)

// TestOwnTemplatesAreNoAnswer: what a library hands out itself is not answered, nor shown in an outline or its edges.
func TestOwnTemplatesAreNoAnswer(t *testing.T) {
	for _, outline := range []string{concordat.OutlineWords, concordat.OutlineFingerprints} {
		t.Run(outline, func(t *testing.T) {
			o := newOwner(t, "theses")
			text := river + winter + "\n\n" + form + "\n\n" + garden + harbour
			o.add(t, "theses", site.Incoming{ID: "a", Text: text})
			o.share(t, "theses", "north", store.ShareRule{Level: concordat.ShowMetadata, Outline: outline, Matches: 1,
				Limits: store.Limits{Sentences: -1, Burst: -1, Disclosures: -1, Documents: -1, Characters: -1, Opened: -1}})
			if l := o.answer(t, "north", o.ask(t, form, concordat.ShowMetadata, "theses")).Libraries[0]; !l.Exists {
				t.Fatalf("without a template: %+v", l)
			}
			must(t, o.store.Catalogue.PutTemplate(t.Context(), store.Template{Library: "theses", Name: "form", Text: form}))
			if l := o.answer(t, "north", o.ask(t, form, concordat.ShowMetadata, "theses")).Libraries[0]; l.Exists || l.Documents != 0 ||
				l.Sentences != 0 {
				t.Errorf("with it: %+v", l)
			}
			a := o.ask(t, river+winter, concordat.ShowMetadata, "theses")
			tell := o.answer(t, "north", a)
			if len(tell.Documents) != 1 || len(tell.Hits) == 0 {
				t.Fatalf("of other wording: %+v", tell)
			}
			of := concordat.OutlineOf{Handle: tell.Documents[0].Handle}
			for _, h := range tell.Hits {
				of.Ordinals = append(of.Ordinals, h.Ordinal)
			}
			got, err := o.AnswerOutline(t.Context(), "north", &concordat.OutlineAsk{Job: a.Job, Epoch: a.Epoch,
				Documents: []concordat.OutlineOf{of}})
			must(t, err)
			at := strings.Index(text, form)
			wall := concordat.Span{Start: at, End: at + len(strings.TrimSpace(form))}
			units := got.Documents[0].Units
			for _, u := range units {
				if u.Span.Overlaps(wall) {
					t.Errorf("the outline shows %q", u.Span.In(text))
				}
			}
			if len(units) < 3 {
				t.Errorf("only %d units", len(units))
			}
			order, err := align.Prepare(text).Order(key("sketch of "+testEpoch.String()), concordat.Span{End: len(text)})
			must(t, err)
			e, err := o.AnswerEdges(t.Context(), "north", &concordat.EdgesAsk{Job: a.Job, Epoch: a.Epoch, Handle: of.Handle,
				Passages: []concordat.EdgePassage{{Span: concordat.Span{End: len(text)}, Words: order.Words}}})
			must(t, err)
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
