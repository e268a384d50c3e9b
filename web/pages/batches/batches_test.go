package batches_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"concordat"
	"concordat/internal/webtest"
	"concordat/report"
	"concordat/site/batch"
	"concordat/store"
	"concordat/web"
)

// Two texts that share nothing.
const (
	ledger = webtest.Ledger
	keeper = webtest.Keeper
)

func TestBatchPages(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	ann, bob, officer := d.SignedIn(t, "ann", store.RoleSubmitter), d.SignedIn(t, "bob", store.RoleSubmitter),
		d.SignedIn(t, "olga", store.RoleOfficer)
	ann.Wants(ann.Get("/batches/new", http.StatusOK), `name="manifest"`, "data-folder", "All &lt;theses&gt;")
	ann.HandBatch(http.StatusBadRequest, nil)
	ann.HandBatch(http.StatusBadRequest, url.Values{"threshold": {"101"}}, "a.txt", ledger)
	ann.HandBatch(http.StatusBadRequest, url.Values{"manifest": {"name\nx\n"}}, "a.txt", ledger)
	path := ann.HandBatch(http.StatusOK, url.Values{"title": {"Call <7>"}, "manifest": {"file,author\na<1>.txt,Ann\nd.white.txt,Ann\ngone.txt,X\n"}},
		"a<1>.txt", ledger+webtest.Folios, "b.txt", keeper+ledger, "c.bad", "x", "d.white.txt", ledger)
	b := d.AwaitBatch(t, path)
	if b.State != concordat.TaskDone {
		t.Fatalf("%s: %s", b.State, b.Cause)
	}
	page := ann.Get(path, http.StatusOK)
	ann.Wants(page, "Call &lt;7&gt;", "a&lt;1&gt;.txt", "<svg ", "damaged: the file ends in the middle", "same declared author", "gone.txt",
		"/tables/matrix.csv", `href="/checks/`+b.ID+`-1"`)
	if strings.Contains(page, "<1>") || strings.Contains(page, `/batches/`+b.ID+`/lineage"`) {
		t.Error("markup of a name, or a form that a submitter may not use")
	}
	ann.Wants(ann.Get("/checks/"+b.ID+"-1/report", http.StatusOK), "another document of this batch")
	// Possibly hidden text is reported both in the list of documents and in the report.
	flagged := `class="warned" href="/checks/` + b.ID + `-4#flags"`
	ann.Wants(page, flagged)
	ann.Wants(ann.Get("/checks?in="+b.ID, http.StatusOK), flagged)
	ann.Wants(ann.Get("/checks/"+b.ID+"-4", http.StatusOK), `<a href="#flags" class="warned">`, "White text: 1 word", `title="white text"`)
	ann.Wants(ann.Get(path+"/tables/documents.csv", http.StatusOK), `"error","flags"`)
	if page := ann.Get("/checks/"+b.ID+"-1", http.StatusOK); strings.Contains(page, `href="#flags"`) {
		t.Errorf("a report without flags tells of some:\n%s", page)
	}
	read := d.Readings(t)
	ann.Wants(ann.Get(path+"/pairs/1/2", http.StatusOK), `data-beside`, `href="/batches/`+b.ID+`?min=30#pairs"`, "surveyors")
	if d.Readings(t) != read+1 {
		t.Error("the report of a pair is read and leaves no line")
	}
	ann.Wants(ann.Get(path+"/tables/pairs.csv", http.StatusOK), `"a<1>.txt",`)
	ann.Wants(ann.Get(path+"/tables/wording.csv", http.StatusOK), `"number","decide","counted"`)
	ann.Wants(ann.Get(path+"/tables/batch.json", http.StatusOK), `"wording":`)
	ann.Wants(ann.Get(path+"/events", http.StatusOK), `"finally":true`)
	for _, bad := range []string{"/tables/all.csv", "/pairs/1/1", "/pairs/1/9", "/pairs/x/2", "/pairs/0/1"} {
		ann.Get(path+bad, http.StatusNotFound)
	}
	// For other people, the batch does not exist.
	for _, sub := range []string{"", "/pairs/1/2", "/tables/pairs.csv", "/events"} {
		bob.Get(path+sub, http.StatusNotFound)
	}
	for _, sub := range []string{"/cancel", "/again"} {
		bob.Post(path+sub, http.StatusNotFound, nil)
	}
	if strings.Contains(bob.Get("/batches", http.StatusOK), b.ID) {
		t.Error("the list shows somebody else's batch")
	}
	ann.Wants(ann.Get("/batches", http.StatusOK), b.ID)
	ann.Post(path+"/lineage", http.StatusForbidden, url.Values{"author": {"on"}})
	ann.Post(path+"/pairs/1/2", http.StatusForbidden, url.Values{"verdict": {"discount"}})

	named := store.Account{Name: "olga", Title: "Olga Officer", Role: store.RoleOfficer}
	if err := d.Store.People.UpdateAccount(t.Context(), named); err != nil {
		t.Fatal(err)
	}
	readsPair(officer, path, b.ID)
	officer.Wants(officer.Post(path+"/pairs/2/1", http.StatusOK, url.Values{"verdict": {"discount"}, "reason": {"agreed <x>"}}),
		"decided by a person", "agreed &lt;x&gt;", "the pair does not count")
	officer.Wants(officer.Post(path+"/lineage", http.StatusOK, url.Values{"group": {"on"}}), "rules for pairs set", "Olga Officer")
	officer.Post(path+"/pairs/1/2", http.StatusBadRequest, url.Values{"verdict": {"perhaps"}})

	// Schedule a recheck.
	ann.Wants(ann.Post("/rechecks", http.StatusOK, url.Values{"kind": {"batch"}, "target": {b.ID}, "every": {"30"}}), "Next re-check")
	ann.Post("/rechecks", http.StatusOK, url.Values{"kind": {"check"}, "target": {b.ID + "-1"}, "every": {"0"}, "on": {"2030-01-02"}})
	ann.Wants(ann.Get("/rechecks?check="+b.ID+"-1", http.StatusOK), "2030-01-02", "every 30 days")
	if strings.Contains(bob.Get("/rechecks", http.StatusOK), b.ID) {
		t.Error("the list shows what somebody else has done again")
	}
	bob.Post("/rechecks", http.StatusNotFound, url.Values{"kind": {"batch"}, "target": {b.ID}, "every": {"1"}})
	ann.Post("/rechecks", http.StatusBadRequest, url.Values{"kind": {"batch"}, "target": {b.ID}, "every": {"0"}})
	ann.Post("/rechecks", http.StatusOK, url.Values{"kind": {"batch"}, "target": {b.ID}, "action": {"never"}})
	ann.Post(path+"/again", http.StatusOK, nil)
	if again := d.AwaitBatch(t, path); again.Round != 2 {
		t.Errorf("round %d", again.Round)
	}
}

// readsPair reads a pair of TestBatchPages' batch side by side and decides on it there.
func readsPair(p *webtest.Person, path, id string) {
	p.T.Helper()
	p.Wants(p.Get(path+"/pairs/1/2?format=html", http.StatusOK), "another document of this batch", "similarity report")
	const filter = "?min=5&sort=name"
	page := p.Get(path+"/pairs/1/2"+filter, http.StatusOK)
	p.Wants(page, `<span class="m k-verbatim so so1" id="h1" data-place="1">`, `<span class="m k-verbatim so so1" id="t1" data-place="1">`,
		`data-goto="1"`, `rel="next" href="/batches/`+id+`/pairs/`, `?min=5&amp;sort=name"`, `href="/checks/`+id+`-1"`, "Counts, not reviewed",
		"lighthouse keeper", "No verdict")
	p.Wants(p.Get(path, http.StatusOK), "<noscript><p class=\"hint\">The histogram")
	back := path + "/pairs/1/2" + filter
	page = p.Post(path+"/pairs/1/2", http.StatusOK, url.Values{"verdict": {"comment"}, "reason": {"ask <both>"}, "back": {back}})
	p.Wants(page, "ask &lt;both&gt;", "data-beside", `name="sort" value="name"`)
	p.Post(path+"/pairs/1/2", http.StatusBadRequest, url.Values{"verdict": {"comment"}, "reason": {" "}})
	p.Wants(p.Post(path+"/pairs/1/2", http.StatusOK, url.Values{"verdict": {"count"}, "back": {back}}), "data-beside", "Reviewed</span>",
		"Olga Officer: the pair counts")
	p.Wants(p.Post("/checks/"+id+"-1/notes", http.StatusOK, url.Values{"kind": {"verdict"}, "verdict": {"discuss"}, "text": {"see the pair"},
		"back": {back}}), "data-beside", `<option value="discuss" selected>`)
	hidden := p.Get(path+"/pairs/1/2"+filter+"&hide=yes", http.StatusOK)
	p.Wants(hidden, "Document 1", "Document 2", "Show names", "?format=html&amp;hide=yes")
	printed := p.Get(path+"/pairs/1/2?format=html&hide=yes", http.StatusOK)
	p.Wants(printed, `<p class="subject" dir="auto">Document 1</p>`, `<bdi><strong>Document 2</strong></bdi>`)
	for _, page := range []string{hidden, printed, p.Get(path+"?hide=yes", http.StatusOK), p.Get(path+"/charts?hide=yes", http.StatusOK)} {
		if strings.Contains(page, "b.txt") || strings.Contains(page, "a&lt;1&gt;.txt") || strings.Contains(page, "gone.txt") {
			p.T.Errorf("the page tells names that are hidden:\n%s", page)
		}
	}
	// A form cannot redirect to another site.
	p.Wants(p.Post(path+"/pairs/1/2", http.StatusOK, url.Values{"verdict": {"rules"}, "back": {"//elsewhere.example/batches/x/pairs/1/2"}}),
		`id="pairs-list"`)
	// The lists contain all pairs, in the order of the larger share, the smaller share and the name.
	for _, order := range []string{"share", "both", "name"} {
		p.Wants(p.Get(path+"?min=1&sort="+order, http.StatusOK), "/pairs/1/2?", "/pairs/1/4?", `<option value="`+order+`" selected>`)
	}
}

func TestBatchCancelled(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	ann := d.SignedIn(t, "ann", store.RoleSubmitter)
	path := ann.HandBatch(http.StatusOK, nil, "a.txt", ledger)
	ann.Wants(ann.Get(path, http.StatusOK), "data-events", "Waiting for its turn")
	ann.Wants(ann.Post(path+"/cancel", http.StatusOK, nil), "Cancelled by ann", "Resume")
	ann.Post(path+"/cancel", http.StatusOK, nil) // it has ended
}

func TestBatchAPI(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	ann, bob := d.SignedIn(t, "ann", store.RoleOfficer).Program("read", "check"),
		d.SignedIn(t, "bob", store.RoleSubmitter).Program("read", "check")
	type handed struct {
		ID, State string
		Documents []batch.MemberLine
	}
	var b, same handed
	files := webtest.WithFiles("key", "a.txt", ledger+webtest.Folios, "b.txt", keeper+ledger)
	bob.Call("POST", "/api/v1/batches", http.StatusAccepted, &b, files)
	bob.Call("POST", "/api/v1/batches", http.StatusAccepted, &same, files)
	if b.ID == "" || same.ID != b.ID {
		t.Errorf("one key made %q and %q", b.ID, same.ID)
	}
	bob.Call("POST", "/api/v1/batches", http.StatusBadRequest, &webtest.Problem{}, webtest.WithFiles(""))
	d.AwaitBatch(t, b.ID)
	at := "/api/v1/batches/" + b.ID
	bob.Call("GET", at, http.StatusOK, &b)
	if b.State != "done" || len(b.Documents) != 2 || b.Documents[0].Share == nil {
		t.Errorf("%+v", b)
	}
	var pairs struct {
		Pairs []batch.PairLine
		Next  string
	}
	bob.Call("GET", at+"/pairs?limit=1", http.StatusOK, &pairs)
	if len(pairs.Pairs) != 1 || !pairs.Pairs[0].Counted || pairs.Next != "" {
		t.Errorf("%+v", pairs)
	}
	var clusters struct{ Clusters []batch.ClusterLine }
	bob.Call("GET", at+"/clusters", http.StatusOK, &clusters)
	if len(clusters.Clusters) != 1 || len(clusters.Clusters[0].Documents) != 2 {
		t.Errorf("%+v", clusters)
	}
	var list struct {
		Batches []handed
		Next    string
	}
	bob.Call("GET", "/api/v1/batches?limit=1", http.StatusOK, &list)
	if len(list.Batches) != 1 || list.Next == "" {
		t.Errorf("%+v", list)
	}
	bob.Call("GET", "/api/v1/batches?cursor=!", http.StatusBadRequest, &webtest.Problem{})
	body := func(v any) func(*http.Request) {
		return func(r *http.Request) {
			data, err := json.Marshal(v)
			if err != nil {
				panic(err)
			}
			r.Header.Set("Content-Type", "application/json")
			r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
		}
	}
	discount := body(map[string]string{"verdict": "discount"})
	bob.Call("PUT", at+"/pairs/1/2", http.StatusForbidden, &webtest.Problem{}, discount)
	ann.Call("PUT", at+"/pairs/1/2", http.StatusOK, &b, discount)
	bob.Call("GET", at+"/clusters", http.StatusOK, &clusters)
	if len(clusters.Clusters) != 0 {
		t.Errorf("clusters %+v of a pair that does not count", clusters)
	}
	ann.Call("PUT", at+"/lineage", http.StatusOK, &b, body(batch.LineageRules{Author: true}))
	bob.Call("PUT", "/api/v1/rechecks/batch/"+b.ID, http.StatusOK, nil, body(map[string]any{"every": 7}))
	bob.Call("DELETE", "/api/v1/rechecks/batch/"+b.ID, http.StatusNoContent, nil)
	bob.Call("POST", at+"/again", http.StatusOK, &b)
	d.AwaitBatch(t, b.ID)
	bob.Call("POST", at+"/cancel", http.StatusOK, &b)
	// For other people, the batch does not exist.
	cyd := d.SignedIn(t, "cyd", store.RoleSubmitter).Program("read", "check")
	for _, path := range []string{"", "/pairs", "/clusters"} {
		cyd.Call("GET", at+path, http.StatusNotFound, &webtest.Problem{})
	}
	cyd.Call("POST", at+"/cancel", http.StatusNotFound, &webtest.Problem{})
}

// TestBatchStreams: pages that follow batches and checks share one limit, and their streams end with the site.
func TestBatchStreams(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	ann := d.SignedIn(t, "ann", store.RoleSubmitter)
	path := ann.HandBatch(http.StatusOK, nil, "a.txt", ledger) + "/events"
	var streams []io.Reader
	for range 20 {
		resp, err := ann.Do(ann.Request(http.MethodGet, path, nil))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("status %d", resp.StatusCode)
		}
		streams = append(streams, resp.Body)
	}
	ann.Get(path, http.StatusTooManyRequests)
	d.Web.Streams.End()
	for _, s := range streams {
		if told, err := io.ReadAll(s); err != nil || !strings.Contains(string(told), "Waiting for its turn") {
			t.Fatalf("a stream told %q: %v", told, err)
		}
	}
}

// TestBatchByKeyboard submits a batch using only the keyboard, waits on its page without any input, and reads a pair.
func TestBatchByKeyboard(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	ctx, complaints := webtest.Browser(t, d.URL, 1200)
	dir := t.TempDir()
	var files []string
	// The order matters because documents are numbered in the order of submission, and the link of a pair contains the numbers.
	for _, f := range [][2]string{{"a.txt", ledger + webtest.Folios}, {"b.txt", keeper + ledger}} {
		path := filepath.Join(dir, f[0])
		if err := os.WriteFile(path, []byte(f[1]), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	var waits, title, pair string
	if err := chromedp.Run(ctx, d.Enter(t, "olga", store.RoleOfficer), chromedp.Navigate(d.URL+"/batches"),
		chromedp.Focus(`main a[href="/batches/new"]`, chromedp.ByQuery), chromedp.KeyEvent(kb.Enter),
		chromedp.WaitVisible("#title", chromedp.ByQuery), chromedp.SetUploadFiles("#file", files, chromedp.ByQuery),
		chromedp.Focus("#title", chromedp.ByQuery), chromedp.KeyEvent("Round one"+kb.Enter),
		chromedp.WaitVisible("[data-words]", chromedp.ByQuery), webtest.ReadText("[data-words]", &waits)); err != nil {
		t.Fatal(err)
	}
	if waits != "Waiting for its turn." {
		t.Errorf("the page says %q", waits)
	}
	webtest.RunBatches(t, d.Batches)
	run, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Queue.Run(run) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	if err := chromedp.Run(ctx, chromedp.WaitVisible(`a[href*="/pairs/1/2?"]`, chromedp.ByQuery), chromedp.Title(&title),
		chromedp.Focus(`a[href*="/pairs/1/2?"]`, chromedp.ByQuery), chromedp.KeyEvent(kb.Enter),
		chromedp.WaitVisible(".pane .m.on", chromedp.ByQuery), webtest.ReadText("body", &pair)); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(title, "Round one – Batch – ") || !strings.Contains(pair, "surveyors") {
		t.Errorf("title %q; the pair says %q", title, pair)
	}
	for _, c := range complaints() {
		t.Error(c)
	}
}

// TestBatchRules: the pages, the files and the API show the reports of a batch under the batch's rules instead of the site's, and report
// none of its documents as deleted.
func TestBatchRules(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	officer := d.SignedIn(t, "olga", store.RoleOfficer)
	files := store.OpenFiles(filepath.Join(d.Dir, "originals"))
	var inputs []store.BatchInput
	for _, f := range [][2]string{{"a.txt", keeper + "\n\n\"" + webtest.Folios + "\"\n"}, {"b.txt", "\"" + webtest.Folios + "\"\n\n" + ledger},
		{"c.txt", ledger}} {
		hash, _, err := files.Put(t.Context(), strings.NewReader(f[1]), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, store.BatchInput{Name: f[0], Place: hash})
	}
	id, err := d.Batches.Submit(t.Context(), "olga", "Call", batch.Job{NoLibraries: true, Rules: &report.Rules{ExcludeQuotes: true}},
		inputs, nil)
	if err != nil {
		t.Fatal(err)
	}
	if b := d.AwaitBatch(t, id); b.State != concordat.TaskDone {
		t.Fatalf("%s: %s", b.State, b.Cause)
	}
	var pairs struct{ Pairs []batch.PairLine }
	program := officer.Program("read", "check", "review")
	program.Call("GET", "/api/v1/batches/"+id+"/pairs", http.StatusOK, &pairs)
	if len(pairs.Pairs) != 1 || pairs.Pairs[0].A != "b.txt" {
		t.Errorf("pairs %+v, want b and c", pairs.Pairs)
	}
	type apiReport struct {
		Coverage float64
		Rules    struct {
			Quotes bool `json:"exclude_quotes"`
		}
	}
	var page, byAPI apiReport
	if err := json.Unmarshal([]byte(officer.Get("/checks/"+id+"-1/report?format=json", http.StatusOK)), &page); err != nil {
		t.Fatal(err)
	}
	program.Call("GET", "/api/v1/checks/"+id+"-1/report", http.StatusOK, &byAPI)
	for _, rep := range []apiReport{page, byAPI} {
		if rep.Coverage != 0 || !rep.Rules.Quotes {
			t.Errorf("%+v", rep)
		}
	}
	const deleted = "deleted from their library"
	for _, at := range []string{"/checks/" + id + "-1", "/checks/" + id + "-1/report", "/checks/" + id + "-2/report", "/batches/" + id +
		"/pairs/2/3", "/batches/" + id + "/pairs/1/2"} {
		if page := officer.Get(at, http.StatusOK); strings.Contains(page, deleted) {
			t.Errorf("%s calls a document of the batch deleted", at)
		}
	}
	officer.Wants(officer.Get("/batches/"+id+"/pairs/1/2?format=html", http.StatusOK), "Nothing that counts")
	officer.Wants(officer.Get("/batches/"+id+"/pairs/1/2", http.StatusOK), "nothing in common that counts", "lighthouse keeper")
	officer.Wants(officer.Get("/checks/"+id+"-1/report?format=csv", http.StatusOK), `,"no","quote",`)
}

// TestBatchBarred: a site that keeps no submissions accepts no batch.
func TestBatchBarred(t *testing.T) {
	t.Parallel()
	text := strings.Repeat(webtest.Folios+" ", 3)
	d := webtest.NewWith(t, true, func(o *web.Options) { o.Policy.NoStore = true })
	d.SignedIn(t, "olga", store.RoleOfficer).HandBatch(http.StatusForbidden, nil, "a.txt", text, "b.txt", text)
	all, err := d.Store.Batches.Batches(t.Context(), nil, 0, 0)
	if err != nil || len(all) != 0 {
		t.Errorf("%d batches, %v", len(all), err)
	}
}
