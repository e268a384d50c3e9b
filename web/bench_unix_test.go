//go:build unix

package web_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"concordat"
	"concordat/internal/cputime"
	"concordat/internal/webtest"
	"concordat/report"
	"concordat/store"
)

// BenchmarkThesis measures the pages of a report on 600,000 characters with 2,000 passages, in milliseconds of CPU: the report page
// without and with a cache; a page of the text, a passage, two texts side by side; and excluding or including a source, with the page
// that follows.
func BenchmarkThesis(b *testing.B) {
	d := webtest.New(b, true)
	f := webtest.Thesis(b, thesisCharacters, thesisPassages, thesisSources)
	d.AddFinished(b, "long", "olga", f)
	if err := d.Store.People.CreateAccount(b.Context(), store.Account{Name: "olga", Role: store.RoleOfficer,
		Created: time.Now()}); err != nil {
		b.Fatal(err)
	}
	if err := d.Store.People.PutToken(b.Context(), "secret", store.Token{Purpose: store.PurposeSession, Account: "olga", Made: time.Now(),
		Expires: time.Now().Add(time.Hour)}); err != nil {
		b.Fatal(err)
	}
	do := func(method, path string, body url.Values) *httptest.ResponseRecorder {
		r := httptest.NewRequestWithContext(b.Context(), method, path, strings.NewReader(body.Encode()))
		r.AddCookie(&http.Cookie{Name: "session", Value: "secret"})
		if body != nil {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		rec := httptest.NewRecorder()
		d.Web.ServeHTTP(rec, r)
		if rec.Code != http.StatusOK && rec.Code != http.StatusSeeOther {
			b.Fatalf("%s %s: %d\n%s", method, path, rec.Code, rec.Body)
		}
		return rec
	}
	measure := func(name string, f func(i int) int) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			bytes := f(0)
			start, i := cputime.Used(), 0
			for b.Loop() {
				i++
				bytes = f(i)
			}
			cputime.Report(b, start, b.N, "op")
			b.ReportMetric(float64(bytes)/1e3, "kB")
		})
	}
	get := func(path string) int { return do(http.MethodGet, path, nil).Body.Len() }
	measure("build", func(int) int { return len(report.Build(f, report.Rules{}).Evidence) })
	measure("page/cold", func(int) int {
		d.Web.Cache.Forget("long")
		return get("/checks/long")
	})
	measure("page/again", func(int) int { return get("/checks/long") })
	measure("text", func(i int) int { return get(fmt.Sprint("/checks/long/text/", 1+i%50)) })
	measure("passage", func(i int) int { return get(fmt.Sprint("/checks/long/passages/", 1+i%1000, "?part=1")) })
	measure("compare", func(i int) int {
		return get(fmt.Sprintf("/checks/long/compare?site=here&library=theses&document=source-%03d.txt", i%100))
	})
	measure("rules", func(i int) int {
		// The rules differ each time, so that their report is not in the cache.
		action := []string{"exclude-source", "include-source"}[i/thesisSources%2]
		to := do(http.MethodPost, "/checks/long/rules", url.Values{"action": {action}, "site": {"here"}, "library": {"theses"},
			"document": {fmt.Sprintf("source-%03d.txt", i%thesisSources)}}).Header().Get("Location")
		return get(to)
	})
}

// BenchmarkPages measures the most requested pages of a site with 50 checks, in milliseconds of CPU.
func BenchmarkPages(b *testing.B) {
	d := webtest.New(b, true)
	for i := range 50 {
		d.AddFinished(b, concordat.TaskID(fmt.Sprintf("check-%02d", i)), "ada", webtest.Thesis(b, 3000, 10, 5))
	}
	if err := d.Store.People.CreateAccount(b.Context(), store.Account{Name: "ada", Role: store.RoleAdministrator,
		Created: time.Now()}); err != nil {
		b.Fatal(err)
	}
	if err := d.Store.People.PutToken(b.Context(), "secret", store.Token{Purpose: store.PurposeSession, Account: "ada", Made: time.Now(),
		Expires: time.Now().Add(time.Hour)}); err != nil {
		b.Fatal(err)
	}
	for _, path := range []string{"/checks", "/checks/new", "/checks/check-07", "/batches", "/libraries/theses", "/people", "/admin/storage",
		"/account"} {
		b.Run(strings.ReplaceAll(path[1:], "/", "-"), func(b *testing.B) {
			b.ReportAllocs()
			start := cputime.Used()
			for b.Loop() {
				r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, path, nil)
				r.AddCookie(&http.Cookie{Name: "session", Value: "secret"})
				rec := httptest.NewRecorder()
				if d.Web.ServeHTTP(rec, r); rec.Code != http.StatusOK {
					b.Fatalf("%s: %d", path, rec.Code)
				}
			}
			cputime.Report(b, start, b.N, "op")
		})
	}
}

// BenchmarkThesisInBrowser opens the same report in Chromium and scrolls through the whole text. It reports, in milliseconds by the
// browser's clock, the time until the page was usable (its script has run), the duration of the longest task afterwards, and the median,
// the 95th percentile and the maximum of the frame times while scrolling.
func BenchmarkThesisInBrowser(b *testing.B) {
	d := webtest.New(b, true)
	d.AddFinished(b, "long", "olga", webtest.Thesis(b, thesisCharacters, thesisPassages, thesisSources))
	link, err := d.Web.Accounts.FirstLink(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	ctx, complaints := webtest.Browser(b, d.URL, 1200)
	run := func(actions ...chromedp.Action) {
		b.Helper()
		if err := chromedp.Run(ctx, actions...); err != nil {
			b.Fatal(err)
		}
	}
	run(chromedp.Navigate(d.URL+link), chromedp.SendKeys("#name", "ada"), chromedp.SendKeys("#title", "Ada"),
		chromedp.SendKeys("#password", "a good long secret"),
		chromedp.SendKeys("#again", "a good long secret"), chromedp.Submit("#again"),
		chromedp.WaitVisible(`a[href="/checks/new"]`, chromedp.ByQuery))
	var m struct {
		Interactive, Complete, Longest       float64
		Median, P95, Worst                   float64
		Frames, Loaded, Elements, Everything int
	}
	for b.Loop() {
		run(chromedp.Navigate(d.URL+"/checks/long"), chromedp.WaitReady(`#sheet-2`, chromedp.ByQuery),
			chromedp.Evaluate(scrollThrough, &m, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
	}
	for unit, v := range map[string]float64{"interactive-ms": m.Interactive, "complete-ms": m.Complete, "longest-task-ms": m.Longest,
		"frame-median-ms": m.Median, "frame-p95-ms": m.P95, "frame-worst-ms": m.Worst, "pages": float64(m.Loaded),
		"of-pages": float64(m.Everything), "elements": float64(m.Elements)} {
		b.ReportMetric(v, unit)
	}
	for _, c := range complaints() {
		b.Error(c)
	}
}

// scrollThrough reads the page's timing and scrolls through the text, a third of a screen per frame.
const scrollThrough = `(async () => {
	const nav = performance.getEntriesByType("navigation")[0];
	const out = { Interactive: nav.domContentLoadedEventEnd, Complete: nav.loadEventEnd, Longest: 0 };
	new PerformanceObserver((l) => { for (const e of l.getEntries()) out.Longest = Math.max(out.Longest, e.duration); }).observe({ type: "longtask", buffered: true });
	const read = document.querySelector("#read"), deltas = [];
	let last = performance.now();
	for (;;) {
		const end = read.getBoundingClientRect().bottom;
		if (end < innerHeight) break;
		scrollBy({ top: innerHeight / 3, behavior: "instant" });
		await new Promise(requestAnimationFrame);
		const now = performance.now();
		deltas.push(now - last);
		last = now;
	}
	for (let i = 0; i < 100 && document.querySelector(".sheet[data-empty]"); i++) await new Promise((done) => setTimeout(done, 50));
	deltas.sort((a, b) => a - b);
	const sheets = document.querySelectorAll(".sheet").length;
	Object.assign(out, { Frames: deltas.length, Median: deltas[deltas.length >> 1], P95: deltas[Math.floor(deltas.length * 0.95)], Worst: deltas[deltas.length - 1],
		Everything: sheets, Loaded: sheets - document.querySelectorAll(".sheet[data-empty]").length, Elements: document.querySelectorAll("*").length });
	return out;
})()`
