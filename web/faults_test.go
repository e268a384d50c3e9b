package web_test

import (
	"bytes"
	"context"
	"fmt"
	"image/png"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"concordat"
	"concordat/internal/chromium"
	"concordat/internal/webtest"
	"concordat/store"
)

// TestPartlyDoneSaysWhy: next to its state, a report lists the partners that answered incompletely, and no others.
func TestPartlyDoneSaysWhy(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	f := webtest.Thesis(t, 2_000, 2, 2)
	d.AddFinished(t, "whole", "olga", f)
	f.Consulted = append(f.Consulted, concordat.Consulted{Site: "SOUTH", Library: "calls", Asked: 7, Err: "down"},
		concordat.Consulted{Site: "SOUTH", Library: "grants", Asked: 7, Answered: 6}, concordat.Consulted{Site: "NORTH", Library: "calls"})
	d.AddFinished(t, "part", "olga", f)
	olga.Wants(olga.Get("/checks/part", http.StatusOK), `<a href="#coverage">No complete answer from South &lt;Site&gt;</a>`)
	for id, c := range map[concordat.TaskID]concordat.Consulted{ // all sent questions were answered, but not everything is known
		"shards": {Missing: []concordat.ShardID{"3"}}, "capped": {Capped: 1}, "unready": {Level: concordat.ShowOverlap, Unready: 0.5},
		"withheld": {Level: concordat.ShowOverlap, Withheld: 2},
	} {
		c.Site, c.Library, c.Asked, c.Answered = "EAST", "calls", 7, 7
		f.Consulted = []concordat.Consulted{c}
		d.AddFinished(t, id, "olga", f)
		olga.Wants(olga.Get("/checks/"+string(id), http.StatusOK), `<a href="#coverage">No complete answer from EAST</a>`)
	}
	if page := olga.Get("/checks/whole", http.StatusOK); strings.Contains(page, "No complete answer") {
		t.Error("a whole report says that somebody did not answer")
	}
}

// TestSubmitterIsSentNowhereElse: a site without documents shows submitters no link to pages that only officers may use.
func TestSubmitterIsSentNowhereElse(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	if err := d.Site.DeleteLibrary(t.Context(), "theses", nil); err != nil {
		t.Fatal(err)
	}
	sue, olga := d.SignedIn(t, "sue", store.RoleSubmitter), d.SignedIn(t, "olga", store.RoleOfficer)
	sue.Wants(sue.Get("/checks/new", http.StatusOK), "Ask an administrator or an officer to add documents.")
	olga.Wants(olga.Get("/checks", http.StatusOK), `<a href="/libraries">`)
	for _, path := range []string{"/checks", "/checks/new"} {
		_, content, _ := strings.Cut(sue.Get(path, http.StatusOK), "<main")
		if strings.Contains(content, "/libraries") || strings.Contains(content, "Create a library") {
			t.Errorf("%s sends a submitter to the libraries:\n%s", path, content)
		}
	}
}

// TestHealthCountsAsTasksDo: like the tasks page, the health page counts checks that failed because of their files separately from those
// that failed because of the site.
func TestHealthCountsAsTasksDo(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	ada := d.SignedIn(t, "ada", store.RoleAdministrator)
	ada.Upload(http.StatusOK, nil, "one.bad", "x", "two.bad", "x", "essay.txt", webtest.Folios)
	d.Await(t)
	ada.Wants(ada.Get("/admin", http.StatusOK), "by the site: 0, by the file: 2",
		`<strong>2</strong> <a href="/admin/tasks?state=failed">Failed</a>`)
	if page := ada.Get("/admin/tasks?state=failed", http.StatusOK); strings.Count(page, ".bad") < 2 || strings.Contains(page, "essay.txt") {
		t.Errorf("the failed tasks are\n%s", page)
	}
}

// TestPictureIsDarkInTheDark: the picture of a cluster has a dark background on a dark page.
func TestPictureIsDarkInTheDark(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	ctx, complaints := webtest.Browser(t, d.URL, 1360)
	path := d.SignedIn(t, "olga", store.RoleOfficer).HandBatch(http.StatusOK, nil, "a.txt", ledger, "b.txt", ledger+keeper,
		"c.txt", webtest.Folios)
	d.AwaitBatch(t, path)
	for _, dark := range []bool{false, true} {
		var shown []byte
		if err := chromedp.Run(ctx, webtest.SignIn(t, d, fmt.Sprint("otto-", dark), store.RoleOfficer), look{dark: dark}.theme(),
			chromedp.Navigate(d.URL+path),
			chromedp.Evaluate(`for (const fold of document.querySelectorAll("details")) fold.open = true`, nil),
			chromedp.Screenshot(".picture", &shown, chromedp.ByQuery)); err != nil {
			t.Fatal(err)
		}
		picture, err := png.Decode(bytes.NewReader(shown))
		if err != nil {
			t.Fatal(err)
		}
		all, black := 0, 0
		for y := picture.Bounds().Min.Y; y < picture.Bounds().Max.Y; y++ {
			for x := picture.Bounds().Min.X; x < picture.Bounds().Max.X; x++ {
				all++
				if r, g, b, _ := picture.At(x, y).RGBA(); r+g+b < 3*0x8000 {
					black++
				}
			}
		}
		if share := float64(black) / float64(all); (share > 0.5) != dark {
			t.Errorf("dark %v: %.0f %% of the picture is dark", dark, 100*share)
		}
	}
	for _, c := range complaints() {
		t.Error(c)
	}
}

// TestPicturesComeWhenAskedFor: the page of a batch draws its histogram and its map without D3, which is loaded only for the graph, and
// only once.
func TestPicturesComeWhenAskedFor(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	ctx, complaints := webtest.Browser(t, d.URL, 1360)
	path := d.SignedIn(t, "olga", store.RoleOfficer).HandBatch(http.StatusOK, nil, "a.txt", ledger, "b.txt", ledger+keeper,
		"c.txt", webtest.Folios)
	d.AwaitBatch(t, path)
	const (
		loaded = `performance.getEntriesByType("resource").filter((file) => /[/]d3[.]/.test(file.name)).length`
		inked  = `(() => {
	const map = document.querySelector(".charts canvas"), copy = new OffscreenCanvas(map.width, map.height).getContext("2d");
	copy.drawImage(map, 0, 0);
	const got = copy.getImageData(0, 0, map.width, map.height).data;
	const colours = new Set();
	for (let i = 0; i < got.length; i += 4) colours.add(got.slice(i, i + 3).join());
	return colours.size;
})()`
		idle = "[data-charts]:not([aria-busy])"
	)
	var before, bars, colours, nodes, after, zoomed int
	if err := chromedp.Run(ctx, webtest.SignIn(t, d, "otto", store.RoleOfficer), chromedp.Navigate(d.URL+path),
		chromedp.WaitReady(idle, chromedp.ByQuery),
		chromedp.Evaluate(loaded, &before),
		chromedp.Evaluate(`document.querySelectorAll(".histogram rect").length`, &bars),
		chromedp.Evaluate(inked, &colours),
		chromium.Click(`[data-tab="graph"]`, chromedp.ByQuery),
		chromedp.WaitVisible(".graph .node", chromedp.ByQuery),
		chromedp.WaitReady(idle, chromedp.ByQuery),
		chromedp.Evaluate(`document.querySelectorAll(".graph .node").length`, &nodes),
		chromium.Click(`[data-tab="heat"]`, chromedp.ByQuery),
		chromedp.Evaluate(`document.querySelector(".charts canvas").dispatchEvent(new PointerEvent("pointerenter"))`, nil),
		webtest.Until(`document.querySelector(".charts canvas").__zoom !== undefined`), // a property that D3 sets on elements that it zooms
		chromedp.Evaluate(loaded, &after),
		chromedp.Evaluate(inked, &zoomed)); err != nil {
		t.Fatal(err)
	}
	if before != 0 || bars != 20 || colours < 2 || nodes != 2 || after != 1 || zoomed < 2 {
		t.Errorf("D3 was loaded %d times at first, then %d times; %d bars, %d colours, %d nodes, %d colours again", before, after, bars,
			colours, nodes, zoomed)
	}
	for _, c := range complaints() {
		t.Error(c)
	}
}

// TestNoAnswer: if the site does not answer a script, for example during a restart or while the user leaves the page, the page is
// unchanged, without pictures and without errors.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	ctx, complaints := webtest.Browser(t, d.URL, 1360)
	path := d.SignedIn(t, "olga", store.RoleOfficer).HandBatch(http.StatusOK, nil, "a.txt", ledger, "b.txt", ledger+keeper)
	d.AwaitBatch(t, path)
	if err := chromedp.Run(ctx, webtest.SignIn(t, d, "otto", store.RoleOfficer),
		chromedp.ActionFunc(func(ctx context.Context) error {
			_, err := page.AddScriptToEvaluateOnNewDocument(`window.fetch = () => Promise.reject(new TypeError("gone"))`).Do(ctx)
			return err
		}),
		chromedp.Navigate(d.URL+path), webtest.Until(`document.querySelector("[data-charts]").hidden`),
		chromedp.Evaluate(`dispatchEvent(new Event("changed")); undefined`, nil),
		chromedp.Evaluate(nextFrame, nil, awaited)); err != nil { // by then the browser has reported refusals
		t.Fatal(err)
	}
	for _, c := range complaints() {
		t.Error(c)
	}
}

// TestOriginalOfSeveralFiles: a passage in a submission of several files links to its page in the right file; a passage in a file without
// pages has no link.
func TestOriginalOfSeveralFiles(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	const own = "%PDF-1.7 a thesis of its own, about the hives of the valley.\fIt has two pages, of which nobody else has a word."
	for title, files := range map[string][]string{
		"annex":  {"thesis.pdf", own, "annex.pdf", webtest.Paged},
		"thesis": {"thesis.pdf", webtest.Paged, "annex.pdf", own},
		"text":   {"thesis.pdf", own, "annex.txt", webtest.Folios},
	} {
		olga.Upload(http.StatusOK, url.Values{"together": {"yes"}, "title": {title}}, files...)
		check := "/checks/" + string(d.Await(t)[title])
		link := check + "/pages?passage=1"
		if found := strings.Contains(olga.Get(check+"/passages/1", http.StatusOK), link); found != (title != "text") {
			t.Errorf("%s: a link to the page of the passage: %v", title, found)
		}
		if title == "text" {
			olga.Get(link, http.StatusNotFound)
			continue
		}
		file, other := "2", "1"
		if title == "thesis" {
			file, other = "1", "2"
		}
		page := olga.Get(link, http.StatusOK)
		olga.Wants(page, "Page 2 of 3", `id="m1"`, `src="`+check+`/pages/2.png?file=`+file+`"`, check+`/pages?file=`+other)
		olga.Get(check+"/pages/3.png?file="+file, http.StatusOK)
		olga.Get(check+"/pages/3.png?file="+other, http.StatusNotFound)
	}
}
