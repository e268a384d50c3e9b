package web_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"concordat"
	"concordat/report"
	"concordat/store"
)

// incoming stores a partner's request for the first words of the document.
func (d *testSite) incoming(t testing.TB, id string, until time.Time) {
	t.Helper()
	sum := sha256.Sum256([]byte(folios))
	r := store.Disclosure{ID: id, Direction: store.DisclosureIn, Partner: "SOUTH", Job: concordat.JobID{1},
		Handle: concordat.Handle{byte(len(id)), 2}, Library: "theses", Document: "folios.txt",
		Hash: hex.EncodeToString(sum[:]), Spans: []concordat.Span{{Start: 4, End: 16}}, Reason: "a <case> of ours", Contact: "dean@south",
		State: concordat.DisclosurePending, Until: until}
	if err := d.store.Answers.PutDisclosure(t.Context(), r); err != nil {
		t.Fatal(err)
	}
}

// actions counts the audit entries by action.
func (d *testSite) actions(t *testing.T) map[string]int {
	t.Helper()
	lines, err := d.store.Audit.Audit(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, l := range lines {
		out[l.Action]++
	}
	return out
}

// TestIncomingRequests: an officer sees who asks for which words of which document and why, and decides.
func TestIncomingRequests(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, true)
	olga := d.signedIn(t, "olga", store.RoleOfficer)
	day := time.Now().Add(24 * time.Hour)
	d.incoming(t, "one", day)
	d.incoming(t, "second", day)
	d.incoming(t, "old", time.Now().Add(-time.Hour))
	list := olga.get("/requests", http.StatusOK)
	for _, want := range []string{"South &lt;Site&gt; asks this site", "On folios", "a &lt;case&gt; of ours", "waiting", "expired"} {
		if !strings.Contains(list, want) {
			t.Errorf("no %q in\n%s", want, list)
		}
	}
	if page := olga.get("/requests?state=expired", http.StatusOK); strings.Contains(page, `href="/requests/one"`) ||
		!strings.Contains(page, `href="/requests/old"`) {
		t.Errorf("the expired ones are\n%s", page)
	}
	page := olga.get("/requests/one", http.StatusOK)
	for _, want := range []string{folios[4:16], "dean@south", `value="approve"`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	if strings.Contains(page, "morning light") {
		t.Error("the page shows more of the document than was asked for")
	}
	decide := func(id, action, words string, want int) string {
		t.Helper()
		return olga.post("/requests/"+id, want, url.Values{"action": {action}, "words": {words}})
	}
	decide("one", "refuse", " ", http.StatusBadRequest)
	decide("one", "burn", "x", http.StatusBadRequest)
	decide("none", "approve", "", http.StatusNotFound)
	decide("old", "approve", "", http.StatusBadRequest)
	if page := decide("one", "approve", "", http.StatusOK); !strings.Contains(page, "granted") || !strings.Contains(page, "olga") ||
		!strings.Contains(page, `value="withdraw"`) {
		t.Errorf("approved:\n%s", page)
	}
	decide("one", "approve", "", http.StatusBadRequest)
	if page := decide("one", "withdraw", "by mistake", http.StatusOK); !strings.Contains(page, "withdrawn") ||
		!strings.Contains(page, "by mistake") {
		t.Errorf("withdrawn:\n%s", page)
	}
	if page := decide("second", "refuse", "ask the author", http.StatusOK); !strings.Contains(page, "refused") ||
		strings.Contains(page, `name="action"`) {
		t.Errorf("refused:\n%s", page)
	}
	if n := d.actions(t); n["request_decided"] != 3 || n["request_read"] < 4 {
		t.Errorf("audit %v", n)
	}
	for _, role := range []store.Role{store.RoleSubmitter, store.RoleAuditor} {
		other := d.signedIn(t, "a-"+string(role), role)
		other.get("/requests", http.StatusForbidden)
		other.get("/requests/one", http.StatusForbidden)
		other.post("/requests/one", http.StatusForbidden, url.Values{"action": {"approve"}})
	}
}

// south is a partner that shows words at once, and passages once a person there agrees.
type south struct {
	concordat.Partner
	state atomic.Value // string
	asks  atomic.Int32
}

func (p *south) Site() concordat.SiteID { return "SOUTH" }

func (p *south) Reveal(_ context.Context, a *concordat.RevealAsk) (*concordat.Revealed, error) {
	p.asks.Add(1)
	out := &concordat.Revealed{State: concordat.DisclosureGranted}
	if a.Level == concordat.ShowPassage {
		out.State = p.state.Load().(string)
		out.Until = time.Now().Add(24 * time.Hour)
	}
	if out.State != concordat.DisclosureGranted {
		return out, nil
	}
	for _, one := range a.Passages {
		r := concordat.RevealedPassage{Shared: []concordat.Span{{Start: 0, End: 11}}}
		if a.Level == concordat.ShowPassage {
			r.Text = strings.Repeat("theirs ", one.Span.Len()/7)
		}
		out.Passages = append(out.Passages, r)
	}
	return out, nil
}

// atPartner returns findings with a passage at a partner, and one in the mirror of another.
func atPartner() *report.Findings {
	text := folios + "\n\nAnd something else that stands in the mirror of a partner, word for word, as it seems."
	second := concordat.Span{Start: len(folios) + 2, End: len(text)}
	place := func(site concordat.SiteID, n byte) concordat.Ref {
		return concordat.Ref{Site: site, Library: "theses", Document: concordat.DocumentID(strings.Repeat(fmt.Sprintf("%02x", n), 16))}
	}
	a, m := place("SOUTH", 7), place("WEST", 8)
	return &report.Findings{Version: report.Version, Submission: concordat.Document{ID: "x", Title: "Essay", Text: text}, Forward: "all",
		Passages: []concordat.Passage{
			{Span: concordat.Span{End: len(folios)}, Source: a, Title: "Theirs", Kind: concordat.KindNear, Similarity: 0.9,
				SourceSpan: concordat.Span{Start: 10, End: 10 + len(folios)}},
			{Span: second, Source: m, Title: "Mirrored", Kind: concordat.KindVerbatim, Similarity: 1,
				SourceSpan: concordat.Span{Start: 10, End: 10 + second.Len()}}},
		Consulted: []concordat.Consulted{{Site: "SOUTH", Library: "theses", Asked: 2, Answered: 2, Level: concordat.ShowPassage,
			Shown: concordat.Shown{Exists: true, Documents: 1}},
			{Site: "WEST", Library: "theses", Asked: 2, Answered: 2, Level: concordat.ShowMetadata,
				Mirror: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)}},
		Partners: []report.PartnerSource{{Ref: a, Title: "Theirs", Level: concordat.ShowPassage, Job: strings.Repeat("01", 16),
			Epoch: concordat.Epoch{Federation: "f", Number: 1}, Matches: 1},
			{Ref: m, Title: "Mirrored", Level: concordat.ShowMetadata, Matches: 1}},
		Sites: map[concordat.SiteID]string{"SOUTH": "South", "WEST": "West"}}
}

// TestAskPartner: an officer asks a partner for the words of a passage, waits, and reads them.
func TestAskPartner(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, true)
	d.partner.state.Store(concordat.DisclosurePending)
	olga := d.signedIn(t, "olga", store.RoleOfficer)
	d.finished(t, "one", "sue", atPartner())
	page := olga.get("/checks/one/passages/1", http.StatusOK)
	if !strings.Contains(page, "Ask the partner for the wording") {
		t.Fatalf("no way to ask:\n%s", page)
	}
	if page := olga.get("/checks/one/passages/2", http.StatusOK); strings.Contains(page, "Ask the partner") {
		t.Errorf("a mirror can be asked:\n%s", page)
	}
	if page := olga.get("/checks/one", http.StatusOK); !strings.Contains(page, "mirror of 2026-01-02") {
		t.Errorf("a mirror is not shown as one:\n%s", page)
	}
	ask := func(want int, level, reason, contact string) string {
		t.Helper()
		return olga.post("/checks/one/ask", want, url.Values{"action": {"ask"}, "number": {"1"}, "start": {"0"},
			"end": {fmt.Sprint(len(folios))}, "level": {level}, "reason": {reason}, "contact": {contact}})
	}
	ask(http.StatusBadRequest, "everything", "", "")
	ask(http.StatusBadRequest, "passage", "a case", "")
	if d.partner.asks.Load() != 0 {
		t.Fatal("the partner was asked")
	}
	if page := ask(http.StatusOK, "overlap", "", ""); !strings.Contains(page, "Only the words that both sides have") ||
		!strings.Contains(page, "Granted") {
		t.Errorf("the words in common:\n%s", page)
	}
	page = ask(http.StatusOK, "passage", "a case", "dean@north")
	if !strings.Contains(page, "Waiting") || !strings.Contains(page, `value="refresh"`) || !strings.Contains(page, "until") {
		t.Errorf("not waiting:\n%s", page)
	}
	n := d.partner.asks.Load()
	ask(http.StatusOK, "passage", "a case", "dean@north")
	if d.partner.asks.Load() != n {
		t.Error("what waits was asked for again")
	}
	if list := olga.get("/requests", http.StatusOK); !strings.Contains(list, "This site asks South") || !strings.Contains(list, "a case") {
		t.Errorf("requests:\n%s", list)
	}
	d.partner.state.Store(concordat.DisclosureGranted)
	page = olga.post("/checks/one/ask", http.StatusOK, url.Values{"action": {"refresh"}, "number": {"1"}, "start": {"0"}, "end": {"1"}})
	if !strings.Contains(page, "theirs theirs") || strings.Contains(page, "waiting") {
		t.Errorf("granted:\n%s", page)
	}
	if n := d.actions(t); n["passages_asked"] != 2 || n["passages_refreshed"] != 1 {
		t.Errorf("audit %v", n)
	}
	for _, role := range []store.Role{store.RoleSubmitter, store.RoleAuditor} {
		other := d.signedIn(t, map[store.Role]string{store.RoleSubmitter: "sue", store.RoleAuditor: "axel"}[role], role)
		if page := other.get("/checks/one/passages/1", http.StatusOK); strings.Contains(page, "Ask the partner") {
			t.Errorf("a %s can ask", role)
		}
		other.post("/checks/one/ask", http.StatusForbidden, url.Values{"action": {"refresh"}, "start": {"0"}, "end": {"1"}})
	}
}

// json is like call, with a body.
func (p *program) json(method, path, body string, want int, out any) {
	p.t.Helper()
	if out == nil && want >= 400 {
		out = &problem{}
	}
	p.call(method, path, want, out, func(r *http.Request) {
		if body != "" {
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
			r.Header.Set("Content-Type", "application/json")
		}
	})
}

// TestRequestsByProgram does all of that through the API.
func TestRequestsByProgram(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, true)
	d.partner.state.Store(concordat.DisclosureRefused)
	d.incoming(t, "one", time.Now().Add(time.Hour))
	d.finished(t, "check", "sue", atPartner())
	job := concordat.JobID([]byte(strings.Repeat("\x01", 16)))
	if err := d.store.Asks.PutAsk(t.Context(), store.Ask{Job: job, Task: "check", Site: "SOUTH",
		Epoch: concordat.Epoch{Federation: "f", Number: 1}, Made: time.Now()}); err != nil {
		t.Fatal(err)
	}
	officer := d.signedIn(t, "olga", store.RoleOfficer).program("read", "check", "review")
	sue := d.signedIn(t, "sue", store.RoleSubmitter).program("read", "check", "review")
	type one struct {
		ID, Direction, State, Words, Title, Check string
		Passages                                  []string
	}
	var list struct{ Requests []one }
	officer.json("GET", "/api/v1/requests", "", http.StatusOK, &list)
	if len(list.Requests) != 1 || list.Requests[0].Direction != "in" || list.Requests[0].Title != "On folios" ||
		list.Requests[0].Passages != nil {
		t.Errorf("requests %+v", list)
	}
	d.incoming(t, "two", time.Now().Add(time.Hour))
	var paged struct {
		Requests []one
		Next     string
	}
	officer.json("GET", "/api/v1/requests?limit=1", "", http.StatusOK, &paged)
	if len(paged.Requests) != 1 || paged.Requests[0].ID != "two" || paged.Next != "two" {
		t.Errorf("first page %+v", paged)
	}
	paged.Next, paged.Requests = "", nil
	officer.json("GET", "/api/v1/requests?limit=5&cursor=two", "", http.StatusOK, &paged)
	if len(paged.Requests) != 1 || paged.Requests[0].ID != "one" || paged.Next != "" {
		t.Errorf("second page %+v", paged)
	}
	var got one
	officer.json("GET", "/api/v1/requests/one", "", http.StatusOK, &got)
	if len(got.Passages) != 1 || got.Passages[0] != folios[4:16] {
		t.Errorf("request %+v", got)
	}
	officer.json("POST", "/api/v1/requests/one/decision", `{"action":"refuse"}`, http.StatusBadRequest, nil)
	officer.json("POST", "/api/v1/requests/one/decision", `{"action":"refuse","words":"no"}`, http.StatusOK, &got)
	if got.State != "refused" || got.Words != "no" {
		t.Errorf("decided %+v", got)
	}
	officer.json("POST", "/api/v1/requests/none/decision", `{"action":"approve"}`, http.StatusNotFound, nil)
	var asked struct{ Requests []report.Disclosure }
	officer.json("POST", "/api/v1/checks/check/requests", `{"start":0,"end":20,"level":"passage","reason":"a case","contact":"dean"}`,
		http.StatusOK, &asked)
	if len(asked.Requests) != 1 || asked.Requests[0].State != concordat.DisclosureRefused {
		t.Errorf("asked %+v", asked)
	}
	list.Requests = nil
	officer.json("GET", "/api/v1/requests?state=refused", "", http.StatusOK, &list)
	if len(list.Requests) != 2 || list.Requests[0].Check != "check" {
		t.Errorf("requests %+v", list)
	}
	for _, path := range []string{"/api/v1/requests", "/api/v1/requests/one"} {
		sue.json("GET", path, "", http.StatusForbidden, nil)
	}
	sue.json("POST", "/api/v1/requests/one/decision", `{"action":"approve"}`, http.StatusForbidden, nil)
	sue.json("POST", "/api/v1/checks/check/requests", `{"start":0,"end":20,"level":"overlap"}`, http.StatusForbidden, nil)
}
