package web_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"concordat/internal/chromium"
	"concordat/internal/webtest"
	"concordat/store"
)

// TestFirstReportByEmptyStates proceeds from the link of the first administrator to a report using only what each page offers. The empty
// list of checks shows the steps and ticks off each completed one. doc/evaluation/web.md lists the steps.
func TestFirstReportByEmptyStates(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	if err := d.Site.DeleteLibrary(t.Context(), "theses", nil); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	for name, text := range map[string]string{"earlier.txt": webtest.Folios, "essay.txt": "Some words of my own stand before it, and nobody else has them. " + webtest.Folios} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link, err := d.Web.Accounts.FirstLink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ctx, complaints := webtest.Browser(t, d.URL, 1360)
	var share string
	steps := []struct {
		said    string
		actions []chromedp.Action
	}{
		{"the link: name and password", []chromedp.Action{chromedp.Navigate(d.URL + link), chromedp.SendKeys("#name", "ada"),
			chromedp.SendKeys("#password", "a good long secret"), chromedp.SendKeys("#again", "a good long secret"),
			chromium.Click("main form button", chromedp.ByQuery), chromedp.WaitVisible(".steps", chromedp.ByQuery)}},
		{"step 1: a library", []chromedp.Action{chromium.Click(".steps li:nth-child(1) a", chromedp.ByQuery),
			chromedp.WaitVisible(".empty", chromedp.ByQuery), chromedp.SendKeys("#name", "theses"), chromedp.SendKeys("#title", "Theses of 2026"),
			chromium.Click("main form button", chromedp.ByQuery)}},
		{"step 2: a document", []chromedp.Action{chromedp.WaitVisible("[data-drop]", chromedp.ByQuery),
			webtest.Loaded(), // the script lists the file, above the button
			chromedp.SetUploadFiles("#file", []string{filepath.Join(folder, "earlier.txt")}, chromedp.ByQuery),
			chromedp.WaitVisible(".files li", chromedp.ByQuery),
			chromium.Click("main form button:not([type])", chromedp.ByQuery), chromedp.WaitVisible("#library-documents table", chromedp.ByQuery)}},
		{"back at the steps: two are ticked", []chromedp.Action{chromium.Click("header .site a", chromedp.ByQuery),
			chromedp.WaitVisible(".steps li.ready:nth-child(2)", chromedp.ByQuery)}},
		{"step 3: a check, and its report", []chromedp.Action{chromium.Click(".steps li:nth-child(3) a", chromedp.ByQuery),
			chromedp.WaitVisible("[data-drop]", chromedp.ByQuery),
			webtest.Loaded(),
			chromedp.SetUploadFiles("#file", []string{filepath.Join(folder, "essay.txt")}, chromedp.ByQuery),
			chromedp.WaitVisible(".files li", chromedp.ByQuery),
			chromium.Click("main form button:not([type])", chromedp.ByQuery), chromedp.WaitVisible(".workbar .percent", chromedp.ByQuery),
			webtest.ReadText(".workbar .percent", &share)}},
	}
	begun := time.Now()
	for _, s := range steps {
		if err := chromedp.Run(ctx, s.actions...); err != nil {
			t.Fatalf("%s: %v", s.said, err)
		}
		t.Logf("%5.1f s  %s", time.Since(begun).Seconds(), s.said)
	}
	if share == "" || share == "0%" || share == "–" {
		t.Errorf("the report says %q of a text that holds another", share)
	}
	for _, c := range complaints() {
		t.Error(c)
	}
	if accounts, err := d.Store.People.Accounts(t.Context()); err != nil || len(accounts) != 1 || accounts[0].Role != store.RoleAdministrator {
		t.Errorf("accounts %v: %v", accounts, err)
	}
}
