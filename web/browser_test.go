package web_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"concordat/internal/chromium"
	"concordat/internal/suite"
)

// browsers is the pool that all tests share.
var browsers chromium.Pool

// window opens Chromium with the given width.
func window(t testing.TB, width int) context.Context {
	t.Helper()
	return browsers.Window(t, width, 900)
}

// browser is like window, and also collects Chromium's complaints.
func browser(t testing.TB, base string, width int) (context.Context, func() []string) {
	t.Helper()
	ctx := window(t, width)
	// An address that begins with data: is a picture of the browser's own, for example a calendar's; the policy refuses all others.
	return ctx, chromium.Complaints(ctx, base, "data:")
}

// until waits until a JavaScript expression is true on the page, even if other pages are loaded meanwhile: a click, a key or a
// message takes effect only after a while.
func until(expression string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		var is bool
		return read(ctx, "!!("+expression+")", &is, func() bool { return is })
	})
}

// read evaluates an expression into to until wanted returns true.
func read(ctx context.Context, expression string, to any, wanted func() bool) error {
	var err error
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); {
		if err = chromedp.Evaluate(expression, to).Do(ctx); err == nil && wanted() {
			return nil
		}
		if err := chromedp.Sleep(50 * time.Millisecond).Do(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("not within five minutes: %s (%w)", expression, cmp.Or(err, errors.New("it is something else")))
}

// loaded waits until the page is complete and its scripts have run. First wait for the navigation to the page.
func loaded() chromedp.Action { return until(`document.readyState === "complete"`) }

// text waits until an element is visible and reads its text, both in one step: a part of a page that reloads, such as one with
// data-live, is soon another element, and chromedp.Text fails with the old one.
func text(selector string, to *string) chromedp.Action {
	const seen = `document.querySelector(%q)?.checkVisibility() && { says: document.querySelector(%[1]q).innerText }`
	return chromedp.ActionFunc(func(ctx context.Context) error {
		var found struct{ Says *string }
		if err := read(ctx, fmt.Sprintf("("+seen+") || {}", selector), &found, func() bool { return found.Says != nil }); err != nil {
			return err
		}
		*to = *found.Says
		return nil
	})
}

// TestInBrowser goes from the first link to a report, with the keyboard alone, on a wide and on a
// narrow screen.
func TestInBrowser(t *testing.T) {
	t.Parallel()
	for _, width := range []int{1200, 390}[:suite.Rounds(1, 2)] {
		d := newTestSite(t, false)
		ctx, complaints := browser(t, d.URL, width)
		run := func(actions ...chromedp.Action) {
			t.Helper()
			if err := chromedp.Run(ctx, actions...); err != nil {
				t.Fatal(err)
			}
		}
		link, err := d.web.FirstLink(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		essay := filepath.Join(t.TempDir(), "essay.txt")
		if err := os.WriteFile(essay, []byte(folios), 0o600); err != nil {
			t.Fatal(err)
		}
		var headline, path string
		var overflow bool
		run(
			chromedp.Navigate(d.URL+link),
			chromedp.Focus("#name", chromedp.ByQuery),
			chromedp.KeyEvent("ada"+kb.Tab+"Ada Lovelace"+kb.Tab+"a good long secret"+kb.Tab+"a good long secret"+kb.Enter),
			chromedp.WaitVisible(`a[href="/checks/new"]`, chromedp.ByQuery),
			shot(t, "checks", width),
			chromedp.Focus(`a[href="/checks/new"]`, chromedp.ByQuery),
			chromedp.KeyEvent(kb.Enter),
			chromedp.WaitVisible("#file", chromedp.ByQuery),
			chromedp.SetUploadFiles("#file", []string{essay}, chromedp.ByQuery),
			chromedp.Evaluate(`document.documentElement.scrollWidth > document.documentElement.clientWidth`, &overflow),
			shot(t, "new", width),
			chromedp.Focus("main form button:not([type])", chromedp.ByQuery),
			chromedp.KeyEvent(kb.Enter),
			chromedp.WaitVisible(".workbar .percent", chromedp.ByQuery), // the page reloads when the check is done
			text(".workbar .percent", &headline),
			shot(t, "check", width),
			chromedp.Click(`button[value="exclude-source"]`, chromedp.ByQuery),
			chromedp.WaitVisible(`.toast button[value="undo"]`, chromedp.ByQuery),
			shot(t, "excluded", width),
			chromedp.Click(`#sources details.not-counted > summary`, chromedp.ByQuery), // what does not count is collapsed
			chromedp.WaitVisible(`button[value="include-source"]`, chromedp.ByQuery),
			chromedp.Click(`button[value="include-source"]`, chromedp.ByQuery),
			chromedp.WaitVisible(`button[value="exclude-source"]`, chromedp.ByQuery),
			chromedp.Focus(".workbar .menu > summary", chromedp.ByQuery),
			chromedp.KeyEvent(kb.Enter),
			chromedp.WaitVisible(".workbar .menu a", chromedp.ByQuery),
			chromedp.Focus(".workbar .menu a", chromedp.ByQuery),
			chromedp.KeyEvent(kb.Enter),
			chromedp.WaitVisible("mark", chromedp.ByQuery),
			chromedp.Location(&path),
			shot(t, "report", width),
		)
		if !strings.Contains(headline, "100%") || !strings.HasSuffix(path, "/report") {
			t.Errorf("headline %q at %s", headline, path)
		}
		if overflow {
			t.Errorf("%d pixels are too narrow for the form", width)
		}
		for _, c := range complaints() {
			t.Errorf("%d: %s", width, c)
		}
	}
}

// view is like shot, but shows only what is in the window.
func view(t testing.TB, name string, width int) chromedp.Action {
	return picture(name, width, func(b *[]byte) chromedp.Action { return chromedp.CaptureScreenshot(b) })
}

// shot saves a picture of the page in the folder CONCORDAT_SHOTS, if it is set.
func shot(t testing.TB, name string, width int) chromedp.Action {
	// draw makes a browser draw what it would draw only when in view, because a picture of the whole page includes what is outside the
	// window.
	const draw = `document.styleSheets[0]?.insertRule("* { content-visibility: visible !important; }", document.styleSheets[0].cssRules.length)`
	return picture(name, width, func(b *[]byte) chromedp.Action {
		return chromedp.Tasks{chromedp.Evaluate(draw, nil), chromedp.FullScreenshot(b, 100)}
	})
}

func picture(name string, width int, take func(*[]byte) chromedp.Action) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		dir := os.Getenv("CONCORDAT_SHOTS")
		if dir == "" {
			return nil
		}
		var b []byte
		if err := take(&b).Do(ctx); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name+"-"+map[bool]string{true: "wide", false: "narrow"}[width > 500]+".png"), b, 0o600)
	})
}
