package web_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"concordat"
	"concordat/internal/chromium"
	"concordat/internal/suite"
	"concordat/internal/webtest"
	"concordat/store"
)

// inView waits until an element is within the window; if it fails, the error states where the element is.
func inView(selector string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		at := `JSON.stringify((() => {
			const x = document.querySelector("` + selector + `"), r = x && x.getBoundingClientRect();
			return { in: !!r && r.height > 0 && r.top >= 0 && r.top < innerHeight, top: r && r.top, height: r && r.height, scrolled: scrollY, window: innerHeight,
				sheets: Array.from(document.querySelectorAll(".sheet"), (s) => s.offsetHeight + (s.dataset.empty === undefined ? "" : " empty")), dock: document.querySelector(".dock").innerText.slice(0, 40) };
		})())`
		var said string
		for range 400 {
			if err := chromedp.Evaluate(at, &said).Do(ctx); err != nil {
				return err
			}
			if strings.Contains(said, `"in":true`) {
				return nil
			}
			if err := chromedp.Sleep(100 * time.Millisecond).Do(ctx); err != nil {
				return err
			}
		}
		return fmt.Errorf("%s is not in view: %s", selector, said)
	})
}

// TestReadingInBrowser reads a long report with mouse and keyboard, compares two texts and excludes a passage, on a wide and on a narrow
// screen.
func TestReadingInBrowser(t *testing.T) {
	t.Parallel()
	for _, width := range []int{1200, 390}[:suite.Rounds(1, 2)] {
		d := webtest.New(t, true)
		f := webtest.Thesis(t, 60_000, 80, 60)
		f.Skipped = []concordat.Skipped{{Span: concordat.Span{Start: 400, End: 520}, Reason: concordat.SkipShort}}
		f.Flags = []concordat.Flag{{Code: "hidden_text", Detail: "Text that nobody sees.", Span: &concordat.Span{Start: 50_000, End: 50_020}}}
		d.AddFinished(t, "long", "ada", f)
		ctx, complaints := webtest.Browser(t, d.URL, width)
		run := func(actions ...chromedp.Action) {
			t.Helper()
			if err := chromedp.Run(ctx, actions...); err != nil {
				t.Fatal(err)
			}
		}
		var wide, wide2, wide3 bool
		var dock, again, closed, empty string
		run(
			webtest.SignIn(t, d, "ada", store.RoleOfficer),
			chromedp.EmulateViewport(int64(width), 900),
			chromedp.Navigate(d.URL+"/checks/long"),
			chromedp.WaitReady("#sheet-2", chromedp.ByQuery),
			webtest.Loaded(),
			webtest.Fits(&wide),
			webtest.Shot(t, "reading", width),
			chromedp.KeyEvent("n"),
			chromedp.WaitVisible(`.dock [data-passage="1"]`, chromedp.ByQuery),
			inView("#m1"),
			chromedp.KeyEvent("n"),
			chromedp.WaitVisible(`.dock [data-passage="2"]`, chromedp.ByQuery),
			webtest.ReadText(".dock .bar2 span", &dock),
			window(t, "dock", width),
			chromedp.KeyEvent("p"),
			chromedp.WaitVisible(`.dock [data-passage="1"]`, chromedp.ByQuery),
			webtest.ReadText(".dock .bar2 span", &again),
			chromedp.KeyEvent("p"), // wraps around to the last passage, on a page of the text that is not loaded yet
			chromedp.WaitVisible(`.dock [data-passage="80"]`, chromedp.ByQuery),
			inView("#m80"),
			chromedp.KeyEvent(kb.Escape),
			chromedp.Evaluate(`String(document.querySelector(".dock").hidden)`, &closed),
			chromedp.Evaluate(`document.querySelector('.flags a').click()`, nil),
			inView("#f1"),
			// Scrolling to the end loads the content that becomes visible.
			chromedp.Evaluate(`document.querySelector(".sheet:last-of-type").scrollIntoView({behavior: "instant", block: "end"})`, nil),
			webtest.Until(`!document.querySelector(".sheet:last-of-type[data-empty]")`),
			chromedp.Evaluate(`String(document.querySelectorAll('.sheet:last-of-type .body p').length > 0)`, &empty),
		)
		if wide || dock != "Passage 2 of 80" || again != "Passage 1 of 80" || closed != "true" || empty != "true" {
			t.Errorf("%d: too wide %v, dock %q, %q, closed %s, last page %s", width, wide, dock, again, closed, empty)
		}
		// Two texts side by side.
		var mark string
		var scrolled float64
		run(
			chromedp.Evaluate(`document.querySelector('#sources a[href*="/compare?"]').click()`, nil),
			chromedp.WaitVisible("#there", chromedp.ByQuery),
			webtest.Loaded(), // before that, the keys do nothing
			webtest.Fits(&wide2),
			webtest.Shot(t, "compare", width),
			inPane("#here", "#h1"), inPane("#there", "#t1"), // it opens at the first passage
			chromedp.KeyEvent("n"),
			inPane("#here", "#h2"), inPane("#there", "#t2"),
			chromedp.Evaluate(`scrollY`, &scrolled),
			window(t, "compare-second", width),
			chromedp.KeyEvent("x"),
			chromedp.Evaluate(`document.activeElement.closest("[data-place]").id`, &mark),
			// When one side is scrolled, the other follows.
			chromedp.Evaluate(`window.before = document.querySelector("#there").scrollTop, document.querySelector("#here").scrollTop += 600`, nil),
			webtest.Until(`document.querySelector("#there").scrollTop !== window.before`),
		)
		if wide2 || mark != "t2" || width > 1000 && scrolled != 0 { // what is above the texts stays in view if the place is too
			t.Errorf("%d: too wide %v, crossed to %q, scrolled by %v", width, wide2, mark, scrolled)
		}
		// A passage is excluded with a reason, and included again.
		run(
			chromedp.Navigate(d.URL+"/checks/long/passages/3"),
			chromedp.WaitVisible("#comment-3", chromedp.ByQuery),
			webtest.Fits(&wide3),
			webtest.Shot(t, "passage", width),
			chromedp.SendKeys("#comment-3", "the task sheet has it", chromedp.ByQuery),
			chromium.Click(`button[value="exclude-passage"]`, chromedp.ByQuery),
			chromedp.WaitVisible(`button[value="include-passage"]`, chromedp.ByQuery),
			chromium.Click(`button[value="include-passage"]`, chromedp.ByQuery),
			chromedp.WaitVisible(`#comment-3`, chromedp.ByQuery),
		)
		// With the keyboard alone, the number of an open passage leads to its decisions, and an undo returns to the passage.
		run(
			chromedp.Navigate(d.URL+"/checks/long"),
			chromedp.WaitReady("#sheet-2", chromedp.ByQuery),
			webtest.Loaded(),
			chromedp.KeyEvent("nn"),
			chromedp.WaitVisible(`.dock [data-passage="2"]`, chromedp.ByQuery),
			webtest.Until(`document.activeElement.id === "m2"`),
			chromedp.KeyEvent(kb.Enter),
			webtest.Until(`document.activeElement.closest('.dock [data-passage="2"]')`),
			chromedp.Focus("#comment-2", chromedp.ByQuery),
			chromedp.KeyEvent("the task sheet has it"+kb.Enter),
			chromedp.WaitVisible(`.toast button[value="undo"]`, chromedp.ByQuery),
			webtest.Loaded(),
			webtest.Until(`location.hash === "#m2" && document.activeElement.id === "m2"`),
			chromedp.KeyEvent("u"),
			webtest.Until(`document.querySelector(".toast") && !document.querySelector('.toast button[value="undo"]')`),
			webtest.Until(`location.hash === "#m2" && document.querySelector("#comment-2")?.checkVisibility()`),
			inView("#m2"),
		)
		if wide3 {
			t.Errorf("%d pixels are too narrow for a passage", width)
		}
		for _, c := range complaints() {
			t.Errorf("%d: %s", width, c)
		}
	}
}

// inPane waits until an element is within the visible part of its pane.
func inPane(pane, selector string) chromedp.Action {
	return webtest.Until(`(() => {
		const p = document.querySelector("` + pane + `").getBoundingClientRect(), r = document.querySelector("` + selector + `").getBoundingClientRect();
		return r.top >= p.top && r.top < p.bottom;
	})()`)
}

// TestRequestsInBrowser requests a passage from a partner and decides on a partner's request.
func TestRequestsInBrowser(t *testing.T) {
	t.Parallel()
	for _, width := range []int{1200, 390}[:suite.Rounds(1, 2)] {
		d := webtest.New(t, true)
		d.Partner.State.Store(concordat.DisclosurePending)
		d.AddFinished(t, "one", "sue", webtest.AtPartner())
		d.AddRequest(t, "first", time.Now().Add(24*time.Hour))
		ctx, complaints := webtest.Browser(t, d.URL, width)
		var wide [3]bool
		var state string
		if err := chromedp.Run(ctx,
			webtest.SignIn(t, d, "olga", store.RoleOfficer),
			chromedp.EmulateViewport(int64(width), 900),
			chromedp.Navigate(d.URL+"/checks/one/passages/1"),
			chromium.Click("details.ask summary", chromedp.ByQuery),
			chromedp.SetValue("#level-1", "passage", chromedp.ByQuery),
			chromedp.SendKeys("#why-1", "a case of ours", chromedp.ByQuery),
			chromedp.SendKeys("#contact-1", "dean@north", chromedp.ByQuery),
			webtest.Fits(&wide[0]),
			webtest.Shot(t, "ask", width),
			chromium.Click(`button[value="ask"]`, chromedp.ByQuery),
			chromedp.WaitVisible(`.asked .state.pending`, chromedp.ByQuery),
			webtest.Shot(t, "asked", width),
			chromedp.Navigate(d.URL+"/requests"),
			chromedp.WaitVisible("table", chromedp.ByQuery),
			webtest.Fits(&wide[1]),
			webtest.Shot(t, "requests", width),
			chromium.Click(`a[href="/requests/first"]`, chromedp.ByQuery),
			chromedp.WaitVisible("blockquote", chromedp.ByQuery),
			webtest.Fits(&wide[2]),
			webtest.Shot(t, "request", width),
			chromedp.SendKeys("#words", "for your case only", chromedp.ByQuery),
			chromium.Click(`button[value="approve"]`, chromedp.ByQuery),
			chromedp.WaitVisible(`button[value="withdraw"]`, chromedp.ByQuery),
			webtest.ReadText("dd .state", &state),
		); err != nil {
			t.Fatal(err)
		}
		if wide != [3]bool{} || state != "Granted" {
			t.Errorf("%d: too wide %v, state %q", width, wide, state)
		}
		for _, c := range complaints() {
			t.Errorf("%d: %s", width, c)
		}
	}
}
