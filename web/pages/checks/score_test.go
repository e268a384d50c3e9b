package checks_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"concordat/internal/webtest"
	"concordat/store"
	"concordat/web"
	"concordat/web/review"
)

// TestListShowsShares: the list of checks shows each check's counted share under the current rules, to users who may see it.
func TestListShowsShares(t *testing.T) {
	t.Parallel()
	d := webtest.NewWith(t, false, func(o *web.Options) { o.Policy = web.Policy{See: review.SeeNothing} })
	olga, sue := d.SignedIn(t, "olga", store.RoleOfficer), d.SignedIn(t, "sue", store.RoleSubmitter)
	id := string(d.CheckedBy(t, sue, "essay", webtest.Folios))
	prog := olga.Program("read")
	coverage := func(p *webtest.Program) *float64 {
		t.Helper()
		var one, all struct {
			Coverage *float64
			Checks   []struct{ Coverage *float64 }
		}
		p.Call("GET", "/api/v1/checks/"+id, http.StatusOK, &one)
		p.Call("GET", "/api/v1/checks", http.StatusOK, &all)
		if len(all.Checks) != 1 || (one.Coverage == nil) != (all.Checks[0].Coverage == nil) || one.Coverage != nil &&
			*one.Coverage != *all.Checks[0].Coverage {
			t.Fatalf("the list has %+v, the check %v", all.Checks, one.Coverage)
		}
		return one.Coverage
	}
	if c := coverage(prog); c == nil || *c < 0.5 {
		t.Fatalf("coverage %v", c)
	}
	if page := olga.Get("/checks", http.StatusOK); !strings.Contains(page, "%</strong>") || strings.Contains(page, "reload to see") {
		t.Errorf("the list shows no share:\n%s", page)
	}
	if page := sue.Get("/checks", http.StatusOK); !strings.Contains(page, "not shown") || strings.Contains(page, "%</strong>") {
		t.Errorf("the list shows the share to whom it is not shown:\n%s", page)
	}
	if c := coverage(sue.Program("read")); c != nil {
		t.Errorf("coverage %v for whom it is not shown", *c)
	}
	olga.Post("/checks/"+id+"/rules", http.StatusOK, url.Values{"action": {"set"}, "min_characters": {"10000"}, "min_source_share": {"0"}})
	if c := coverage(prog); c == nil || *c != 0 {
		t.Errorf("coverage %v after the rules have changed", c)
	}
	olga.Post("/checks/"+id+"/notes", http.StatusOK, url.Values{"kind": {"verdict"}, "verdict": {"clear"}, "text": {"it is cited"}})
	olga.Wants(olga.Get("/checks", http.StatusOK), "No concern")
}
