package batches_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"concordat/client"
	"concordat/internal/webtest"
	"concordat/site/batch"
	"concordat/store"
)

// TestBatchLeadPages: a batch's leads are listed apart from its pairs, with both texts and a side-by-side view. An officer decides on a
// lead in both reports, with a reason, and undoes the decision. The tables and the API show it.
func TestBatchLeadPages(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	ann, officer := d.SignedIn(t, "ann", store.RoleSubmitter), d.SignedIn(t, "olga", store.RoleOfficer)
	path := d.LeadBatch(t)
	page := officer.Get(path, http.StatusOK)
	officer.Wants(page, `id="leads"`, "says the same thing in other words", "made the guild shift all its glass furnaces",
		"glass blowers moved",
		`href="`+path+`/pairs/1/2#leads"`, `value="count-lead"`, `action="`+path+`/leads/1/2"`, "leads.csv")
	if mine := ann.Get(path, http.StatusOK); strings.Contains(mine, `value="count-lead"`) {
		t.Error("a submitter is offered to decide")
	}
	officer.Wants(officer.Get(path+"/pairs/1/2", http.StatusOK), `<section id="leads"`, `class="two joined"`)

	program := officer.Program("read", "check")
	var got struct {
		Asked bool
		Leads []batch.LeadLine
		Many  []batch.ManyLine
	}
	read := func(query string) int {
		t.Helper()
		got.Leads = nil
		program.Call("GET", "/api/v1"+path+"/leads"+query, http.StatusOK, &got)
		return len(got.Leads)
	}
	if read("") != 1 || !got.Asked || len(got.Many) != 0 || len(got.Leads[0].Pairs) < 3 || got.Leads[0].State != "open" {
		t.Fatalf("leads %+v", got)
	}
	l := got.Leads[0]
	text := webtest.GlassAgain[l.Span.Start:l.Span.End] // ASCII text
	if !strings.HasPrefix(text, "In 1411") || l.SourceSpan.End > len(webtest.Glass) {
		t.Errorf("the lead is of %q", text)
	}
	if read("?state=counted") != 0 || read("?kind=translation") != 0 || read("?kind=rewording&state=open") != 1 {
		t.Error("filters do not filter")
	}
	program.Call("GET", "/api/v1"+path+"/leads?state=x", http.StatusUnprocessableEntity, nil)

	form := func(action, why string) url.Values {
		return url.Values{"action": {action}, "comment": {why}, "start": {strconv.Itoa(l.Span.Start)}, "end": {strconv.Itoa(l.Span.End)},
			"source_start": {strconv.Itoa(l.SourceSpan.Start)}, "source_end": {strconv.Itoa(l.SourceSpan.End)}}
	}
	officer.Post(path+"/leads/1/2", http.StatusBadRequest, form("count-lead", " "))
	officer.Post(path+"/leads/1/2", http.StatusBadRequest, form("praise-lead", "x"))
	officer.Post(path+"/leads/2/1", http.StatusNotFound, form("count-lead", "x"))
	ann.Post(path+"/leads/1/2", http.StatusForbidden, form("count-lead", "x"))
	officer.Post(path+"/leads/1/2", http.StatusOK, form("count-lead", "sentence for sentence"))
	officer.Wants(officer.Get(path, http.StatusOK), "Counted by olga: sentence for sentence", `value="open-lead"`, "the lead counts")
	id := strings.TrimPrefix(path, "/batches/")
	for n := 1; n <= 2; n++ {
		officer.Wants(officer.Get(fmt.Sprintf("/checks/%s-%d", id, n), http.StatusOK), "Counted by olga", "sentence for sentence")
	}
	// Undoing it in only one of the reports also works.
	if read("?state=counted") != 1 || got.Leads[0].By != "olga" || got.Leads[0].Comment != "sentence for sentence" {
		t.Errorf("counted %+v", got.Leads)
	}
	where := fmt.Sprintf(`{"number_a":1,"number_b":2,"span":{"start":%d,"end":%d},"source_span":{"start":%d,"end":%d},"state":`, l.Span.Start,
		l.Span.End, l.SourceSpan.Start, l.SourceSpan.End)
	program.JSON("POST", "/api/v1"+path+"/leads", where+`"set_aside"}`, http.StatusBadRequest, nil)
	program.JSON("POST", "/api/v1"+path+"/leads", where+`"set_aside","comment":"a textbook"}`, http.StatusOK, nil)
	if read("?state=set_aside") != 1 || got.Leads[0].Comment != "a textbook" {
		t.Errorf("set aside %+v", got.Leads)
	}
	officer.Wants(officer.Get(path+"/tables/leads.csv", http.StatusOK),
		`"essay.txt","essay.txt","glass.txt","glass.txt",`, `,"set_aside","olga","a textbook"`)
	c := d.Client(t, "cleo", store.RoleOfficer, "read", "check")
	found, err := c.BatchLeads(t.Context(), id, client.LeadFilter{State: "set_aside", Languages: "en-en"})
	if err != nil || !found.Asked || found.Total != 1 || len(found.Leads) != 1 || found.Leads[0].B != "glass.txt" ||
		found.Leads[0].By != "olga" {
		t.Fatalf("the client: %+v, %v", found, err)
	}
	if none, err := c.BatchLeads(t.Context(), id, client.LeadFilter{State: "counted"}); err != nil || len(none.Leads) != 0 || none.Total != 1 {
		t.Errorf("the client: %+v, %v", none, err)
	}
	webtest.WantKind(t, c.DecideBatchLead(t.Context(), id, found.Leads[0], "counted", ""), "invalid")
	if err := c.DecideBatchLead(t.Context(), id, found.Leads[0], "counted", "it is"); err != nil || read("?state=counted") != 1 ||
		got.Leads[0].By != "cleo" {
		t.Errorf("the client decides: %+v, %v", got.Leads, err)
	}
	if page := officer.Get(path+"?lead-state=open", http.StatusOK); strings.Contains(page, `id="lead-1"`) ||
		!strings.Contains(page, "0 of 1 leads match: not decided.") {
		t.Errorf("filtered: %s", page)
	}
	kept := form("open-lead", "")
	kept.Set("lead-state", "open")
	officer.Wants(officer.Post(path+"/leads/1/2", http.StatusOK, kept), `id="lead-1"`, "1 of 1 leads are shown.")
	if read("?state=open") != 1 {
		t.Errorf("open again %+v", got.Leads)
	}
	lines, err := d.Store.Audit.Audit(t.Context(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	var decided []string
	for _, line := range lines {
		var detail struct{ Batch, State, Reason string }
		if line.Action == "batch_lead" && json.Unmarshal(line.Detail, &detail) == nil {
			decided = append(decided, detail.State+" "+detail.Reason)
		}
	}
	if got, want := strings.Join(decided, "|"), "counted sentence for sentence|set_aside a textbook|counted it is|open "; got != want {
		t.Errorf("the audit says %q, want %q", got, want)
	}
}
