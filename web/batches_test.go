package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"concordat"
	"concordat/index"
	"concordat/report"
	"concordat/site"
	"concordat/site/batch"
	"concordat/store"
)

// newBatches returns the batch queue of a site; the batches' folders are below dir.
func newBatches(t testing.TB, s *site.Site, db *store.DB, files *store.Files, q *site.Queue, dir string) *batch.Queue {
	t.Helper()
	return batch.NewQueue(s, batch.QueueOptions{Store: db, Queue: q, Rules: func() report.Rules { return report.Rules{} },
		Open: func(_ context.Context, id string) (concordat.Index, func() error, error) {
			shard, err := index.Open(filepath.Join(dir, "batch-"+id), index.Options{Site: "here", Scheme: s.Scheme(), Shard: "00"})
			if err != nil {
				return nil, nil, err
			}
			return shard, shard.Close, nil
		},
		Read: func(_ context.Context, in store.BatchInput) ([]site.Item, error) {
			path, err := files.Path(in.Place)
			if err != nil {
				return nil, err
			}
			b, err := os.ReadFile(path)
			if strings.HasSuffix(in.Name, ".bad") {
				err = errors.New("damaged: the file ends in the middle")
			}
			one := site.Submission{ID: concordat.DocumentID(in.Name), Text: string(b)}
			if strings.HasSuffix(in.Name, ".white.txt") {
				one.Flags = []concordat.Flag{{Code: "white_text", Detail: "of a test", Count: 1, Span: &concordat.Span{End: 5}}}
			}
			return []site.Item{{Submission: one, Err: err}}, nil
		},
		Options: func(_ context.Context, j batch.Job) (site.CheckOptions, func(), error) {
			return site.CheckOptions{Libraries: j.Libraries}, nil, nil
		}})
}

// runBatches runs the batches until the test ends.
func runBatches(t testing.TB, b *batch.Queue) {
	ctx, cancel := context.WithCancel(context.Background())
	ran := make(chan error, 1)
	go func() { ran <- b.Run(ctx) }()
	after(t, func() {
		cancel()
		if err := <-ran; err != nil {
			t.Error(err)
		}
	})
}

const (
	ledger = "Three surveyors measured the valley from end to end and wrote the height of every hill into a ledger bound in green leather. When the ledger was lost in a fire, the youngest of them wrote all of it down again from memory. "
	keeper = "Nobody had asked the lighthouse keeper what he thought about the new timetable of the ferries that crossed the sound at night. "
)

// handBatch submits a batch of files, given as alternating names and contents, and returns the path of its page.
func (p *person) handBatch(want int, fields url.Values, files ...string) string {
	p.t.Helper()
	r := p.form("/batches", fields, files...)
	resp, err := p.Do(r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != want {
		page, _ := io.ReadAll(resp.Body) // for the message only
		p.t.Fatalf("a batch: %d, want %d\n%s", resp.StatusCode, want, page)
	}
	return resp.Request.URL.Path
}

// awaitBatch waits until a batch has ended.
func (d *testSite) awaitBatch(t *testing.T, path string) store.Batch {
	t.Helper()
	for {
		b, err := d.store.Batches.Batch(t.Context(), strings.TrimPrefix(path, "/batches/"))
		if err != nil {
			t.Fatal(err)
		}
		if b.State != concordat.TaskQueued && b.State != concordat.TaskRunning {
			return b
		}
		select {
		case <-t.Context().Done():
			t.Fatal("it does not end")
		case <-time.After(20 * time.Millisecond): // another look
		}
	}
}

func (p *person) wants(page string, parts ...string) {
	p.t.Helper()
	for _, want := range parts {
		if !strings.Contains(page, want) {
			p.t.Errorf("the page does not hold %q:\n%s", want, page)
		}
	}
}

func TestBatchPages(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, false)
	ann, bob, officer := d.signedIn(t, "ann", store.RoleSubmitter), d.signedIn(t, "bob", store.RoleSubmitter),
		d.signedIn(t, "olga", store.RoleOfficer)
	ann.wants(ann.get("/batches/new", http.StatusOK), `name="manifest"`, "data-folder", "All &lt;theses&gt;")
	ann.handBatch(http.StatusBadRequest, nil)
	ann.handBatch(http.StatusBadRequest, url.Values{"threshold": {"101"}}, "a.txt", ledger)
	ann.handBatch(http.StatusBadRequest, url.Values{"manifest": {"name\nx\n"}}, "a.txt", ledger)
	path := ann.handBatch(http.StatusOK, url.Values{"title": {"Call <7>"}, "manifest": {"file,author\na<1>.txt,Ann\nd.white.txt,Ann\ngone.txt,X\n"}},
		"a<1>.txt", ledger+folios, "b.txt", keeper+ledger, "c.bad", "x", "d.white.txt", ledger)
	b := d.awaitBatch(t, path)
	if b.State != concordat.TaskDone {
		t.Fatalf("%s: %s", b.State, b.Cause)
	}
	page := ann.get(path, http.StatusOK)
	ann.wants(page, "Call &lt;7&gt;", "a&lt;1&gt;.txt", "<svg ", "damaged: the file ends in the middle", "same declared author", "gone.txt",
		"/tables/matrix.csv", `href="/checks/`+b.ID+`-1"`)
	if strings.Contains(page, "<1>") || strings.Contains(page, `/batches/`+b.ID+`/lineage"`) {
		t.Error("markup of a name, or a form that a submitter may not use")
	}
	ann.wants(ann.get("/checks/"+b.ID+"-1/report", http.StatusOK), "another document of this batch")
	// Possibly hidden text is reported both where documents are listed and in the report.
	flagged := `class="warned" href="/checks/` + b.ID + `-4#flags"`
	ann.wants(page, flagged)
	ann.wants(ann.get("/checks?in="+b.ID, http.StatusOK), flagged)
	ann.wants(ann.get("/checks/"+b.ID+"-4", http.StatusOK), `<a href="#flags" class="warned">`, "White text: 1 word", `title="white text"`)
	ann.wants(ann.get(path+"/tables/documents.csv", http.StatusOK), `"error","flags"`)
	if page := ann.get("/checks/"+b.ID+"-1", http.StatusOK); strings.Contains(page, `href="#flags"`) {
		t.Errorf("a report without flags tells of some:\n%s", page)
	}
	read := d.readings(t)
	ann.wants(ann.get(path+"/pairs/1/2", http.StatusOK), `data-beside`, `href="/batches/`+b.ID+`?min=30#pairs"`, "surveyors")
	if d.readings(t) != read+1 {
		t.Error("the report of a pair is read and leaves no line")
	}
	ann.wants(ann.get(path+"/tables/pairs.csv", http.StatusOK), `"a<1>.txt",`)
	ann.wants(ann.get(path+"/tables/wording.csv", http.StatusOK), `"number","decide","counted"`)
	ann.wants(ann.get(path+"/tables/batch.json", http.StatusOK), `"wording":`)
	ann.wants(ann.get(path+"/events", http.StatusOK), `"finally":true`)
	for _, bad := range []string{"/tables/all.csv", "/pairs/1/1", "/pairs/1/9", "/pairs/x/2", "/pairs/0/1"} {
		ann.get(path+bad, http.StatusNotFound)
	}
	// Other people's batches do not exist.
	for _, sub := range []string{"", "/pairs/1/2", "/tables/pairs.csv", "/events"} {
		bob.get(path+sub, http.StatusNotFound)
	}
	for _, sub := range []string{"/cancel", "/again"} {
		bob.post(path+sub, http.StatusNotFound, nil)
	}
	if strings.Contains(bob.get("/batches", http.StatusOK), b.ID) {
		t.Error("the list shows somebody else's batch")
	}
	ann.wants(ann.get("/batches", http.StatusOK), b.ID)
	ann.post(path+"/lineage", http.StatusForbidden, url.Values{"author": {"on"}})
	ann.post(path+"/pairs/1/2", http.StatusForbidden, url.Values{"verdict": {"discount"}})

	officer.readsPair(path, b.ID)
	officer.wants(officer.post(path+"/pairs/2/1", http.StatusOK, url.Values{"verdict": {"discount"}, "reason": {"agreed <x>"}}),
		"decided by a person", "agreed &lt;x&gt;", "the pair does not count")
	officer.wants(officer.post(path+"/lineage", http.StatusOK, url.Values{"group": {"on"}}), "rules set", "olga")
	officer.post(path+"/pairs/1/2", http.StatusBadRequest, url.Values{"verdict": {"perhaps"}})

	// Once more, later.
	ann.wants(ann.post("/rechecks", http.StatusOK, url.Values{"kind": {"batch"}, "target": {b.ID}, "every": {"30"}}), "Next time")
	ann.post("/rechecks", http.StatusOK, url.Values{"kind": {"check"}, "target": {b.ID + "-1"}, "every": {"0"}, "on": {"2030-01-02"}})
	ann.wants(ann.get("/rechecks?check="+b.ID+"-1", http.StatusOK), "2030-01-02", "every 30 days")
	if strings.Contains(bob.get("/rechecks", http.StatusOK), b.ID) {
		t.Error("the list shows what somebody else has done again")
	}
	bob.post("/rechecks", http.StatusNotFound, url.Values{"kind": {"batch"}, "target": {b.ID}, "every": {"1"}})
	ann.post("/rechecks", http.StatusBadRequest, url.Values{"kind": {"batch"}, "target": {b.ID}, "every": {"0"}})
	ann.post("/rechecks", http.StatusOK, url.Values{"kind": {"batch"}, "target": {b.ID}, "action": {"never"}})
	ann.post(path+"/again", http.StatusOK, nil)
	if again := d.awaitBatch(t, path); again.Round != 2 {
		t.Errorf("round %d", again.Round)
	}
}

// readsPair reads a pair of the batch of TestBatchPages side by side, and decides on it there.
func (p *person) readsPair(path, id string) {
	p.t.Helper()
	p.wants(p.get(path+"/pairs/1/2?format=html", http.StatusOK), "another document of this batch", "similarity report")
	const filter = "?min=5&sort=name"
	page := p.get(path+"/pairs/1/2"+filter, http.StatusOK)
	p.wants(page, `<span class="m k-verbatim so so1" id="h1" data-place="1">`, `<span class="m k-verbatim so so1" id="t1" data-place="1">`,
		`data-goto="1"`, `rel="next" href="/batches/`+id+`/pairs/`, `?min=5&amp;sort=name"`, `href="/checks/`+id+`-1"`, "Counts, not reviewed",
		"lighthouse keeper", "No verdict")
	back := path + "/pairs/1/2" + filter
	page = p.post(path+"/pairs/1/2", http.StatusOK, url.Values{"verdict": {"comment"}, "reason": {"ask <both>"}, "back": {back}})
	p.wants(page, "ask &lt;both&gt;", "data-beside", `name="sort" value="name"`)
	p.post(path+"/pairs/1/2", http.StatusBadRequest, url.Values{"verdict": {"comment"}, "reason": {" "}})
	p.wants(p.post(path+"/pairs/1/2", http.StatusOK, url.Values{"verdict": {"count"}, "back": {back}}), "data-beside", "Reviewed</span>")
	p.wants(p.post("/checks/"+id+"-1/notes", http.StatusOK, url.Values{"kind": {"verdict"}, "verdict": {"discuss"}, "text": {"see the pair"},
		"back": {back}}), "data-beside", "Discuss")
	hidden := p.get(path+"/pairs/1/2"+filter+"&hide=yes", http.StatusOK)
	p.wants(hidden, "Document 1", "Document 2", "Show names", "?format=html&amp;hide=yes")
	printed := p.get(path+"/pairs/1/2?format=html&hide=yes", http.StatusOK)
	p.wants(printed, `<p class="subject" dir="auto">Document 1</p>`, `<bdi><strong>Document 2</strong></bdi>`)
	for _, page := range []string{hidden, printed, p.get(path+"?hide=yes", http.StatusOK), p.get(path+"/charts?hide=yes", http.StatusOK)} {
		if strings.Contains(page, "b.txt") || strings.Contains(page, "a&lt;1&gt;.txt") || strings.Contains(page, "gone.txt") {
			p.t.Errorf("the page tells names that are hidden:\n%s", page)
		}
	}
	// A form cannot lead back to another site.
	p.wants(p.post(path+"/pairs/1/2", http.StatusOK, url.Values{"verdict": {"rules"}, "back": {"//elsewhere.example/batches/x/pairs/1/2"}}),
		`id="pairs-list"`)
	// By the smaller share, by both, or by name: the lists contain all pairs.
	for _, order := range []string{"share", "both", "name"} {
		p.wants(p.get(path+"?min=1&sort="+order, http.StatusOK), "/pairs/1/2?", "/pairs/1/4?", `<option value="`+order+`" selected>`)
	}
}

func TestBatchCancelled(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, true)
	ann := d.signedIn(t, "ann", store.RoleSubmitter)
	path := ann.handBatch(http.StatusOK, nil, "a.txt", ledger)
	ann.wants(ann.get(path, http.StatusOK), "data-events", "Waiting for its turn")
	ann.wants(ann.post(path+"/cancel", http.StatusOK, nil), "Cancelled by ann", "Resume")
	ann.post(path+"/cancel", http.StatusOK, nil) // it has ended
}

func TestBatchAPI(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, false)
	ann, bob := d.signedIn(t, "ann", store.RoleOfficer).program("read", "check"),
		d.signedIn(t, "bob", store.RoleSubmitter).program("read", "check")
	type handed struct {
		ID, State string
		Documents []batch.MemberLine
	}
	var b, same handed
	files := withFiles("key", "a.txt", ledger+folios, "b.txt", keeper+ledger)
	bob.call("POST", "/api/v1/batches", http.StatusAccepted, &b, files)
	bob.call("POST", "/api/v1/batches", http.StatusAccepted, &same, files)
	if b.ID == "" || same.ID != b.ID {
		t.Errorf("one key made %q and %q", b.ID, same.ID)
	}
	bob.call("POST", "/api/v1/batches", http.StatusBadRequest, &problem{}, withFiles(""))
	d.awaitBatch(t, b.ID)
	at := "/api/v1/batches/" + b.ID
	bob.call("GET", at, http.StatusOK, &b)
	if b.State != "done" || len(b.Documents) != 2 || b.Documents[0].Share == nil {
		t.Errorf("%+v", b)
	}
	var pairs struct {
		Pairs []batch.PairLine
		Next  string
	}
	bob.call("GET", at+"/pairs?limit=1", http.StatusOK, &pairs)
	if len(pairs.Pairs) != 1 || !pairs.Pairs[0].Counted || pairs.Next != "" {
		t.Errorf("%+v", pairs)
	}
	var clusters struct{ Clusters []batch.ClusterLine }
	bob.call("GET", at+"/clusters", http.StatusOK, &clusters)
	if len(clusters.Clusters) != 1 || len(clusters.Clusters[0].Documents) != 2 {
		t.Errorf("%+v", clusters)
	}
	var list struct {
		Batches []handed
		Next    string
	}
	bob.call("GET", "/api/v1/batches?limit=1", http.StatusOK, &list)
	if len(list.Batches) != 1 || list.Next == "" {
		t.Errorf("%+v", list)
	}
	bob.call("GET", "/api/v1/batches?cursor=!", http.StatusBadRequest, &problem{})
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
	bob.call("PUT", at+"/pairs/1/2", http.StatusForbidden, &problem{}, discount)
	ann.call("PUT", at+"/pairs/1/2", http.StatusOK, &b, discount)
	bob.call("GET", at+"/clusters", http.StatusOK, &clusters)
	if len(clusters.Clusters) != 0 {
		t.Errorf("clusters %+v of a pair that does not count", clusters)
	}
	ann.call("PUT", at+"/lineage", http.StatusOK, &b, body(batch.LineageRules{Author: true}))
	bob.call("PUT", "/api/v1/rechecks/batch/"+b.ID, http.StatusOK, nil, body(map[string]any{"every": 7}))
	bob.call("DELETE", "/api/v1/rechecks/batch/"+b.ID, http.StatusNoContent, nil)
	bob.call("POST", at+"/again", http.StatusOK, &b)
	d.awaitBatch(t, b.ID)
	bob.call("POST", at+"/cancel", http.StatusOK, &b)
	// Somebody else's batch does not exist.
	cyd := d.signedIn(t, "cyd", store.RoleSubmitter).program("read", "check")
	for _, path := range []string{"", "/pairs", "/clusters"} {
		cyd.call("GET", at+path, http.StatusNotFound, &problem{})
	}
	cyd.call("POST", at+"/cancel", http.StatusNotFound, &problem{})
}

// TestBatchStreams: pages that follow batches count together with those that follow checks, and end with the site.
func TestBatchStreams(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, true)
	ann := d.signedIn(t, "ann", store.RoleSubmitter)
	path := ann.handBatch(http.StatusOK, nil, "a.txt", ledger) + "/events"
	var streams []io.Reader
	for range 20 {
		resp, err := ann.Do(ann.request(http.MethodGet, path, nil))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("status %d", resp.StatusCode)
		}
		streams = append(streams, resp.Body)
	}
	ann.get(path, http.StatusTooManyRequests)
	d.web.EndStreams()
	for _, s := range streams {
		if told, err := io.ReadAll(s); err != nil || !strings.Contains(string(told), "Waiting for its turn") {
			t.Fatalf("a stream told %q: %v", told, err)
		}
	}
}

// TestBatchByKeyboard submits a batch with the keyboard alone, waits on its page without touching it, and
// reads a pair.
func TestBatchByKeyboard(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, true)
	ctx, complaints := browser(t, d.URL, 1200)
	dir := t.TempDir()
	var files []string
	// The order matters: documents are numbered as they come, and the link of a pair contains the numbers.
	for _, f := range [][2]string{{"a.txt", ledger + folios}, {"b.txt", keeper + ledger}} {
		path := filepath.Join(dir, f[0])
		if err := os.WriteFile(path, []byte(f[1]), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, path)
	}
	var waits, title, pair string
	if err := chromedp.Run(ctx, d.enter(t, "olga", store.RoleOfficer), chromedp.Navigate(d.URL+"/batches"),
		chromedp.Focus(`main a[href="/batches/new"]`, chromedp.ByQuery), chromedp.KeyEvent(kb.Enter),
		chromedp.WaitVisible("#title", chromedp.ByQuery), chromedp.SetUploadFiles("#file", files, chromedp.ByQuery),
		chromedp.Focus("#title", chromedp.ByQuery), chromedp.KeyEvent("Round one"+kb.Enter),
		chromedp.WaitVisible("[data-words]", chromedp.ByQuery), text("[data-words]", &waits)); err != nil {
		t.Fatal(err)
	}
	if waits != "Waiting for its turn." {
		t.Errorf("the page says %q", waits)
	}
	runBatches(t, d.batches)
	run, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.queue.Run(run) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	if err := chromedp.Run(ctx, chromedp.WaitVisible(`a[href*="/pairs/1/2?"]`, chromedp.ByQuery), chromedp.Title(&title),
		chromedp.Focus(`a[href*="/pairs/1/2?"]`, chromedp.ByQuery), chromedp.KeyEvent(kb.Enter),
		chromedp.WaitVisible(".pane .m.on", chromedp.ByQuery), text("body", &pair)); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(title, "Round one – Batch – ") || !strings.Contains(pair, "surveyors") {
		t.Errorf("title %q; the pair says %q", title, pair)
	}
	for _, c := range complaints() {
		t.Error(c)
	}
}

// TestBatchRules: the pages, the files and the API show the reports of a batch by the rules that the batch keeps, not
// by the site's, and do not report any of its documents as deleted.
func TestBatchRules(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, false)
	officer := d.signedIn(t, "olga", store.RoleOfficer)
	files := store.OpenFiles(filepath.Join(d.dir, "originals"))
	var inputs []store.BatchInput
	for _, f := range [][2]string{{"a.txt", keeper + "\n\n\"" + folios + "\"\n"}, {"b.txt", "\"" + folios + "\"\n\n" + ledger},
		{"c.txt", ledger}} {
		hash, _, err := files.Put(t.Context(), strings.NewReader(f[1]), 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		inputs = append(inputs, store.BatchInput{Name: f[0], Place: hash})
	}
	id, err := d.batches.Submit(t.Context(), "olga", "Call", batch.Job{NoLibraries: true, Rules: &report.Rules{ExcludeQuotes: true}},
		inputs, nil)
	if err != nil {
		t.Fatal(err)
	}
	if b := d.awaitBatch(t, id); b.State != concordat.TaskDone {
		t.Fatalf("%s: %s", b.State, b.Cause)
	}
	var pairs struct{ Pairs []batch.PairLine }
	program := officer.program("read", "check", "review")
	program.call("GET", "/api/v1/batches/"+id+"/pairs", http.StatusOK, &pairs)
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
	if err := json.Unmarshal([]byte(officer.get("/checks/"+id+"-1/report?format=json", http.StatusOK)), &page); err != nil {
		t.Fatal(err)
	}
	program.call("GET", "/api/v1/checks/"+id+"-1/report", http.StatusOK, &byAPI)
	for _, rep := range []apiReport{page, byAPI} {
		if rep.Coverage != 0 || !rep.Rules.Quotes {
			t.Errorf("%+v", rep)
		}
	}
	const deleted = "deleted from their library"
	for _, at := range []string{"/checks/" + id + "-1", "/checks/" + id + "-1/report", "/checks/" + id + "-2/report", "/batches/" + id +
		"/pairs/2/3", "/batches/" + id + "/pairs/1/2"} {
		if page := officer.get(at, http.StatusOK); strings.Contains(page, deleted) {
			t.Errorf("%s calls a document of the batch deleted", at)
		}
	}
	officer.wants(officer.get("/batches/"+id+"/pairs/1/2?format=html", http.StatusOK), "Nothing that counts")
	officer.wants(officer.get("/batches/"+id+"/pairs/1/2", http.StatusOK), "Nothing in common that counts", "lighthouse keeper")
	officer.wants(officer.get("/checks/"+id+"-1/report?format=csv", http.StatusOK), `,"no","quote",`)
}
