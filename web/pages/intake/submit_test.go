package intake_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/webtest"
	"concordat/site"
	"concordat/store"
)

// TestBadFilesKeepNoOtherBack: an unreadable file becomes a separate check that states the reason in the reader's language.
func TestBadFilesKeepNoOtherBack(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	p := d.SignedIn(t, "ada", store.RoleOfficer)
	p.Upload(http.StatusOK, nil, "good.txt", webtest.Folios, "large.txt", strings.Repeat("x", 1<<20+1), "void.txt", "", "broken.bad", "x")
	ids := d.Await(t)
	for title, want := range map[string]string{"good.txt": "100%",
		"large.txt":  "larger than 1 MiB. Submit smaller parts, or ask the administrator: raise extract.max_input",
		"void.txt":   "The file is empty. Submit a file that contains text.",
		"broken.bad": "The file is damaged: the file ends in the middle. Open the file"} {
		if page := p.Get("/checks/"+string(ids[title]), http.StatusOK); !strings.Contains(page, want) {
			t.Errorf("%s does not say %q", title, want)
		}
	}
	r := p.Request(http.MethodGet, "/checks", nil)
	r.Header.Set("Accept-Language", "zh-CN")
	if page := p.Send(r, http.StatusOK); !strings.Contains(page, "文件已损坏：") || !strings.Contains(page, "请用原程序打开") {
		t.Errorf("no Chinese reason:\n%s", page)
	}
	// No file could be accepted, so nothing is created.
	page := p.Upload(http.StatusBadRequest, nil, "large.txt", strings.Repeat("x", 1<<20+1), "void.txt", "")
	for _, want := range []string{"None of the files", "<strong>void.txt</strong>: The file is empty", "<strong>large.txt</strong>: The file exceeds a limit"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if got := len(d.Await(t)); got != 4 {
		t.Errorf("%d checks, want 4", got)
	}
}

// TestScriptHandsInOnce: one key yields one check, however often the connection is lost.
func TestScriptHandsInOnce(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	p := d.SignedIn(t, "ada", store.RoleSubmitter)
	batch := strings.Repeat("a", 26)
	first := p.SendScript("/checks", "one", http.StatusOK, url.Values{"batch": {batch}}, "a.txt", webtest.Folios)
	again := p.SendScript("/checks", "one", http.StatusOK, url.Values{"batch": {batch}}, "a.txt", webtest.Folios)
	if len(first.Checks) != 1 || fmt.Sprint(again) != fmt.Sprint(first) {
		t.Fatalf("first %+v, again %+v", first, again)
	}
	p.SendScript("/checks", "two", http.StatusOK, url.Values{"batch": {batch}}, "b.txt", webtest.Folios)
	tasks, err := d.Store.Checks.FilterTasks(t.Context(), store.TaskFilter{Batch: batch}, 0, 0)
	if err != nil || len(tasks) != 2 {
		t.Errorf("%d tasks of the batch, %v; want 2", len(tasks), err)
	}
	if got := p.SendScript("/checks", "three", http.StatusBadRequest, nil, "void.txt", ""); len(got.Rejected) != 1 ||
		!strings.Contains(got.Rejected[0].Why, "The file is empty") || got.Retry {
		t.Errorf("got %+v", got)
	}
	if got := p.SendScript("/checks", "four", http.StatusBadRequest, nil); got.Problem == "" {
		t.Errorf("nothing handed in: %+v", got)
	}
	if got := p.SendScript("/checks", "five", http.StatusBadRequest, url.Values{"batch": {"a batch"}}, "a.txt", webtest.Folios); got.Retry ||
		got.Problem == "" {
		t.Errorf("a strange batch: %+v", got)
	}
}

// TestFullDisk: below the low-water mark nothing is accepted, and the page states this; submitting again later succeeds.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	p := d.SignedIn(t, "ada", store.RoleOfficer)
	d.Full.Store(true)
	got := p.SendScript("/checks", "one", http.StatusInsufficientStorage, nil, "a.txt", webtest.Folios)
	if !got.Retry || !strings.Contains(got.Problem, "The site’s disk is full") {
		t.Errorf("got %+v", got)
	}
	p.Upload(http.StatusInsufficientStorage, nil, "a.txt", webtest.Folios)
	if tasks, err := d.Store.Checks.Tasks(t.Context(), 0, 0); err != nil || len(tasks) != 0 {
		t.Errorf("%d tasks, %v; want none", len(tasks), err)
	}
	d.Full.Store(false)
	if got := p.SendScript("/checks", "one", http.StatusOK, nil, "a.txt", webtest.Folios); len(got.Checks) != 1 {
		t.Errorf("got %+v", got)
	}
}

// TestWishes: the form's choices are applied to the check, and only users who decide can choose what counts.
func TestWishes(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	p := d.SignedIn(t, "ada", store.RoleOfficer)
	p.Upload(http.StatusOK, url.Values{"partner": {"SOUTH/theses", "WEST"}, "forward": {"all"}, "level": {"counts"}, "deadline": {"15"},
		"purpose": {"thesis"},
		"short":   {"on"}, "no_store": {"yes"}, "rules": {"chosen"}, "exclude_quotes": {"on"}, "exclude_kinds": {"near"},
		"min_characters":   {"30"},
		"min_source_share": {"1.5"},
		"exclude":          {"theses/folios.txt"}}, "a.txt", webtest.Folios)
	tasks, err := d.Store.Checks.Tasks(t.Context(), 0, 1)
	if err != nil || len(tasks) != 1 {
		t.Fatal(tasks, err)
	}
	var j site.Job
	if err := json.Unmarshal(tasks[0].Request, &j); err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintln(j.Partners, j.PartnerLibraries, j.Forward, j.Level, j.Deadline, j.Purpose, j.Short, j.NoStore,
		j.Exclude[0].Document, j.Rules.ExcludeQuotes, j.Rules.ExcludeKinds, j.Rules.MinCharacters, j.Rules.MinSourceShare)
	if want := "[WEST] [SOUTH/theses] all counts 15s thesis true true folios.txt true [near] 30 0.015\n"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	for name, fields := range map[string]url.Values{"partner": {"partner": {"EAST"}}, "library of a partner": {"partner": {"SOUTH/secret"}},
		"forward": {"forward": {"most"}},
		"level":   {"level": {"passage"}}, "deadline": {"deadline": {"0"}}, "document": {"exclude": {"theses/none"}},
		"form of a document": {"exclude": {"none"}},
		"rules":              {"rules": {"chosen"}, "exclude_kinds": {"common sense"}}, "number": {"rules": {"chosen"}, "min_characters": {"few"}}} {
		if page := p.Upload(http.StatusBadRequest, fields, "a.txt", webtest.Folios); !strings.Contains(page, "error") && page == "" {
			t.Errorf("%s: no page", name)
		}
	}
	eve := d.SignedIn(t, "eve", store.RoleSubmitter)
	eve.Upload(http.StatusForbidden, url.Values{"rules": {"chosen"}, "exclude_quotes": {"on"}}, "a.txt", webtest.Folios)
	eve.Upload(http.StatusForbidden, url.Values{"exclude": {"theses/folios.txt"}}, "a.txt", webtest.Folios)
	if page := eve.Get("/checks/new", http.StatusOK); strings.Contains(page, `name="rules"`) {
		t.Error("a submitter is offered to choose what counts")
	}
}

// TestRulesChosenUpFront: the report begins with the chosen rules.
func TestRulesChosenUpFront(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	p := d.SignedIn(t, "ada", store.RoleOfficer)
	p.Upload(http.StatusOK, url.Values{"rules": {"chosen"}, "exclude_kinds": {"verbatim"}}, "ruled.txt", webtest.Folios)
	p.Upload(http.StatusOK, url.Values{"exclude": {"theses/folios.txt"}}, "excluded.txt", webtest.Folios)
	ids := d.Await(t)
	if page := p.Get("/checks/"+string(ids["ruled.txt"]), http.StatusOK); !strings.Contains(page,
		`name="counts_kinds" value="verbatim"><label`) ||
		!strings.Contains(page, "Nothing that counts was found") {
		t.Errorf("verbatim evidence counts:\n%s", page)
	}
	if page := p.Get("/checks/"+string(ids["excluded.txt"]), http.StatusOK); strings.Contains(page, "On folios") {
		t.Error("an excluded document is shown")
	}
}

// TestWhyItWaits: a queued check shows its position and why it waits.
func TestWhyItWaits(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	p := d.SignedIn(t, "ada", store.RoleSubmitter)
	p.Upload(http.StatusOK, nil, "a.txt", webtest.Folios)
	page := p.Upload(http.StatusOK, nil, "b.txt", webtest.Folios)
	if !strings.Contains(page, "Number 2 in the queue") || !strings.Contains(page, "the site is starting or stopping") {
		t.Errorf("no reason:\n%s", page)
	}
}

// TestOneSubmission: files that form one submission get one check, whose report has a section for each. All of them are kept, and an
// unreadable part fails the whole submission and is named.
func TestOneSubmission(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	const thesis = "The thesis says a few words of its own about the hives of the valley and their keepers."
	olga.Upload(http.StatusOK, url.Values{"together": {"yes"}, "title": {"Thesis with annex"}}, "thesis.txt", thesis,
		"annex.txt", webtest.Folios+" Nobody had asked for them in a generation.")
	id, ok := d.Await(t)["Thesis with annex"]
	if tasks, err := d.Store.Checks.Tasks(t.Context(), 0, 0); err != nil || len(tasks) != 1 || !ok {
		t.Fatalf("%d checks, %v, want one", len(tasks), err)
	}
	var r struct {
		Sections []struct {
			Name  string
			Share *float64
			Span  struct{ Start, End int }
		}
	}
	if err := json.Unmarshal([]byte(olga.Get("/checks/"+string(id)+"/report?format=json", http.StatusOK)), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Sections) != 2 || r.Sections[0].Name != "thesis.txt" || r.Sections[1].Name != "annex.txt" ||
		r.Sections[1].Span.Start != len("thesis.txt\n\n"+thesis+"\n\n") {
		t.Errorf("sections %+v", r.Sections)
	}
	if a, b := r.Sections[0].Share, r.Sections[1].Share; b == nil || *b < 0.5 || a != nil && *a > 0 {
		t.Errorf("the annex was copied, and the thesis not: %v", r.Sections)
	}
	files, err := d.Store.Retention.Originals(t.Context(), id)
	if err != nil || len(files) != 2 {
		t.Errorf("originals %v, %v", files, err)
	}
	olga.Wants(olga.Get("/checks/"+string(id), http.StatusOK), "annex.txt", "<h1>Thesis with annex")
	// The contents of an archive also form one submission if requested.
	olga.Upload(http.StatusOK, url.Values{"together": {"yes"}}, "all.many", "alpha beta gamma")
	all := d.Await(t)["all.many"]
	if task, err := d.Store.Checks.Task(t.Context(), all); err != nil || task.State != concordat.TaskDone || !task.Cause.IsZero() {
		t.Errorf("an archive as one submission: %+v, %v", task, err)
	}
	olga.Upload(http.StatusOK, url.Values{"together": {"yes"}}, "good.txt", webtest.Folios, "annex.bad", "x")
	bad := d.Await(t)["good.txt"]
	if task, err := d.Store.Checks.Task(t.Context(), bad); err != nil || task.State != concordat.TaskFailed ||
		!strings.Contains(task.Cause.String(), "annex.bad") {
		t.Errorf("with a part that cannot be read: %+v, %v", task, err)
	}
	page := olga.Upload(http.StatusBadRequest, url.Values{"together": {"yes"}}, "good.txt", webtest.Folios, "empty.txt", "")
	if !strings.Contains(page, "empty.txt") || strings.Contains(page, "<strong>good.txt") {
		t.Errorf("of a part that is empty: %s", page)
	}
	kept := func() (n int) {
		err := filepath.WalkDir(filepath.Join(d.Dir, "originals"), func(path string, e fs.DirEntry, err error) error {
			if err == nil && slices.ContainsFunc(files, func(hash string) bool { return strings.Contains(e.Name(), hash) }) {
				n++
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := kept(); n != 2 {
		t.Fatalf("%d files are kept, want 2", n)
	}
	es, err := d.Store.Retention.Erasures(t.Context(), 0, 1)
	if err != nil || len(es) != 0 {
		t.Fatal(es, err)
	}
	page = olga.Post("/checks/"+string(id)+"/delete", http.StatusOK, url.Values{"reason": {"a test"}})
	if es, err = d.Store.Retention.Erasures(t.Context(), 0, 1); err != nil || len(es) != 1 {
		t.Fatal(es, err)
	}
	if !strings.Contains(page, "Deleted permanently.") || !strings.Contains(page, es[0].ID) || strings.Contains(page, "/deletions/") {
		t.Errorf("the list does not tell an officer of the deletion with its receipt, or links what officers may not open:\n%s", page)
	}
	adam := d.SignedIn(t, "adam", store.RoleAdministrator)
	if page := adam.Get("/checks?deleted="+es[0].ID, http.StatusOK); strings.Contains(page, "Deleted permanently.") {
		t.Errorf("the list tells of a deletion that was someone else's:\n%s", page)
	}
	adam.Upload(http.StatusOK, nil, "essay.txt", webtest.Folios)
	adam.Post("/checks/"+string(d.Await(t)["essay.txt"])+"/delete", http.StatusOK, url.Values{"reason": {"a test"}})
	if es, err = d.Store.Retention.Erasures(t.Context(), 0, 1); err != nil || len(es) != 1 {
		t.Fatal(es, err)
	}
	adam.Wants(adam.Get("/checks?deleted="+es[0].ID, http.StatusOK), "Deleted permanently.", `href="/deletions/`+es[0].ID+`"`)
	if n := kept(); n != 0 {
		t.Errorf("%d files of a deleted check are kept", n)
	}
}

// TestOneName: a document has the same name in the list, on its page, in every export and in the API. The name is its title, with its
// file name next to it; a title entered by a person takes precedence.
func TestOneName(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	olga.Upload(http.StatusOK, nil, "v2 (final).titled", webtest.Folios)
	d.Await(t)
	tasks, err := d.Store.Checks.Tasks(t.Context(), 0, 0)
	if err != nil || len(tasks) != 1 || tasks[0].Title != "Of the document" {
		t.Fatalf("checks %+v, %v, want one with the title of its document", tasks, err)
	}
	path := "/checks/" + string(tasks[0].ID)
	olga.Wants(olga.Get("/checks", http.StatusOK), "<bdi>Of the document</bdi>", "<bdi>v2 (final).titled</bdi>")
	olga.Wants(olga.Get("/checks?q=of+the+doc", http.StatusOK), "<bdi>Of the document</bdi>")
	olga.Wants(olga.Get(path, http.StatusOK), "<h1>Of the document</h1>", "<bdi>v2 (final).titled</bdi>")
	olga.Wants(olga.Get(path+"/report?format=json", http.StatusOK), `"title": "Of the document"`)
	olga.Wants(olga.Get(path+"/report", http.StatusOK), "Of the document")
	if one := olga.Program("read").Exchange(http.MethodGet, path, "", http.StatusOK); one["title"] != "Of the document" ||
		one["file"] != "v2 (final).titled" {
		t.Errorf("the API has %v", one)
	}
	olga.Upload(http.StatusOK, url.Values{"together": {"yes"}, "title": {"Given"}}, "a.titled", webtest.Folios, "b.titled", webtest.Folios)
	if given, ok := d.Await(t)["Given"]; !ok {
		t.Error("a title that was given is lost")
	} else {
		olga.Wants(olga.Get("/checks/"+string(given), http.StatusOK), "<h1>Given</h1>", "<bdi>a.titled, b.titled</bdi>")
	}
}

// TestFormsKeepWhatWasEntered: a rejected form is shown again with the user's entries and the reason in the user's language.
func TestFormsKeepWhatWasEntered(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	olga.Jar.SetCookies(mustURL(t, d.URL), []*http.Cookie{{Name: "language", Value: "zh-Hans", Path: "/"}})
	fields := url.Values{"title": {"Call <7>"}, "threshold": {"101"}, "library": {"theses"}, "template": {"thesis"}, "partner": {"WEST"},
		"purpose": {"thesis"}}
	page := olga.Send(olga.Form("/batches", fields, "a.txt", webtest.Ledger), http.StatusBadRequest)
	olga.Wants(page, `value="Call &lt;7&gt;"`, `value="101"`, `value="theses" checked`, "<option selected>thesis", `value="WEST" checked`,
		`value="thesis"`, "比例“101”无效", "文件须重新选择")
	if strings.Contains(page, "invalid") {
		t.Error("English on a Chinese page")
	}
	fields = url.Values{"manifest": {"file,date\na.txt,soon\n"}}
	page = olga.Send(olga.Form("/batches", fields, "a.txt", webtest.Ledger), http.StatusBadRequest)
	olga.Wants(page, "第 2 行：“soon”不是日期")
	fields = url.Values{"text": {"My <text>."}, "level": {"exists"}, "deadline": {"0"}, "rules": {"chosen"}, "min_characters": {"12"},
		"short": {"on"}}
	page = olga.Send(olga.Form("/checks", fields), http.StatusBadRequest)
	olga.Wants(page, "My &lt;text&gt;.", `<option value="exists" selected>`,
		`id="min_characters" name="min_characters" type="number" min="0" max="1000000" value="12"`,
		`name="short" aria-describedby="short-hint" checked`, "时限“0”无效")
}

func mustURL(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
