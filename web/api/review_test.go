package api_test

import (
	"net/http"
	"reflect"
	"testing"

	"concordat/internal/webtest"
	"concordat/store"
)

// TestReviewByProgram excludes a source, gives a verdict and signs it off through the API.
func TestReviewByProgram(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	d.AddFinished(t, "one", "sue", webtest.Thesis(t, 20_000, 10, 5))
	ada, bo := d.SignedIn(t, "ada", store.RoleOfficer).Program("read", "check", "review"),
		d.SignedIn(t, "bo", store.RoleOfficer).Program("read", "check", "review")
	sue := d.SignedIn(t, "sue", store.RoleSubmitter).Program("read", "check", "review")
	type review struct {
		Coverage *float64
		Verdict  string
		Stale    bool
		Signed   []struct{ By string } `json:"signed_off"`
		Notes    []struct{ Number int }
		Changes  []struct{ Action, Subject, By string }
	}
	const path = "/api/v1/checks/one"
	ask := func(p *webtest.Program, what, body string, want int) (r review) {
		t.Helper()
		if want >= 400 {
			p.JSON("POST", path+what, body, want, nil)
			return r
		}
		p.JSON("POST", path+what, body, want, &r)
		return r
	}
	var first review
	sue.JSON("GET", path+"/review", "", http.StatusOK, &first)
	if first.Coverage == nil || *first.Coverage == 0 || first.Verdict != "" {
		t.Fatalf("at first %+v", first)
	}
	r := ask(ada, "/rules", `{"action":"exclude-source","site":"here","library":"theses","document":"source-001.txt"}`, http.StatusOK)
	if *r.Coverage > *first.Coverage || len(r.Changes) != 1 || r.Changes[0].Subject != "here/theses/source-001.txt" ||
		r.Changes[0].By != "ada" {
		t.Errorf("without a source %+v", r)
	}
	if r := ask(ada, "/rules", `{"action":"set","set":{"min_characters":100000}}`, http.StatusOK); *r.Coverage != 0 {
		t.Errorf("of great length %v", *r.Coverage)
	}
	ask(ada, "/rules", `{"action":"undo"}`, http.StatusOK)
	if r := ask(ada, "/rules", `{"action":"undo"}`, http.StatusOK); *r.Coverage != *first.Coverage {
		t.Errorf("undone %v, want %v", *r.Coverage, *first.Coverage)
	}
	if r := ask(ada, "/rules", `{"action":"exclude-passage","start":0,"end":20000,"comment":"all of it"}`, http.StatusOK); *r.Coverage != 0 {
		t.Errorf("without the passages %v", *r.Coverage)
	}
	ask(ada, "/rules", `{"action":"exclude-passage","start":0,"end":10}`, http.StatusBadRequest)
	ask(ada, "/notes", `{"kind":"verdict","verdict":"discuss","text":"see page 3"}`, http.StatusOK)
	ask(ada, "/notes", `{"kind":"signoff"}`, http.StatusConflict)
	ask(bo, "/notes", `{"kind":"signoff","of":999}`, http.StatusConflict)
	r = ask(bo, "/notes", `{"kind":"signoff"}`, http.StatusOK)
	if r.Verdict != "discuss" || len(r.Signed) != 1 || r.Signed[0].By != "bo" || r.Stale || len(r.Notes) != 2 {
		t.Errorf("signed off %+v", r)
	}
	var all struct{ Notes, Changes []map[string]any }
	bo.JSON("GET", path+"/review", "", http.StatusOK, &all)
	for list, want := range map[string][]map[string]any{"/notes": all.Notes, "/rules/history": all.Changes} {
		var got struct{ Notes, Changes []map[string]any }
		bo.JSON("GET", path+list, "", http.StatusOK, &got)
		if got := append(got.Notes, got.Changes...); len(want) == 0 || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, want the same as in the review: %v", list, got, want)
		}
	}
	ask(bo, "/rules", `{"action":"undo"}`, http.StatusBadRequest) // only the author of a change can undo it
	if r := ask(bo, "/rules", `{"action":"include-passage","start":0,"end":20000}`, http.StatusOK); !r.Stale {
		t.Error("the verdict is not stale")
	}
	ask(sue, "/rules", `{"action":"undo"}`, http.StatusForbidden)
	ask(sue, "/notes", `{"kind":"comment","text":"x"}`, http.StatusForbidden)
	sam := d.SignedIn(t, "sam", store.RoleSubmitter).Program("read")
	sam.JSON("GET", path+"/review", "", http.StatusNotFound, nil)
}

// TestEvidencePages: the passages of a report are complete and in order across pages. After a change of the rules, an earlier page has no
// next page, so halves of two reports cannot be combined.
func TestEvidencePages(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	d.AddFinished(t, "one", "sue", webtest.Thesis(t, 20_000, 10, 5))
	ada := d.SignedIn(t, "ada", store.RoleOfficer).Program("read", "check", "review")
	type page struct {
		Revision, Total int
		Evidence        []struct{ Span struct{ Start int } }
		Next            string
	}
	const path = "/api/v1/checks/one/evidence?limit=3"
	var first page
	ada.JSON("GET", path, "", http.StatusOK, &first)
	if len(first.Evidence) != 3 || first.Total <= 3 || first.Next == "" {
		t.Fatalf("%d of %d passages, next %q", len(first.Evidence), first.Total, first.Next)
	}
	seen, at := 0, -1
	for p := first; ; {
		for _, e := range p.Evidence {
			if e.Span.Start <= at {
				t.Errorf("a passage at %d behind one at %d", e.Span.Start, at)
			}
			seen, at = seen+1, e.Span.Start
		}
		if p.Next == "" {
			break
		}
		next := p.Next
		p = page{}
		ada.JSON("GET", path+"&cursor="+next, "", http.StatusOK, &p)
	}
	if seen != first.Total {
		t.Errorf("%d passages in all pages, want %d", seen, first.Total)
	}
	ada.JSON("POST", "/api/v1/checks/one/rules", `{"action":"exclude-source","site":"here","library":"theses","document":"source-001.txt"}`,
		http.StatusOK, &struct{}{})
	ada.JSON("GET", path+"&cursor="+first.Next, "", http.StatusPreconditionFailed, nil)
	ada.JSON("GET", path, "", http.StatusOK, &first)
	if first.Revision != 1 {
		t.Errorf("revision %d, want 1", first.Revision)
	}
}
