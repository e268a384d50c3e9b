package ask

import (
	"context"
	"encoding/hex"
	"errors"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/align"
	"concordat/internal/storetest"
	"concordat/profile"
	"concordat/report"
	"concordat/site"
	"concordat/site/compare"
)

// TestCopiedTwice: if only half of a source was copied, the other half can still match, however often the first half was copied.
func TestCopiedTwice(t *testing.T) {
	text := strings.Repeat("one more sentence that says nothing. ", 60)
	fw := &forwarding{sub: site.Submission{Text: text}, count: report.NewCounter(text)}
	span := func(from, to int) concordat.Span { return concordat.Span{Start: from, End: to} }
	copies := []align.Passage{{A: span(0, 600), B: span(1600, 2200), Kind: concordat.KindVerbatim, Similarity: 1},
		{A: span(700, 1300), B: span(1600, 2200), Kind: concordat.KindVerbatim, Similarity: 1}}
	rough := align.Passage{A: span(1400, 1900), B: span(1950, 2450), Kind: concordat.KindParaphrase, Similarity: 0.5}
	got := fw.together([]align.Passage{rough}, copies)
	if len(got) != 3 || got[2].Kind != concordat.KindParaphrase || got[2].SourceSpan != rough.B {
		t.Errorf("got %+v, want the two copies and what is reworded beside them", got)
	}
}

// TestNeighboursAreJoined: matched sentences of a source form one passage if they are at most 40 characters apart, and two otherwise.
func TestNeighboursAreJoined(t *testing.T) {
	p, err := profile.New(profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for between, want := range map[int]int{0: 1, 1: 1, 40: 1, 41: 2, 400: 2} {
		text := strings.Repeat("a", 100) + strings.Repeat("б", between) + strings.Repeat("c", 100)
		fw := &forwarding{sub: site.Submission{Text: text}, count: report.NewCounter(text)}
		second := 100 + 2*between
		got := fw.fromHits([]compare.Hit{{Span: concordat.Span{End: 100}, Ordinal: 4},
			{Span: concordat.Span{Start: second, End: second + 100}, Ordinal: 5}}, p)
		if len(got) != want {
			t.Errorf("%d characters between: %+v, want %d passages", between, got, want)
		}
	}
	text := strings.Repeat("a", 100)
	fw := &forwarding{sub: site.Submission{Text: text}, count: report.NewCounter(text)}
	for distance, want := range map[int]concordat.Kind{0: concordat.KindNear, farDistance: concordat.KindParaphrase} {
		if got := fw.fromHits([]compare.Hit{{Span: concordat.Span{End: 100}, Distance: distance}}, p); len(got) != 1 || got[0].Kind != want {
			t.Errorf("at %d bits: %+v, want one of kind %s", distance, got, want)
		}
	}
}

// TestPreparedOnce: a submission is prepared once for all documents of all partners that use the same comparison.
func TestPreparedOnce(t *testing.T) {
	key := []byte("a sketch key of an epoch, 32 byte")
	o := &ownText{text: strings.Repeat("The harbour master recorded every vessel that left the estuary. ", 5)}
	full, sketch, err := o.words(key, align.DefaultSketchBits, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		key         []byte
		bits        int
		walls       []concordat.Span
		full, words bool // whether the words and the sketch are recomputed
	}{
		"again": {key, align.DefaultSketchBits, nil, false, false}, "another key": {key[1:], align.DefaultSketchBits, nil, false, true},
		"other walls": {key, align.DefaultSketchBits, []concordat.Span{{Start: 64, End: 128}}, true, true},
	} {
		f, s, err := o.words(c.key, c.bits, c.walls)
		if err != nil || (f != full) != c.full || (s != sketch) != c.words {
			t.Errorf("%s: the words are made anew: %v, the sketch: %v, error %v", name, f != full, s != sketch, err)
		}
	}
	p, err := profile.New(profile.Options{})
	if err != nil {
		t.Fatal(err)
	}
	of, err := p.ForIndex(concordat.Document{ID: "a", Text: o.text})
	if err != nil {
		t.Fatal(err)
	}
	first, err := o.fingerprints(p, of)
	if err != nil || len(first) == 0 {
		t.Fatalf("%d fingerprints, %v", len(first), err)
	}
	if again, err := o.fingerprints(p, of); err != nil || &again[0] != &first[0] {
		t.Errorf("fingerprints are made anew: %v", err)
	}
}

// TestPartnerPrints: an outline of fingerprints, which can include a sentence without letters, is accepted within its limits and refused
// beyond them; sentences on either side of a gap are not adjacent.
func TestPartnerPrints(t *testing.T) {
	unit := func(ordinal, start, end int) concordat.OutlineUnit {
		return concordat.OutlineUnit{Ordinal: ordinal, Span: concordat.Span{Start: start, End: end}, Chars: 30, Features: 9}
	}
	for name, c := range map[string]struct {
		edit func(us []concordat.OutlineUnit)
		want int // number of prints; 0 if refused
	}{
		"one behind the other":     {func([]concordat.OutlineUnit) {}, 2},
		"some left out":            {func(us []concordat.OutlineUnit) { us[1].Ordinal = 7 }, 3},
		"no letters":               {func(us []concordat.OutlineUnit) { us[1].Chars = 0 }, 2},
		"fewer letters than none":  {func(us []concordat.OutlineUnit) { us[1].Chars = -1 }, 0},
		"most letters":             {func(us []concordat.OutlineUnit) { us[1].Chars = 1 << 20 }, 2},
		"a letter more":            {func(us []concordat.OutlineUnit) { us[1].Chars = 1<<20 + 1 }, 0},
		"no features":              {func(us []concordat.OutlineUnit) { us[1].Features = 0 }, 2},
		"fewer features than none": {func(us []concordat.OutlineUnit) { us[1].Features = -1 }, 0},
		"most features":            {func(us []concordat.OutlineUnit) { us[1].Features = 1 << 16 }, 2},
		"a feature more":           {func(us []concordat.OutlineUnit) { us[1].Features = 1<<16 + 1 }, 0},
		"overlapping":              {func(us []concordat.OutlineUnit) { us[1].Span.Start = 39 }, 0},
		"empty":                    {func(us []concordat.OutlineUnit) { us[1].Span.End = us[1].Span.Start }, 2},
		"backwards":                {func(us []concordat.OutlineUnit) { us[1].Span.End = us[1].Span.Start - 1 }, 0},
		"at the last byte":         {func(us []concordat.OutlineUnit) { us[1].Span.End = 1<<31 - 1 }, 2},
		"beyond it":                {func(us []concordat.OutlineUnit) { us[1].Span.End = 1 << 31 }, 0},
	} {
		us := []concordat.OutlineUnit{unit(3, 0, 40), unit(4, 40, 90)}
		c.edit(us)
		got, err := partnerPrints(&concordat.Outline{Units: us})
		if len(got) != c.want || (err != nil) != (c.want == 0) || err != nil && !errors.Is(err, errGarbage) {
			t.Errorf("%s: %d prints, error %v; want %d", name, len(got), err, c.want)
		}
	}
}

// TestOutcome: a partner has refused if none of its libraries answered, has failed or is silent if it failed or did not reply, and is
// done otherwise. A partner whose libraries were not asked has refused nothing.
func TestOutcome(t *testing.T) {
	whole, refused := concordat.Consulted{}, concordat.Consulted{Reason: concordat.ReasonBudget, Err: "no more today"}
	fault := concordat.Consulted{Reason: concordat.ReasonFault, Err: "a fault"}
	for name, c := range map[string]struct {
		answer partnerAnswer
		state  site.PartnerState
		why    concordat.Reason
	}{
		"whole":   {partnerAnswer{consulted: []concordat.Consulted{whole, whole}}, site.PartnerDone, ""},
		"in part": {partnerAnswer{consulted: []concordat.Consulted{whole, refused}}, site.PartnerDone, concordat.ReasonBudget},
		"refused": {partnerAnswer{consulted: []concordat.Consulted{refused, fault}}, site.PartnerRefused, concordat.ReasonBudget},
		"failed":  {partnerAnswer{consulted: []concordat.Consulted{fault}, failed: true}, site.PartnerFailed, concordat.ReasonFault},
		"silent": {partnerAnswer{consulted: []concordat.Consulted{fault}, failed: true, silent: true}, site.PartnerSilent,
			concordat.ReasonFault},
		"nothing was asked": {partnerAnswer{}, site.PartnerDone, ""},
	} {
		if state, why := c.answer.outcome(); state != c.state || why != c.why {
			t.Errorf("%s: %s for %q, want %s for %q", name, state, why, c.state, c.why)
		}
	}
}

// TestJobOfMost: a question about a document uses the job that found most of it, or the first of several such jobs, and its sentences add
// up.
func TestJobOfMost(t *testing.T) {
	r := &round{documents: map[concordat.Handle]*nominated{}, answer: &partnerAnswer{site: "north"},
		p: &site.PartnerLibraries{Libraries: []concordat.LibraryID{"theses"}}}
	for _, c := range []struct {
		matches, sum int
		job, want    byte
	}{{0, 0, 1, 1}, {2, 2, 2, 2}, {2, 4, 3, 2}, {1, 5, 4, 2}, {3, 8, 5, 5}} {
		n := r.document(concordat.DocumentAnswer{Matches: c.matches}, concordat.JobID{c.job}, concordat.ShowMetadata)
		if n.job != (concordat.JobID{c.want}) || n.Matches != c.sum {
			t.Errorf("after %d matches of job %d: job %v, %d matches; want %d, %d", c.matches, c.job, n.job[0], n.Matches, c.want, c.sum)
		}
	}
}

// decider is a partner that gives each request the answer set by the test.
type decider struct {
	Discloser
	says *concordat.Revealed
}

func (d *decider) Reveal(context.Context, *concordat.RevealAsk) (*concordat.Revealed, error) {
	return d.says, nil
}

// TestWhenDecided: a waiting request keeps the time when it began to wait, however often the partner is asked; a decided request has the
// arrival time of the decision.
func TestWhenDecided(t *testing.T) {
	began, now := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC), time.Date(2026, 3, 5, 9, 0, 0, 0, time.UTC)
	s := &Asker{o: Options{Now: func() time.Time { return now }}}
	ref := concordat.Ref{Site: "north", Library: "theses", Document: HandleName(concordat.Handle{7})}
	f := &report.Findings{Partners: []report.PartnerSource{{Ref: ref, Job: hex.EncodeToString(make([]byte, len(concordat.JobID{})))}}}
	for state, want := range map[string]time.Time{concordat.DisclosurePending: began, concordat.DisclosureRefused: now} {
		got, err := s.revealOne(t.Context(), f, report.Disclosure{Source: ref, Level: concordat.ShowOverlap, State: concordat.DisclosurePending,
			Asked: began, Changed: began}, &decider{says: &concordat.Revealed{State: state}}, false)
		if err != nil || got.disclosure.State != state || !got.disclosure.Changed.Equal(want) {
			t.Errorf("%s: %+v, %v; want it to be so since %v", state, got.disclosure, err, want)
		}
	}
}

// TestEndStandingTells: ending a standing check returns an error if the check does not exist, cannot be ended, or cannot be read.
func TestEndStandingTells(t *testing.T) {
	db := storetest.SQLite(t)
	s := &Asker{o: Options{Store: db, Now: time.Now}}
	if err := s.EndStanding(t.Context(), "task"); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("of a check that does not stand: %v, want ErrNotFound", err)
	}
	broken := errors.New("the disk is broken")
	for _, call := range []string{"Asks", "EndStanding"} {
		unended, script := storetest.Scripted(db)
		script.On(call, func() error { return broken })
		s.o.Store = unended
		if err := s.EndStanding(t.Context(), "task"); !errors.Is(err, broken) {
			t.Errorf("of a check that cannot be ended: %v", err)
		}
	}
}
