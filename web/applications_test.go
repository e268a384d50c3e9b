package web_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"concordat/internal/corpora"
	"concordat/internal/webtest"
	"concordat/store"
)

// applications is the number of documents of TestApplications.
const applications = 400

// applicationForm returns a batch with the texts of 400 grant calls from CONCORDAT_CORPORA, and a table of their authors and dates. Every
// tenth text begins with the first half of the previous text.
func applicationForm(t *testing.T) (body *bytes.Buffer, kind string) {
	body = &bytes.Buffer{}
	form := multipart.NewWriter(body)
	add := func(field, name, text string) {
		w, err := form.CreateFormFile(field, name)
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	table := "file,author,date\n"
	before, n := "", 0
	corpora.Lines(t, filepath.Join("grants", "nih-calls.tsv.gz"), func(line string) bool {
		n++
		text := strings.Join(strings.Split(line, "\t")[1:], "\n\n")
		name := fmt.Sprintf("application-%03d.txt", n)
		copied := ""
		if n%10 == 0 {
			copied = strings.ToValidUTF8(before[:len(before)/2], "") + "\n\n"
		}
		add("file", name, copied+text)
		table += fmt.Sprintf("%s,Applicant %d,2026-%02d-%02d\n", name, n, 1+n%12, 1+n%28)
		before = text
		return n < applications
	})
	add("manifest", "table.csv", table)
	if err := form.Close(); err != nil {
		t.Fatal(err)
	}
	return body, form.FormDataContentType()
}

// TestApplications opens the page of a batch of 400 applications in Chromium. The page and each of its pictures take less than a second
// of processor time, and no list is longer than a screen unless it is opened. The test logs the figures.
func TestApplications(t *testing.T) {
	t.Parallel()
	if os.Getenv("CONCORDAT_LONG") == "" {
		t.Skip("compares 400 documents: CONCORDAT_LONG=1")
	}
	body, kind := applicationForm(t)
	d := webtest.New(t, false)
	ctx, complaints := webtest.Browser(t, d.URL, 1360)
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	r := olga.Request(http.MethodPost, "/batches", body)
	r.Header.Set("Content-Type", kind)
	resp, err := olga.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close() // only the address is needed
	path := resp.Request.URL.Path
	if b := d.AwaitBatch(t, path); b.State != "done" {
		t.Fatalf("the batch is %s: %v", b.State, b.Cause)
	}
	// Processor time of the page's thread, unaffected by other work on the machine.
	var before float64
	cost := func(name string, actions ...chromedp.Action) {
		t.Helper()
		actions = append(actions, chromedp.Evaluate(nextFrame, nil, awaited), chromedp.ActionFunc(func(ctx context.Context) error {
			metrics, err := performance.GetMetrics().Do(ctx)
			for _, m := range metrics {
				if m.Name == "TaskDuration" {
					t.Logf("%-24s %4.0f ms", name, 1000*(m.Value-before))
					if name != "" && m.Value-before > 1 {
						t.Errorf("%s takes more than a second", name)
					}
					before = m.Value
				}
			}
			return err
		}))
		if err := chromedp.Run(ctx, actions...); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	cost("", webtest.SessionOf(d, "olga"), performance.Enable().WithTimeDomain(performance.EnableTimeDomainThreadTicks))
	cost("page with heat map", chromedp.Navigate(d.URL+path), chromedp.WaitReady("[data-charts]:not([aria-busy])", chromedp.ByQuery))
	for _, tab := range []string{"graph", "time", "heat"} {
		cost(tab, chromedp.Evaluate(`document.querySelector("[data-tab=`+tab+`]").click()`, nil),
			chromedp.WaitReady("[data-charts]:not([aria-busy])", chromedp.ByQuery))
		cost("", webtest.Shot(t, "applications-"+tab, 1360))
	}
	cost("threshold moved", chromedp.Evaluate(`document.querySelector("#threshold").value = 5;
		document.querySelector("#threshold").dispatchEvent(new Event("input"))`, nil))
	var m map[string]float64
	if err := chromedp.Run(ctx, chromedp.Evaluate(measured, &m)); err != nil {
		t.Fatal(err)
	}
	t.Logf("%v", m)
	if m["windows"] > 6 || m["listed"] < 1 || m["listed"] > 20 || m["pairs"] < 100 || m["clusters"] < 30 {
		t.Errorf("the page is %.1f windows high and lists %.0f of %.0f pairs, in %.0f clusters", m["windows"], m["listed"], m["pairs"],
			m["clusters"])
	}
	for _, c := range complaints() {
		t.Error(c)
	}
}

// awaited makes an evaluation wait for its promise.
func awaited(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

const (
	nextFrame = `new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))`

	// measured returns the size of the page as sent in kB, the ms until it was loaded, its height in windows of 900 pixels, the numbers
	// of its elements and of the listed pairs, and the numbers of pairs and clusters shown at its top.
	measured = `(() => {
	const figures = document.querySelectorAll(".figures strong"); // documents, pairs, clusters
	const n = performance.getEntriesByType("navigation")[0];
	return { kB: Math.round(n.transferSize / 1000), there: Math.round(n.responseEnd), windows: document.documentElement.scrollHeight / 900,
		elements: document.querySelectorAll("*").length, listed: document.querySelectorAll("#pairs-list tbody tr").length,
	pairs: Number(figures[1].textContent), clusters: Number(figures[2].textContent) };
})()`
)
