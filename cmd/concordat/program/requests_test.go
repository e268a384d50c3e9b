package program

import (
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"concordat"
	"concordat/cmd/cli"
	"concordat/daemon"
)

// officer is an officer who uses a site's pages without JavaScript.
type officer struct {
	t *testing.T
	*http.Client
	base string
}

// officer creates the first account of a site.
func (s *served) officer(name string) *officer {
	s.t.Helper()
	a := &app{cli.Site{Data: s.dir, Terminal: cli.Terminal{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: io.Discard}}}
	d, err := daemon.New(s.o, daemon.Options{Sign: a.Signatures(), Tell: a.Warn}).OpenWebApp()
	if err != nil {
		s.t.Fatal(err)
	}
	link, err := d.Pages.Accounts.FirstLink(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	server := httptest.NewServer(d.Pages)
	s.t.Cleanup(func() {
		server.Close()
		if err := d.Close(); err != nil {
			s.t.Error(err)
		}
	})
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.t.Fatal(err)
	}
	o := &officer{s.t, &http.Client{Jar: jar}, server.URL}
	o.post("/first", url.Values{"key": {strings.TrimPrefix(link, "/first?key=")}, "name": {name}, "title": {name},
		"password": {"a good long secret"}, "again": {"a good long secret"}})
	return o
}

func (o *officer) read(r *http.Response, err error) string {
	o.t.Helper()
	if err != nil {
		o.t.Fatal(err)
	}
	defer func() { _ = r.Body.Close() }() // the body was only read
	b, err := io.ReadAll(r.Body)
	if err != nil {
		o.t.Fatal(err)
	}
	if r.StatusCode != http.StatusOK {
		o.t.Fatalf("%s: %s\n%s", r.Request.URL.Path, r.Status, b)
	}
	return html.UnescapeString(string(b))
}

func (o *officer) get(path string) string { o.t.Helper(); return o.read(o.Get(o.base + path)) }

func (o *officer) post(path string, f url.Values) string {
	o.t.Helper()
	return o.read(o.PostForm(o.base+path, f))
}

// testRequestsByPages: an officer of the south requests a passage from the north, an officer of the north approves, and the words appear
// in the south's report, all through the pages.
func testRequestsByPages(t *testing.T, north, south *served, task string) {
	nora, sol := north.officer("nora"), south.officer("sol")
	page := sol.get("/checks/" + task + "/passages/1")
	if !strings.Contains(page, "Ask the partner for the wording") || strings.Contains(page, ">Waiting<") {
		t.Fatalf("nothing to ask for in\n%s", page)
	}
	f, err := south.o.Site.Findings(t.Context(), concordat.TaskID(task))
	if err != nil {
		t.Fatal(err)
	}
	span := f.Passages[0].Span
	page = sol.post("/checks/"+task+"/ask", url.Values{"action": {"ask"}, "number": {"1"}, "start": {strconv.Itoa(span.Start)},
		"end":   {strconv.Itoa(span.End)},
		"level": {"passage"}, "reason": {"a case by the pages"}, "contact": {"sol@south"}})
	if !strings.Contains(page, ">Waiting<") {
		t.Fatalf("not waiting:\n%s", page)
	}
	list := nora.get("/requests?state=pending")
	link := regexp.MustCompile(`href="(/requests/[^"]+)"`).FindStringSubmatch(list)
	if link == nil || !strings.Contains(list, "a case by the pages") {
		t.Fatalf("as the owner sees it:\n%s", list)
	}
	request := nora.get(link[1])
	if !strings.Contains(request, "ice core from the Vostok plateau") || !strings.Contains(request, "sol@south") ||
		!strings.Contains(request, "theses") {
		t.Errorf("the request:\n%s", request)
	}
	if page := nora.post(link[1], url.Values{"action": {"approve"}, "words": {"for this case"}}); !strings.Contains(page, ">Granted<") {
		t.Errorf("approved:\n%s", page)
	}
	south.until("the passage", func() bool {
		if err := south.p.DeliverNotices(t.Context()); err != nil {
			t.Fatal(err)
		}
		return !strings.Contains(sol.get("/checks/"+task+"/passages/1"), ">Waiting<")
	})
	page = sol.get("/checks/" + task + "/passages/1")
	_, source, _ := strings.Cut(page, ">Source<")
	if !strings.Contains(source, "Bakers of the lower town petitioned") || !strings.Contains(page, "for this case") {
		t.Errorf("what was granted:\n%s", page)
	}
	if list := sol.get("/requests"); !strings.Contains(list, ">Granted<") || !strings.Contains(list, "/checks/"+task) {
		t.Errorf("as who asked sees it:\n%s", list)
	}
}
