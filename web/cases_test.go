package web_test

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"concordat"
	"concordat/report"
	"concordat/store"
	"concordat/web"
)

// TestCases: the list of checks can be filtered by progress, reviewer and title, and several checks can be assigned and
// given a due date at once, but only by users who decide on checks.
func TestCases(t *testing.T) {
	t.Parallel()
	d := newTestSite(t, false)
	olga, sue := d.signedIn(t, "olga", store.RoleOfficer), d.signedIn(t, "sue", store.RoleSubmitter)
	otto := d.signedIn(t, "otto", store.RoleOfficer)
	a, b := string(d.checkedBy(t, olga, "first essay", folios)), string(d.checkedBy(t, olga, "second essay", folios+" More."))
	has := func(view string, want ...string) {
		t.Helper()
		page := olga.get("/checks?"+view, http.StatusOK)
		for _, title := range []string{"first essay", "second essay"} {
			if got := strings.Contains(page, "<bdi>"+title+"</bdi>"); got != strings.Contains(strings.Join(want, " "), title) {
				t.Errorf("%s: %s is there: %t", view, title, got)
			}
		}
	}
	has("view=new", "first essay", "second essay")
	has("view=new&q=SECOND", "second essay")
	has("view=decided")
	both := url.Values{"check": {a, b}, "action": {"assign"}, "assignee": {"otto"}}
	sue.post("/checks/cases", http.StatusForbidden, both)
	olga.post("/checks/cases", http.StatusOK, both)
	has("view=review", "first essay", "second essay")
	has("view=new")
	has("mine=yes")
	olga.post("/checks/cases", http.StatusOK, url.Values{"check": {a}, "action": {"assign"}, "assignee": {"olga"}})
	has("mine=yes", "first essay")
	olga.post("/checks/cases", http.StatusBadRequest, url.Values{"check": {a}, "action": {"assign"}, "assignee": {"sue"}})
	olga.post("/checks/cases", http.StatusBadRequest, url.Values{"action": {"assign"}, "assignee": {"olga"}})
	olga.post("/checks/cases", http.StatusNotFound, url.Values{"check": {a, "none"}, "action": {"assign"}, "assignee": {"otto"}})
	olga.post("/checks/cases", http.StatusBadRequest, url.Values{"check": {a}, "action": {"due"}, "due": {"soon"}})
	yesterday := time.Now().AddDate(0, 0, -1).Format(time.DateOnly)
	page := olga.post("/checks/cases", http.StatusOK, url.Values{"check": {a}, "action": {"due"}, "due": {yesterday}, "list": {"mine=yes"}})
	olga.wants(page, yesterday, "overdue")
	has("mine=yes", "first essay") // the refused requests changed nothing
	olga.post("/checks/"+a+"/notes", http.StatusOK, url.Values{"kind": {"verdict"}, "verdict": {"clear"}, "text": {"quoted"}})
	has("view=decided", "first essay")
	has("view=review", "second essay")
	otto.post("/checks/"+a+"/notes", http.StatusOK, url.Values{"kind": {"signoff"}})
	has("view=signed", "first essay")
	has("view=decided")
	if strings.Contains(olga.get("/checks?view=signed", http.StatusOK), "overdue") {
		t.Error("what is decided is overdue")
	}
	testNamed(t, d, olga, a)
	if page := sue.get("/checks", http.StatusOK); strings.Contains(page, "view=signed") || strings.Contains(page, "assignee") {
		t.Error("a submitter sees how far the people of the site are")
	}
}

// testNamed: pages and reports call people by the names that they gave, and two people of the same name also by their accounts.
func testNamed(t *testing.T, d *testSite, olga *person, id string) {
	t.Helper()
	name := func(account, title string) {
		t.Helper()
		a, err := d.store.People.Account(t.Context(), account)
		if a.Title = title; err == nil {
			err = d.store.People.UpdateAccount(t.Context(), a)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	name("olga", "Olga Officer\u202e")
	name("otto", "Otto Senior")
	olga.wants(olga.get("/checks/"+id, http.StatusOK), "<span class=\"as\">Olga Officer\ufffd", "(Olga Officer, ", "signed off by Otto Senior")
	olga.wants(olga.get("/checks?view=signed", http.StatusOK), `<option value="otto">Otto Senior</option>`, ">Olga Officer</td>")
	olga.wants(olga.get("/checks/"+id+"/report", http.StatusOK), "given by Olga Officer on", "Signed off by Otto Senior on")
	olga.wants(olga.get("/checks/"+id+"/report?format=csv", http.StatusOK), "Olga Officer", "Otto Senior")
	olga.wants(olga.get("/checks/"+id+"/report?format=json", http.StatusOK), `"by": "olga"`, `"olga": "Olga Officer"`)
	name("otto", "Olga Officer")
	olga.wants(olga.get("/checks/"+id, http.StatusOK), "Olga Officer (olga)", "Olga Officer (otto)")
}

// TestSubmissionsMeet: two similar submissions match once the first is in a library, to which an officer's request or, under the
// site's rule, a verdict adds it. A repeated check of the first does not match itself, and once it is removed, nothing matches it.
func TestSubmissionsMeet(t *testing.T) {
	t.Parallel()
	var rule atomic.Value
	rule.Store(web.AddNever)
	d := newTestSiteOf(t, false, func(o *web.Options) {
		o.Adding = func() web.Adding { return web.Adding{Rule: rule.Load().(web.AddingRule), Library: "submissions"} }
	})
	olga, sue := d.signedIn(t, "olga", store.RoleOfficer), d.signedIn(t, "sue", store.RoleSubmitter)
	prog := olga.program("read", "review")
	const essay = "Bees that return from distant meadows dance longer than those which fed at the hedge. The watchers of the hive counted " +
		"every turn for eleven summers and wrote them into small green books. No two colonies agreed about the angle, yet all of them " +
		"slowed down when a storm was near, an hour before the glass began to fall."
	sources := func(id concordat.TaskID) string {
		t.Helper()
		return olga.get("/checks/"+string(id)+"/report?format=json", http.StatusOK)
	}
	first := d.checkedBy(t, sue, "first essay", essay)
	name := "check-" + string(first)
	path := "/checks/" + string(first) + "/library"
	add := url.Values{"action": {"add"}}
	olga.post(path, http.StatusForbidden, add) // by the rule
	if page := olga.get("/checks/"+string(first), http.StatusOK); strings.Contains(page, "Add to library") {
		t.Error("a site that adds nothing offers to")
	}
	rule.Store(web.AddOnRequest)
	sue.post(path, http.StatusForbidden, add)
	olga.post(path, http.StatusNotFound, url.Values{"action": {"add"}, "library": {"nowhere"}})
	olga.wants(olga.get("/checks/"+string(first), http.StatusOK), "Add to library")
	second := d.checkedBy(t, olga, "alone", essay)
	if strings.Contains(sources(second), name) {
		t.Fatal("two submissions meet though neither is in a library")
	}
	olga.wants(olga.post(path, http.StatusOK, add), "added the submission to the library", `value="remove"`)
	d.await(t)
	olga.wants(olga.get("/checks/"+string(first), http.StatusOK), "In library", `href="/libraries/submissions"`,
		"Its document in the library submissions is kept")
	olga.wants(olga.get("/libraries/submissions", http.StatusOK), name, "first essay")
	olga.post(path, http.StatusOK, add) // once
	second = d.checkedBy(t, sue, "second essay", essay)
	if got := sources(second); !strings.Contains(got, name) || !strings.Contains(got, "first essay") {
		t.Errorf("two submissions do not meet:\n%s", got)
	}
	// A repeated check of the first does not match itself, and the second still matches it.
	olga.post("/rechecks", http.StatusOK, url.Values{"kind": {store.RecheckCheck}, "target": {string(first)},
		"on": {time.Now().Format(time.DateOnly)}})
	if err := d.batches.Rechecks(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.await(t)
	planned, err := d.store.Alerts.Recheck(t.Context(), store.RecheckCheck, string(first))
	if err != nil {
		t.Fatal(err)
	}
	again := concordat.TaskID(cmp.Or(planned.Due, planned.Latest))
	if again == "" {
		t.Fatal("it was not checked again")
	}
	if strings.Contains(sources(again), name) {
		t.Error("a repeated check is compared with its own submission")
	}
	// A repeated check is the same case with the same document, which is already there.
	if got := prog.exchange(http.MethodGet, "/checks/"+string(again)+"/library", "", http.StatusOK); got["state"] != "added" {
		t.Errorf("of a repeated check: %v", got)
	}
	prog.exchange(http.MethodPut, "/checks/"+string(again)+"/library", `{"library": "theses"}`, http.StatusConflict)
	olga.post("/checks/"+string(again)+"/library", http.StatusOK, add)
	d.await(t)
	l, err := d.store.Catalogue.Library(t.Context(), "submissions")
	if err != nil || l.Documents != 1 {
		t.Errorf("%d documents, %v; want one of the case", l.Documents, err)
	}
	// Once removed, it no longer matches.
	sue.post(path, http.StatusForbidden, url.Values{"action": {"remove"}})
	olga.wants(olga.post(path, http.StatusOK, url.Values{"action": {"remove"}}), "removed the submission from its library", "Add to library")
	olga.post(path, http.StatusNotFound, url.Values{"action": {"remove"}})
	third := d.checkedBy(t, sue, "third essay", essay)
	if strings.Contains(sources(third), name) {
		t.Error("a submission that was removed is met")
	}
	// Under that rule, a verdict adds it without a request.
	rule.Store(web.AddAfterVerdict)
	olga.post("/checks/"+string(third)+"/notes", http.StatusOK, url.Values{"kind": {"comment"}, "text": {"to be looked at"}})
	if got := prog.exchange(http.MethodGet, "/checks/"+string(third)+"/library", "", http.StatusOK); got["state"] != "out" ||
		got["may_add"] != true {
		t.Errorf("after a comment: %v", got)
	}
	olga.post("/checks/"+string(third)+"/notes", http.StatusOK, url.Values{"kind": {"verdict"}, "verdict": {"clear"}, "text": {"own"}})
	d.await(t)
	if got := prog.exchange(http.MethodGet, "/checks/"+string(third)+"/library", "", http.StatusOK); got["state"] != "added" ||
		got["library"] != "submissions" || got["document"] != "check-"+string(third) {
		t.Errorf("after the verdict: %v", got)
	}
	if !strings.Contains(sources(d.checkedBy(t, sue, "fourth essay", essay)), "check-"+string(third)) {
		t.Error("what was added after a verdict is not met")
	}
	prog.exchange(http.MethodPut, "/checks/"+string(third)+"/library", `{"library": "theses"}`, http.StatusConflict)
	prog.exchange(http.MethodDelete, "/checks/"+string(third)+"/library", "", http.StatusNoContent)
	prog.exchange(http.MethodDelete, "/checks/"+string(third)+"/library", "", http.StatusNotFound)
	prog.exchange(http.MethodPut, "/checks/"+string(third)+"/library", `{"library": "theses"}`, http.StatusAccepted)
	audit := d.signedIn(t, "ada", store.RoleAdministrator).get("/admin/audit", http.StatusOK)
	olga.wants(audit, "submission_added", "submission_removed")
}

// TestAdditionCancelled: a waiting addition can be cancelled; while a worker carries it out, cancelling is refused, because the
// document may be there at any moment.
func TestAdditionCancelled(t *testing.T) {
	t.Parallel()
	d := newTestSiteOf(t, true, func(o *web.Options) {
		o.Adding = func() web.Adding { return web.Adding{Rule: web.AddOnRequest, Library: "submissions"} }
	})
	d.finished(t, "case", "sue", thesis(t, 2_000, 2, 2))
	olga := d.signedIn(t, "olga", store.RoleOfficer)
	prog := olga.program("read", "review")
	const path = "/checks/case/library"
	add, remove := url.Values{"action": {"add"}}, url.Values{"action": {"remove"}}
	olga.wants(olga.post(path, http.StatusOK, add), `value="remove"`)
	olga.wants(olga.post(path, http.StatusOK, remove), "removed the submission from its library", `value="add"`)
	if counts, err := d.store.Checks.TaskCounts(t.Context()); err != nil || counts[concordat.TaskQueued] != 0 {
		t.Errorf("%v tasks, %v, want none that waits", counts, err)
	}
	olga.post(path, http.StatusOK, add)
	claimed, err := d.store.Checks.ClaimTask(t.Context(), store.LaneAdding, "a worker", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	olga.wants(olga.post(path, http.StatusConflict, remove), "is being added right now")
	prog.exchange(http.MethodDelete, path, "", http.StatusConflict)
	if now, err := d.store.Checks.Task(t.Context(), claimed.ID); err != nil || now.State != concordat.TaskRunning {
		t.Errorf("the addition is %s, %v, want running", now.State, err)
	}
	if got := prog.exchange(http.MethodGet, path, "", http.StatusOK); got["state"] != "waiting" {
		t.Errorf("the submission is %v", got)
	}
}

// TestCaseLibraryFromCache: the cached report shows whether a submission can be added to a library, so showing a case again
// unpacks nothing. Here the stored findings can no longer be unpacked at all.
func TestCaseLibraryFromCache(t *testing.T) {
	t.Parallel()
	d := newTestSiteOf(t, true, func(o *web.Options) {
		o.Adding = func() web.Adding { return web.Adding{Rule: web.AddOnRequest, Library: "submissions"} }
	})
	d.finished(t, "case", "sue", thesis(t, 2_000, 2, 2))
	withheld := thesis(t, 2_000, 2, 2)
	report.Withhold(withheld)
	d.finished(t, "withheld", "sue", withheld)
	olga := d.signedIn(t, "olga", store.RoleOfficer)
	for _, again := range []bool{false, true} {
		if again {
			d.sql(t, "UPDATE findings SET data = x'00'")
		}
		olga.wants(olga.get("/checks/case", http.StatusOK), "Add to library")
		if strings.Contains(olga.get("/checks/withheld", http.StatusOK), "Add to library") {
			t.Error("a text that is not kept is offered to be added")
		}
	}
}
