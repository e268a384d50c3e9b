package web_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"concordat/store"
)

// TestLeadsInBrowser: a lead stands beside its source with its sentences joined, is counted, and set aside by another officer
// while one reads, on a wide and on a narrow screen.
func TestLeadsInBrowser(t *testing.T) {
	for _, width := range []int{1200, 390} {
		d := newTestSite(t, true)
		d.finished(t, "one", "ada", led())
		ctx, complaints := browser(t, d.URL, width)
		run := func(actions ...chromedp.Action) {
			t.Helper()
			if err := chromedp.Run(ctx, actions...); err != nil {
				t.Fatal(err)
			}
		}
		var wide bool
		var lines, marks, counted int
		var beside, words string
		bo := d.signedIn(t, "bo", store.RoleOfficer)
		run(
			signIn(t, d, "ada", store.RoleOfficer),
			chromedp.EmulateViewport(int64(width), 900),
			chromedp.Navigate(d.URL+"/checks/one"),
			chromedp.WaitReady("#L1 svg.lines", chromedp.ByQuery),
			loaded(),
			fits(&wide),
			chromedp.Evaluate(`document.querySelectorAll("#L1 svg.lines path").length`, &lines),
			chromedp.Evaluate(`document.querySelectorAll("#sheets .ld").length`, &marks),
			chromedp.Evaluate(`(() => {
				const here = document.querySelector("#L1 .here").getBoundingClientRect(), there = document.querySelector("#L1 .there").getBoundingClientRect();
				return here.right <= there.left ? "beside" : there.top >= here.bottom - 1 ? "below" : "over";
			})()`, &beside),
			text("#L1 header", &words),
			shot(t, "leads", width),
			emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: "dark"}}),
			shot(t, "leads-dark", width),
			// From the text to the lead and back.
			chromedp.Click("#tL1", chromedp.ByQuery),
			until(`location.hash === "#L1"`),
			inView("#L1"),
			chromedp.SendKeys("#why-L1", "sentence for sentence", chromedp.ByQuery),
			chromedp.Click(`#L1 button[value="count-lead"]`, chromedp.ByQuery),
			chromedp.WaitVisible(`#L1 button[value="open-lead"]`, chromedp.ByQuery),
			chromedp.Evaluate(`document.querySelectorAll("#L1.counted").length`, &counted),
			shot(t, "leads-counted", width),
		)
		want := map[int]string{1200: "beside", 390: "below"}[width]
		if joined := map[int]int{1200: 2, 390: 0}[width]; wide || lines != joined || marks != 2 || beside != want || counted != 1 {
			t.Errorf("%d: too wide %v, %d lines, %d marks in the text, sides %s, counted %d", width, wide, lines, marks, beside, counted)
		}
		if !strings.Contains(words, "Says the same in other words (English, from Chinese)") {
			t.Errorf("%d: words %q", width, words)
		}
		// What another officer decides is told while one reads.
		var told string
		run(chromedp.ActionFunc(func(context.Context) error {
			bo.post("/checks/one/rules", 200, leadForm("set-aside-lead", "everybody knows it"))
			return nil
		}),
			until(`Array.from(document.querySelectorAll(".toast")).some((x) => x.innerText.includes("bo"))`),
			chromedp.Evaluate(`Array.from(document.querySelectorAll(".toast")).map((x) => x.innerText).join("|")`, &told))
		if !strings.Contains(told, "L1: everybody knows it") {
			t.Errorf("%d: told %q", width, told)
		}
		run(chromedp.Navigate(d.URL+"/checks/one"),
			chromedp.WaitReady("#L1.set_aside details:not([open])", chromedp.ByQuery),
			shot(t, "leads-aside", width))
		for _, c := range complaints() {
			t.Errorf("%d: %s", width, c)
		}
	}
}

// TestFilterLeadsInBrowser: filters of leads are followed by a click, stay in the address through a decision, and are taken back, with
// and without scripts, on a wide and on a narrow screen.
func TestFilterLeadsInBrowser(t *testing.T) {
	for _, width := range []int{1200, 390} {
		d := newTestSite(t, true)
		d.finished(t, "one", "ada", fourLeads())
		ctx, complaints := browser(t, d.URL, width)
		const (
			count  = `document.querySelectorAll("#leads article").length`
			choose = `//nav[@class="lead-filter"]//a[starts-with(normalize-space(.), "%s")]`
		)
		var wide bool
		var all, open, decided, none, after int
		var address string
		err := chromedp.Run(ctx,
			signIn(t, d, "ada", store.RoleOfficer),
			emulation.SetScriptExecutionDisabled(width == 390),
			chromedp.EmulateViewport(int64(width), 900),
			chromedp.Navigate(d.URL+"/checks/one"),
			chromedp.WaitReady("#L4", chromedp.ByQuery),
			fits(&wide),
			chromedp.Evaluate(count, &all),
			shot(t, "leads-filter", width),
			chromedp.Click(fmt.Sprintf(choose, "English 3"), chromedp.BySearch),
			chromedp.WaitNotPresent("#L1", chromedp.ByQuery),
			chromedp.WaitReady(`.lead-filter [aria-current="true"]`, chromedp.ByQuery),
			loaded(), // what is counted stands below the filters
			chromedp.Evaluate(count, &open),
			shot(t, "leads-filtered", width),
			chromedp.SendKeys("#why-L2", "the same sale", chromedp.ByQuery),
			chromedp.Click(`#L2 button[value="count-lead"]`, chromedp.ByQuery),
			chromedp.WaitVisible(`#L2 button[value="open-lead"]`, chromedp.ByQuery),
			loaded(),
			chromedp.Location(&address),
			chromedp.Evaluate(count, &decided),
			chromedp.Navigate(d.URL+"/checks/one?lead-kind=summary&lead-state=counted"),
			chromedp.WaitReady(".lead-note", chromedp.ByQuery),
			chromedp.Evaluate(count, &none),
			shot(t, "leads-none", width),
			chromedp.Click(".lead-note a", chromedp.ByQuery),
			chromedp.WaitReady("#L1", chromedp.ByQuery),
			loaded(),
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
