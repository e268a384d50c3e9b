package demo_test

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

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
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(browserPath(t)), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.WindowSize(1100, 900))
	ctx, stop := context.WithTimeout(t.Context(), 2*time.Minute)
	defer stop()
	ctx, stop = chromedp.NewExecAllocator(ctx, options...)
	defer stop()
	ctx, stop = chromedp.NewContext(ctx, chromedp.WithErrorf(t.Logf)) // events newer than the client are no fault of the page
	defer stop()
	var picture []byte
	must(t, chromedp.Run(ctx, chromedp.Navigate("file://"+page), chromedp.WaitReady("#L1 svg.lines path", chromedp.ByQuery),
		chromedp.Screenshot("#L1", &picture, chromedp.ByQuery)))
	must(t, os.WriteFile(file, picture, 0o644))
}

// browserPath returns where a Chromium is.
func browserPath(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath(cmp.Or(os.Getenv("CHROMIUM"), "chromium"))
	if err != nil {
		path, err = exec.LookPath("google-chrome")
	}
	must(t, err)
	return path
}
