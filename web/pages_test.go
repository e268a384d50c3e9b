package web_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"concordat"
	"concordat/internal/suite"
	"concordat/report"
	"concordat/site"
	"concordat/store"
	"concordat/web"
)

// plainOriginals accepts files that begin like a PDF and whose pages are separated by form feeds. A letter is a point
// wide, a page a hundred points.
type plainOriginals struct{ files *store.Files }

func (o plainOriginals) read(file string) []string {
	path, err := o.files.Path(file)
	if err != nil {
		return nil
	}
	b, err := os.ReadFile(path)
	if err != nil || !bytes.HasPrefix(b, []byte("%PDF-")) {
		return nil
	}
	return strings.Split(string(b), "\f")
}

func (o plainOriginals) Paged(_ context.Context, file site.Part) web.Pages {
	switch {
	case o.read(file.File) != nil:
		return web.PagesShown
	case strings.HasSuffix(file.Name, ".odt"):
		return web.PagesNoOffice
	}
	return web.PagesNone
}

func (o plainOriginals) Find(_ context.Context, file site.Part, text string, span concordat.Span, n int) (web.Found, error) {
	for i, p := range o.read(file.File) {
		if at := strings.Index(p, strings.TrimSpace(span.In(text))); at >= 0 {
			f := web.Found{Page: i + 1, Sure: true}
			if n == i+1 {
				f.Marks = []web.Mark{{X: float64(at % 100), Y: 10, Width: 20, Height: 5}, {X: 1, Y: 16, Width: 90, Height: 5}}
			}
			return f, nil
		}
	}
	return web.Found{}, nil
}

func (o plainOriginals) Page(_ context.Context, file site.Part, n int) (*web.OriginalPage, error) {
	pages := o.read(file.File)
	if n < 1 || n > len(pages) {
		return nil, fmt.Errorf("page %d: %w", n, concordat.ErrNotFound)
	}
	paper := image.NewGray(image.Rect(0, 0, 100, 100))
	for i := range paper.Pix {
		if y := i / paper.Stride; y%6 >= 2 || y < 9 || y > 90 {
			paper.Pix[i] = 0xff
		}
	}
	var b bytes.Buffer
	err := png.Encode(&b, paper)
	return &web.OriginalPage{Number: n, Pages: len(pages), Width: 100, Height: 100, PNG: b.Bytes()}, err
}

func (o plainOriginals) Layout(_ context.Context, file site.Part, text string, spans []concordat.Span, from, n int) (*web.Layout, error) {
	pages := o.read(file.File)
	if from < 1 || from > len(pages) {
		return nil, fmt.Errorf("page %d: %w", from, concordat.ErrNotFound)
	}
	l := &web.Layout{Pages: len(pages), Begins: make([]int, len(spans))}
	for i := from; i < from+n && i <= len(pages); i++ {
		l.Shown = append(l.Shown, web.LaidOut{Number: i, Width: 100, Height: 100})
	}
	for i, s := range spans {
		for k, p := range pages {
			if at := strings.Index(p, strings.TrimSpace(s.In(text))); at >= 0 && s.Len() > 0 {
				l.Begins[i] = k + 1
				if k+1 >= from && k+1-from < len(l.Shown) {
					shown := &l.Shown[k+1-from]
					shown.Marks = append(shown.Marks, web.LaidOutMark{Span: i, Begins: true,
						Boxes: []web.Mark{{X: float64(at%50) + 40, Y: 10, Width: 20, Height: 5}, {X: 1, Y: 16, Width: 90, Height: 5}}})
				}
				break
			}
		}
	}
	return l, nil
}

const paged = "%PDF-1.7 a first page on which nothing stands that anybody else has said before.\f" + folios + "\fA last page."

// TestOriginalPages: a passage of a PDF links to its page, where it is marked; files other than PDF, and other people's files, have no
// pages.
func TestOriginalPages(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, false)
	sue, eve := d.signedIn(t, "sue", store.RoleSubmitter), d.signedIn(t, "eve", store.RoleSubmitter)
	sue.upload(http.StatusOK, nil, "essay.pdf", paged)
	sue.upload(http.StatusOK, nil, "essay.txt", folios)
	tasks := d.await(t)
	essay, text := "/checks/"+string(tasks["essay.pdf"]), "/checks/"+string(tasks["essay.txt"])
	link := essay + "/pages?passage=1"
	if page := sue.get(essay+"/passages/1", http.StatusOK); !strings.Contains(page, link) {
		t.Errorf("the report has no link %s", link)
	}
	page := sue.get(link, http.StatusOK) // through the page that was found
	sue.wants(page, "Page 2 of 3", `<a class="m k-verbatim so so1" data-e="1" href="`+essay+`/passages/1" id="m1" aria-label="1 = A: Passage 1`,
		`src="`+essay+`/pages/2.png"`, `alt="Picture of page 2. Its text is in the report."`, `loading="lazy"`,
		`aria-current="page">As laid out`)
	if at := sue.get(essay, http.StatusOK); !strings.Contains(at, `<a href="`+essay+`/pages">As laid out</a>`) {
		t.Error("the report does not lead to its pages")
	}
	if picture := sue.get(essay+"/pages/2.png", http.StatusOK); !strings.HasPrefix(picture, "\x89PNG") {
		t.Errorf("the picture is %q", picture[:min(len(picture), 20)])
	}
	if first := sue.get(essay+"/pages/1", http.StatusOK); !strings.Contains(first, `id="page-1"`) {
		t.Error("the address of a page does not lead to it")
	}
	for _, path := range []string{essay + "/pages/0", essay + "/pages?page=2", essay + "/pages/4.png", essay + "/pages/x",
		essay + "/pages?file=2",
		essay + "/pages?passage=9", text + "/pages", text + "/pages/1.png", text + "/pages?passage=1"} {
		sue.get(path, http.StatusNotFound)
	}
	for _, path := range []string{link, essay + "/pages", essay + "/pages/2", essay + "/pages/2.png"} {
		eve.get(path, http.StatusNotFound)
		d.person(t).get(path, http.StatusOK) // the sign-in page
	}
	if strings.Contains(sue.get(text+"/passages/1", http.StatusOK)+sue.get(text, http.StatusOK), text+"/pages") {
		t.Error("a text has a link to its pages")
	}
	if audit := d.audited(t); !strings.Contains(audit, "original_read") {
		t.Errorf("nobody noted who looked at the original: %s", audit)
	}
}

// TestNoOffice: without LibreOffice the view of a DOCX or ODT says in one sentence what is missing, and has no other link.
func TestNoOffice(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, false)
	sue := d.signedIn(t, "sue", store.RoleSubmitter)
	sue.upload(http.StatusOK, nil, "essay.odt", folios)
	essay := "/checks/" + string(d.await(t)["essay.odt"])
	sue.wants(sue.get(essay, http.StatusOK), `<a href="`+essay+`/pages">As laid out</a>`)
	page := sue.get(essay+"/pages", http.StatusOK)
	sue.wants(page, "ask an administrator to install LibreOffice", "What was compared")
	if strings.Contains(page, "<figure") || strings.Contains(sue.get(essay+"/passages/1", http.StatusOK), "/pages?") {
		t.Error("pages are shown, or a passage leads to them")
	}
	sue.get(essay+"/pages/1.png", http.StatusNotFound)
	if audit := d.audited(t); strings.Contains(audit, "original_read") {
		t.Errorf("without a page nobody reads an original: %s", audit)
	}
}

// TestPagesOfSeveral: a passage of a file without pages links to itself; if a section template divides the text, the pages say that
// it is not known which passages are theirs.
func TestPagesOfSeveral(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, false)
	sue := d.signedIn(t, "sue", store.RoleSubmitter)
	fields := url.Values{"together": {"yes"}, "title": {"By files"}, "text": {"Annexes\n\n" + folios}}
	sue.upload(http.StatusOK, fields, "essay.pdf", "%PDF-1.7 a page on which nothing stands that anybody else has said before.")
	fields["template"], fields["title"] = []string{"thesis"}, []string{"By a template"}
	sue.upload(http.StatusOK, fields, "essay.pdf", paged)
	tasks := d.await(t)
	own := "/checks/" + string(tasks["By files"])
	page := sue.get(own+"/pages", http.StatusOK)
	if !strings.Contains(page, `href="`+own+`/passages/1"`) || strings.Contains(page, "pages?passage=1") {
		t.Error("a passage of the pasted text leads to pages that it has not")
	}
	page = sue.get("/checks/"+string(tasks["By a template"])+"/pages", http.StatusOK)
	sue.wants(page, "<figure", "Passages that could not be placed on the pages: 2", "by a section template")
}

// TestOriginalOf: a passage belongs to the file under whose name it appears, whatever precedes that name: members of an archive,
// or a file of the same name. What a template calls a section is not a file.
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
		i, own, ok := web.OriginalOf(parts, rep, concordat.Span{Start: at, End: at + len(words)})
		file := ""
		if ok {
			file = parts[i].File
		}
		if file != want || ok != (want != "") || ok && strings.TrimSpace(own.In(text)) != words {
			t.Errorf("%q is of %q (%v), %q of it, want %q", words, file, ok, own.In(text), want)
		}
	}
	if i, own, ok := web.OriginalOf(parts[1:2], rep, concordat.Span{}); i != 0 || !ok || own.Len() != len(text) {
		t.Errorf("one file: %d, %v, %v", i, own, ok)
	}
}

// A program gets the page, the picture and the marks in one answer.
func TestAPIPages(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, false)
	sue := d.signedIn(t, "sue", store.RoleSubmitter)
	sue.upload(http.StatusOK, nil, "essay.pdf", paged)
	base := "/api/v1/checks/" + string(d.await(t)["essay.pdf"]) + "/pages/"
	p := sue.program("read")
	var got struct {
		Page, Pages, Begins int
		Sure                bool
		Marks               []web.Mark
		Image               []byte
	}
	p.call("GET", base+"0?passage=1", http.StatusOK, &got)
	if got.Page != 2 || got.Pages != 3 || got.Begins != 2 || !got.Sure || len(got.Marks) != 2 ||
		!bytes.HasPrefix(got.Image, []byte("\x89PNG")) {
		t.Errorf("got page %d of %d, begins %d, sure %v, marks %v, %d bytes", got.Page, got.Pages, got.Begins, got.Sure, got.Marks,
			len(got.Image))
	}
	p.call("GET", base+"9", http.StatusNotFound, nil)
	p.call("GET", base+"1?passage=7", http.StatusNotFound, nil)
	d.signedIn(t, "eve", store.RoleSubmitter).program("read").call("GET", base+"1", http.StatusNotFound, nil)
	sue.program("check").call("GET", base+"1", http.StatusForbidden, nil)
}

// audited returns the actions in the audit.
func (d *testSite) audited(t *testing.T) string {
	t.Helper()
	var out []string
	lines, err := d.store.Audit.Audit(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range lines {
		out = append(out, l.Action)
	}
	return strings.Join(out, " ")
}

// cookies gives a browser the session of the person.
func (p *person) cookies(base string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		u, err := url.Parse(base)
		if err != nil {
			return err
		}
		for _, c := range p.Jar.Cookies(u) {
			if err := network.SetCookie(c.Name, c.Value).WithURL(base).Do(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// TestLayoutInBrowser: the pages fit a telephone and load nothing from elsewhere. A mark opens its passage beside them, and keys
// move from mark to mark.
func TestLayoutInBrowser(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, false)
	sue := d.signedIn(t, "sue", store.RoleSubmitter)
	sue.upload(http.StatusOK, nil, "essay.pdf", strings.Repeat(paged+"\f", 5)) // three runs of pages
	essay := d.URL + "/checks/" + string(d.await(t)["essay.pdf"]) + "/pages"
	for _, width := range []int{1200, 390}[:suite.Rounds(1, 2)] {
		ctx, complaints := browser(t, d.URL, width)
		var overflow bool
		var drawn, marks, leaves int
		var opened, at, focus string
		err := chromedp.Run(ctx, sue.cookies(d.URL), chromedp.Navigate(essay), chromedp.WaitVisible(".marks a", chromedp.ByQuery),
			chromedp.Evaluate(`document.documentElement.scrollWidth > document.documentElement.clientWidth`, &overflow),
			chromedp.Evaluate(`Math.round(document.querySelector(".leaf img").getBoundingClientRect().width)`, &drawn),
			chromedp.Evaluate(`document.querySelectorAll("#sheet-1 .marks a").length`, &marks),
			shot(t, "layout", width),
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
			shot(t, "layout-open", width))
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
