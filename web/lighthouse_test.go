package web_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"concordat/internal/chromium"
	"concordat/internal/webtest"
)

// lighthouseSeen is the part of Lighthouse 13's JSON that TestLighthouse reads.
type lighthouseSeen struct {
	RuntimeError struct{ Message string }
	Categories   map[string]struct {
		Score     float64 // 0 to 1
		AuditRefs []struct {
			ID     string
			Weight float64
		}
	}
	Audits map[string]struct {
		Title            string
		Score            *float64 // nil if not applicable
		NumericValue     float64  // in ms or bytes
		ScoreDisplayMode string
		Details          struct{ Items json.RawMessage } // each audit has its own format
	}
}

// lighthousePages are the most visited pages, each with its maximum size in bytes, including everything that it loads.
var lighthousePages = []struct {
	path  string
	bytes float64
}{
	{"/login", 20_000}, {"/checks", 22_000}, {"/checks/C", 40_000}, {"/checks/long", 75_000}, {"/batches/BATCH", 32_000},
	{"/libraries/theses", 30_000},
}

// TestLighthouse requires full marks from Lighthouse for accessibility and good practice on the most visited pages, on a desktop and on a
// phone. It also requires the properties that make pages fast on any machine: few bytes; at most two files before the first text, none of
// which is a script; no layout shift while loading (Lighthouse considers 0.1 good); little processor time that blocks the page's thread;
// and, on a desktop, the first text within half a second. A page has three attempts. Lighthouse's mark for speed is only logged because
// it depends on other work on the machine. The test runs if CONCORDAT_LIGHTHOUSE is the folder of Lighthouse's npm package (make
// check-pages). The site excludes search engines, which halves Lighthouse's mark for them.
func TestLighthouse(t *testing.T) {
	folder := os.Getenv("CONCORDAT_LIGHTHOUSE")
	if folder == "" {
		t.Skip("CONCORDAT_LIGHTHOUSE names no folder")
	}
	browser := chromium.Path()
	if browser == "" {
		t.Fatal("no chromium in PATH")
	}
	d, _, fill := shownSite(t)
	d.AddFinished(t, "long", "ada", webtest.Thesis(t, thesisCharacters, thesisPassages, thesisSources))
	for _, window := range lighthouseWindows {
		for _, page := range lighthousePages {
			address := d.URL + fill.Replace(page.path)
			var faults []string
			for range 3 { // other work on the machine can only slow down a page
				var line string
				line, faults = lighthouse(t, filepath.Join(folder, "cli", "index.js"), browser, address, window, page.bytes)
				t.Logf("%-8s %-18s %s", window.name, page.path, line)
				if len(faults) == 0 {
					break
				}
			}
			for _, fault := range faults {
				t.Errorf("%s, %s: %s", window.name, page.path, fault)
			}
		}
	}
}

// lighthouseWindow is a kind of machine on which a page is opened, with its bounds.
type lighthouseWindow struct {
	name    string
	slower  float64 // how many times slower its processor is than this one
	blocked float64 // maximum number of ms for which the page's thread is blocked
	first   float64 // maximum number of ms until the first text; 0 for no limit
}

var lighthouseWindows = []lighthouseWindow{{"desktop", 1, 150, 500}, {"mobile", 4, 300, 0}}

// lighthouse opens a page once as ada and returns Lighthouse's result and the missed bounds. bytes is the maximum size of the page.
func lighthouse(t *testing.T, program, browser, address string, window lighthouseWindow, bytes float64) (line string, faults []string) {
	t.Helper()
	out := t.TempDir()
	args := []string{program, address, "--quiet", "--output=json", "-GA=" + out, "--output-path=" + filepath.Join(out, "seen.json"),
		"--chrome-flags=--headless=new --no-sandbox --disable-gpu", "--only-categories=performance,accessibility,best-practices,seo"}
	if window.name == "desktop" {
		args = append(args, "--preset=desktop")
	}
	if !strings.HasSuffix(address, "/login") {
		args = append(args, `--extra-headers={"Cookie":"session=secret-of-ada"}`)
	}
	c := exec.CommandContext(t.Context(), "node", args...)
	c.Env = append(os.Environ(), "CHROME_PATH="+browser)
	said, err := c.CombinedOutput()
	again := strings.Contains(string(said), "Please run Lighthouse again") ||
		strings.Contains(string(said), "exceeded the allotted time") // other work on the machine
	if err != nil && again {
		return "the browser recorded nothing", []string{string(said)}
	} else if err != nil {
		t.Fatalf("%s: %v\n%s", address, err, said)
	}
	var seen lighthouseSeen
	readJSON(t, filepath.Join(out, "seen.json"), &seen)
	if seen.RuntimeError.Message != "" {
		t.Fatalf("%s: %s", address, seen.RuntimeError.Message)
	}
	for _, c := range []struct {
		name  string
		least float64
	}{{"performance", 0}, {"accessibility", 1}, {"best-practices", 1}, {"seo", 0.5}} {
		score := seen.Categories[c.name].Score
		line += fmt.Sprintf("%s %.0f, ", c.name, 100*score)
		if score < c.least {
			faults = append(faults, fmt.Sprintf("%s %.2f, at least %.2f wanted", c.name, score, c.least))
		}
	}
	styles, scripts := seen.blocking(t)
	for _, m := range []struct {
		name  string
		is    float64
		bound float64 // negative for no bound
	}{
		{"first text", seen.Audits["first-contentful-paint"].NumericValue, cmp.Or(window.first, -1)},
		{"largest", seen.Audits["largest-contentful-paint"].NumericValue, -1},
		{"blocked by the clock", seen.Audits["total-blocking-time"].NumericValue, -1},
		{"blocked", blockedTime(t, filepath.Join(out, "trace.json"), address, window.slower), window.blocked},
		{"bytes", seen.Audits["total-byte-weight"].NumericValue, bytes},
		{"styles before the text", float64(styles), 2},
		{"scripts before the text", float64(scripts), 0},
	} {
		line += fmt.Sprintf("%s %.0f, ", m.name, m.is)
		if m.bound >= 0 && m.is > m.bound {
			faults = append(faults, fmt.Sprintf("%s %.0f, at most %.0f wanted", m.name, m.is, m.bound))
		}
	}
	shift := seen.Audits["cumulative-layout-shift"].NumericValue
	if shift > 0.1 { // Lighthouse's limit for "good"
		faults = append(faults, fmt.Sprintf("a layout shift of %.3f, at most 0.1 wanted", shift))
	}
	return line + fmt.Sprintf("shift %.3f%s", shift, lighthouseFaults(seen)), faults
}

// blocking counts the files that must load before the first text.
func (s lighthouseSeen) blocking(t *testing.T) (styles, scripts int) {
	t.Helper()
	var files []struct{ URL string }
	if err := json.Unmarshal(s.Audits["render-blocking-insight"].Details.Items, &files); err != nil {
		t.Fatalf("files that block the first text: %v", err)
	}
	for _, file := range files {
		if strings.HasSuffix(file.URL, ".css") {
			styles++
		} else {
			scripts++
		}
	}
	return styles, scripts
}

// traceEvent is the part of an event in a Chromium trace that blockedTime reads.
type traceEvent struct {
	Name, Ph string
	PID, TID int
	TS       float64 // in µs
	Tdur     float64 // processor time in µs
	Args     struct {
		Data struct{ DocumentLoaderURL string }
	}
}

// readJSON reads a file that Lighthouse wrote.
func readJSON(t *testing.T, path string, to any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(b, to)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// blockedTime returns the time in ms for which the thread of a page was blocked while it loaded, on a processor slower by the given
// factor: the sum over tasks of their duration above 50 ms. The duration of a task is its processor time in Chromium's trace, which,
// unlike Lighthouse's own figure, does not depend on other work on the machine.
func blockedTime(t *testing.T, trace, address string, slower float64) (ms float64) {
	t.Helper()
	var seen struct{ TraceEvents []traceEvent }
	readJSON(t, trace, &seen)
	start := slices.IndexFunc(seen.TraceEvents, func(e traceEvent) bool {
		return e.Name == "navigationStart" && e.Args.Data.DocumentLoaderURL == address
	})
	if start < 0 {
		t.Fatalf("the trace does not know %s", address)
	}
	first, all := seen.TraceEvents[start], 0.0
	for _, e := range seen.TraceEvents {
		if e.PID == first.PID && e.TID == first.TID && e.TS >= first.TS && e.Ph == "X" && strings.HasSuffix(e.Name, "RunTask") {
			all += e.Tdur / 1000
			ms += max(0, e.Tdur/1000*slower-50)
		}
	}
	if all == 0 {
		t.Fatalf("the trace has no processor time of %s", address)
	}
	return ms
}

// lighthouseFaults returns the audits that did not pass, with their scores.
func lighthouseFaults(seen lighthouseSeen) string {
	var faults []string
	for _, c := range seen.Categories {
		for _, ref := range c.AuditRefs {
			if a := seen.Audits[ref.ID]; a.Score != nil && *a.Score < 0.9 && a.ScoreDisplayMode != "informative" {
				faults = append(faults, fmt.Sprintf("\n\t%s: %s (%.2f)", ref.ID, a.Title, *a.Score))
			}
		}
	}
	slices.Sort(faults)
	return strings.Join(slices.Compact(faults), "")
}
