package web_test

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/webtest"
	"concordat/site"
	"concordat/store"
	"concordat/web"
)

func TestMain(m *testing.M) { webtest.Main(m) }

// TestCheck submits files and a text, and reads the results.
func TestCheck(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	p := d.SignedIn(t, "ada", store.RoleOfficer)
	p.Upload(http.StatusBadRequest, nil)
	p.Upload(http.StatusBadRequest, url.Values{"template": {"none such"}}, "a.txt", "text")
	page := p.Upload(http.StatusOK, url.Values{"library": {"theses"}, "template": {"thesis"}},
		"essay.txt", webtest.Folios, "../../<script>alert(1)</script>.txt",
		"Nothing of this is known anywhere, I think; it was written for a test of names.", "broken.bad", "x")
	if strings.Contains(page, "<script>alert") {
		t.Error("a file name became markup")
	}
	p.Upload(http.StatusOK, url.Values{"text": {webtest.Folios}, "title": {"Pasted <b>essay</b>"}})
	p.Upload(http.StatusBadRequest, nil, "large.txt", strings.Repeat("x", 1<<20+1))
	ids := d.Await(t)
	for title, want := range map[string]string{
		"essay.txt":           "100% of the compared text",
		"Pasted <b>essay</b>": "100% of the compared text",
		"broken.bad":          "damaged: the file ends in the middle",
		"script>.txt":         "",
	} {
		id, ok := ids[title]
		if !ok {
			t.Fatalf("no check of %q in %v", title, ids)
		}
		page := p.Get("/checks/"+string(id), http.StatusOK)
		if !strings.Contains(page, want) || strings.Contains(page, "<b>essay") {
			t.Errorf("%s: want %q in\n%s", title, want, page)
		}
	}
	id := "/checks/" + string(ids["essay.txt"])
	if page := p.Get(id+"/report", http.StatusOK); !strings.Contains(page, "On folios") {
		t.Error("the report does not name its source")
	}
	if page := p.Get(id+"/report?format=json", http.StatusOK); !strings.Contains(page, `"document": "folios.txt"`) {
		t.Error("the JSON does not name its source")
	}
	d.Unsignable.Store(true)
	p.Get(id+"/report?format=json", http.StatusInternalServerError)
	d.Unsignable.Store(false)
	p.Get(id+"/report?format=csv", http.StatusOK)
	p.Get("/checks/"+string(ids["broken.bad"])+"/report", http.StatusNotFound)
	if events := p.Get(id+"/events", http.StatusOK); !strings.Contains(events, `"finally":true`) {
		t.Errorf("events of a check that has ended: %s", events)
	}
	audit, err := d.Store.Audit.Audit(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for _, line := range audit {
		counts[line.Action]++
	}
	if counts["check_submitted"] != 4 || counts["report_read"] < 4 {
		t.Errorf("audit has %v", counts)
	}
}

// TestQueueIsExplained shows the position of a waiting check, and cancels the check.
func TestQueueIsExplained(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	p := d.SignedIn(t, "ada", store.RoleOfficer)
	p.Upload(http.StatusOK, nil, "one.txt", "one", "two.txt", "two")
	tasks, err := d.Store.Checks.Tasks(t.Context(), 0, 0)
	if err != nil || len(tasks) != 2 {
		t.Fatal(tasks, err)
	}
	last := "/checks/" + string(tasks[0].ID)
	if page := p.Get(last, http.StatusOK); !strings.Contains(page, "Number 2 in the queue; checks now running: 0.") {
		t.Errorf("no position in\n%s", page)
	}
	if page := p.Post(last+"/cancel", http.StatusOK, nil); !strings.Contains(page, "Cancelled by ada") {
		t.Errorf("not cancelled:\n%s", page)
	}
	p.Jar = nil // view the sign-in page in Chinese
	r := p.Request(http.MethodGet, "/login", nil)
	r.Header.Set("Accept-Language", "zh-CN,zh;q=0.9,en;q=0.8")
	if page := p.Send(r, http.StatusOK); !strings.Contains(page, `lang="zh-Hans"`) || !strings.Contains(page, "密码") {
		t.Errorf("not in Chinese:\n%s", page)
	}
}

// TestEvents follows a check as it proceeds.
func TestEvents(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	p := d.SignedIn(t, "ada", store.RoleOfficer)
	p.Upload(http.StatusOK, nil, "one.txt", webtest.Folios)
	tasks, err := d.Store.Checks.Tasks(t.Context(), 0, 0)
	if err != nil || len(tasks) != 1 {
		t.Fatal(tasks, err)
	}
	resp, err := p.Do(p.Request(http.MethodGet, "/checks/"+string(tasks[0].ID)+"/events", nil))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Errorf("content type %s", got)
	}
	b := make([]byte, 4096)
	n, err := resp.Body.Read(b)
	if err != nil || !strings.Contains(string(b[:n]), "Number 1 in the queue") {
		t.Fatalf("first event %q, %v", b[:n], err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Queue.Run(ctx) }()
	rest, err := io.ReadAll(resp.Body) // ends with the check
	if err != nil || !strings.Contains(string(rest), `"finally":true`) {
		t.Errorf("events %q, %v", rest, err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestAccess tries every route as every role, and as a submitter who requests another person's report.
func TestAccess(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	officer := d.SignedIn(t, "olga", store.RoleOfficer)
	officer.Upload(http.StatusOK, nil, "one.txt", "one")
	tasks, err := d.Store.Checks.Tasks(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	id := string(tasks[0].ID)
	people := map[string]*webtest.Person{
		"nobody": d.Visitor(t), "administrator": d.SignedIn(t, "adam", store.RoleAdministrator), "officer": officer,
		"submitter": d.SignedIn(t, "sue", store.RoleSubmitter), "auditor": d.SignedIn(t, "axel", store.RoleAuditor),
	}
	for _, p := range people {
		p.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	}
	const ok, see, no, absent, bad = http.StatusOK, http.StatusSeeOther, http.StatusForbidden, http.StatusNotFound, http.StatusBadRequest
	order := []string{"nobody", "administrator", "officer", "submitter", "auditor"}
	for _, c := range []struct {
		method, path string
		want         [5]int
	}{
		{"GET", "/", [5]int{see, see, see, see, see}},
		{"GET", "/login", [5]int{ok, ok, ok, ok, ok}},
		{"GET", "/static/style.css", [5]int{ok, ok, ok, ok, ok}},
		{"GET", "/static/../web.go", [5]int{absent, absent, absent, absent, absent}},
		{"GET", "/first", [5]int{absent, absent, absent, absent, absent}},
		{"GET", "/checks", [5]int{see, ok, ok, ok, ok}},
		{"GET", "/checks/new", [5]int{see, ok, ok, ok, no}},
		{"POST", "/checks", [5]int{no, bad, bad, bad, no}},
		{"GET", "/checks/" + id, [5]int{see, ok, ok, absent, ok}},
		{"GET", "/checks/none", [5]int{see, absent, absent, absent, absent}},
		{"GET", "/checks/" + id + "/report", [5]int{see, absent, absent, absent, absent}}, // the check is not finished yet
		{"POST", "/checks/" + id + "/rules", [5]int{no, bad, bad, no, no}},
		{"POST", "/checks/" + id + "/notes", [5]int{no, bad, bad, no, no}},
		{"GET", "/libraries", [5]int{see, ok, ok, ok, ok}},
		{"GET", "/people", [5]int{see, ok, no, no, no}},
		{"POST", "/people", [5]int{no, bad, no, no, no}},
		{"POST", "/people/sue", [5]int{no, bad, no, no, no}},
		{"GET", "/join", [5]int{absent, absent, absent, absent, absent}},
		{"GET", "/nonsense", [5]int{see, absent, absent, absent, absent}},
		{"POST", "/checks/" + id + "/cancel", [5]int{no, see, see, absent, no}},
	} {
		for i, who := range order {
			p := people[who]
			r := p.Request(c.method, strings.Replace(c.path, "..", "%2e%2e", 1), nil)
			resp, err := p.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != c.want[i] {
				t.Errorf("%s %s as %s: %d, want %d", c.method, c.path, who, resp.StatusCode, c.want[i])
			}
			csp := resp.Header.Get("Content-Security-Policy")
			for _, rule := range []string{"frame-ancestors 'none'", "default-src 'none'", "script-src ", "style-src "} {
				if !strings.Contains(csp, rule) || strings.Contains(csp, "unsafe") {
					t.Errorf("%s %s: policy %q, want %s", c.method, c.path, csp, rule)
				}
			}
		}
	}
}

// TestReview excludes a source and a passage and includes them again, undoes changes, and gives a verdict that another person signs off.
func TestReview(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	ada, bo := d.SignedIn(t, "ada", store.RoleOfficer), d.SignedIn(t, "bo", store.RoleOfficer)
	ada.Upload(http.StatusOK, nil, "essay.txt", webtest.Folios+" And here is a sentence of my own, which nobody has written before in this place.")
	id := "/checks/" + string(d.Await(t)["essay.txt"])
	headline := func(page string) string {
		_, rest, _ := strings.Cut(page, `<p class="headline">`)
		line, _, _ := strings.Cut(rest, "<")
		return line
	}
	first := headline(ada.Get(id, http.StatusOK))
	if !strings.Contains(first, "%") {
		t.Fatalf("headline %q", first)
	}
	rules := func(want int, fields url.Values) string { return headline(ada.Post(id+"/rules", want, fields)) }
	source := func(action string) url.Values {
		return url.Values{"action": {action}, "site": {"here"}, "library": {"theses"}, "document": {"folios.txt"}}
	}
	out := rules(http.StatusOK, source("exclude-source"))
	if out == first {
		t.Errorf("still %q without its only source", out)
	}
	if got := rules(http.StatusOK, source("include-source")); got != first {
		t.Errorf("got %q, want %q", got, first)
	}
	rules(http.StatusBadRequest, url.Values{"action": {"exclude-passage"}, "start": {"0"}, "end": {"145"}}) // the reason is missing
	passage := url.Values{"action": {"exclude-passage"}, "start": {"0"}, "end": {"145"}, "comment": {"the task sheet has it"}}
	if got := rules(http.StatusOK, passage); got != out {
		t.Errorf("got %q, want %q", got, out)
	}
	if got := rules(http.StatusOK, url.Values{"action": {"undo"}}); got != first {
		t.Errorf("after undo %q, want %q", got, first)
	}
	if got := rules(http.StatusOK, url.Values{"action": {"set"}, "min_characters": {"100000"}, "min_source_share": {"0"}}); got != out {
		t.Errorf("got %q, want %q", got, out)
	}
	rules(http.StatusBadRequest, url.Values{"action": {"set"}, "min_characters": {"-1"}, "min_source_share": {"0"}})
	rules(http.StatusBadRequest, url.Values{"action": {"set"}, "min_characters": {"1"}, "min_source_share": {"NaN"}})
	rules(http.StatusBadRequest, url.Values{"action": {"set"}, "min_characters": {"1"}, "min_source_share": {"0"}, "exclude_kinds": {"song"}})
	if page := ada.Get(id+"/report?format=json", http.StatusOK); !strings.Contains(page, `"min_characters": 100000`) {
		t.Error("the report has other rules than the page")
	}

	note := func(p *webtest.Person, want int, fields url.Values) string { return p.Post(id+"/notes", want, fields) }
	note(bo, http.StatusConflict, url.Values{"kind": {"signoff"}})
	note(ada, http.StatusBadRequest, url.Values{"kind": {"verdict"}, "verdict": {"suspected"}})
	note(ada, http.StatusBadRequest, url.Values{"kind": {"verdict"}, "verdict": {"guilty"}, "text": {"x"}})
	page := note(ada, http.StatusOK, url.Values{"kind": {"verdict"}, "verdict": {"suspected"},
		"text": {"one sentence <i>without</i> its source"}})
	if !strings.Contains(page, "<strong>Misconduct suspected</strong>") || strings.Contains(page, "<i>without") {
		t.Errorf("no verdict, or markup, in\n%s", page)
	}
	note(ada, http.StatusConflict, url.Values{"kind": {"signoff"}}) // one cannot sign off one's own verdict
	if page := note(bo, http.StatusOK, url.Values{"kind": {"signoff"}}); !strings.Contains(page, "signed off by bo") {
		t.Errorf("not signed off:\n%s", page)
	}
	note(bo, http.StatusConflict, url.Values{"kind": {"signoff"}})
	if page := note(ada, http.StatusOK, url.Values{"kind": {"comment"}, "text": {"the author was told"}}); !strings.Contains(page,
		"the author was told") {
		t.Error("no comment")
	}
}

// TestOtherPagesCannotAct: a request that another site's page makes a browser send changes nothing.
func TestOtherPagesCannotAct(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	p := d.SignedIn(t, "ada", store.RoleOfficer)
	for _, header := range [][2]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example"}} {
		r := p.Request(http.MethodPost, "/logout", nil)
		r.Header.Set(header[0], header[1])
		p.Send(r, http.StatusForbidden)
	}
	if page := p.Get("/checks", http.StatusOK); !strings.Contains(page, "Sign out") {
		t.Error("another page signed somebody out")
	}
}

var key = regexp.MustCompile(`\{\{[^}]*\bt "([a-z.]+)"`)

// TestMessages: every message used on a page exists.
func TestMessages(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("templates/*.html")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
	for _, page := range pages {
		b, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range key.FindAllStringSubmatch(string(b), -1) {
			if !web.HasMessage(m[1]) {
				t.Errorf("%s: no message %s", page, m[1])
			}
		}
	}
	for _, s := range []string{"queued", "running", "done", "partial", "failed"} {
		if !web.HasMessage("state." + s) {
			t.Errorf("no message for state %s", s)
		}
	}
	for _, s := range []string{site.StageRead, "fingerprint", "match", "search", "align", "partner"} {
		if !web.HasMessage("stage." + s) {
			t.Errorf("no message for stage %s", s)
		}
	}
	for _, l := range concordat.Levels() {
		if !web.HasMessage("level." + string(l)) {
			t.Errorf("no message for level %s", l)
		}
	}
}
