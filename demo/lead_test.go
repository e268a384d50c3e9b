package demo_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"

	"concordat/internal/chromium"
	"concordat/report"
	"concordat/report/html"
	"concordat/site"
)

// TestLead: a passage of testdata/lead.txt that rewords a call from the library is a lead, not evidence. If CONCORDAT_PICTURES is set,
// the test also draws the picture of doc/start.md: make pictures.
func TestLead(t *testing.T) {
	text, err := os.ReadFile("testdata/lead.txt")
	must(t, err)
	f, err := newSite(t).Check(t.Context(), site.Submission{ID: "lead.txt", Title: "A working paper", Text: string(text)},
		site.CheckOptions{Leads: true})
	must(t, err)
	r := report.Build(f, report.Rules{})
	if len(r.Leads) != 1 || len(r.Leads[0].Pairs) < 3 || len(r.Evidence) != 0 {
		t.Fatalf("%d leads, %d passages, want one lead and no passage", len(r.Leads), len(r.Evidence))
	}
	draw(t, r, "lead.png", 1100, func(p *[]byte) chromedp.Tasks {
		return chromedp.Tasks{
			chromedp.WaitReady("#L1 svg.lines path", chromedp.ByQuery),
			chromedp.Screenshot("#L1", p, chromedp.ByQuery),
		}
	})
}

// draw writes a picture of report r, taken by take in a window width pixels wide, to the folder CONCORDAT_PICTURES. If that is not set,
// draw does nothing.
func draw(t *testing.T, r *report.Report, name string, width int, take func(*[]byte) chromedp.Tasks) {
	t.Helper()
	folder := os.Getenv("CONCORDAT_PICTURES")
	if folder == "" {
		return
	}
	page := filepath.Join(t.TempDir(), "report.html")
	w, err := os.Create(page)
	must(t, err)
	must(t, html.Write(w, r))
	must(t, w.Close())
	ctx := chromium.Window(t, width, 900)
	var picture []byte
	must(t, chromedp.Run(ctx, chromedp.Navigate("file://"+page), take(&picture)))
	must(t, os.WriteFile(filepath.Join(folder, name), picture, 0o644))
}
