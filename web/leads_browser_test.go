package web_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"concordat"
	"concordat/internal/chromium"
	"concordat/internal/suite"
	"concordat/internal/webtest"
	"concordat/report"
	"concordat/store"
)

// TestLeadsInBrowser: a lead is shown next to its source with links between their sentences. It is counted, and another officer sets it
// aside while someone reads, on a wide and on a narrow screen.
func TestLeadsInBrowser(t *testing.T) {
	t.Parallel()
	for _, width := range []int{1200, 390}[:suite.Rounds(1, 2)] {
		d := webtest.New(t, true)
		d.AddFinished(t, "one", "ada", led())
		ctx, complaints := webtest.Browser(t, d.URL, width)
		run := func(actions ...chromedp.Action) {
			t.Helper()
			if err := chromedp.Run(ctx, actions...); err != nil {
				t.Fatal(err)
			}
		}
		var wide bool
		var lines, marks, counted int
		var beside, words string
		bo := d.SignedIn(t, "bo", store.RoleOfficer)
		run(
			webtest.SignIn(t, d, "ada", store.RoleOfficer),
			chromedp.EmulateViewport(int64(width), 900),
			chromedp.Navigate(d.URL+"/checks/one"),
			chromedp.WaitReady("#L1 svg.lines", chromedp.ByQuery),
			webtest.Loaded(),
			webtest.Fits(&wide),
			chromedp.Evaluate(`document.querySelectorAll("#L1 svg.lines path").length`, &lines),
			chromedp.Evaluate(`document.querySelectorAll("#sheets .ld").length`, &marks),
			chromedp.Evaluate(`(() => {
				const here = document.querySelector("#L1 .here").getBoundingClientRect(), there = document.querySelector("#L1 .there").getBoundingClientRect();
				return here.right <= there.left ? "beside" : there.top >= here.bottom - 1 ? "below" : "over";
			})()`, &beside),
			webtest.ReadText("#L1 header", &words),
			webtest.Shot(t, "leads", width),
			emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}),
			webtest.Shot(t, "leads-dark", width),
			// From the text to the lead and back.
			chromium.Click("#tL1", chromedp.ByQuery),
			webtest.Until(`location.hash === "#L1"`),
			inView("#L1"),
			chromedp.SendKeys("#why-L1", "sentence for sentence", chromedp.ByQuery),
			chromium.Click(`#L1 button[value="count-lead"]`, chromedp.ByQuery),
			chromedp.WaitVisible(`#L1 button[value="open-lead"]`, chromedp.ByQuery),
			chromedp.Evaluate(`document.querySelectorAll("#L1.counted").length`, &counted),
			webtest.Shot(t, "leads-counted", width),
		)
		want := map[int]string{1200: "beside", 390: "below"}[width]
		if joined := map[int]int{1200: 2, 390: 0}[width]; wide || lines != joined || marks != 2 || beside != want || counted != 1 {
			t.Errorf("%d: too wide %v, %d lines, %d marks in the text, sides %s, counted %d", width, wide, lines, marks, beside, counted)
		}
		if !strings.Contains(words, "Says the same thing in other words (English, from Chinese)") {
			t.Errorf("%d: words %q", width, words)
		}
		// Another officer's decision is announced to the reader.
		var told string
		run(chromedp.ActionFunc(func(context.Context) error {
			bo.Post("/checks/one/rules", 200, leadForm("set-aside-lead", "everybody knows it"))
			return nil
		}),
			webtest.Until(`Array.from(document.querySelectorAll(".toast")).some((x) => x.innerText.includes("bo"))`),
			chromedp.Evaluate(`Array.from(document.querySelectorAll(".toast")).map((x) => x.innerText).join("|")`, &told))
		if !strings.Contains(told, "L1: everybody knows it") {
			t.Errorf("%d: told %q", width, told)
		}
		run(chromedp.Navigate(d.URL+"/checks/one"),
			chromedp.WaitReady("#L1.set_aside details:not([open])", chromedp.ByQuery),
			webtest.Shot(t, "leads-aside", width))
		for _, c := range complaints() {
			t.Errorf("%d: %s", width, c)
		}
	}
}

// TestFilterLeadsInBrowser: a click sets a lead filter, which stays in the address after a decision and can be removed, with and without
// scripts, on a wide and on a narrow screen.
func TestFilterLeadsInBrowser(t *testing.T) {
	t.Parallel()
	for _, width := range []int{1200, 390}[:suite.Rounds(1, 2)] {
		d := webtest.New(t, true)
		d.AddFinished(t, "one", "ada", fourLeads())
		ctx, complaints := webtest.Browser(t, d.URL, width)
		const (
			count  = `document.querySelectorAll("#leads article").length`
			choose = `//nav[@class="lead-filter"]//a[starts-with(normalize-space(.), "%s")]`
		)
		var wide bool
		var all, open, decided, none, after int
		var address string
		err := chromedp.Run(ctx,
			webtest.SignIn(t, d, "ada", store.RoleOfficer),
			emulation.SetScriptExecutionDisabled(width == 390),
			chromedp.EmulateViewport(int64(width), 900),
			chromedp.Navigate(d.URL+"/checks/one"),
			chromedp.WaitReady("#L4", chromedp.ByQuery),
			webtest.Fits(&wide),
			chromedp.Evaluate(count, &all),
			webtest.Shot(t, "leads-filter", width),
			chromium.Click(fmt.Sprintf(choose, "English 3"), chromedp.BySearch),
			chromedp.WaitNotPresent("#L1", chromedp.ByQuery),
			chromedp.WaitReady(`.lead-filter [aria-current="true"]`, chromedp.ByQuery),
			webtest.Loaded(), // counted leads are below the filters
			chromedp.Evaluate(count, &open),
			webtest.Shot(t, "leads-filtered", width),
			chromedp.SendKeys("#why-L2", "the same sale", chromedp.ByQuery),
			chromium.Click(`#L2 button[value="count-lead"]`, chromedp.ByQuery),
			chromedp.WaitVisible(`#L2 button[value="open-lead"]`, chromedp.ByQuery),
			webtest.Loaded(),
			chromedp.Location(&address),
			chromedp.Evaluate(count, &decided),
			chromedp.Navigate(d.URL+"/checks/one?lead-kind=summary&lead-state=counted"),
			chromedp.WaitReady(".lead-note", chromedp.ByQuery),
			chromedp.Evaluate(count, &none),
			webtest.Shot(t, "leads-none", width),
			chromium.Click(".lead-note a", chromedp.ByQuery),
			chromedp.WaitReady("#L1", chromedp.ByQuery),
			webtest.Loaded(),
			chromedp.Evaluate(count, &after),
		)
		if err != nil {
			t.Fatal(err)
		}
		if wide || all != 4 || open != 3 || decided != 3 || none != 0 || after != 4 || !strings.Contains(address, "lead-languages=en-en") {
			t.Errorf("%d: too wide %v; leads %d, in English %d, after a decision %d, none %d, then %d; at %s", width, wide, all, open, decided,
				none, after, address)
		}
		for _, c := range complaints() {
			t.Errorf("%d: %s", width, c)
		}
	}
}

// TestFilterOfLaterPages: a part of the text that is fetched on scrolling respects the lead filter. The mark of a hidden lead links to
// the page with all leads, and the mark of a visible lead links to its place below the text.
func TestFilterOfLaterPages(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	d.AddFinished(t, "one", "ada", leadOnLaterPage())
	bo := d.SignedIn(t, "bo", store.RoleOfficer)
	const mark = `id="tL1" href="%s"`
	for query, want := range map[string]string{"": "#L1", "?lead-kind=translation": "#L1", "?lead-kind=summary": "/checks/one#L1"} {
		if got := bo.Get("/checks/one/text/2"+query, 200); !strings.Contains(got, fmt.Sprintf(mark, want)) {
			t.Errorf("text/2%s does not have %s:\n%s", query, fmt.Sprintf(mark, want), got)
		}
	}
	ctx, complaints := webtest.Browser(t, d.URL, 1200)
	var away, here string
	var shown int
	err := chromedp.Run(ctx,
		webtest.SignIn(t, d, "ada", store.RoleOfficer),
		chromedp.Navigate(d.URL+"/checks/one?lead-kind=summary"),
		chromedp.WaitReady("#sheet-2", chromedp.ByQuery), // created by the script
		webtest.Loaded(),
		chromedp.Evaluate(`document.querySelector("#sheet-2").scrollIntoView()`, nil),
		chromedp.WaitReady("#tL1", chromedp.ByQuery),
		chromedp.Evaluate(`document.querySelector("#tL1").getAttribute("href")`, &away),
		chromedp.Evaluate(`document.querySelectorAll("#leads article").length`, &shown),
		chromedp.Navigate(d.URL+"/checks/one?lead-kind=translation"),
		chromedp.WaitReady("#sheet-2", chromedp.ByQuery),
		webtest.Loaded(),
		chromedp.Evaluate(`document.querySelector("#sheet-2").scrollIntoView()`, nil),
		chromedp.WaitReady("#tL1", chromedp.ByQuery),
		chromedp.Evaluate(`document.querySelector("#tL1").getAttribute("href")`, &here))
	if err != nil {
		t.Fatal(err)
	}
	if away != "/checks/one#L1" || here != "#L1" || shown != 0 {
		t.Errorf("not shown (%d are): the mark leads to %q; shown: to %q", shown, away, here)
	}
	for _, c := range complaints() {
		t.Error(c)
	}
}

// leadOnLaterPage returns findings with a lead, a translation, on the second page of the text.
func leadOnLaterPage() *report.Findings {
	f := led()
	before := strings.Repeat("The ledger of the mill was read by nobody for a hundred years. ", 180) + "\n\n"
	f.Submission.Text = before + f.Submission.Text
	by := len(before)
	move := func(s *concordat.Span) { s.Start, s.End = s.Start+by, s.End+by }
	for i := range f.Leads {
		move(&f.Leads[i].Span)
		for k := range f.Leads[i].Pairs {
			move(&f.Leads[i].Pairs[k].Span)
		}
	}
	for i := range f.Passages {
		move(&f.Passages[i].Span)
	}
	return f
}
