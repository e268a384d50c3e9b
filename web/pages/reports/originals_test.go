package reports_test

import (
	"bytes"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"concordat"
	"concordat/internal/suite"
	"concordat/internal/webtest"
	"concordat/report"
	"concordat/site"
	"concordat/store"
	"concordat/web/pages/reports"
)

// TestOriginalPages: a passage of a PDF links to its page, where it is marked; files other than PDF, and other people's files, have no
// pages.
func TestOriginalPages(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	sue, eve := d.SignedIn(t, "sue", store.RoleSubmitter), d.SignedIn(t, "eve", store.RoleSubmitter)
	sue.Upload(http.StatusOK, nil, "essay.pdf", webtest.Paged)
	sue.Upload(http.StatusOK, nil, "essay.txt", webtest.Folios)
	tasks := d.Await(t)
	essay, text := "/checks/"+string(tasks["essay.pdf"]), "/checks/"+string(tasks["essay.txt"])
	link := essay + "/pages?passage=1"
	if page := sue.Get(essay+"/passages/1", http.StatusOK); !strings.Contains(page, link) {
		t.Errorf("the report has no link %s", link)
	}
	page := sue.Get(link, http.StatusOK) // through the page that was found
	sue.Wants(page, "Page 2 of 3",
		`<a class="m k-verbatim so so1" data-e="1" href="`+essay+`/passages/1" id="m1" aria-label="1 = A: Passage 1`,
		`src="`+essay+`/pages/2.png"`, `alt="Picture of page 2. Its text is in the report."`, `loading="lazy"`,
		`aria-current="page">As laid out`)
	if at := sue.Get(essay, http.StatusOK); !strings.Contains(at, `<a href="`+essay+`/pages">As laid out</a>`) {
		t.Error("the report does not lead to its pages")
	}
	if picture := sue.Get(essay+"/pages/2.png", http.StatusOK); !strings.HasPrefix(picture, "\x89PNG") {
		t.Errorf("the picture is %q", picture[:min(len(picture), 20)])
	}
	if first := sue.Get(essay+"/pages/1", http.StatusOK); !strings.Contains(first, `id="page-1"`) {
		t.Error("the address of a page does not lead to it")
	}
	for _, path := range []string{essay + "/pages/0", essay + "/pages?page=2", essay + "/pages/4.png", essay + "/pages/x",
		essay + "/pages?file=2",
		essay + "/pages?passage=9", text + "/pages", text + "/pages/1.png", text + "/pages?passage=1"} {
		sue.Get(path, http.StatusNotFound)
	}
	for _, path := range []string{link, essay + "/pages", essay + "/pages/2", essay + "/pages/2.png"} {
		eve.Get(path, http.StatusNotFound)
		d.Visitor(t).Get(path, http.StatusOK) // the sign-in page
	}
	if strings.Contains(sue.Get(text+"/passages/1", http.StatusOK)+sue.Get(text, http.StatusOK), text+"/pages") {
		t.Error("a text has a link to its pages")
	}
	if audit := d.Audited(t); !strings.Contains(audit, "original_read") {
		t.Errorf("nobody noted who looked at the original: %s", audit)
	}
}

// TestFlagsOnPages: on the pages as laid out, the places of flags are framed, labelled with the flags' names and linked to the list of
// flags, as in the text. Places that no page shows are listed by kind.
func TestFlagsOnPages(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	sue := d.SignedIn(t, "sue", store.RoleSubmitter)
	sue.Upload(http.StatusOK, nil, "essay.flagged.pdf", strings.Repeat("%PDF-1.7 a page.\f", 6)+webtest.Paged)
	essay := "/checks/" + string(d.Await(t)["essay.flagged.pdf"])
	page := sue.Get(essay+"/pages?page=2", http.StatusOK)
	sue.Wants(page, `<g class="flagged raised"><title>replaced letters</title><g id="f1"><path class="box" d="M`,
		`<a class="fs" href="#flag-look_alike" aria-label="Flag: replaced letters"><text `, `href="`+essay+`/pages?page=2#f2"`,
		`<title>white text</title>`, "Flagged places that are not marked on the pages", `<a href="#flag-hidden_text">Hidden text</a>: 1`,
		`href="`+essay+`?page=1#f4"`)
	if n := strings.Count(page, `href="#flag-look_alike"`); n != 1 {
		t.Errorf("%d signs of replaced letters; places near to each other share one", n)
	}
	if first := sue.Get(essay+"/pages", http.StatusOK); strings.Contains(first, `class="flagged`) {
		t.Error("a page without flags has frames")
	}
}

// TestNoOffice: without LibreOffice, the view of a DOCX or ODT states what is missing in one sentence and has no other link.
func TestNoOffice(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	sue := d.SignedIn(t, "sue", store.RoleSubmitter)
	sue.Upload(http.StatusOK, nil, "essay.odt", webtest.Folios)
	essay := "/checks/" + string(d.Await(t)["essay.odt"])
	sue.Wants(sue.Get(essay, http.StatusOK), `<a href="`+essay+`/pages">As laid out</a>`)
	page := sue.Get(essay+"/pages", http.StatusOK)
	sue.Wants(page, "ask an administrator to install LibreOffice", "What was compared")
	if strings.Contains(page, "<figure") || strings.Contains(sue.Get(essay+"/passages/1", http.StatusOK), "/pages?") {
		t.Error("pages are shown, or a passage leads to them")
	}
	sue.Get(essay+"/pages/1.png", http.StatusNotFound)
	if audit := d.Audited(t); strings.Contains(audit, "original_read") {
		t.Errorf("without a page nobody reads an original: %s", audit)
	}
}

// TestPagesOfSeveral: a passage of a file without pages links to itself; if a section template divides the text, the pages state that
// their passages are unknown.
func TestPagesOfSeveral(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	sue := d.SignedIn(t, "sue", store.RoleSubmitter)
	fields := url.Values{"together": {"yes"}, "title": {"By files"}, "text": {"Annexes\n\n" + webtest.Folios}}
	sue.Upload(http.StatusOK, fields, "essay.pdf", "%PDF-1.7 a page on which nothing stands that anybody else has said before.")
	fields["template"], fields["title"] = []string{"thesis"}, []string{"By a template"}
	sue.Upload(http.StatusOK, fields, "essay.pdf", webtest.Paged)
	tasks := d.Await(t)
	own := "/checks/" + string(tasks["By files"])
	page := sue.Get(own+"/pages", http.StatusOK)
	if !strings.Contains(page, `href="`+own+`/passages/1"`) || strings.Contains(page, "pages?passage=1") {
		t.Error("a passage of the pasted text leads to pages that it has not")
	}
	page = sue.Get("/checks/"+string(tasks["By a template"])+"/pages", http.StatusOK)
	sue.Wants(page, "<figure", "Passages that could not be placed on the pages: 2", "by a section template")
}

// TestOriginalOf: a passage belongs to the file under whose name it appears, whatever precedes that name, such as members of an archive
// or a file of the same name. A section found by a template is not a file.
func TestOriginalOf(t *testing.T) {
	t.Parallel()
	text, sections := "", []report.SectionScore(nil)
	for _, part := range [][2]string{{"all.zip/one.txt", "one"}, {"all.zip/two.txt", "two"}, {"b.pdf", "first"}, {"c.txt", "third"},
		{"b.pdf", "second"}, {"aims", ""}} {
		begin := len(text)
		if part[1] == "" {
			text += "What we aim at."
		} else {
			text += part[0] + "\n\n" + part[1] + "\n\n"
		}
		at := concordat.Section{Name: part[0], Span: concordat.Span{Start: begin, End: len(text)}}
		sections = append(sections, report.SectionScore{Section: at})
	}
	rep := &report.Report{Sections: sections}
	rep.Submission.Text = text
	parts := []site.Part{{Name: "all.zip", File: "z"}, {Name: "b.pdf", File: "b1"}, {Name: "c.txt"}, {Name: "b.pdf", File: "b2"},
		{Name: "aims", File: "a"}}
	for words, want := range map[string]string{"one": "", "two": "", "first": "b1", "third": "", "second": "b2", "aim at": ""} {
		at := strings.Index(text, words)
		i, own, ok := reports.OriginalOf(parts, rep, concordat.Span{Start: at, End: at + len(words)})
		file := ""
		if ok {
			file = parts[i].File
		}
		if file != want || ok != (want != "") || ok && strings.TrimSpace(own.In(text)) != words {
			t.Errorf("%q is of %q (%v), %q of it, want %q", words, file, ok, own.In(text), want)
		}
	}
	if i, own, ok := reports.OriginalOf(parts[1:2], rep, concordat.Span{}); i != 0 || !ok || own.Len() != len(text) {
		t.Errorf("one file: %d, %v, %v", i, own, ok)
	}
}

// TestAPIPages: a program gets the page, its image and the marks in one answer.
func TestAPIPages(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	sue := d.SignedIn(t, "sue", store.RoleSubmitter)
	sue.Upload(http.StatusOK, nil, "essay.pdf", webtest.Paged)
	base := "/api/v1/checks/" + string(d.Await(t)["essay.pdf"]) + "/pages/"
	p := sue.Program("read")
	var got struct {
		Page, Pages, Begins int
		Sure                bool
		Marks               []reports.Mark
		Image               []byte
	}
	p.Call("GET", base+"0?passage=1", http.StatusOK, &got)
	if got.Page != 2 || got.Pages != 3 || got.Begins != 2 || !got.Sure || len(got.Marks) != 2 ||
		!bytes.HasPrefix(got.Image, []byte("\x89PNG")) {
		t.Errorf("got page %d of %d, begins %d, sure %v, marks %v, %d bytes", got.Page, got.Pages, got.Begins, got.Sure, got.Marks,
			len(got.Image))
	}
	p.Call("GET", base+"9", http.StatusNotFound, nil)
	p.Call("GET", base+"1?passage=7", http.StatusNotFound, nil)
	d.SignedIn(t, "eve", store.RoleSubmitter).Program("read").Call("GET", base+"1", http.StatusNotFound, nil)
	sue.Program("check").Call("GET", base+"1", http.StatusForbidden, nil)
}

// TestLayoutInBrowser: the pages fit a phone and load nothing from other servers. A mark opens its passage next to the pages, and keys
// move from mark to mark.
func TestLayoutInBrowser(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	sue := d.SignedIn(t, "sue", store.RoleSubmitter)
	sue.Upload(http.StatusOK, nil, "essay.pdf", strings.Repeat(webtest.Paged+"\f", 5)) // fills three web pages
	essay := d.URL + "/checks/" + string(d.Await(t)["essay.pdf"]) + "/pages"
	for _, width := range []int{1200, 390}[:suite.Rounds(1, 2)] {
		ctx, complaints := webtest.Browser(t, d.URL, width)
		var overflow bool
		var drawn, marks, leaves int
		var opened, at, focus string
		err := chromedp.Run(ctx, sue.Cookies(d.URL), chromedp.Navigate(essay), chromedp.WaitVisible(".marks a", chromedp.ByQuery),
			chromedp.Evaluate(`document.documentElement.scrollWidth > document.documentElement.clientWidth`, &overflow),
			chromedp.Evaluate(`Math.round(document.querySelector(".leaf img").getBoundingClientRect().width)`, &drawn),
			chromedp.Evaluate(`document.querySelectorAll("#sheet-1 .marks a").length`, &marks),
			webtest.Shot(t, "layout", width),
			chromedp.Evaluate(`void document.querySelector("#m1 .area").dispatchEvent(new MouseEvent("click", {bubbles: true, cancelable: true}))`,
				nil),
			chromedp.WaitVisible(".dock [data-passage='1']", chromedp.ByQuery),
			chromedp.Text(".dock .bar2 span", &opened, chromedp.ByQuery),
			chromedp.Evaluate(`location.pathname`, &at),
			chromedp.Poll(`document.activeElement.id === "m1"`, nil),
			chromedp.Evaluate(`document.activeElement.id`, &focus),
			chromedp.Evaluate(`document.querySelector("#sheet-2").scrollIntoView()`, nil),
			chromedp.Poll(`document.querySelectorAll(".leaf").length > 6`, nil),
			chromedp.Evaluate(`document.querySelectorAll(".leaf").length`, &leaves),
			webtest.Shot(t, "layout-open", width))
		if err != nil {
			t.Fatal(err)
		}
		if overflow || drawn < 200 || marks < 1 || !strings.Contains(opened, "1") || !strings.HasSuffix(at, "/pages") || leaves <= 6 {
			t.Errorf("%d pixels: overflow %v, picture %d wide, %d marks, opened %q at %s, %d leaves, focus %s", width, overflow, drawn, marks,
				opened, at, leaves, focus)
		}
		for _, c := range complaints() {
			t.Errorf("%d: %s", width, c)
		}
	}
}
