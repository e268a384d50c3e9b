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

// TestLead: what testdata/lead.txt takes from a call of the library in other words is a lead, and no evidence. With
// CONCORDAT_PICTURE the lead is drawn into that file as the report shows it: make picture.
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
	file := os.Getenv("CONCORDAT_PICTURE")
	if file == "" {
		return
	}
	page := filepath.Join(t.TempDir(), "report.html")
	w, err := os.Create(page)
	must(t, err)
	must(t, html.Write(w, r))
	must(t, w.Close())
	ctx := chromium.Window(t, 1100, 900)
	var picture []byte
	must(t, chromedp.Run(ctx, chromedp.Navigate("file://"+page), chromedp.WaitReady("#L1 svg.lines path", chromedp.ByQuery),
		chromedp.Screenshot("#L1", &picture, chromedp.ByQuery)))
	must(t, os.WriteFile(file, picture, 0o644))
}
