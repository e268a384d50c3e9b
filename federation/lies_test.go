package federation_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"concordat"
	"concordat/federation"
	"concordat/internal/fedtest"
)

// teller is an answerer whose later rounds return the values set by the test.
type teller struct {
	*scan
	outlines *concordat.Outlines
	edges    *concordat.Edges
	revealed *concordat.Revealed
}

func (t *teller) AnswerOutline(context.Context, concordat.SiteID, *concordat.OutlineAsk) (*concordat.Outlines, error) {
	return t.outlines, nil
}

func (t *teller) AnswerEdges(context.Context, concordat.SiteID, *concordat.EdgesAsk) (*concordat.Edges, error) {
	return t.edges, nil
}

func (t *teller) AnswerReveal(context.Context, concordat.SiteID, *concordat.RevealAsk) (*concordat.Revealed, error) {
	return t.revealed, nil
}

// TestLaterRoundsAreChecked: outlines, edges and passages that have a valid signature but do not answer the question are refused as a
// whole, because the report relies on their number, order and places.
func TestLaterRoundsAreChecked(t *testing.T) {
	x := &teller{scan: &scan{level: concordat.ShowMetadata}}
	f := fedtest.Join(t, scheme, &scan{}, x)
	c := f.Partner(0, 1)
	verdict := func(what string, good bool, err error) {
		t.Helper()
		if good && err != nil || !good && kindOf(err) != federation.KindGarbage {
			t.Errorf("%s: error %v, is to be taken: %v", what, err, good)
		}
	}
	unit := func(ordinal, start, end int) concordat.OutlineUnit {
		return concordat.OutlineUnit{Ordinal: ordinal, Span: concordat.Span{Start: start, End: end}, Chars: 5, Words: []uint16{1}}
	}
	outline := func(document int, units ...concordat.OutlineUnit) concordat.Outline {
		return concordat.Outline{Handle: handleOf(document), Form: concordat.OutlineWords, Bits: 10, Length: 100, Units: units}
	}
	ask := &concordat.OutlineAsk{Job: concordat.JobID{1}, Epoch: fedtest.Epoch,
		Documents: []concordat.OutlineOf{{Handle: handleOf(1), Ordinals: []int{0}}, {Handle: handleOf(2), Ordinals: []int{0}}}}
	for what, test := range map[string]struct {
		documents []concordat.Outline
		good      bool
	}{
		"outlines":   {[]concordat.Outline{outline(1, unit(0, 0, 10), unit(1, 10, 100)), outline(2)}, true},
		"no outline": {nil, false}, "one outline less": {[]concordat.Outline{outline(1)}, false},
		"one outline more":      {[]concordat.Outline{outline(1), outline(2), outline(3)}, false},
		"another document":      {[]concordat.Outline{outline(1), outline(3)}, false},
		"out of order":          {[]concordat.Outline{outline(2), outline(1)}, false},
		"units beyond the text": {[]concordat.Outline{outline(1, unit(0, 0, 101)), outline(2)}, false},
		"units over each other": {[]concordat.Outline{outline(1, unit(0, 0, 10), unit(1, 9, 20)), outline(2)}, false},
		"a unit twice":          {[]concordat.Outline{outline(1, unit(3, 0, 10), unit(3, 10, 20)), outline(2)}, false},
	} {
		x.outlines = &concordat.Outlines{Documents: test.documents}
		_, err := c.Outline(t.Context(), ask)
		verdict(what, test.good, err)
	}

	edges := &concordat.EdgesAsk{Job: concordat.JobID{1}, Epoch: fedtest.Epoch, Handle: handleOf(1),
		Passages: []concordat.EdgePassage{{Span: concordat.Span{End: 10}, Words: []byte{1, 2, 3}},
			{Span: concordat.Span{Start: 20, End: 30}, Words: []byte{4, 5}}}}
	for n := range 4 {
		x.edges = &concordat.Edges{Passages: make([][]concordat.EdgeCopy, n)}
		_, err := c.Edges(t.Context(), edges)
		verdict("edges", n == 2, err)
	}
	at := func(from, to, start, end int) concordat.EdgeCopy {
		return concordat.EdgeCopy{From: from, To: to, Span: concordat.Span{Start: start, End: end}}
	}
	for what, test := range map[string]struct {
		copies []concordat.EdgeCopy
		good   bool
	}{
		"all of it": {[]concordat.EdgeCopy{at(0, 2, 20, 30)}, true}, "two": {[]concordat.EdgeCopy{at(0, 1, 20, 25), at(1, 2, 25, 30)}, true},
		"no words": {[]concordat.EdgeCopy{at(1, 1, 20, 30)}, false}, "a word more": {[]concordat.EdgeCopy{at(0, 3, 20, 30)}, false},
		"no text": {[]concordat.EdgeCopy{at(0, 2, 20, 20)}, false}, "before it": {[]concordat.EdgeCopy{at(0, 2, 19, 30)}, false},
		"beyond it":          {[]concordat.EdgeCopy{at(0, 2, 20, 31)}, false},
		"more than of words": {[]concordat.EdgeCopy{at(0, 1, 20, 25), at(0, 1, 20, 25), at(0, 1, 20, 25)}, false},
	} {
		x.edges = &concordat.Edges{Passages: [][]concordat.EdgeCopy{nil, test.copies}}
		_, err := c.Edges(t.Context(), edges)
		verdict("edges: "+what, test.good, err)
	}

	shared := func(spans ...concordat.Span) concordat.RevealedPassage {
		return concordat.RevealedPassage{Shared: spans}
	}
	for what, test := range map[string]struct {
		state    string
		passages []concordat.RevealedPassage
		level    concordat.Show
		good     bool
	}{
		"words in common": {concordat.DisclosureGranted, []concordat.RevealedPassage{shared(concordat.Span{End: 3},
			concordat.Span{Start: 3, End: 8})}, concordat.ShowOverlap, true},
		"the passage":            {concordat.DisclosureGranted, []concordat.RevealedPassage{{Text: "the whole"}}, concordat.ShowPassage, true},
		"not decided":            {concordat.DisclosurePending, nil, concordat.ShowPassage, true},
		"no passage":             {concordat.DisclosureGranted, nil, concordat.ShowOverlap, false},
		"one passage more":       {concordat.DisclosureGranted, []concordat.RevealedPassage{shared(), shared()}, concordat.ShowOverlap, false},
		"a passage when refused": {concordat.DisclosureRefused, []concordat.RevealedPassage{shared()}, concordat.ShowOverlap, false},
		"text unasked":           {concordat.DisclosureGranted, []concordat.RevealedPassage{{Text: "the whole"}}, concordat.ShowOverlap, false},
		"beyond the text sent": {concordat.DisclosureGranted, []concordat.RevealedPassage{shared(concordat.Span{End: 9})},
			concordat.ShowOverlap, false},
		"over each other": {concordat.DisclosureGranted, []concordat.RevealedPassage{shared(concordat.Span{End: 3},
			concordat.Span{Start: 2, End: 5})}, concordat.ShowOverlap, false},
	} {
		x.revealed = &concordat.Revealed{State: test.state, Passages: test.passages}
		_, err := c.Reveal(t.Context(), &concordat.RevealAsk{Job: concordat.JobID{1}, Epoch: fedtest.Epoch, Handle: handleOf(1),
			Level:    test.level,
			Passages: []concordat.RevealPassage{{Span: concordat.Span{End: 20}, Text: "12345678"}}})
		verdict(what, test.good, err)
	}
}

// TestTries: a partner that cannot be reached is tried as many times as the options say.
func TestTries(t *testing.T) {
	for _, tries := range []int{1, 3} {
		asker := fedtest.NewSite(t, scheme)
		var came atomic.Int32
		s := newRawScript(t, asker, func(context.Context, net.Conn) { came.Add(1) })
		c := asker.NewClient(t, s.Site, federation.ClientOptions{Tries: tries, Timeout: time.Minute})
		if _, err := c.Catalogue(t.Context()); kindOf(err) != federation.KindDown {
			t.Errorf("error %v, want kind %s", err, federation.KindDown)
		}
		if n := int(came.Load()); n != tries {
			t.Errorf("%d tries came to %d connections", tries, n)
		}
	}
}
