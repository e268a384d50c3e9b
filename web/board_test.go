package web_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"concordat/internal/webtest"
	"concordat/store"
)

// TestReportOnPaper: the printed page of a report begins with the two pages for a committee, continues with the text and its sources, and
// contains nothing to click.
func TestReportOnPaper(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("pdftotext"); err != nil {
		t.Skip(err)
	}
	d := webtest.New(t, false)
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	olga.Upload(200, nil, "essay.txt", webtest.Folios)
	ctx, _ := webtest.Browser(t, d.URL, 1200)
	var shown string
	var file []byte
	err := chromedp.Run(ctx, olga.Cookies(d.URL), chromedp.Navigate(d.URL+"/checks/"+string(d.Await(t)["essay.txt"])),
		chromedp.WaitReady(".board", chromedp.ByQuery), chromedp.Evaluate(`getComputedStyle(document.querySelector(".board")).display`, &shown),
		chromedp.ActionFunc(func(ctx context.Context) (err error) {
			file, _, err = page.PrintToPDF().WithPreferCSSPageSize(true).WithPrintBackground(true).Do(ctx)
			return err
		}))
	if err != nil {
		t.Fatal(err)
	}
	if shown != "none" {
		t.Errorf("on a screen the pages for a committee have display %s", shown)
	}
	if dir := os.Getenv("CONCORDAT_SHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, "paper.pdf"), file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := pdfText(t, string(file))
	if err != nil {
		t.Fatal(err)
	}
	pages := strings.Split(text, "\f")
	for i, want := range []string{"What counts", "Handwritten signature", "reading room"} {
		if i >= len(pages) || !strings.Contains(pages[i], want) {
			t.Errorf("page %d of %d lacks %q:\n%s", i+1, len(pages), want, text)
		}
	}
	for _, not := range []string{"Export", "Sign out", "Add comment", "Recalculate", "Scoring rules", "Due"} {
		if strings.Contains(text, not) {
			t.Errorf("on paper there is %q", not)
		}
	}
}
