package site_test

import (
	"errors"
	"slices"
	"testing"

	"concordat"
	"concordat/internal/sitetest"
	"concordat/site"
)

// TestStandingHere: a later document that contains a passage of a standing check raises one alert.
func TestStandingHere(t *testing.T) {
	ctx := t.Context()
	p := sitetest.NewHere(t, sitetest.River)
	f := p.Found(t, sitetest.Mine+sitetest.Essay, site.CheckOptions{Standing: true})
	p.Found(t, sitetest.Garden+sitetest.Mine, site.CheckOptions{}) // not a standing check
	want := func(n int, what string) {
		t.Helper()
		as, err := p.Alerts(ctx, 0, 0)
		if err != nil || len(as) != n {
			t.Fatalf("%s: alerts %+v, %v, want %d", what, as, err, n)
		}
	}
	p.Add(t, "a", site.Incoming{ID: "other", Text: sitetest.Han})
	want(0, "unrelated")
	p.Add(t, "a", site.Incoming{ID: "self", Text: sitetest.Mine + sitetest.Essay})
	want(0, "the submission itself")
	p.Add(t, "a", site.Incoming{ID: "late", Title: "A late one",
		Text: "Something else comes first here, and is long enough. " + sitetest.Bakery +
			sitetest.Orchard})
	want(1, "a copy")
	as, err := p.Alerts(ctx, 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	a := as[0]
	if a.Task != f.Task || a.Title != "A late one" || a.Source != (concordat.Ref{Site: "here", Library: "a", Document: "late"}) ||
		len(a.Spans) != 1 || a.Sentences == 0 {
		t.Errorf("alert %+v", a)
	}
	if got := a.Spans[0].In(sitetest.Mine + sitetest.Essay); len(got) < len(sitetest.Bakery+sitetest.Orchard)-10 ||
		len(got) > len(sitetest.Bakery+sitetest.Orchard)+30 {
		t.Errorf("alert of %q", got)
	}
	p.Add(t, "a", site.Incoming{ID: "late", Title: "A late one, again", Text: "Changed. " + sitetest.Bakery + sitetest.Orchard})
	want(1, "the same document again")
	if as, err = p.Alerts(ctx, a.Seq, 0); err != nil || len(as) != 0 {
		t.Errorf("after the last: %+v, %v", as, err)
	}
	if err := p.EndStanding(ctx, f.Task); err != nil {
		t.Fatal(err)
	}
	p.Add(t, "a", site.Incoming{ID: "later", Text: sitetest.Bakery + sitetest.Orchard})
	want(1, "ended")
	if err := p.EndStanding(ctx, f.Task); !errors.Is(err, concordat.ErrNotFound) {
		t.Errorf("ended twice: %v", err)
	}
}

// TestStandingThere: a partner reports later documents and is told when the check ends.
func TestStandingThere(t *testing.T) {
	ctx := t.Context()
	p := sitetest.NewHere(t, "")
	north := sitetest.NewPartner(t, "north")
	f := p.Found(t, sitetest.Mine+sitetest.Essay, site.CheckOptions{Standing: true, Partners: []site.PartnerLibraries{north.Libraries("lib")}})
	if c := sitetest.LineOf(t, f, "north", "lib"); !c.Standing || !north.Asks[0].Standing {
		t.Fatalf("line %+v", c)
	}
	north.Put(t, "lib", "late", sitetest.Essay)
	tell, err := north.Ask(ctx, north.Asks[0]) // matches that the partner would find now
	if err != nil {
		t.Fatal(err)
	}
	notice := &concordat.Notice{Kind: concordat.NoticeAlert, Job: north.Asks[0].Job, Answer: tell, Words: "a thesis of May"}
	if _, err := p.Noticed(ctx, "south", notice); !errors.Is(err, concordat.ErrRefused) {
		t.Errorf("another site's alert: %v", err)
	}
	if task, err := p.Noticed(ctx, "north", notice); err != nil || task != f.Task {
		t.Errorf("got %s, %v", task, err)
	}
	as, err := p.Alerts(ctx, 0, 0)
	if err != nil || len(as) != 1 {
		t.Fatalf("alerts %+v, %v", as, err)
	}
	if a := as[0]; a.Title != "Title of late" || a.Contact != "librarian@north" || a.Words != "a thesis of May" || len(a.Spans) == 0 ||
		a.Source.Site != "north" {
		t.Errorf("alert %+v", a)
	}
	bad := *tell
	bad.Hits = append(slices.Clone(tell.Hits), concordat.Hit{Sentence: 1 << 20})
	for name, n := range map[string]*concordat.Notice{
		"no tell":      {Kind: concordat.NoticeAlert, Job: notice.Job},
		"bad tell":     {Kind: concordat.NoticeAlert, Job: notice.Job, Answer: &bad},
		"unknown kind": {Kind: "gossip", Job: notice.Job},
		"unknown job":  {Kind: concordat.NoticeAlert, Answer: tell},
	} {
		if _, err := p.Noticed(ctx, "north", n); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	if err := p.EndStanding(ctx, f.Task); !errors.Is(err, concordat.ErrUnavailable) {
		t.Errorf("without the partner: %v", err)
	}
	if err := p.EndStanding(ctx, f.Task, north); err != nil {
		t.Errorf("with the partner: %v", err)
	}
	if n := north.Notices; len(n) != 1 || n[0].Kind != concordat.NoticeEnded || n[0].Job != notice.Job {
		t.Errorf("notices %+v", n)
	}
	if _, err := p.Noticed(ctx, "north", notice); !errors.Is(err, concordat.ErrRefused) {
		t.Errorf("an alert after the end: %v", err)
	}
}
