package html_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"concordat"
	"concordat/internal/axe"
	"concordat/internal/chromium"
	"concordat/report"
	"concordat/report/html"
)

// browser opens a page of r and collects Chromium's error messages.
func browser(t *testing.T, r *report.Report) (context.Context, func() []string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "report.html")
	w, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := html.Write(w, r); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	ctx := chromium.Window(t, 1300, 900)
	complaints := chromium.Complaints(ctx, "file://")
	if err := chromedp.Run(ctx, chromedp.Navigate("file://"+file)); err != nil {
		t.Fatal(err)
	}
	return ctx, complaints
}

func TestKeyboardInBrowser(t *testing.T) {
	ctx, complaints := browser(t, report.Build(load(t, "english"), report.Rules{}))
	run := func(actions ...chromedp.Action) {
		t.Helper()
		if err := chromedp.Run(ctx, actions...); err != nil {
			t.Fatal(err)
		}
	}
	// comes waits until an expression has a value, because an action returns before all its effects have occurred.
	comes := func(after, expression, want string) {
		t.Helper()
		var got string
		for end := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
			run(chromedp.Evaluate("String("+expression+")", &got))
			if got == want {
				return
			}
			if time.Now().After(end) {
				t.Fatalf("after %q %s is %q, want %q", after, expression, got, want)
			}
		}
	}
	const (
		shown   = `document.querySelector("#dock").hidden ? "" : document.querySelector("#dock article").dataset.e`
		focus   = `document.activeElement.id`
		sources = `document.querySelectorAll(".ranked > li:not([hidden])").length`
		help    = `document.querySelector("#help").open`
	)
	expect := func(key, want string) {
		t.Helper()
		run(chromedp.KeyEvent(key))
		comes(key, shown, want)
	}
	expect("n", "1")
	expect("n", "2")
	expect("p", "1")
	expect("p", "7") // wraps around to the last
	expect("n", "1")
	comes("n", focus, "m1") // the passage's number, visible above its comparison
	comes("n", `(() => { const a = document.querySelector("#m1").getBoundingClientRect(), d = document.querySelector("#dock").getBoundingClientRect(); return a.top >= 0 && a.bottom <= d.top })()`, "true")
	expect(kb.Escape, "")

	// This is a single event, as a keyboard sends it. KeyEvent sends the letter separately, to the element that then has the focus.
	run(input.DispatchKeyEvent(input.KeyDown).WithKey("s").WithText("s"), input.DispatchKeyEvent(input.KeyUp).WithKey("s"))
	comes("s", focus, "filter")
	run(chromedp.KeyEvent("kyiv n"))
	comes("kyiv n", sources, "0")
	comes("kyiv n", shown, "") // text typed into the filter is not a command
	run(chromedp.KeyEvent(kb.Backspace + kb.Backspace))
	comes("kyiv", sources, "1")
	run(chromedp.KeyEvent(kb.Escape))
	comes("Escape", sources, "5")

	// Only one source's passages are shown.
	run(chromium.Click(`#s2 button`), chromedp.Blur("#s2 button"))
	expect("n", "1")
	expect("n", "2")
	expect("n", "6")
	expect("n", "1")
	comes("n", `[...document.querySelectorAll("#dock .pair[open] .src")].map(x => x.textContent).join()`, "Wells and Treaties (Haddad 2019)")
	expect(kb.Escape, "")

	run(chromedp.KeyEvent("?"))
	comes("?", help, "true")
	run(chromedp.KeyEvent(kb.Escape))
	comes("Escape", help, "false")

	// These are a mark, the map, and a link next to a source.
	for selector, want := range map[string]string{`mark[data-e="6"]`: "6", `.links a[href="#m5"]`: "5"} {
		run(chromium.Click(selector))
		comes(selector, shown, want)
	}
	for _, c := range complaints() {
		t.Errorf("the browser complains: %s", c)
	}
}

// TestAccessibilityInBrowser: axe-core finds no accessibility faults, in light or dark mode, with the comparison open or closed.
func TestAccessibilityInBrowser(t *testing.T) {
	for _, name := range []string{"english", "chinese"} {
		ctx, _ := browser(t, report.Build(load(t, name), report.Rules{ExcludeBibliography: true}))
		for _, scheme := range []string{"light", "dark"} {
			for _, key := range []string{kb.Escape, "n"} {
				err := chromedp.Run(ctx, chromedp.KeyEvent(key),
					emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
				if err != nil {
					t.Fatal(err)
				}
				found, err := axe.Violations(ctx)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range found {
					t.Errorf("%s, %s, after %q: %s", name, scheme, key, f)
				}
			}
		}
	}
}

// TestNarrowInBrowser: on a phone, nothing is wider than the screen, whatever the text.
func TestNarrowInBrowser(t *testing.T) {
	f := load(t, "english")
	long := strings.Repeat("supercalifragilistic", 30)
	f.Submission.Title = long
	f.Passages[0].Title, f.Passages[0].Source.Document = long, concordat.DocumentID(long)
	f.Passages[0].Before, f.Flags[0].Detail = long, long
	f.Submission.Text += "\n" + long + "\n"
	f.Signatures = []report.Signature{{Site: "oslo", Over: "answer", Key: long, Value: make([]byte, 64)}}
	ctx, _ := browser(t, report.Build(f, report.Rules{}))
	for _, width := range []int64{390, 820, 1300} {
		var wide []string
		err := chromedp.Run(ctx, chromedp.EmulateViewport(width, 844), chromedp.KeyEvent("n"), chromedp.Evaluate(
			`document.documentElement.scrollWidth <= innerWidth ? [] : [document.documentElement.scrollWidth + " of " + innerWidth].concat( [...document.querySelectorAll("body *")].filter(e => !e.closest(".wide") && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName + "." + e.className))`, &wide))
		if err != nil {
			t.Fatal(err)
		}
		if len(wide) > 0 {
			t.Errorf("at %d pixels these are too wide: %v", width, wide)
		}
	}
}

// TestPrintInBrowser: a print-out shows every comparison, including collapsed ones, and no part of the panel.
func TestPrintInBrowser(t *testing.T) {
	ctx, _ := browser(t, report.Build(load(t, "english"), report.Rules{}))
	var folded, shut int
	var dock bool
	err := chromedp.Run(ctx, chromedp.KeyEvent("n"),
		chromedp.Evaluate(`document.querySelectorAll("#passages .pair:not([open])").length`, &folded),
		emulation.SetEmulatedMedia().WithMedia("print"),
		chromedp.Evaluate(`[...document.querySelectorAll("#passages .two")].filter(e => e.getBoundingClientRect().height < 10).length`, &shut),
		chromedp.Evaluate(`getComputedStyle(document.querySelector("#dock")).display === "none"`, &dock))
	if err != nil {
		t.Fatal(err)
	}
	if folded == 0 {
		t.Fatal("no comparison is folded: the test tests nothing")
	}
	if shut > 0 || !dock {
		t.Errorf("in print %d comparisons are not shown; panel hidden: %v", shut, dock)
	}
}

// TestBoardInBrowser: a printed report begins with two pages for a committee, which the screen does not show.
func TestBoardInBrowser(t *testing.T) {
	if _, err := exec.LookPath("pdftotext"); err != nil {
		t.Skip(err)
	}
	long := load(t, "english")
	title := strings.Repeat("A very long title of many words ", 30)
	long.Submission.Title = title
	for i := range long.Passages {
		long.Passages[i].Title = title
	}
	for i := range 40 {
		long.Consulted = append(long.Consulted, concordat.Consulted{Site: "oslo", Library: concordat.LibraryID(fmt.Sprint(title, i)),
			Asked: 9, Err: title})
	}
	for _, f := range []*report.Findings{load(t, "english"), long} {
		ctx, _ := browser(t, report.Build(f, report.Rules{}))
		var shown string
		var file []byte
		err := chromedp.Run(ctx, chromedp.Evaluate(`getComputedStyle(document.querySelector(".board")).display`, &shown),
			chromedp.ActionFunc(func(ctx context.Context) (err error) {
				file, _, err = page.PrintToPDF().WithPreferCSSPageSize(true).Do(ctx)
				return err
			}))
		if err != nil {
			t.Fatal(err)
		}
		if shown != "none" {
			t.Errorf("on a screen the pages for a committee have display %s", shown)
		}
		c := exec.Command("pdftotext", "-raw", "-", "-")
		c.Stdin = bytes.NewReader(file)
		text, err := c.Output()
		if err != nil {
			t.Fatal(err)
		}
		pages := strings.Split(string(text), "\f")
		for i, want := range []string{"What counts", "Handwritten signature", "Result"} {
			if i >= len(pages) || !strings.Contains(pages[i], want) {
				t.Errorf("page %d of %d lacks %q:\n%s", i+1, len(pages), want, text)
			}
		}
	}
}
