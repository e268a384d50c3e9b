package web_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"concordat"
	"concordat/index"
	"concordat/profile"
	"concordat/site/answer"
	"concordat/store"
	"concordat/web/pages/admin"
	"concordat/web/pages/settings"
	"concordat/webhook"
)

// machineOfTests is a process with fixed answers.
type machineOfTests struct{}

func (machineOfTests) Storage(context.Context) (admin.Storage, error) {
	return admin.Storage{Folder: "/srv/site", Free: 5 << 30, All: 9 << 30, LowWater: 128 << 20, Documents: 1, Sentences: 7,
		Parts: []admin.StoragePart{{Name: "index", Bytes: 3 << 20}, {Name: "originals", Bytes: 17}}}, nil
}

func (machineOfTests) Schemes(context.Context) (admin.Schemes, error) {
	return admin.Schemes{Recipe: "natural", Scheme: "natural@0123456789abcdef", Keyed: true, Epochs: []answer.EpochState{
		{Epoch: concordat.Epoch{Federation: "health", Number: 3}, Scheme: "natural@fedc",
			Libraries: []answer.EpochLibraryState{{Library: "theses", Held: 1, Documents: 2}}}}}, nil
}

func (machineOfTests) Health(context.Context) []admin.HealthPart {
	return []admin.HealthPart{{Code: "store", OK: true}, {Code: "disk", Detail: "3 MiB left"},
		admin.Told("index", false, "health.index.less", 6, 7)}
}

// fixedSettings are settings that no page can change.
type fixedSettings []settings.Setting

func (f fixedSettings) Settings() []settings.Setting { return f }

func (f fixedSettings) Set(context.Context, []settings.Setting, ...store.AuditNote) error { return nil }

// settingsOfTests are the settings of a test site: none can be changed, and one is a secret.
var settingsOfTests = fixedSettings{{Key: "serve.listen", Value: "127.0.0.1:8420", Origin: "--listen"},
	{Key: "check.short", Value: "true", Origin: "site.yaml:3", Live: true},
	{Key: "oidc.client_secret", Value: "hunter2", Origin: "$CONCORDAT_OIDC_CLIENT_SECRET"}}

// TestAdministration: an administrator and an auditor read every page, no one else does, and no secret is shown.
func TestAdministration(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, false)
	if err := d.store.Partners.AddPartner(t.Context(), store.Partner{Site: "SOUTH", Serial: 1, Card: []byte("card"),
		Words: "six words"}); err != nil {
		t.Fatal(err)
	}
	if err := d.store.Asks.Show(t.Context(), store.Showing{Partner: "SOUTH", Hash: strings.Repeat("a", 64), Form: store.FormMatches,
		Library: "theses", Document: "folios.txt", Sentences: 4}); err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{store.AlarmProbing, store.AlarmAuditStopped, store.AlarmAuditContradicts, store.AlarmFalse,
		store.AlarmFlooding, store.AlarmOneDocument, store.AlarmEpoch, store.AlarmLibrary} {
		if _, err := d.store.Partners.RaiseAlarm(t.Context(), store.PartnerAlarm{Partner: "SOUTH", Kind: kind, Library: "theses"}); err != nil {
			t.Fatal(err)
		}
	}
	adam, axel := d.signedIn(t, "adam", store.RoleAdministrator), d.signedIn(t, "axel", store.RoleAuditor)
	sue, olga := d.signedIn(t, "sue", store.RoleSubmitter), d.signedIn(t, "olga", store.RoleOfficer)
	for path, wants := range map[string][]string{
		"/admin":          {"Needs attention", "3 MiB left", "Check queue"},
		"/admin/tasks":    {"No tasks match"},
		"/admin/storage":  {"5.0 GiB of 9.0 GiB", "3.0 MiB", "17 B", "/srv/site"},
		"/admin/schemes":  {"natural@0123456789abcdef", "1 of 2 documents", "health"},
		"/admin/settings": {"--listen", "site.yaml:3", "set, not shown"},
		"/admin/partners": {"South &lt;Site&gt;", "Compare the six words"},
		"/admin/partners/SOUTH": {"six words", "which sentences match", "folios.txt", "No library of this site is open to it",
			"suspiciously many variants of the same sentences", "its audit log was rewritten", "no longer shared", "an impossible answer",
			"more messages than this site can handle", "keep finding the same document", "began an epoch too soon", "peer revoke"},
		"/admin/audit": {"The latest entry is number"},
	} {
		for _, p := range []*person{adam, axel} {
			page := p.get(path, http.StatusOK)
			for _, want := range wants {
				if !strings.Contains(page, want) {
					t.Errorf("%s does not say %q", path, want)
				}
			}
			if strings.Contains(page, "hunter2") {
				t.Errorf("%s shows a secret", path)
			}
		}
		sue.get(path, http.StatusForbidden)
		olga.get(path, http.StatusForbidden)
	}
	// Findings are described in the language of the page, and in English to programs.
	for language, want := range map[string]string{"en": "6 documents; the catalogue has 7", "de": "6 Dokumente, im Katalog stehen 7",
		"zh-CN": "6 份文档，文档目录中有 7 份"} {
		r := adam.request(http.MethodGet, "/admin", nil)
		r.Header.Set("Accept-Language", language)
		if page := adam.do(r, http.StatusOK); !strings.Contains(page, want) {
			t.Errorf("in %s the page does not say %q", language, want)
		}
	}
	german := adam.request(http.MethodGet, "/admin/storage", nil)
	german.Header.Set("Accept-Language", "de")
	if page := adam.do(german, http.StatusOK); !strings.Contains(page, "5,0 GiB von 9,0 GiB") {
		t.Error("in German a size has no decimal comma")
	}
	var health struct{ Parts []struct{ Detail string } }
	adam.program("read").call(http.MethodGet, "/api/v1/admin/health", http.StatusOK, &health)
	if len(health.Parts) < 3 || health.Parts[2].Detail != "6 documents; the catalogue has 7" {
		t.Errorf("programs are told %+v", health)
	}
	adam.get("/admin/partners/NONE", http.StatusNotFound)
	if strings.Contains(axel.get("/admin/tasks", http.StatusOK), "<button class=\"plain\" name=\"action\"") {
		t.Error("an auditor is offered to change tasks")
	}
}

// TestProbingIsSeen: a partner that keeps asking about variants of a sentence is named in the log, on its page and by a webhook
// of the site; one that asks about several drafts of a text is not.
func TestProbingIsSeen(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, true)
	ctx := t.Context()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(d.store.Partners.AddPartner(ctx, store.Partner{Site: "SOUTH", Serial: 1, Card: []byte("card"), Words: "six words"}))
	adam := d.signedIn(t, "adam", store.RoleAdministrator)
	var told []string // by the webhook
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		told = append(told, string(b))
	}))
	after(t, receiver.Close)
	_, err := d.store.Webhooks.CreateHook(ctx, store.Hook{Account: "adam", Whole: true, URL: receiver.URL,
		Kinds: []store.EventKind{store.EventPartnerAlarm}})
	must(err)
	sender := webhook.New(webhook.Options{Store: d.store.Webhooks, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})

	p, err := profile.New(profile.Options{Key: bytes.Repeat([]byte{7}, 32)})
	must(err)
	prints, err := index.Open(filepath.Join(t.TempDir(), "set"), index.Options{Site: "here", Scheme: p.Scheme(), Shard: "00"})
	must(err)
	after(t, func() { _ = prints.Close() })
	var log bytes.Buffer
	answers := answer.New(answer.Options{ID: "here", Index: d.site.Options().Index, Store: d.store,
		Logger: slog.New(slog.NewTextHandler(&log, nil))})
	epoch := concordat.Epoch{Federation: "health", Number: 1}
	must(answers.Sets.UseEpochs(ctx, answer.EpochSet{Epoch: epoch, Profiler: p, Index: prints, SketchKey: bytes.Repeat([]byte{8}, 32),
		CellKey: bytes.Repeat([]byte{7}, 32), HandleKey: bytes.Repeat([]byte{9}, 32)}))
	_, err = answers.Shares.Share(ctx, store.Share{Library: "theses", Partner: "SOUTH", Rule: store.ShareRule{Level: concordat.ShowMetadata,
		Matches: 1, Limits: store.Limits{Sentences: -1, Burst: -1, Disclosures: -1, Documents: -1}}})
	must(err)
	must(answers.Sets.CatchUp(ctx))
	own, err := p.Profile(concordat.Document{ID: "d", Text: folios}, nil)
	must(err)
	sentence := own.Questions()[0]
	jobs := byte(0)
	ask := func(variants int) {
		t.Helper()
		for i := range variants {
			f := sentence.Fingerprint
			f[i/60] ^= 1 << (i % 60) // 60 bits and 40
			jobs++
			_, err := answers.Answer(ctx, "SOUTH", &concordat.Ask{Job: concordat.JobID{1, jobs}, Epoch: epoch, Scheme: p.Scheme(),
				Libraries: []concordat.LibraryID{"theses"}, Probe: concordat.ProbeOne, Level: concordat.ShowMetadata, Purpose: "thesis",
				Sentences: []concordat.AskedSentence{{Fingerprint: f, Gate: sentence.Gate}}})
			must(err)
		}
		sender.Step(ctx)
	}
	const words = "suspiciously many variants of the same sentences"
	seen := func() (page, logged, hooked bool) {
		return strings.Contains(adam.get("/admin/partners/SOUTH", http.StatusOK), words),
			strings.Contains(log.String(), "variants of sentences") && strings.Contains(log.String(), "site=SOUTH"),
			len(told) > 0 && strings.Contains(told[0], "partner.alarm") && strings.Contains(told[0], "SOUTH")
	}
	ask(20)
	if page, logged, hooked := seen(); page || logged || hooked {
		t.Errorf("after twenty drafts: page %v, log %v, webhook %v", page, logged, hooked)
	}
	ask(100)
	if page, logged, hooked := seen(); !page || !logged || !hooked || len(told) != 1 {
		t.Errorf("after variants without end: page %v, log %v, webhook %v of %d", page, logged, hooked, len(told))
	}
}

// TestAdminTasks: a failed task can be restarted, filters narrow the list, and an auditor cannot change a task.
func TestAdminTasks(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, true)
	adam := d.signedIn(t, "adam", store.RoleAdministrator)
	adam.upload(http.StatusOK, nil, "one.txt", folios)
	tasks, err := d.store.Checks.Tasks(t.Context(), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	path := "/admin/tasks/" + string(tasks[0].ID)
	adam.post(path, http.StatusConflict, url.Values{"action": {"retry"}})
	adam.post(path, http.StatusBadRequest, url.Values{"action": {"dance"}})
	if page := adam.post(path, http.StatusOK, url.Values{"action": {"cancel"}}); !strings.Contains(page, "Cancelled by adam.") {
		t.Error("not cancelled")
	}
	if page := adam.get("/admin/tasks?state=queued", http.StatusOK); strings.Contains(page, "one.txt") {
		t.Error("a failed task among the queued ones")
	}
	if page := adam.get("/admin/tasks?state=failed&owner=adam", http.StatusOK); !strings.Contains(page, "one.txt") {
		t.Error("the failed task is not found")
	}
	d.signedIn(t, "axel", store.RoleAuditor).post(path, http.StatusForbidden, url.Values{"action": {"retry"}})
	adam.post(path, http.StatusOK, url.Values{"action": {"retry"}})
	if now, err := d.store.Checks.Task(t.Context(), tasks[0].ID); err != nil || now.State != concordat.TaskQueued {
		t.Errorf("after the retry %+v, %v", now, err)
	}
}

// TestAuditPage: entries are found by person, action and time, page by page; the chain is verified, and tampering is detected.
func TestAuditPage(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, true)
	adam := d.signedIn(t, "adam", store.RoleAdministrator)
	for i := range 120 {
		who := "ada"
		if i%10 == 0 {
			who = "eve"
		}
		if _, err := d.store.Audit.AppendAudit(t.Context(), who, "report_read", nil); err != nil {
			t.Fatal(err)
		}
	}
	page := adam.get("/admin/audit", http.StatusOK)
	if !strings.Contains(page, "Older entries") || strings.Count(page, "<td class=\"action\">Report read</td>") != 100 {
		t.Errorf("%d entries on the page", strings.Count(page, "<td class=\"action\">Report read</td>"))
	}
	if page := adam.get("/admin/audit?actor=eve&action=report_read", http.StatusOK); strings.Count(page, "<td>eve</td>") != 12 ||
		strings.Contains(page, "<td>ada</td>") {
		t.Error("not the entries of eve")
	}
	if page := adam.get("/admin/audit?to=2001-01-01", http.StatusOK); !strings.Contains(page, "No entries match") {
		t.Error("entries before there were any")
	}
	adam.get("/admin/audit?from=yesterday", http.StatusBadRequest)
	if page := adam.get("/admin/audit?before=21", http.StatusOK); strings.Count(page, "<td class=\"action\">Report read</td>") != 20 {
		t.Error("not the last page")
	}
	if page := adam.post("/admin/audit", http.StatusOK, nil); !strings.Contains(page,
		"The chain is intact from the first entry to number 120") {
		t.Error("the chain is not followed")
	}
	lines := strings.Split(strings.TrimSpace(adam.get("/admin/audit/export", http.StatusOK)), "\n")
	if len(lines) != 122 || !json.Valid([]byte(lines[121])) { // including the verification and the export
		t.Errorf("%d lines", len(lines))
	}
	detail := []byte(`{"task": "abc", "kinds": ["x", "y"], "n": 3, "file": "` + strings.Repeat("0123", 16) + `"}`)
	if _, err := d.store.Audit.AppendAudit(t.Context(), "bob", "report_read", detail); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`<a href="/checks/abc"><code>abc</code></a>`, "<code>x, y</code>", "<code>3</code>", ">012301230123…<"} {
		if page := adam.get("/admin/audit?actor=bob", http.StatusOK); !strings.Contains(page, want) {
			t.Errorf("the page of the audit lacks %s", want)
		}
	}
}

// TestLibraryPages: a library is created, filled, changed, shared and deleted through the pages.
func TestLibraryPages(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, false)
	if err := d.store.Partners.AddPartner(t.Context(), store.Partner{Site: "SOUTH", Serial: 1, Card: []byte("card")}); err != nil {
		t.Fatal(err)
	}
	adam, olga, sue := d.signedIn(t, "adam", store.RoleAdministrator), d.signedIn(t, "olga", store.RoleOfficer),
		d.signedIn(t, "sue", store.RoleSubmitter)
	sue.post("/libraries", http.StatusForbidden, url.Values{"name": {"mine"}})
	olga.post("/libraries", http.StatusBadRequest, url.Values{"name": {"a/b"}})
	olga.post("/libraries", http.StatusBadRequest, url.Values{"name": {"new & old!"}})
	olga.post("/libraries", http.StatusConflict, url.Values{"name": {"theses"}})
	if page := olga.post("/libraries", http.StatusOK, url.Values{"name": {"new-old"}, "title": {"Papers"}}); !strings.Contains(page,
		"The library is empty") {
		t.Errorf("no page of the empty library:\n%s", page)
	}
	const path = "/libraries/new-old"
	sue.get(path, http.StatusForbidden)
	got := olga.sendScript(path+"/documents", "k", http.StatusOK, nil, "essay.txt", folios)
	if len(got.Checks) != 1 {
		t.Fatalf("got %+v", got)
	}
	olga.sendScript(path+"/documents", "l", http.StatusOK, nil, "broken.bad", "x")
	d.await(t)
	page := olga.get(path, http.StatusOK)
	for _, want := range []string{"1 added, <strong", "1 failed", "The file is damaged", `<bdi>essay.txt</bdi></th>`, "1 document<",
		"1 to 1 of 1"} {
		if !strings.Contains(page, want) {
			t.Errorf("the library does not say %q", want)
		}
	}
	olga.post(path, http.StatusForbidden, url.Values{"action": {"policy"}})
	adam.post(path, http.StatusBadRequest, url.Values{"action": {"policy"}, "expires": {"soon"}})
	adam.post(path, http.StatusOK, url.Values{"action": {"policy"}, "title": {"All papers"}, "expires": {"2099-01-02"}, "forward": {"none"},
		"template": {"thesis"}})
	adam.post(path, http.StatusBadRequest, url.Values{"action": {"share"}, "partner": {"NONE"}, "level": {"counts"}})
	adam.post(path, http.StatusBadRequest, url.Values{"action": {"share"}, "partner": {"SOUTH"}, "level": {"all"}})
	adam.post(path, http.StatusOK, url.Values{"action": {"share"}, "partner": {"SOUTH"}, "level": {"counts"}})
	adam.post(path, http.StatusBadRequest, url.Values{"action": {"share"}, "partner": {"SOUTH"}, "level": {"counts"}, "sentences": {"0"}})
	adam.post(path, http.StatusOK, url.Values{"action": {"share"}, "partner": {"SOUTH"}, "level": {"counts"}, "sentences": {"7000"},
		"purposes": {"thesis, appeal"}, "ship": {"yes"}, "expires": {"2098-01-02"}})
	adam.post(path, http.StatusOK, url.Values{"action": {"share"}, "partner": {"SOUTH"}, "level": {"counts"}}) // empty: no change
	if x, err := d.store.Answers.Share(t.Context(), "new-old", "SOUTH"); err != nil || x.Rule.Limits.Sentences != 7000 ||
		len(x.Rule.Purposes) != 2 || !x.Rule.Ship || x.Rule.Expires.IsZero() {
		t.Errorf("share %+v, %v", x, err)
	}
	adam.post(path, http.StatusOK, url.Values{"action": {"wording"}, "name": {"cover"}, "text": {"I declare that this is mine."}})
	page = adam.get(path+"/settings", http.StatusOK)
	for _, want := range []string{"All papers", "2099-01-02", `value="none" selected`, "how much matches</td>", "cover <span"} {
		if !strings.Contains(page, want) {
			t.Errorf("the library does not say %q", want)
		}
	}
	if l, err := d.store.Catalogue.Library(t.Context(), "new-old"); err != nil ||
		l.Policy.Expires.In(time.Local).Format(time.DateOnly) != "2099-01-02" || l.Policy.Template != "thesis" {
		t.Errorf("library %+v, %v", l, err)
	}
	adam.post(path, http.StatusOK, url.Values{"action": {"unshare"}, "partner": {"SOUTH"}})
	adam.post(path, http.StatusOK, url.Values{"action": {"unword"}, "name": {"cover"}})
	olga.post(path+"/documents/delete", http.StatusOK, url.Values{"document": {"essay.txt"}, "reason": {"handed in twice"}})
	if es, err := d.store.Retention.Erasures(t.Context(), 0, 10); err != nil || len(es) != 1 || es[0].Reason != "handed in twice" ||
		es[0].Receipt == nil {
		t.Errorf("receipts %v: %v", es, err)
	}
	olga.post(path+"/documents/delete", http.StatusNotFound, url.Values{"document": {"none.txt"}, "reason": {"x"}})
	olga.post(path+"/documents/delete", http.StatusNotFound, url.Values{"document": {"essay.txt"}})
	adam.post(path, http.StatusBadRequest, url.Values{"action": {"delete"}, "confirm": {"theses"}})
	adam.post(path, http.StatusBadRequest, url.Values{"action": {"delete"}, "confirm": {"new-old"}}) // without a reason
	if page := adam.post(path, http.StatusOK, url.Values{"action": {"delete"}, "confirm": {"new-old"},
		"reason": {"licence ended"}}); !strings.Contains(page, "licence ended") {
		t.Errorf("no receipt:\n%s", page)
	}
	adam.get(path, http.StatusNotFound)
}

// TestAdminAPI: the programs of administrators and auditors can read what the pages show.
func TestAdminAPI(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, true)
	d.signedIn(t, "adam", store.RoleAdministrator).upload(http.StatusOK, nil, "one.txt", folios)
	d.signedIn(t, "sue", store.RoleSubmitter)
	d.signedIn(t, "axel", store.RoleAuditor)
	token := func(who string) string {
		secret := "api-of-" + who
		if err := d.store.People.PutToken(t.Context(), secret, store.Token{Purpose: store.PurposeAPI, Account: who, Name: "t",
			Scopes: []string{"read", "check", "documents", "erase"}, Made: time.Now(), Expires: time.Now().Add(time.Hour)}); err != nil {
			t.Fatal(err)
		}
		return secret
	}
	adam, sue, axel := token("adam"), token("sue"), token("axel")
	ask := func(token, method, path, body string, want int) string {
		t.Helper()
		p := d.person(t)
		r := p.request(method, "/api/v1/admin"+path, strings.NewReader(body))
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		return p.do(r, want)
	}
	for path, want := range map[string]string{"/health": `"ok":false`, "/storage": `"free_bytes":5368709120`, "/schemes": `"keyed":true`,
		"/settings":           `"hidden":true`,
		"/tasks?state=queued": `"title":"one.txt"`, "/tasks?state=failed": `"tasks":[]`, "/partners": `"partners":[]`,
		"/audit?actor=adam": `"check_submitted"`} {
		for _, who := range []string{adam, axel} {
			if got := ask(who, http.MethodGet, path, "", http.StatusOK); !strings.Contains(got, want) || strings.Contains(got, "hunter2") {
				t.Errorf("%s: %s", path, got)
			}
		}
		ask(sue, http.MethodGet, path, "", http.StatusForbidden)
	}
	ask(adam, http.MethodGet, "/tasks?cursor=-", "", http.StatusBadRequest)
	ask(adam, http.MethodGet, "/partners/NONE/exposure", "", http.StatusNotFound)
	if got := ask(axel, http.MethodPost, "/audit/verify", "", http.StatusOK); !strings.Contains(got, `"entries":`) {
		t.Errorf("verify: %s", got)
	}
	tasks, err := d.store.Checks.Tasks(t.Context(), 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	ask(adam, http.MethodPost, "/tasks/"+string(tasks[0].ID)+"/retry", "", http.StatusConflict)
	if err := d.store.Checks.CancelTask(t.Context(), tasks[0].ID, store.Cause{Detail: "no"}); err != nil {
		t.Fatal(err)
	}
	ask(sue, http.MethodPost, "/tasks/"+string(tasks[0].ID)+"/retry", "", http.StatusForbidden)
	if got := ask(adam, http.MethodPost, "/tasks/"+string(tasks[0].ID)+"/retry", "", http.StatusOK); !strings.Contains(got,
		`"state":"queued"`) {
		t.Errorf("retry: %s", got)
	}
	ask(sue, http.MethodPost, "/libraries", `{"id":"mine"}`, http.StatusForbidden)
	ask(adam, http.MethodPost, "/libraries", `{"id":"more","title":"More"}`, http.StatusOK)
	ask(adam, http.MethodDelete, "/libraries/more", "", http.StatusNoContent)
	ask(adam, http.MethodDelete, "/libraries/more", "", http.StatusNotFound)
}
