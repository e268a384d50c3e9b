package reports_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/internal/webtest"
	"concordat/report"
	"concordat/site"
	"concordat/store"
)

// TestReading reads a long report without JavaScript: its text page by page, its sources, a passage, and two texts side by side.
func TestReading(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	p := d.SignedIn(t, "ada", store.RoleOfficer)
	d.AddFinished(t, "long", "ada", webtest.Thesis(t, 60_000, 80, 60))
	page := p.Get("/checks/long", http.StatusOK)
	seen := map[string]bool{}
	pages := 1
	for {
		for _, m := range regexp.MustCompile(`id="m([0-9]+)"`).FindAllStringSubmatch(page, -1) {
			if seen[m[1]] {
				t.Errorf("passage %s begins twice", m[1])
			}
			seen[m[1]] = true
		}
		next := regexp.MustCompile(`rel="next" href="([^"]*)"`).FindStringSubmatch(page)
		if next == nil {
			break
		}
		pages++
		page = p.Get(strings.TrimSuffix(next[1], "#read"), http.StatusOK)
	}
	if len(seen) != 80 || pages < 5 {
		t.Errorf("%d passages on %d pages", len(seen), pages)
	}
	p.Get("/checks/long?page=0", http.StatusOK)
	p.Get("/checks/long?page=999999999999999999999", http.StatusOK)
	if part := p.Get(fmt.Sprint("/checks/long/text/", pages), http.StatusOK); strings.Contains(part, "<html") ||
		!strings.Contains(part, `class="body"`) {
		t.Errorf("no part:\n%s", part)
	}
	p.Get(fmt.Sprint("/checks/long/text/", pages+1), http.StatusNotFound)
	p.Get("/checks/long/text/0", http.StatusNotFound)

	one := p.Get("/checks/long/passages/40", http.StatusOK)
	beside := regexp.MustCompile(`href="(/checks/long/compare\?[^"]*)"`).FindStringSubmatch(one)
	if beside == nil || !strings.Contains(one, "Passage 40 of 80") || !strings.Contains(one, "/checks/long/passages/41") ||
		!strings.Contains(one, "#m40") {
		t.Fatalf("no way from the passage in\n%s", one)
	}
	if part := p.Get("/checks/long/passages/40?part=1", http.StatusOK); strings.Contains(part, "<html") ||
		!strings.Contains(part, `data-passage="40"`) {
		t.Errorf("no part:\n%s", part)
	}
	p.Get("/checks/long/passages/81", http.StatusNotFound)
	p.Get("/checks/long/passages/x", http.StatusNotFound)
	two := p.Get(strings.ReplaceAll(beside[1], "&amp;", "&"), http.StatusOK)
	if !strings.Contains(two, `id="h1"`) || !strings.Contains(two, `id="t1"`) || !strings.Contains(two, `href="#t1"`) {
		t.Errorf("not side by side:\n%s", two)
	}
	p.Get("/checks/long/compare?site=here&library=theses&document=none", http.StatusNotFound)

	all := p.Get("/checks/long/sources", http.StatusOK)
	listed := regexp.MustCompile(`<li id="s[0-9]+"`)
	next := regexp.MustCompile(`href="([^"]*)" data-more`).FindStringSubmatch(all)
	if len(listed.FindAllString(all, -1)) != 25 || next == nil {
		t.Fatalf("%d sources on the first page", len(listed.FindAllString(all, -1)))
	}
	if n := len(listed.FindAllString(p.Get(strings.ReplaceAll(next[1], "&amp;", "&"), http.StatusOK), -1)); n != 25 {
		t.Errorf("%d sources on the second page", n)
	}
	if n := len(listed.FindAllString(p.Get("/checks/long/sources?q=NUMBER+17", http.StatusOK), -1)); n != 1 {
		t.Errorf("%d sources of the title", n)
	}
	if page := p.Get("/checks/long/sources?q=%3Cb%3E", http.StatusOK); strings.Contains(page, "<b>") ||
		!strings.Contains(page, "No sources found") {
		t.Errorf("looking for markup gives\n%s", page)
	}
	// The audit contains one entry for all parts that she read.
	lines, err := d.Store.Audit.Audit(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	reads := 0
	for _, l := range lines {
		if l.Action == "report_read" {
			reads++
		}
	}
	if reads == 0 || reads > 30 {
		t.Errorf("%d lines of the audit say so", reads)
	}
}

// TestChangedFindingsAreReadAgain: a cached report is not shown after its findings have changed.
func TestChangedFindingsAreReadAgain(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	p := d.SignedIn(t, "ada", store.RoleOfficer)
	f := webtest.Thesis(t, 20_000, 10, 5)
	d.AddFinished(t, "one", "ada", f)
	if page := p.Get("/checks/one/passages/1", http.StatusOK); strings.Contains(page, "strontium") {
		t.Fatal("it is there before")
	}
	f.Passages[0].Text = "strontium"
	f.Passages[0].Words = nil
	data, err := json.Marshal(f)
	if err == nil {
		err = d.Store.Checks.PutFindings(t.Context(), "one", data)
	}
	if err != nil {
		t.Fatal(err)
	}
	if page := p.Get("/checks/one/passages/1", http.StatusOK); !strings.Contains(page, "strontium") {
		t.Errorf("the page shows what was:\n%s", page)
	}
}

// headline returns the result shown on a report page.
func headline(page string) string {
	_, s, _ := strings.Cut(page, `class="headline">`)
	s, _, _ = strings.Cut(s, "<")
	return s
}

// TestNextBestSourceSurfaces excludes sources in each way, finds the next best sources in their place, and includes them again.
func TestNextBestSourceSurfaces(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	if err := d.Site.Ingest(t.Context(), "theses", func(yield func(site.Incoming, error) bool) {
		yield(site.Incoming{ID: "copy.txt", Title: "A copy of it", Text: strings.Replace(webtest.Folios, "morning", "evening", 1)}, nil)
	}, func(site.Ingested) error { return nil }); err != nil {
		t.Fatal(err)
	}
	p := d.SignedIn(t, "ada", store.RoleOfficer)
	p.Upload(http.StatusOK, nil, "essay.txt", webtest.Folios)
	id := "/checks/" + string(d.Await(t)["essay.txt"])
	best := func() string {
		t.Helper()
		page := p.Get(id+"/passages/1", http.StatusOK)
		_, s, _ := strings.Cut(page, `<span class="src" dir="auto">`)
		s, _, _ = strings.Cut(s, "<")
		return s
	}
	change := func(want int, action string, more ...string) string {
		t.Helper()
		f := url.Values{"action": {action}}
		for i := 0; i < len(more); i += 2 {
			f.Set(more[i], more[i+1])
		}
		return p.Post(id+"/rules", want, f)
	}
	original := []string{"site", "here", "library", "theses", "document", "folios.txt"}
	if got := best(); got != "On folios" {
		t.Fatalf("the best source is %q", got)
	}
	first := headline(p.Get(id, http.StatusOK))
	for _, out := range []struct{ action, back, why string }{{"exclude-source", "include-source", "from an excluded source"},
		{"own-work", "not-own-work", "the author&#39;s earlier work"}} {
		page := change(http.StatusOK, out.action, original...)
		if got := best(); got != "A copy of it" {
			t.Errorf("%s: the next best source is %q", out.action, got)
		}
		if headline(page) == first || !strings.Contains(page, out.why) || !strings.Contains(page, "here/theses/folios.txt") {
			t.Errorf("%s: not rescored, or no reason, in\n%s", out.action, page)
		}
		if got := headline(change(http.StatusOK, out.back, original...)); got != first || best() != "On folios" {
			t.Errorf("%s: %q, best %q", out.back, got, best())
		}
	}
	page := change(http.StatusOK, "template-passage", "at", "passage", "start", "0", "end", strconv.Itoa(len(webtest.Folios)))
	if !strings.Contains(page, "Not counted: template wording") {
		t.Errorf("no template wording in\n%s", page)
	}
	if got := headline(change(http.StatusOK, "clear-templates")); got != first {
		t.Errorf("with the template again: %q", got)
	}
	if got := headline(change(http.StatusOK, "add-template", "text", webtest.Folios)); got == first {
		t.Error("given wording counts")
	}
	if got := headline(change(http.StatusOK, "undo")); got != first {
		t.Errorf("undone: %q", got)
	}
	change(http.StatusBadRequest, "add-template", "text", "  ")
	change(http.StatusBadRequest, "add-template", "text", strings.Repeat("x", 300<<10))
	change(http.StatusNotFound, "template-passage", "start", "0", "end", "1000000")
	change(http.StatusNotFound, "template-passage", "start", "5", "end", "5")
	change(http.StatusBadRequest, "set", "min_characters", "0", "min_source_share", "0", "common_above", "0")
	page = change(http.StatusOK, "set", "min_characters", "0", "min_source_share", "0", "common_above", "1")
	if !strings.Contains(page, "more than 1 documents contain. Longer") {
		t.Errorf("rules in\n%s", page)
	}
	page = change(http.StatusOK, "set", "min_characters", "0", "min_source_share", "0", "count_common", "on", "exclude_citations", "on")
	if !strings.Contains(page, "Common wording: counted.") || !strings.Contains(page, "Citation markers: excluded.") {
		t.Errorf("rules in\n%s", page)
	}
	if !strings.Contains(page, "Change log (10)") || !strings.Contains(page, "excluded source") {
		t.Errorf("no log in\n%s", page)
	}
}

// TestVerdictGoesStale: a verdict applies to the figures for which it was given; another person signs it off, and the report shows both.
func TestVerdictGoesStale(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	ada, bo := d.SignedIn(t, "ada", store.RoleOfficer), d.SignedIn(t, "bo", store.RoleOfficer)
	d.AddFinished(t, "one", "ada", webtest.Thesis(t, 20_000, 10, 5))
	rules := func(min string) {
		t.Helper()
		ada.Post("/checks/one/rules", http.StatusOK, url.Values{"action": {"set"}, "min_characters": {min}, "min_source_share": {"0"}})
	}
	verdict := url.Values{"kind": {"verdict"}, "verdict": {"suspected"}, "text": {"no sources named"}}
	ada.Post("/checks/one/notes", http.StatusOK, verdict)
	const stale = "rules have changed since this verdict"
	rules("50")
	if page := bo.Get("/checks/one", http.StatusOK); !strings.Contains(page, stale) || strings.Contains(page, `value="signoff"`) {
		t.Errorf("not stale:\n%s", page)
	}
	if page := bo.Post("/checks/one/notes", http.StatusConflict, url.Values{"kind": {"signoff"}}); !strings.Contains(page,
		"so a new verdict is needed first") {
		t.Errorf("it does not say why:\n%s", page)
	}
	rules("0")
	page := bo.Get("/checks/one", http.StatusOK)
	seq := regexp.MustCompile(`name="verdict" value="([0-9]+)"`).FindStringSubmatch(page)
	if strings.Contains(page, stale) || seq == nil {
		t.Fatalf("stale though the rules are the same:\n%s", page)
	}
	// Ada gives another verdict while bo looks at this one.
	ada.Post("/checks/one/notes", http.StatusOK, verdict)
	bo.Post("/checks/one/notes", http.StatusConflict, url.Values{"kind": {"signoff"}, "verdict": {seq[1]}})
	bo.Post("/checks/one/notes", http.StatusOK, url.Values{"kind": {"signoff"}})
	var got struct {
		Review struct {
			Verdict, By string
			SignedOff   []report.SignedOff `json:"signed_off"`
			Stale       bool
		}
	}
	read := func() {
		t.Helper()
		got.Review.SignedOff = nil
		if err := json.Unmarshal([]byte(bo.Get("/checks/one/report?format=json", http.StatusOK)), &got); err != nil {
			t.Fatal(err)
		}
	}
	read()
	if r := got.Review; r.Verdict != "suspected" || r.By != "ada" || len(r.SignedOff) != 1 || r.SignedOff[0].By != "bo" || r.Stale {
		t.Errorf("the report has %+v", r)
	}
	rules("60")
	read()
	if !got.Review.Stale {
		t.Error("the report does not say that the rules changed")
	}
	if page := bo.Get("/checks/one/report", http.StatusOK); !strings.Contains(page, "Signed off by bo") ||
		!strings.Contains(page, "rules have changed since this verdict") {
		t.Error("the file does not say who signed off, or that the rules changed")
	}
	// A sign-off does not count if it is by the verdict's author or for another verdict, even if it was written at the same time as the
	// verdict.
	for _, r := range []store.Review{{By: "ada", Kind: store.ReviewSignOff},
		{By: "bo", Kind: store.ReviewVerdict, Text: "x", Data: json.RawMessage(`"clear"`)}, {By: "bo", Kind: store.ReviewSignOff},
		{By: "ada", Kind: store.ReviewSignOff, Data: json.RawMessage("1")}} {
		r.At = time.Now()
		if _, err := d.Store.Checks.AppendReview(t.Context(), "one", r); err != nil {
			t.Fatal(err)
		}
	}
	got.Review.SignedOff = nil
	read()
	if r := got.Review; r.Verdict != "clear" || len(r.SignedOff) != 0 {
		t.Errorf("signed off by %+v", r)
	}
}

// TestSubmitterReadsNoLibrary: submitters see their own text and the passages of a source, but nothing else of the source.
func TestSubmitterReadsNoLibrary(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	text := "A secret preface of the source. " + webtest.Folios + " And a secret end of it."
	if err := d.Site.Ingest(t.Context(), "theses", func(yield func(site.Incoming, error) bool) {
		yield(site.Incoming{ID: "s.txt", Title: "S", Text: text}, nil)
	}, func(site.Ingested) error { return nil }); err != nil {
		t.Fatal(err)
	}
	at := strings.Index(text, webtest.Folios)
	d.AddFinished(t, "own", "sue", &report.Findings{Version: report.Version, Submission: concordat.Document{ID: "x", Text: webtest.Folios},
		Passages: []concordat.Passage{{
			Span: concordat.Span{End: len(webtest.Folios)}, Source: concordat.Ref{Site: "here", Library: "theses", Document: "s.txt"},
			Kind: concordat.KindVerbatim, Similarity: 1,
			SourceSpan: concordat.Span{Start: at, End: at + len(webtest.Folios)}, Text: webtest.Folios}}})
	const address = "/checks/own/compare?site=here&library=theses&document=s.txt"
	if page := d.SignedIn(t, "sue", store.RoleSubmitter).Get(address, http.StatusOK); strings.Contains(page, "secret") ||
		!strings.Contains(page, `id="t1"`) {
		t.Errorf("a submitter sees\n%s", page)
	}
	if page := d.SignedIn(t, "olga", store.RoleOfficer).Get(address, http.StatusOK); !strings.Contains(page, "secret preface") {
		t.Errorf("an officer does not see the source around it:\n%s", page)
	}
	d.SignedIn(t, "sam", store.RoleSubmitter).Get(address, http.StatusNotFound)
}
