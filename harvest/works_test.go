package harvest_test

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/harvest"
	"concordat/internal/sitetest"
	"concordat/report"
	"concordat/report/html"
	"concordat/report/pdf"
	"concordat/site"
)

// siteIntake adds plain text to a site.
type siteIntake struct {
	*testIntake
	site *site.Site
}

func (i *siteIntake) Put(ctx context.Context, lib concordat.LibraryID, docs []site.Incoming) error {
	return i.site.Ingest(ctx, lib, sitetest.Docs(docs...), func(site.Ingested) error { return nil })
}

// TestOneWorkInTwoLibraries: a journal and an institution's repository contain the same work, identified by its DOI, with texts whose
// surroundings differ; two others contain the same text. A check that copies from them lists each work once, with all its locations, and
// proposes the author's own work.
func TestOneWorkInTwoLibraries(t *testing.T) {
	here := sitetest.NewSite(t, "journal", "theses")
	p := &place{t: t, now: at, db: here.Store}
	intake := &siteIntake{&testIntake{db: here.Store, dir: t.TempDir(), puts: map[concordat.DocumentID]int{}}, here.Site}
	runner := harvest.New(harvest.Options{Store: here.Store, Intake: intake, Fetch: p.fetcher(), Now: p.clock, Sleep: p.sleep})
	tides := sitetest.Glacier + sitetest.Bakery + sitetest.Orchard
	for lib, add := range map[concordat.LibraryID]func(*repository){
		"journal": func(r *repository) {
			r.put("oai:journal:1", dc(el("title", "On bakers"), el("creator", "Roe, Jane"), el("creator", "0000-0002-1825-0097"),
				el("identifier", "doi:10.5072/BAKERS"), el("identifier", r.URL+"/article/1"), el("identifier", r.text("/1.txt", tides))))
			r.put("oai:journal:2", dc(el("title", "On rivers"), el("identifier", r.text("/2.txt", sitetest.River+sitetest.Winter))))
		},
		"theses": func(r *repository) {
			r.put("oai:theses:7", dc(el("title", "Bakers, a preprint"), el("identifier", "https://doi.org/10.5072/bakers"),
				el("rights", "https://creativecommons.org/licenses/by/4.0/"),
				el("identifier", r.text("/7.txt", "Preprint of the institute.\n\n"+tides))))
			r.put("oai:theses:8", dc(el("title", "Rivers"), el("creator", "Poe, Ann"),
				el("identifier", r.text("/8.txt", sitetest.River+sitetest.Winter))))
		}} {
		repo := newRepository(t)
		add(repo)
		h, err := harvest.NewSource(harvest.Spec{ID: string(lib), URL: repo.URL + "/oai", Library: lib, Every: time.Hour}, p.fetcher(), false, at)
		if err == nil {
			err = here.Store.Harvest.AddSource(t.Context(), h)
		}
		if err == nil {
			err = runner.Run(t.Context(), h.ID)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	f, err := here.Check(t.Context(), site.Submission{ID: "s", Text: sitetest.Mine + tides + sitetest.Mine + sitetest.River + sitetest.Winter,
		Authors: concordat.ParseCreators("Jane Roe (0000-0002-1825-0097)")}, site.CheckOptions{})
	if err != nil {
		t.Fatal(err)
	}
	kept, err := here.Findings(t.Context(), f.Task)
	if err != nil {
		t.Fatal(err)
	}
	r := report.Build(kept, report.Rules{})
	r.Language, r.Names.Site = report.English, "here"
	if len(r.Sources) != 2 || len(r.Sources[0].Also) != 1 || len(r.Sources[1].Also) != 1 || r.Sources[0].Alone != r.Sources[0].Share {
		t.Fatalf("sources %+v", r.Sources)
	}
	if a, b := r.Sources[0], r.Sources[1]; a.Own == nil || a.Own.By != report.OwnByORCID || b.Own != nil ||
		a.Letter() != "A" || b.Letter() != "B" {
		t.Errorf("sources %+v", r.Sources)
	}
	for _, e := range r.Evidence {
		if len(e.Sources) != 1 {
			t.Errorf("passage %v has sources %+v", e.Span, e.Sources)
		}
	}
	pages, err := pdf.Write(r, pdf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var page, data bytes.Buffer
	if err := html.Write(&page, r); err != nil {
		t.Fatal(err)
	}
	if err := report.WriteJSON(&data, r); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`href="https://doi.org/10.5072/bakers"`, `href="https://orcid.org/0000-0002-1825-0097"`,
		"The same work, also in ",
		"/article/1", "Probably the author&#39;s own earlier work"} {
		if !strings.Contains(page.String(), want) {
			t.Errorf("HTML: no %q", want)
		}
	}
	if n := strings.Count(page.String(), `<li id="s`); n != 2 {
		t.Errorf("%d cards of sources", n)
	}
	if !strings.Contains(data.String(), `"url": "https://doi.org/10.5072/bakers"`) || strings.Count(data.String(), `"also": [`) != 2 {
		t.Errorf("JSON %s", data.String())
	}
	if n := bytes.Count(pages, []byte("/S /URI /URI <")); n < 2 {
		t.Errorf("%d links in the PDF", n)
	}
}
