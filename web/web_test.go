package web_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"concordat"
	"concordat/extract"
	"concordat/harvest/fetch"
	"concordat/index"
	"concordat/profile"
	"concordat/report"
	"concordat/segment"
	"concordat/site"
	"concordat/site/answer"
	"concordat/site/ask"
	"concordat/site/batch"
	"concordat/site/retain"
	"concordat/store"
	"concordat/web"
	"concordat/web/api"
	"concordat/web/inbox"
	"concordat/web/passwords"
)

const folios = "The reading room of the old library kept its shutters closed until noon, because the paper of the folios had begun to fade in the morning light."

// misformatted matches the words of fmt about a value that does not fit its message.
var misformatted = regexp.MustCompile(`%!([a-zA-Z]\(|\(EXTRA)[^<]{0,40}`)

// testSite is a site with its pages on a loopback server.
type testSite struct {
	*httptest.Server
	web        *web.Web
	site       *site.Site
	store      *store.DB
	queue      *site.Queue
	batches    *batch.Queue
	unsignable *atomic.Bool // reports in JSON cannot be signed
	full       *atomic.Bool // the disk is full
	partner    *south       // the partner that is asked for passages
	dir        string
	inbox      *inbox.Inbox
}

// testsDir is a folder for files that tests share.
var testsDir string

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // test sites are small and many: collecting garbage took a sixth of the time
	var err error
	if testsDir, err = os.MkdirTemp("", "web-"); err != nil {
		panic(err)
	}
	code := m.Run()
	browsers.Close()
	if err := os.RemoveAll(testsDir); err != nil {
		panic(err)
	}
	os.Exit(code)
}

// cheap is the least that argon2id can cost: most tests are about what follows a password, not the cost of guessing it.
var cheap = passwords.Cost{Memory: 8, Passes: 1, Threads: 1}

// after is like t.Cleanup, but forgets f and what it refers to once it has run: package testing keeps cleanups that ran until all
// parallel tests have ended, and with them two hundred sites.
func after(t testing.TB, f func()) {
	t.Helper()
	t.Cleanup(func() {
		run := f
		f = nil
		run()
	})
}

// template makes the folder of a site with a library of one document; copying it costs less than making another.
var template = sync.OnceValues(func() (dir string, err error) {
	if dir, err = os.MkdirTemp(testsDir, "site-"); err != nil {
		return "", err
	}
	ctx := context.Background()
	db, shard, p, err := openSite(ctx, dir)
	if err != nil {
		return "", err
	}
	s := site.New(site.Options{ID: "here", Index: shard, Store: db, Profiler: p,
		Sharing: answer.New(answer.Options{ID: "here", Index: shard, Store: db}).Shares})
	if err = db.Catalogue.CreateLibrary(ctx, store.Library{ID: "theses", Title: "All <theses>", Created: time.Now()}); err == nil {
		err = s.Ingest(ctx, "theses", func(yield func(site.Incoming, error) bool) {
			yield(site.Incoming{ID: "folios.txt", Title: "On folios", Text: folios}, nil)
		}, func(site.Ingested) error { return nil })
	}
	return dir, errors.Join(err, shard.Close(), db.Close())
})

// openSite opens the store and the index of a site, or creates them.
func openSite(ctx context.Context, dir string) (*store.DB, *index.Shard, *profile.Profiler, error) {
	db, err := store.Open(ctx, filepath.Join(dir, "site.db"))
	if err != nil {
		return nil, nil, nil, err
	}
	p, err := profile.New(profile.Options{})
	if err != nil {
		return nil, nil, nil, err
	}
	shard, err := index.Open(filepath.Join(dir, "index"), index.Options{Site: "here", Scheme: p.Scheme(), Shard: "00"})
	return db, shard, p, err
}

// newTestSite makes a site with one library of one document, whose queue runs unless idle.
func newTestSite(t testing.TB, idle bool) *testSite { return newTestSiteOf(t, idle, nil) }

// newTestSiteOf is like newTestSite, with other options of the pages.
func newTestSiteOf(t testing.TB, idle bool, change func(*web.Options)) *testSite {
	t.Helper()
	dir := t.TempDir()
	ctx := t.Context()
	made, err := template()
	if err == nil {
		err = os.CopyFS(dir, os.DirFS(made))
	}
	if err != nil {
		t.Fatal(err)
	}
	db, shard, p, err := openSite(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	answers := answer.New(answer.Options{ID: "here", Index: shard, Store: db})
	s := site.New(site.Options{ID: "here", Index: shard, Store: db, Profiler: p, Sharing: answers.Shares})
	asks := ask.New(s, ask.Options{Store: db})
	files := store.OpenFiles(filepath.Join(dir, "originals"))
	eraser := retain.New(s, retain.Options{Store: db, Answers: answers, Areas: []retain.Area{files}})
	var w *web.Web
	q := s.NewQueue(site.QueueOptions{Store: db, Discard: eraser.Discard,
		Admit: func(ctx context.Context, t store.Task, j site.Job, items []site.Item) error {
			return w.Admit(ctx, t, j, items)
		},
		Read: func(_ context.Context, j site.Job) ([]site.Item, error) {
			path, err := files.Path(j.File)
			if err != nil {
				return nil, err
			}
			b, err := os.ReadFile(path)
			if strings.HasSuffix(j.Name, ".many") { // an archive with a document for each word
				var items []site.Item
				for _, word := range strings.Fields(string(b)) {
					items = append(items, site.Item{Submission: site.Submission{ID: concordat.DocumentID(word), Title: word, Text: word}})
				}
				return items, err
			}
			if strings.HasSuffix(j.Name, ".bad") {
				return []site.Item{{Submission: site.Submission{ID: concordat.DocumentID(j.Name)},
					Err: &extract.Error{Code: extract.Damaged, Detail: "the file ends in the middle"}}}, nil
			}
			one := site.Submission{ID: concordat.DocumentID(j.Name), Text: string(b)}
			if strings.HasSuffix(j.Name, ".titled") {
				one.Title = "Of the document"
			}
			return []site.Item{{Submission: one}}, err
		},
		Options: func(_ context.Context, j site.Job) (site.CheckOptions, func(), error) {
			o := site.CheckOptions{Libraries: j.Libraries, Exclude: j.Exclude}
			if j.Template == "thesis" {
				o.Template = &segment.Template{Name: j.Template, Headings: []segment.Heading{{Section: "annexes",
					Pattern: regexp.MustCompile("^Annexes$")}}}
			}
			return o, nil, nil
		}})
	batches := newBatches(t, s, db, files, q, dir)
	unsignable, full := new(atomic.Bool), new(atomic.Bool)
	partner := new(south)
	o := web.Options{Eraser: eraser, Site: s, Answers: answers, Asks: asks,
		Title: func() string { return "North <University>" }, Store: db, Queue: q, Files: files,
		Batches:   batches,
		MaxUpload: 1 << 20, Originals: plainOriginals{files},
		ReportJSON: func(out io.Writer, rep *report.Report) error {
			if unsignable.Load() {
				return errors.New("no key")
			}
			return report.WriteJSON(out, rep)
		},
		Partners: func(context.Context) ([]web.Partner, error) {
			return []web.Partner{{Site: "SOUTH", Name: "South <Site>", Libraries: []concordat.OpenLibrary{{ID: "theses",
				Level: concordat.ShowOverlap}}}, {Site: "WEST", Name: "West"}}, nil
		},
		Harvest: fetch.New(fetch.Options{Agent: "concordat/test"}),
		AddFile: addText(s), HookNetworks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
		Room: func() error {
			if full.Load() {
				return concordat.ErrDiskFull
			}
			return nil
		},
		Machine: machineOfTests{}, Settings: settingsOfTests, Nodes: nodesOfTests(clusterOfTests), Hashing: cheap,
		Partner: func(_ context.Context, id concordat.SiteID) (concordat.Partner, func(), error) {
			if id != partner.Site() {
				return nil, nil, concordat.ErrNotFound
			}
			return partner, func() {}, nil
		},
		Rules: func() report.Rules { return report.Rules{} }, Templates: func() []string { return []string{"thesis"} }}
	if change != nil {
		change(&o)
	}
	if w, err = web.New(o); err != nil {
		t.Fatal(err)
	}
	in := inbox.New(w, inbox.Options{Retry: time.Minute})
	api.Add(w, nil, in)
	d := &testSite{httptest.NewServer(w), w, s, db, q, batches, unsignable, full, partner, dir, in}
	ctx, cancel := context.WithCancel(ctx)
	ran := make(chan error, 1)
	go func() {
		if idle {
			<-ctx.Done()
			ran <- nil
			return
		}
		ran <- q.Run(ctx)
	}()
	after(t, func() {
		d.Close()
		cancel()
		if err := errors.Join(<-ran, shard.Close(), db.Close()); err != nil {
			t.Error(err)
		}
	})
	if !idle {
		runBatches(t, batches)
	}
	return d
}

// person is a browser without JavaScript.
type person struct {
	t *testing.T
	*http.Client
	base string
}

func (d *testSite) person(t *testing.T) *person {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &person{t, &http.Client{Jar: jar}, d.URL}
}

// signedIn makes an account with the role and signs it in.
func (d *testSite) signedIn(t *testing.T, name string, role store.Role) *person {
	t.Helper()
	p := d.person(t)
	ctx := t.Context()
	secret := "secret-of-" + name
	if err := d.store.People.CreateAccount(ctx, store.Account{Name: name, Role: role, Created: time.Now()}); err != nil {
		t.Fatal(err)
	}
	if err := d.store.People.PutToken(ctx, secret, store.Token{Purpose: store.PurposeSession, Account: name, Made: time.Now(),
		Expires: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(d.URL)
	if err != nil {
		t.Fatal(err)
	}
	p.Jar.SetCookies(u, []*http.Cookie{{Name: "session", Value: secret, Path: "/"}})
	return p
}

// get reads a page and expects a status.
func (p *person) get(path string, want int) string {
	p.t.Helper()
	return p.do(p.request(http.MethodGet, path, nil), want)
}

func (p *person) request(method, path string, body io.Reader) *http.Request {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), method, p.base+path, body)
	if err != nil {
		p.t.Fatal(err)
	}
	return r
}

func (p *person) do(r *http.Request, want int) string {
	p.t.Helper()
	resp, err := p.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	if resp.StatusCode != want {
		p.t.Errorf("%s %s: %d, want %d\n%s", r.Method, r.URL.Path, resp.StatusCode, want, b)
	}
	if fault := misformatted.Find(b); fault != nil {
		p.t.Errorf("%s %s: a message has other values than it shows: %s", r.Method, r.URL.Path, fault)
	}
	return string(b)
}

// post sends a form.
func (p *person) post(path string, want int, fields url.Values) string {
	p.t.Helper()
	r := p.request(http.MethodPost, path, strings.NewReader(fields.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return p.do(r, want)
}

// form returns a request with fields and files, given as alternating names and contents.
func (p *person) form(path string, fields url.Values, files ...string) *http.Request {
	p.t.Helper()
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	for name, values := range fields {
		for _, v := range values {
			if err := m.WriteField(name, v); err != nil {
				p.t.Fatal(err)
			}
		}
	}
	for i := 0; i < len(files); i += 2 {
		f, err := m.CreateFormFile("file", files[i])
		if err == nil {
			_, err = io.WriteString(f, files[i+1])
		}
		if err != nil {
			p.t.Fatal(err)
		}
	}
	if err := m.Close(); err != nil {
		p.t.Fatal(err)
	}
	r := p.request(http.MethodPost, path, &b)
	r.Header.Set("Content-Type", m.FormDataContentType())
	return r
}

// upload submits files, given as alternating names and contents.
func (p *person) upload(want int, fields url.Values, files ...string) string {
	p.t.Helper()
	return p.do(p.form("/checks", fields, files...), want)
}

// await waits until all tasks have ended and returns the ids by title.
func (d *testSite) await(t *testing.T) map[string]concordat.TaskID {
	t.Helper()
	tasks, err := d.store.Checks.Tasks(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]concordat.TaskID{}
	for _, one := range tasks {
		out[one.Title], out[web.FileName(one)] = one.ID, one.ID // the document's title may replace its own at any time
		events, stop := d.queue.Watch(one.ID)
		for one.State == concordat.TaskQueued || one.State == concordat.TaskRunning {
			select {
			case <-events:
			case <-time.After(100 * time.Millisecond): // one that ended before we watched
			}
			if one, err = d.store.Checks.Task(t.Context(), one.ID); err != nil {
				t.Fatal(err)
			}
		}
		stop()
	}
	return out
}

// TestFirst creates the first administrator with the link of the first start, signs out and in.
func TestFirst(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, true)
	p := d.person(t)
	link, err := d.web.FirstLink(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p.get("/first?key=guess", http.StatusNotFound)
	if page := p.get(link, http.StatusOK); !strings.Contains(page, "works once") {
		t.Error("the page of the first administrator does not say so")
	}
	key := strings.TrimPrefix(link, "/first?key=")
	form := func(password, again string) url.Values {
		return url.Values{"key": {key}, "name": {"ada"}, "title": {"Ada"}, "password": {password}, "again": {again}}
	}
	p.post("/first", http.StatusBadRequest, form("short", "short"))
	p.post("/first", http.StatusBadRequest, form("long enough it is", "another"))
	if page := p.post("/first", http.StatusOK, form("long enough it is", "long enough it is")); !strings.Contains(page,
		"Ada (administrator)") {
		t.Errorf("not signed in:\n%s", page)
	}
	d.person(t).post("/first", http.StatusNotFound, form("long enough it is", "long enough it is"))
	if again, err := d.web.FirstLink(t.Context()); again != "" || err != nil {
		t.Errorf("a second link: %q, %v", again, err)
	}
	p.post("/logout", http.StatusOK, nil)
	if page := p.get("/checks", http.StatusOK); !strings.Contains(page, "Sign in") {
		t.Error("signed out and still in")
	}
	p.post("/login", http.StatusForbidden, url.Values{"name": {"ada"}, "password": {"wrong"}})
	p.post("/login", http.StatusForbidden, url.Values{"name": {"eve"}, "password": {"wrong"}})
	if page := p.post("/login", http.StatusOK, url.Values{"name": {"ada"}, "password": {"long enough it is"},
		"next": {"/libraries"}}); !strings.Contains(page, "All &lt;theses&gt;") {
		t.Errorf("not at the page that was wanted:\n%s", page)
	}
	for range 5 {
		p.post("/login", http.StatusForbidden, url.Values{"name": {"ada"}, "password": {"wrong"}})
	}
	p.post("/login", http.StatusTooManyRequests, url.Values{"name": {"ada"}, "password": {"long enough it is"}})
}

// TestNextStaysHere: the page after signing in belongs to this site.
func TestNextStaysHere(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, true)
	p := d.signedIn(t, "ada", store.RoleOfficer)
	p.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for next, want := range map[string]string{"/libraries?a=b": "/libraries?a=b", "": "/checks", "https://evil.example/": "/checks",
		"//evil.example/": "/checks", `/\evil.example`: "/checks", "javascript:alert(1)": "/checks"} {
		r := p.request(http.MethodPost, "/language", strings.NewReader(url.Values{"language": {"en"}, "next": {next}}.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		resp, err := p.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if got := resp.Header.Get("Location"); got != want {
			t.Errorf("next %q leads to %q, want %q", next, got, want)
		}
	}
}

// TestCheck submits files and a text, and reads the results.
func TestCheck(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, false)
	p := d.signedIn(t, "ada", store.RoleOfficer)
	p.upload(http.StatusBadRequest, nil)
	p.upload(http.StatusBadRequest, url.Values{"template": {"none such"}}, "a.txt", "text")
	page := p.upload(http.StatusOK, url.Values{"library": {"theses"}, "template": {"thesis"}},
		"essay.txt", folios, "../../<script>alert(1)</script>.txt",
		"Nothing of this is known anywhere, I think; it was written for a test of names.", "broken.bad", "x")
	if strings.Contains(page, "<script>alert") {
		t.Error("a file name became markup")
	}
	p.upload(http.StatusOK, url.Values{"text": {folios}, "title": {"Pasted <b>essay</b>"}})
	p.upload(http.StatusBadRequest, nil, "large.txt", strings.Repeat("x", 1<<20+1))
	ids := d.await(t)
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
		page := p.get("/checks/"+string(id), http.StatusOK)
		if !strings.Contains(page, want) || strings.Contains(page, "<b>essay") {
			t.Errorf("%s: want %q in\n%s", title, want, page)
		}
	}
	id := "/checks/" + string(ids["essay.txt"])
	if page := p.get(id+"/report", http.StatusOK); !strings.Contains(page, "On folios") {
		t.Error("the report does not name its source")
	}
	if page := p.get(id+"/report?format=json", http.StatusOK); !strings.Contains(page, `"document": "folios.txt"`) {
		t.Error("the JSON does not name its source")
	}
	d.unsignable.Store(true)
	p.get(id+"/report?format=json", http.StatusInternalServerError)
	d.unsignable.Store(false)
	p.get(id+"/report?format=csv", http.StatusOK)
	p.get("/checks/"+string(ids["broken.bad"])+"/report", http.StatusNotFound)
	if events := p.get(id+"/events", http.StatusOK); !strings.Contains(events, `"finally":true`) {
		t.Errorf("events of a check that has ended: %s", events)
	}
	audit, err := d.store.Audit.Audit(t.Context(), 0, 0)
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

// TestQueueIsExplained shows the position of a waiting check, and cancels it.
func TestQueueIsExplained(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, true)
	p := d.signedIn(t, "ada", store.RoleOfficer)
	p.upload(http.StatusOK, nil, "one.txt", "one", "two.txt", "two")
	tasks, err := d.store.Checks.Tasks(t.Context(), 0, 0)
	if err != nil || len(tasks) != 2 {
		t.Fatal(tasks, err)
	}
	last := "/checks/" + string(tasks[0].ID)
	if page := p.get(last, http.StatusOK); !strings.Contains(page, "Number 2 in the queue; 0 being checked now.") {
		t.Errorf("no position in\n%s", page)
	}
	if page := p.post(last+"/cancel", http.StatusOK, nil); !strings.Contains(page, "Cancelled by ada") {
		t.Errorf("not cancelled:\n%s", page)
	}
	p.Jar = nil // Chinese, and not signed in
	r := p.request(http.MethodGet, "/login", nil)
	r.Header.Set("Accept-Language", "zh-CN,zh;q=0.9,en;q=0.8")
	if page := p.do(r, http.StatusOK); !strings.Contains(page, `lang="zh-Hans"`) || !strings.Contains(page, "密码") {
		t.Errorf("not in Chinese:\n%s", page)
	}
}

// TestEvents follows a check as it proceeds.
func TestEvents(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, true)
	p := d.signedIn(t, "ada", store.RoleOfficer)
	p.upload(http.StatusOK, nil, "one.txt", folios)
	tasks, err := d.store.Checks.Tasks(t.Context(), 0, 0)
	if err != nil || len(tasks) != 1 {
		t.Fatal(tasks, err)
	}
	resp, err := p.Do(p.request(http.MethodGet, "/checks/"+string(tasks[0].ID)+"/events", nil))
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
	go func() { done <- d.queue.Run(ctx) }()
	rest, err := io.ReadAll(resp.Body) // ends with the check
	if err != nil || !strings.Contains(string(rest), `"finally":true`) {
		t.Errorf("events %q, %v", rest, err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// TestAccess tries every route as every role, and as someone who has another person's report.
func TestAccess(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, true)
	officer := d.signedIn(t, "olga", store.RoleOfficer)
	officer.upload(http.StatusOK, nil, "one.txt", "one")
	tasks, err := d.store.Checks.Tasks(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	id := string(tasks[0].ID)
	people := map[string]*person{
		"nobody": d.person(t), "administrator": d.signedIn(t, "adam", store.RoleAdministrator), "officer": officer,
		"submitter": d.signedIn(t, "sue", store.RoleSubmitter), "auditor": d.signedIn(t, "axel", store.RoleAuditor),
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
		{"GET", "/checks/" + id + "/report", [5]int{see, absent, absent, absent, absent}}, // not finished yet
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
			r := p.request(c.method, strings.Replace(c.path, "..", "%2e%2e", 1), nil)
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

// TestReview excludes a source and a passage and includes them again, undoes, and gives a verdict that another person
// signs off.
func TestReview(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, false)
	ada, bo := d.signedIn(t, "ada", store.RoleOfficer), d.signedIn(t, "bo", store.RoleOfficer)
	ada.upload(http.StatusOK, nil, "essay.txt", folios+" And here is a sentence of my own, which nobody has written before in this place.")
	id := "/checks/" + string(d.await(t)["essay.txt"])
	headline := func(page string) string {
		_, rest, _ := strings.Cut(page, `<p class="headline">`)
		line, _, _ := strings.Cut(rest, "<")
		return line
	}
	first := headline(ada.get(id, http.StatusOK))
	if !strings.Contains(first, "%") {
		t.Fatalf("headline %q", first)
	}
	rules := func(want int, fields url.Values) string { return headline(ada.post(id+"/rules", want, fields)) }
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
	rules(http.StatusBadRequest, url.Values{"action": {"exclude-passage"}, "start": {"0"}, "end": {"145"}}) // no reason
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
	if page := ada.get(id+"/report?format=json", http.StatusOK); !strings.Contains(page, `"min_characters": 100000`) {
		t.Error("the report has other rules than the page")
	}

	note := func(p *person, want int, fields url.Values) string { return p.post(id+"/notes", want, fields) }
	note(bo, http.StatusConflict, url.Values{"kind": {"signoff"}})
	note(ada, http.StatusBadRequest, url.Values{"kind": {"verdict"}, "verdict": {"suspected"}})
	note(ada, http.StatusBadRequest, url.Values{"kind": {"verdict"}, "verdict": {"guilty"}, "text": {"x"}})
	page := note(ada, http.StatusOK, url.Values{"kind": {"verdict"}, "verdict": {"suspected"},
		"text": {"one sentence <i>without</i> its source"}})
	if !strings.Contains(page, "<strong>Misconduct suspected</strong>") || strings.Contains(page, "<i>without") {
		t.Errorf("no verdict, or markup, in\n%s", page)
	}
	note(ada, http.StatusConflict, url.Values{"kind": {"signoff"}}) // not one's own verdict
	if page := note(bo, http.StatusOK, url.Values{"kind": {"signoff"}}); !strings.Contains(page, "signed off by bo") {
		t.Errorf("not signed off:\n%s", page)
	}
	note(bo, http.StatusConflict, url.Values{"kind": {"signoff"}})
	if page := note(ada, http.StatusOK, url.Values{"kind": {"comment"}, "text": {"the author was told"}}); !strings.Contains(page,
		"the author was told") {
		t.Error("no comment")
	}
}

// TestPartnersAreChosen: the form says beforehand what a partner would learn, and only partners can be chosen.
func TestPartnersAreChosen(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, true)
	p := d.signedIn(t, "ada", store.RoleOfficer)
	page := p.get("/checks/new", http.StatusOK)
	for _, want := range []string{"South &lt;Site&gt;", "shared words, on request", "has not listed its libraries yet",
		"can test guesses"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	p.upload(http.StatusBadRequest, url.Values{"partner": {"NOBODY"}}, "one.txt", "one")
	p.upload(http.StatusOK, url.Values{"partner": {"SOUTH"}, "purpose": {" thesis "}}, "one.txt", "one")
	tasks, err := d.store.Checks.Tasks(t.Context(), 0, 0)
	if err != nil || len(tasks) != 1 {
		t.Fatal(tasks, err)
	}
	if want := `"partners":["SOUTH"],"purpose":"thesis"`; !strings.Contains(string(tasks[0].Request), want) {
		t.Errorf("request %s, want %s", tasks[0].Request, want)
	}
}

// TestPeople adds a person, who chooses a password with the link, and then disables the account.
func TestPeople(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, true)
	admin := d.signedIn(t, "adam", store.RoleAdministrator)
	page := admin.post("/people", http.StatusOK, url.Values{"name": {"bo <b>"}, "title": {"Bo"}, "role": {"submitter"}})
	admin.post("/people", http.StatusConflict, url.Values{"name": {"bo <b>"}, "role": {"submitter"}})
	admin.post("/people", http.StatusBadRequest, url.Values{"name": {"x"}, "role": {"queen"}})
	link := regexp.MustCompile(`/join\?key=[A-Z2-7]+`).FindString(page)
	if link == "" || strings.Contains(page, "<b>") {
		t.Fatalf("no link, or markup, in\n%s", page)
	}
	bo := d.person(t)
	if page := bo.get(link, http.StatusOK); !strings.Contains(page, "bo &lt;b&gt;") {
		t.Errorf("the page does not say whose password it is:\n%s", page)
	}
	choice := url.Values{"key": {strings.TrimPrefix(link, "/join?key=")}, "password": {"long enough it is"}, "again": {"long enough it is"}}
	if page := bo.post("/join", http.StatusOK, choice); !strings.Contains(page, "(submitter)") {
		t.Errorf("not signed in:\n%s", page)
	}
	d.person(t).post("/join", http.StatusNotFound, choice)
	admin.post("/people/bo%20%3Cb%3E", http.StatusOK, url.Values{"action": {"disable"}})
	if page := bo.get("/checks", http.StatusOK); !strings.Contains(page, "Sign in") {
		t.Error("disabled and still in")
	}
	bo.post("/login", http.StatusForbidden, url.Values{"name": {"bo <b>"}, "password": {"long enough it is"}})
	admin.post("/people/adam", http.StatusBadRequest, url.Values{"action": {"disable"}})
}

// TestOtherPagesCannotAct: a request that another page makes a browser send changes nothing.
func TestOtherPagesCannotAct(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, true)
	p := d.signedIn(t, "ada", store.RoleOfficer)
	for _, header := range [][2]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example"}} {
		r := p.request(http.MethodPost, "/logout", nil)
		r.Header.Set(header[0], header[1])
		p.do(r, http.StatusForbidden)
	}
	if page := p.get("/checks", http.StatusOK); !strings.Contains(page, "Sign out") {
		t.Error("another page signed somebody out")
	}
}

var key = regexp.MustCompile(`\{\{[^}]*\bt "([a-z.]+)"`)

// TestMessages: every message that a page names exists.
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

// TestNames shows how the names of files are changed.
func TestNames(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{`C:\Users\a\thesis.docx`: "thesis.docx", "../../etc/passwd": "passwd", "..": "", "": "",
		"a\x00b\n.txt": "ab.txt", "论文.pdf": "论文.pdf", strings.Repeat("长", 200) + ".pdf": strings.Repeat("长", 116) + ".pdf"} {
		if got := web.CleanName(in); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}
