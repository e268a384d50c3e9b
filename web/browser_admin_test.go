package web_test

import (
	"context"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"concordat/internal/chromium"
	"concordat/internal/suite"
	"concordat/internal/webtest"
	"concordat/store"
)

// TestHandingInInBrowser: several files are submitted one by one, including a bad file and one interrupted by a lost connection.
func TestHandingInInBrowser(t *testing.T) {
	t.Parallel()
	for _, width := range []int{1200, 390}[:suite.Rounds(1, 2)] {
		d := webtest.New(t, false)
		dir := t.TempDir()
		var files []string
		for name, text := range map[string]string{"good.txt": webtest.Folios, "void.txt": "",
			"other.txt": webtest.Folios + " " + webtest.Folios} {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			files = append(files, path)
		}
		ctx, complaints := webtest.Browser(t, d.URL, width)
		var list, words, overflow string
		var reloads bool
		var removable int
		d.Full.Store(true)
		run := func(actions ...chromedp.Action) {
			t.Helper()
			if err := chromedp.Run(ctx, actions...); err != nil {
				t.Fatalf("%d: %v", width, err)
			}
		}
		run(d.Enter(t, "olga", store.RoleOfficer), chromedp.Navigate(d.URL+"/checks/new"),
			chromedp.WaitVisible("#file", chromedp.ByQuery),
			chromedp.SetUploadFiles("#file", files, chromedp.ByQuery),
			chromedp.WaitVisible(".files li:nth-child(3)", chromedp.ByQuery),
			chromium.Click("main form button:not([type])", chromedp.ByQuery),
			chromedp.WaitVisible("[data-again] button", chromedp.ByQuery),
			webtest.ReadText(".files", &words),
			chromedp.Evaluate(`dispatchEvent(new Event("reloading", {cancelable: true}))`, &reloads),
			chromedp.Evaluate(`[...document.querySelectorAll(".files button")].filter((b) => b.checkVisibility()).length`, &removable),
			webtest.Shot(t, "unsent", width))
		if reloads || removable != 3 {
			t.Errorf("%d: with files to send again the page reloads: %v, and %d can be removed", width, reloads, removable)
		}
		if strings.Count(words, "not sent: The site’s disk is full") != 3 {
			t.Errorf("%d: with a full disk the list says %q", width, words)
		}
		d.Full.Store(false)
		run(chromium.Click("[data-again] button", chromedp.ByQuery),
			chromedp.WaitVisible("[data-open] a", chromedp.ByQuery),
			webtest.ReadText(".files", &list), chromedp.Evaluate(standsOut, &overflow), webtest.Shot(t, "sent", width),
			chromium.Click("[data-open] a", chromedp.ByQuery),
			chromedp.WaitVisible("main table", chromedp.ByQuery),
			webtest.Shot(t, "handed", width))
		if strings.Count(list, "accepted") != 2 || !strings.Contains(list, "rejected: The file is empty") {
			t.Errorf("%d: the list says %q", width, list)
		}
		if overflow != "" {
			t.Errorf("%d pixels are too narrow: %s", width, overflow)
		}
		ids := d.Await(t)
		if len(ids) != 2 {
			t.Errorf("%d: checks %v", width, ids)
		}
		for _, c := range complaints() {
			if !strings.Contains(c, "507") && !strings.Contains(c, "400") { // the answers above
				t.Errorf("%d: %s", width, c)
			}
		}
	}
}

// TestProgressInBrowser: the page of a waiting check states why it waits, reconnects automatically, and shows the result when there is
// one.
func TestProgressInBrowser(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	ctx, _ := webtest.Browser(t, d.URL, 1200)
	adam := d.SignedIn(t, "adam", store.RoleAdministrator)
	adam.Upload(http.StatusOK, nil, "essay.txt", webtest.Folios)
	tasks, err := d.Store.Checks.Tasks(t.Context(), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	var words string
	if err := chromedp.Run(ctx, d.Enter(t, "olga", store.RoleOfficer), chromedp.Navigate(d.URL+"/checks/"+string(tasks[0].ID)),
		chromedp.WaitVisible("[data-words]", chromedp.ByQuery), webtest.ReadText("[data-words]", &words),
		webtest.Shot(t, "waits", 1200)); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(words, "Number 1 in the queue") || !strings.Contains(words, "the site is starting or stopping") {
		t.Errorf("the page says %q", words)
	}
	// The site closes its streams as during a restart; then a worker processes the check.
	d.Web.Streams.End()
	if err := chromedp.Run(ctx, webtest.Until(`document.querySelector("[data-words]").textContent.includes("Connection")`),
		webtest.Shot(t, "lost", 1200)); err != nil {
		t.Fatal(err)
	}
	run, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Queue.Run(run) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	if err := chromedp.Run(ctx, chromedp.WaitVisible(".headline", chromedp.ByQuery), webtest.Shot(t, "result", 1200)); err != nil {
		t.Fatal(err)
	}
}

// TestAdministrationInBrowser opens every administration page and library page, wide and narrow.
func TestAdministrationInBrowser(t *testing.T) {
	t.Parallel()
	for _, width := range []int{1200, 390}[:suite.Rounds(1, 2)] {
		d := webtest.New(t, false)
		if err := d.Store.Partners.AddPartner(t.Context(), store.Partner{Site: "SOUTH", Serial: 1, Card: []byte("card"),
			Words: "one two three four five six"}); err != nil {
			t.Fatal(err)
		}
		d.SignedIn(t, "adam", store.RoleAdministrator).Upload(http.StatusOK, nil, "essay.txt", webtest.Folios, "broken.bad", "x")
		d.Await(t)
		ctx, complaints := webtest.Browser(t, d.URL, width)
		if err := chromedp.Run(ctx, d.Enter(t, "ada", store.RoleAdministrator)); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/admin", "/admin/tasks", "/admin/storage", "/admin/schemes", "/admin/cluster", "/admin/partners",
			"/admin/partners/SOUTH", "/admin/audit", "/admin/settings", "/libraries", "/libraries/theses"} {
			var overflow string
			name := strings.ReplaceAll(strings.TrimPrefix(path, "/"), "/", "-")
			if err := chromedp.Run(ctx, chromedp.Navigate(d.URL+path), chromedp.WaitVisible("h1", chromedp.ByQuery),
				chromedp.Evaluate(standsOut, &overflow), webtest.Shot(t, name, width)); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if overflow != "" {
				t.Errorf("%s: %d pixels are too narrow: %s", path, width, overflow)
			}
		}
		// The submission script adds the documents.
		essay := filepath.Join(t.TempDir(), "more.txt")
		if err := os.WriteFile(essay, []byte(webtest.Folios+" And more."), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := chromedp.Run(ctx, chromedp.SetUploadFiles("#file", []string{essay}, chromedp.ByQuery),
			chromedp.WaitVisible(".files li", chromedp.ByQuery),
			chromedp.Focus("form[data-upload] button:not([type])", chromedp.ByQuery),
			chromedp.KeyEvent(kb.Enter),
			chromedp.WaitVisible("#lately", chromedp.ByQuery),
			// After the last addition, the page reloads and lists the document.
			chromedp.WaitVisible("section[aria-labelledby=documents] tbody tr:nth-child(2)", chromedp.ByQuery),
			webtest.Shot(t, "added", width)); err != nil {
			t.Fatal(err, complaints())
		}
		for _, c := range complaints() {
			if !strings.HasPrefix(c, "request for data:") { // the browser's own images, for example in a date field
				t.Errorf("%d: %s", width, c)
			}
		}
	}
}

// TestRefusedStay: the list of files that a library rejected survives a reload of the page, for example after a library gets its first
// documents, until someone dismisses it.
func TestRefusedStay(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	var files []string
	for name, text := range map[string]string{"empty.txt": "", "essay.txt": webtest.Folios} {
		files = append(files, filepath.Join(t.TempDir(), name))
		if err := os.WriteFile(files[len(files)-1], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(files)
	if err := d.Store.Catalogue.CreateLibrary(t.Context(), store.Library{ID: "fresh", Title: "Fresh", Created: time.Now()}); err != nil {
		t.Fatal(err)
	}
	ctx, complaints := webtest.Browser(t, d.URL, 1200)
	var listed, tally string
	var left int
	if err := chromedp.Run(ctx, d.Enter(t, "olga", store.RoleOfficer), chromedp.Navigate(d.URL+"/libraries/fresh"),
		chromedp.WaitVisible("#file", chromedp.ByQuery), chromedp.SetUploadFiles("#file", files, chromedp.ByQuery),
		chromedp.WaitVisible(".files li:nth-child(2)", chromedp.ByQuery),
		chromedp.Evaluate(`window.before = true`, nil),
		chromium.Click("form[data-upload] button:not([type])", chromedp.ByQuery),
		webtest.Until(`!window.before && document.querySelector("section[aria-labelledby=documents] tbody tr")`), webtest.Loaded(),
		webtest.ReadText(".files", &listed), webtest.ReadText("[data-tally]", &tally), webtest.Shot(t, "refused", 1200),
		chromium.Click(".files li button", chromedp.ByQuery),
		chromedp.Reload(), chromedp.WaitVisible("#file", chromedp.ByQuery),
		chromedp.Evaluate(`document.querySelectorAll(".files li").length`, &left)); err != nil {
		t.Fatal(err, complaints())
	}
	if !strings.Contains(listed, "empty.txt") || strings.Contains(listed, "essay.txt") || !strings.HasPrefix(tally, "1 of 2 ") || left != 0 {
		t.Errorf("listed %q, %q; %d once they were taken out", listed, tally, left)
	}
}

// TestHeaderOnOneRow: on a screen of 1280 pixels, the header of an administrator's pages is one row in each language, even with long
// names of the site and the account, and no navigation link is cut off.
func TestHeaderOnOneRow(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	ctx, _ := webtest.Browser(t, d.URL, 1280)
	if err := chromedp.Run(ctx, d.Enter(t, "ada", store.RoleAdministrator)); err != nil {
		t.Fatal(err)
	}
	for _, language := range []string{"en", "de", "zh"} {
		var rows, cut, wide int
		if err := chromedp.Run(ctx, network.SetCookie("language", language).WithURL(d.URL), chromedp.EmulateViewport(1280, 700),
			chromedp.Navigate(d.URL+"/libraries"), webtest.Loaded(),
			chromedp.Evaluate(`document.querySelector(".site a").lastChild.textContent = " Graduate School of the University of Northern Rivers";
				document.querySelector(".who .as").textContent = "Adalberta Administrator-Northumberland (administrator)"`, nil),
			chromedp.Evaluate(`(() => {
				const tops = [...document.querySelectorAll("body > header nav li")].map((e) => e.getBoundingClientRect().top);
				return Math.max(...tops) - Math.min(...tops) < 4 && document.querySelector("body > header").offsetHeight < 64 ? 1 : 2;
			})()`, &rows),
			chromedp.Evaluate(`[...document.querySelectorAll("body > header nav a")].filter((e) => e.scrollWidth > e.clientWidth).length`, &cut),
			chromedp.Evaluate(`document.documentElement.scrollWidth - innerWidth`, &wide),
			webtest.Shot(t, "header-"+language, 1280)); err != nil {
			t.Fatal(err)
		}
		if rows != 1 || cut > 0 || wide > 0 {
			t.Errorf("%s: %d rows, %d places cut, page %d too wide", language, rows, cut, wide)
		}
	}
}

// TestOneSubmissionInBrowser: files and a pasted text that form one submission are sent in one request, under one title, and the page of
// their check opens.
func TestOneSubmissionInBrowser(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	dir := t.TempDir()
	var files []string
	for _, f := range [][2]string{{"thesis.txt", webtest.Folios}, {"annex.txt", webtest.Folios + " More of it."}} {
		path := filepath.Join(dir, f[0])
		if err := os.WriteFile(path, []byte(f[1]), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	ctx, complaints := webtest.Browser(t, d.URL, 1200)
	var title string
	if err := chromedp.Run(ctx, d.Enter(t, "olga", store.RoleOfficer), chromedp.Navigate(d.URL+"/checks/new"),
		chromedp.WaitVisible("#file", chromedp.ByQuery), chromedp.SetUploadFiles("#file", files, chromedp.ByQuery),
		chromedp.WaitVisible(".files li:nth-child(2)", chromedp.ByQuery), chromium.Click("#together", chromedp.ByQuery),
		chromedp.SetValue("[name=title]", "Thesis with annex", chromedp.ByQuery),
		chromedp.SetValue("[name=text]", "A note that was pasted beside the files.", chromedp.ByQuery),
		chromium.Click("main form button:not([type])", chromedp.ByQuery),
		chromedp.WaitVisible("header.workbar h1", chromedp.ByQuery), webtest.ReadText("h1", &title)); err != nil {
		t.Fatal(err)
	}
	tasks, err := d.Store.Checks.Tasks(t.Context(), 0, 0)
	if err != nil || len(tasks) != 1 || title != "Thesis with annex" {
		t.Fatalf("%d checks, %v; the page is of %q", len(tasks), err, title)
	}
	f, err := d.Site.KeptFindings(t.Context(), tasks[0].ID)
	if err != nil || !strings.Contains(f.Submission.Text, "A note that was pasted") || !strings.Contains(f.Submission.Text, "More of it.") {
		t.Errorf("the submission lacks a part: %v", err)
	}
	if c := complaints(); len(c) > 0 {
		t.Error(c)
	}
}

// TestOfficersSeeEachOther: when another officer acts on a case, its reader sees who acted, the score, the verdict and the comments
// without reloading.
func TestOfficersSeeEachOther(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	bo := d.SignedIn(t, "bo", store.RoleOfficer)
	d.AddFinished(t, "one", "ada", webtest.Thesis(t, 20_000, 10, 5))
	ctx, complaints := webtest.Browser(t, d.URL, 1200)
	var before, after, told, remarks, verdict string
	if err := chromedp.Run(ctx, d.Enter(t, "ada", store.RoleOfficer), chromedp.Navigate(d.URL+"/checks/one"),
		chromedp.WaitVisible("#score", chromedp.ByQuery), webtest.ReadText("#score", &before)); err != nil {
		t.Fatal(err)
	}
	bo.Post("/checks/one/rules", http.StatusOK, url.Values{"action": {"set"}, "min_characters": {"700"}, "min_source_share": {"0"}})
	bo.Post("/checks/one/notes", http.StatusOK, url.Values{"kind": {"comment"}, "text": {"look at this"}})
	bo.Post("/checks/one/notes", http.StatusOK, url.Values{"kind": {"verdict"}, "verdict": {"discuss"}, "text": {"to be discussed"}})
	bo.Post("/checks/cases", http.StatusOK, url.Values{"check": {"one"}, "action": {"assign"}, "assignee": {"ada"}})
	// Each time, the notices appear first, followed by the parts of the page.
	if err := chromedp.Run(ctx, chromedp.WaitVisible(".toast:nth-child(4)", chromedp.ByQuery),
		webtest.ReadText(".toasts", &told),
		webtest.Until(`document.querySelector("#remarks .remark:nth-child(2)")`), webtest.Until(`document.querySelector("#decided").textContent.includes("ada")`),
		chromedp.Evaluate(`document.querySelector("#remarks").textContent`, &remarks),
		chromedp.Evaluate(`document.querySelector("#decided").textContent`, &verdict), webtest.ReadText("#score", &after)); err != nil {
		t.Fatalf("%v; told %q", err, told)
	}
	if after == before || !strings.Contains(told, after) || strings.Count(told, "Bo ") < 4 ||
		!strings.Contains(told, "assigned the check to ada") {
		t.Errorf("the score was %q and is %q; told %q", before, after, told)
	}
	if !strings.Contains(remarks, "look at this") || !strings.Contains(verdict, "ada") {
		t.Errorf("remarks %q, decided %q", remarks, verdict)
	}
	if c := complaints(); len(c) > 0 {
		t.Error(c)
	}
}

// TestMarksFollow: when another officer changes the rules, the marks in an open text are updated automatically, and the reader's place
// and focus are preserved; nothing is updated while a passage is open, words are selected or a form is being filled in.
func TestMarksFollow(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	bo := d.SignedIn(t, "bo", store.RoleOfficer)
	d.AddFinished(t, "one", "ada", webtest.Thesis(t, 60_000, 30, 5))
	ctx, complaints := webtest.Browser(t, d.URL, 1200)
	least := func(characters string) {
		bo.Post("/checks/one/rules", http.StatusOK, url.Values{"action": {"set"}, "min_characters": {characters}, "min_source_share": {"0"}})
	}
	type state struct {
		Marks  string  // classes and numbers of the marks on the page of the text
		Top    float64 // position of the paragraph with the focus, in pixels of the window
		Focus  string  // mark with the focus
		Least  string  // as in the form of the rules
		Offers int     // notices that offer to show the change
	}
	seen := func() (s state) {
		t.Helper()
		if err := chromedp.Run(ctx, chromedp.Evaluate(`({
			Marks: Array.from(document.querySelectorAll("#sheet-3 mark.m"), (m) => m.className + m.dataset.e).join(),
			Top: document.activeElement.closest("p")?.getBoundingClientRect().top ?? -1, Focus: document.activeElement.id,
			Least: document.querySelector("#min_characters").value, Offers: document.querySelectorAll(".toast a").length})`, &s)); err != nil {
			t.Fatal(err)
		}
		return s
	}
	do := func(actions ...chromedp.Action) {
		t.Helper()
		if err := chromedp.Run(ctx, actions...); err != nil {
			t.Fatal(err)
		}
	}
	wait := func(what string) {
		t.Helper()
		if err := chromedp.Run(ctx, webtest.Until(what)); err != nil {
			t.Fatalf("%v; it is %+v", err, seen())
		}
	}
	do(d.Enter(t, "ada", store.RoleOfficer), chromedp.Navigate(d.URL+"/checks/one?page=3"),
		chromedp.WaitVisible("#sheet-3 mark.m a[id]", chromedp.ByQuery))
	wait(`!document.querySelector("#sheet-2[data-empty]")`) // content inserted above no longer moves the text
	do(chromedp.Evaluate(`(() => { const last = Array.from(document.querySelectorAll("#sheet-3 mark.m a[id]")).pop();
		last.focus({preventScroll: true}); last.closest("p").scrollIntoView({block: "start", behavior: "instant"}); })()`, nil))
	before := seen()
	const followed = `document.querySelector(".toast") && !document.querySelector(".toast a")`
	least("700")
	wait(followed)
	after := seen()
	if after.Marks == before.Marks || after.Least != "700" {
		t.Errorf("the page is still %+v", after)
	}
	if math.Abs(after.Top-before.Top) > 2 || after.Focus != before.Focus || before.Focus == "" {
		t.Errorf("the reader was at %v in %q, and is at %v in %q", before.Top, before.Focus, after.Top, after.Focus)
	}

	// Each of these prevents updates of the page. The next notice, eight seconds later, shows this.
	for i, one := range []struct {
		name, begin, end string
	}{
		{"a passage is open", `document.activeElement.click()`, `document.querySelector(".dock .bar2 button:last-child").click()`},
		{"words are chosen", `getSelection().selectAllChildren(document.querySelector("#sheet-3 p"))`, `getSelection().removeAllRanges()`},
		{"a comment is written", `document.querySelector("#comment").value = "so far"`, `document.querySelector("#comment").value = ""`},
	} {
		do(chromedp.Evaluate(one.begin+`; undefined`, nil))
		if i == 0 {
			wait(`document.querySelector(".dock:not([hidden])")`)
		}
		was := seen()
		least([]string{"0", "700"}[i%2])
		wait(`document.querySelectorAll(".toast a").length >= 1`)
		bo.Post("/checks/one/notes", http.StatusOK, url.Values{"kind": {"comment"}, "text": {"a word on it"}})
		wait(`document.querySelectorAll(".toast a").length >= 2`)
		if now := seen(); now.Marks != was.Marks || now.Least != was.Least {
			t.Errorf("%s: the page was %+v, and is %+v", one.name, was, now)
		}
		do(chromedp.Evaluate(one.end+`; undefined`, nil))
		wait(followed)
		if now := seen(); now.Marks == was.Marks || now.Least == was.Least {
			t.Errorf("%s no more: the page is still %+v", one.name, now)
		}
	}

	// A comment begun while the text is being fetched is preserved.
	do(chromedp.Evaluate(`(() => {
		const unheld = window.fetch, comment = document.querySelector("#comment"), held = [];
		window.fetch = async (to) => {
			if (String(to).includes("/text/")) await new Promise((go) => held.push(go));
			return unheld(to);
		};
		window.underway = () => held.length > 0;
		window.release = () => { comment.value = "so far"; window.fetch = unheld; held.forEach((go) => go()); };
	})(); undefined`, nil))
	least("700")
	wait(`window.underway()`)
	do(chromedp.Evaluate(`window.release(); undefined`, nil))
	wait(`document.documentElement.style.overflowAnchor === ""`) // the page has stopped following changes
	var written string
	do(chromedp.Evaluate(`document.querySelector("#comment").value`, &written))
	if written != "so far" {
		t.Errorf("the comment that somebody writes is %q", written)
	}
	do(chromedp.Evaluate(`document.querySelector("#comment").value = ""; undefined`, nil))
	wait(followed)
	if c := complaints(); len(c) > 0 {
		t.Error(c)
	}
}
