package web_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"concordat/internal/suite"
	"concordat/internal/webtest"
)

// TestInBrowser proceeds from the first link to a report using only the keyboard, on a wide and on a narrow screen.
func TestInBrowser(t *testing.T) {
	t.Parallel()
	for _, width := range []int{1200, 390}[:suite.Rounds(1, 2)] {
		d := webtest.New(t, false)
		ctx, complaints := webtest.Browser(t, d.URL, width)
		run := func(actions ...chromedp.Action) {
			t.Helper()
			if err := chromedp.Run(ctx, actions...); err != nil {
				t.Fatal(err)
			}
		}
		link, err := d.Web.Accounts.FirstLink(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		essay := filepath.Join(t.TempDir(), "essay.txt")
		if err := os.WriteFile(essay, []byte(webtest.Folios), 0o600); err != nil {
			t.Fatal(err)
		}
		var headline, path string
		var overflow bool
		run(
			chromedp.Navigate(d.URL+link),
			chromedp.Focus("#name", chromedp.ByQuery),
			chromedp.KeyEvent("ada"+kb.Tab+"Ada Lovelace"+kb.Tab+"a good long secret"+kb.Tab+"a good long secret"+kb.Enter),
			// A script that runs later can take the focus, so each page is loaded before a key is pressed.
			chromedp.WaitVisible(`a[href="/checks/new"]`, chromedp.ByQuery),
			webtest.Loaded(),
			webtest.Shot(t, "checks", width),
			chromedp.Focus(`a[href="/checks/new"]`, chromedp.ByQuery),
			chromedp.KeyEvent(kb.Enter),
			chromedp.WaitVisible("#file", chromedp.ByQuery),
			webtest.Loaded(),
			chromedp.SetUploadFiles("#file", []string{essay}, chromedp.ByQuery),
			chromedp.Evaluate(`document.documentElement.scrollWidth > document.documentElement.clientWidth`, &overflow),
			webtest.Shot(t, "new", width),
			chromedp.Focus("main form button:not([type])", chromedp.ByQuery),
			chromedp.KeyEvent(kb.Enter),
			chromedp.WaitVisible(".workbar .percent", chromedp.ByQuery), // the page reloads when the check is done
			webtest.Loaded(),
			webtest.ReadText(".workbar .percent", &headline),
			webtest.Shot(t, "check", width),
			// A click could miss a button that moves while the page still changes.
			chromedp.Focus(`button[value="exclude-source"]`, chromedp.ByQuery),
			chromedp.KeyEvent(kb.Enter),
			chromedp.WaitVisible(`.toast button[value="undo"]`, chromedp.ByQuery),
			webtest.Loaded(),
			webtest.Shot(t, "excluded", width),
			chromedp.Focus(`#sources details.not-counted > summary`, chromedp.ByQuery), // passages that do not count are collapsed
			chromedp.KeyEvent(kb.Enter),
			chromedp.WaitVisible(`button[value="include-source"]`, chromedp.ByQuery),
			chromedp.Focus(`button[value="include-source"]`, chromedp.ByQuery),
			chromedp.KeyEvent(kb.Enter),
			chromedp.WaitVisible(`button[value="exclude-source"]`, chromedp.ByQuery),
			webtest.Loaded(),
			chromedp.Focus(".workbar .menu > summary", chromedp.ByQuery),
			chromedp.KeyEvent(kb.Enter),
			chromedp.WaitVisible(".workbar .menu a", chromedp.ByQuery),
			chromedp.Focus(".workbar .menu a", chromedp.ByQuery),
			chromedp.KeyEvent(kb.Enter),
			chromedp.WaitVisible("mark", chromedp.ByQuery),
			chromedp.Location(&path),
			webtest.Shot(t, "report", width),
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

// window is like shot, but shows only the visible part of the page.
func window(t testing.TB, name string, width int) chromedp.Action {
	return webtest.Picture(name, width, func(b *[]byte) chromedp.Action { return chromedp.CaptureScreenshot(b) })
}
