package review_test

import (
	"cmp"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"concordat"
	"concordat/internal/webtest"
	"concordat/store"
	"concordat/web"
	"concordat/web/review"
)

// TestSubmissionsMeet: two similar submissions match once the first is in a library, to which it is added at an officer's request or,
// under the site's rule, after a verdict. A recheck of the first submission does not match itself, and after its removal nothing matches
// it.
func TestSubmissionsMeet(t *testing.T) {
	t.Parallel()
	var rule atomic.Value
	rule.Store(review.AddNever)
	d := webtest.NewWith(t, false, func(o *web.Options) {
		o.Current = webtest.Current{Add: func() review.Adding {
			return review.Adding{Rule: rule.Load().(review.AddingRule), Library: "submissions"}
		}}
	})
	olga, sue := d.SignedIn(t, "olga", store.RoleOfficer), d.SignedIn(t, "sue", store.RoleSubmitter)
	prog := olga.Program("read", "review")
	const essay = "Bees that return from distant meadows dance longer than those which fed at the hedge. The watchers of the hive counted " +
		"every turn for eleven summers and wrote them into small green books. No two colonies agreed about the angle, yet all of them " +
		"slowed down when a storm was near, an hour before the glass began to fall."
	sources := func(id concordat.TaskID) string {
		t.Helper()
		return olga.Get("/checks/"+string(id)+"/report?format=json", http.StatusOK)
	}
	first := d.CheckedBy(t, sue, "first essay", essay)
	name := "check-" + string(first)
	path := "/checks/" + string(first) + "/library"
	add := url.Values{"action": {"add"}}
	olga.Post(path, http.StatusForbidden, add) // the rule forbids it
	if page := olga.Get("/checks/"+string(first), http.StatusOK); strings.Contains(page, "Add to library") {
		t.Error("a site that adds nothing offers to")
	}
	rule.Store(review.AddOnRequest)
	sue.Post(path, http.StatusForbidden, add)
	olga.Post(path, http.StatusNotFound, url.Values{"action": {"add"}, "library": {"nowhere"}})
	olga.Wants(olga.Get("/checks/"+string(first), http.StatusOK), "Add to library")
	second := d.CheckedBy(t, olga, "alone", essay)
	if strings.Contains(sources(second), name) {
		t.Fatal("two submissions meet though neither is in a library")
	}
	olga.Wants(olga.Post(path, http.StatusOK, add), "added the submission to the library", `value="remove"`)
	d.Await(t)
	olga.Wants(olga.Get("/checks/"+string(first), http.StatusOK), "In library", `href="/libraries/submissions"`,
		"The copy in the library submissions is kept")
	olga.Wants(olga.Get("/libraries/submissions", http.StatusOK), name, "first essay")
	olga.Post(path, http.StatusOK, add) // adds it only once
	second = d.CheckedBy(t, sue, "second essay", essay)
	if got := sources(second); !strings.Contains(got, name) || !strings.Contains(got, "first essay") {
		t.Errorf("two submissions do not meet:\n%s", got)
	}
	// A recheck of the first submission does not match itself, and the second still matches it.
	olga.Post("/rechecks", http.StatusOK, url.Values{"kind": {store.RecheckCheck}, "target": {string(first)},
		"on": {time.Now().Format(time.DateOnly)}})
	if err := d.Batches.Rechecks(t.Context()); err != nil {
		t.Fatal(err)
	}
	d.Await(t)
	planned, err := d.Store.Alerts.Recheck(t.Context(), store.RecheckCheck, string(first))
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
	// A recheck belongs to the same case, whose document is already in the library.
	if got := prog.Exchange(http.MethodGet, "/checks/"+string(again)+"/library", "", http.StatusOK); got["state"] != "added" {
		t.Errorf("of a repeated check: %v", got)
	}
	prog.Exchange(http.MethodPut, "/checks/"+string(again)+"/library", `{"library": "theses"}`, http.StatusConflict)
	olga.Post("/checks/"+string(again)+"/library", http.StatusOK, add)
	d.Await(t)
	l, err := d.Store.Catalogue.Library(t.Context(), "submissions")
	if err != nil || l.Documents != 1 {
		t.Errorf("%d documents, %v; want one of the case", l.Documents, err)
	}
	// After its removal, it no longer matches.
	sue.Post(path, http.StatusForbidden, url.Values{"action": {"remove"}})
	olga.Wants(olga.Post(path, http.StatusOK, url.Values{"action": {"remove"}}), "removed the submission from its library", "Add to library")
	olga.Post(path, http.StatusNotFound, url.Values{"action": {"remove"}})
	third := d.CheckedBy(t, sue, "third essay", essay)
	if strings.Contains(sources(third), name) {
		t.Error("a submission that was removed is met")
	}
	// Under this rule, a verdict adds it without a request.
	rule.Store(review.AddAfterVerdict)
	olga.Post("/checks/"+string(third)+"/notes", http.StatusOK, url.Values{"kind": {"comment"}, "text": {"to be looked at"}})
	if got := prog.Exchange(http.MethodGet, "/checks/"+string(third)+"/library", "", http.StatusOK); got["state"] != "out" ||
		got["may_add"] != true {
		t.Errorf("after a comment: %v", got)
	}
	olga.Post("/checks/"+string(third)+"/notes", http.StatusOK, url.Values{"kind": {"verdict"}, "verdict": {"clear"}, "text": {"own"}})
	d.Await(t)
	if got := prog.Exchange(http.MethodGet, "/checks/"+string(third)+"/library", "", http.StatusOK); got["state"] != "added" ||
		got["library"] != "submissions" || got["document"] != "check-"+string(third) {
		t.Errorf("after the verdict: %v", got)
	}
	if !strings.Contains(sources(d.CheckedBy(t, sue, "fourth essay", essay)), "check-"+string(third)) {
		t.Error("what was added after a verdict is not met")
	}
	prog.Exchange(http.MethodPut, "/checks/"+string(third)+"/library", `{"library": "theses"}`, http.StatusConflict)
	prog.Exchange(http.MethodDelete, "/checks/"+string(third)+"/library", "", http.StatusNoContent)
	prog.Exchange(http.MethodDelete, "/checks/"+string(third)+"/library", "", http.StatusNotFound)
	prog.Exchange(http.MethodPut, "/checks/"+string(third)+"/library", `{"library": "theses"}`, http.StatusAccepted)
	audit := d.SignedIn(t, "ada", store.RoleAdministrator).Get("/admin/audit", http.StatusOK)
	olga.Wants(audit, "submission_added", "submission_removed")
}

// TestAdditionCancelled: a waiting addition can be cancelled; while a worker performs it, cancelling is refused, because the document can
// be added at any moment.
func TestAdditionCancelled(t *testing.T) {
	t.Parallel()
	d := webtest.NewWith(t, true, func(o *web.Options) {
		o.Current = webtest.Current{Add: func() review.Adding {
			return review.Adding{Rule: review.AddOnRequest, Library: "submissions"}
		}}
	})
	d.AddFinished(t, "case", "sue", webtest.Thesis(t, 2_000, 2, 2))
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	prog := olga.Program("read", "review")
	const path = "/checks/case/library"
	add, remove := url.Values{"action": {"add"}}, url.Values{"action": {"remove"}}
	olga.Wants(olga.Post(path, http.StatusOK, add), `value="remove"`)
	olga.Wants(olga.Post(path, http.StatusOK, remove), "removed the submission from its library", `value="add"`)
	if counts, err := d.Store.Checks.TaskCounts(t.Context()); err != nil || counts[concordat.TaskQueued] != 0 {
		t.Errorf("%v tasks, %v, want none that waits", counts, err)
	}
	olga.Post(path, http.StatusOK, add)
	claimed, err := d.Store.Checks.ClaimTask(t.Context(), store.LaneAdding, "a worker", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	olga.Wants(olga.Post(path, http.StatusConflict, remove), "is being added. Try again")
	prog.Exchange(http.MethodDelete, path, "", http.StatusConflict)
	if now, err := d.Store.Checks.Task(t.Context(), claimed.ID); err != nil || now.State != concordat.TaskRunning {
		t.Errorf("the addition is %s, %v, want running", now.State, err)
	}
	if got := prog.Exchange(http.MethodGet, path, "", http.StatusOK); got["state"] != "waiting" {
		t.Errorf("the submission is %v", got)
	}
}
