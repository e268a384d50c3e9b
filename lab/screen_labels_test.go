package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"concordat"
	"concordat/internal/axe"
	"concordat/internal/chromium"
	"concordat/screen"
)

// labelled creates a page with three pairs, one of which contains text that resembles markup, in its own folder.
func labelled(t *testing.T) (dir string, pairs []samplePair) {
	t.Helper()
	dir = t.TempDir()
	texts := [][2]string{
		{strings.Repeat("The river carried logs to the harbour every spring. ", 20) + "It froze in 1911.",
			strings.Repeat("The river carried logs to the harbour every spring. ", 20) + "It froze in 1912."},
		{"<img src=x onerror=alert(1)></script><script>alert(2)</script> & <!--", "quite another matter"},
		{"上海市住宅物业管理规定，自2010年起施行。", "上海市住宅物业管理规定，自2020年起施行。"},
	}
	page := labelPage{Sample: sampleHeader{"sample", "wells & <b>", "P", 1, 20, []int{1, 0, 2}}}
	for i, x := range texts {
		a := &concordat.Document{ID: concordat.DocumentID(fmt.Sprintf("a%d", i)), Title: "Of <wells>", Text: x[0]}
		b := &concordat.Document{ID: concordat.DocumentID(fmt.Sprintf("b%d", i)), Text: x[1]}
		p, err := newLabelPair(i+1, a, b)
		if err != nil {
			t.Fatal(err)
		}
		for k, own := range []labelText{p.A, p.B} {
			if got := strings.Join(own.Pieces, ""); got != x[k] {
				t.Errorf("the pieces are %q, want the text %q", got, x[k])
			}
		}
		page.Pairs = append(page.Pairs, p)
		pairs = append(pairs, samplePair{"pair", i + 1, min(i*2, 2), a.ID, b.ID})
	}
	f, err := os.Create(filepath.Join(dir, samplePage))
	if err != nil {
		t.Fatal(err)
	}
	if err := page.write(f); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return dir, pairs
}

// TestLabelInBrowser labels pairs with keys, leaves the page, continues where it left off, and saves a file that precision reads.
func TestLabelInBrowser(t *testing.T) {
	dir, pairs := labelled(t)
	path := filepath.Join(dir, samplePage)
	ctx := chromium.Window(t, 1200, 900)
	complaints := chromium.Complaints(ctx, "file:", "blob:")
	run := func(actions ...chromedp.Action) {
		t.Helper()
		if err := chromedp.Run(ctx, actions...); err != nil {
			t.Fatal(err)
		}
	}
	// reads waits until the text of the elements matching a selector, joined by |, is as wanted, since a page takes a while after loading
	// or a change.
	reads := func(selector, what string, wanted func(string) bool) {
		t.Helper()
		var got string
		for until := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
			run(chromedp.Evaluate(fmt.Sprintf(`[...document.querySelectorAll(%q)].map(x => x.textContent).join("|")`, selector), &got))
			if wanted(got) {
				return
			}
			if time.Now().After(until) {
				t.Fatalf("%s reads %q, want %s", selector, got, what)
			}
		}
	}
	begins := func(selector, want string) {
		t.Helper()
		reads(selector, want, func(s string) bool { return strings.HasPrefix(s, want) })
	}
	is := func(selector, want string) {
		t.Helper()
		reads(selector, want, func(s string) bool { return s == want })
	}
	run(browser.SetDownloadBehavior(browser.SetDownloadBehaviorBehaviorAllow).WithDownloadPath(dir),
		chromedp.Navigate((&url.URL{Scheme: "file", Path: path}).String()))
	begins("#state", "Pair 1 of 3, 0 labelled")
	is("#text-a mark", "1911.")
	reads(".left", "long common wording left out of both", func(s string) bool { return strings.Count(s, "letters that both have") == 2 })
	run(chromedp.KeyEvent("x"))
	is(".left", "")
	run(chromedp.KeyEvent("x"), chromedp.KeyEvent("s"))
	begins("#state", "Pair 2 of 3, 1 labelled")
	is("#text-a", "<img src=x onerror=alert(1)></script><script>alert(2)</script> & <!--")
	run(chromedp.KeyEvent("d"))
	begins("#state", "Pair 3 of 3, 2 labelled")
	is("#text-b mark", "2020")

	// Each later visit continues here, and labels can be changed.
	kept := `new Promise((resolve, reject) => { const opening = indexedDB.open("concordat labels"); opening.onerror = reject;
		opening.onsuccess = () => { const all = opening.result.transaction("labels").objectStore("labels").count();
			all.onsuccess = () => resolve(all.result); all.onerror = reject; } })`
	for until, n := time.Now().Add(5*time.Minute), 0; n != 2; time.Sleep(20 * time.Millisecond) {
		run(chromedp.Evaluate(kept, &n, func(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }))
		if time.Now().After(until) {
			t.Fatalf("the browser keeps %d labels, want 2", n)
		}
	}
	for range 5 {
		run(chromedp.Reload())
		begins("#state", "Pair 3 of 3, 2 labelled")
	}
	run(chromedp.KeyEvent("k"))
	begins(`[aria-pressed="true"]`, "Different")
	run(chromedp.KeyEvent("u"))
	begins("#state", "Pair 3 of 3, 2 labelled")
	for _, scheme := range []string{"light", "dark"} {
		run(emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
		found, err := axe.Violations(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range found {
			t.Errorf("%s: %s", scheme, v)
		}
	}

	run(chromedp.KeyEvent("w"))
	saved := filepath.Join(dir, sampleLabels)
	for until := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		labels, err := readLabels(saved, pairs)
		if err == nil && len(labels) == 2 && labels[1] == screen.LabelSame && labels[2] == screen.LabelUnknown {
			break
		} else if time.Now().After(until) {
			t.Fatalf("saved %v, %v", labels, err)
		}
	}

	// A file adds to the labels of the page; a faulty file changes none, and the fault is reported with its line.
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	run(chromedp.SetUploadFiles("#open", []string{write("bad.tsv", labelsHeader+"\n3\ta2\tb2\tsame\n1\ta0\tb0\tperhaps\n")}, chromedp.ByQuery),
		chromedp.WaitVisible("#state.bad", chromedp.ByQuery))
	begins("#state", `bad.tsv line 3: label perhaps: want same, different or unknown`)
	run(chromedp.SetUploadFiles("#open", []string{write("more.tsv", labelsHeader+"\n3\ta2\tb2\tdifferent\n")}, chromedp.ByQuery),
		chromedp.WaitVisible("#state:not(.bad)", chromedp.ByQuery))
	begins("#state", "Pair 3 of 3, 3 labelled. All are labelled")
	for _, c := range complaints() {
		t.Errorf("the browser complains: %s", c)
	}
}

// TestLabelsRefused: a line that is not a label of the sample is refused with its number.
func TestLabelsRefused(t *testing.T) {
	pairs := []samplePair{{"pair", 1, 0, "a", "b"}, {"pair", 2, 3, "a", "c"}}
	for text, want := range map[string]string{
		"":                                                "is empty",
		"1\ta\tb\tsame\n":                                 "line 1: want the columns pair, a, b, label",
		labelsHeader + "\n1\ta\tb\n":                      "line 2: got 3 columns, want 4",
		labelsHeader + "\n3\ta\tb\tsame\n":                `line 2: no pair "3": pairs are numbered 1 to 2`,
		labelsHeader + "\nx\ta\tb\tsame\n":                `line 2: no pair "x"`,
		labelsHeader + "\n2\ta\tb\tsame\n":                "line 2: pair 2 has different documents in this sample",
		labelsHeader + "\n1\ta\tb\tperhaps\n":             `line 2: unknown label "perhaps"; want same, different or unknown`,
		labelsHeader + "\n1\ta\tb\tsame\n\n":              "line 3: got 1 columns",
		labelsHeader + "\n1\ta\tb\tsame\n1\ta\tb\tsame\n": "line 3: pair 1 was already labelled same",
	} {
		path := filepath.Join(t.TempDir(), sampleLabels)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readLabels(path, pairs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// TestPrecisionLines: each distance is weighted by its pairs, and a distance without a deciding label leaves greater distances undecided.
func TestPrecisionLines(t *testing.T) {
	h := sampleHeader{Pairs: []int{100, 0, 50}}
	pairs := []samplePair{{"pair", 1, 0, "a", "b"}, {"pair", 2, 0, "a", "c"}, {"pair", 3, 2, "a", "d"}, {"pair", 4, 2, "b", "d"},
		{"pair", 5, 2, "c", "d"}}
	lines := precisionLines(sampleStrata(h, pairs, map[int]screen.Label{1: screen.LabelSame, 2: screen.LabelSame, 3: screen.LabelSame,
		4: screen.LabelDifferent, 5: screen.LabelUnknown}))
	if *lines[0].Precision != 1 || *lines[2].Precision != 0.5 || lines[1].Precision != nil {
		t.Errorf("precision at the distances: %+v", lines)
	}
	// 100 of 125 near-duplicates are at distance 0; 125 of the 150 pairs are near-duplicates.
	if *lines[0].Recall != 0.8 || *lines[2].Recall != 1 || *lines[2].UpTo < 0.8333 || *lines[2].UpTo > 0.8334 {
		t.Errorf("up to the distances: %+v", lines)
	}
	lines = precisionLines(sampleStrata(h, pairs, map[int]screen.Label{1: screen.LabelSame, 5: screen.LabelUnknown}))
	if lines[0].UpTo == nil || lines[0].Recall != nil || lines[2].UpTo != nil || lines[2].Precision != nil || lines[2].Unknown != 1 {
		t.Errorf("with one distance undecided: %+v", lines)
	}
}
