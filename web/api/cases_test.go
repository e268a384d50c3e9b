package api_test

import (
	"net/http"
	"strings"
	"testing"

	"concordat/internal/webtest"
	"concordat/store"
)

// TestSharedCaseAPI: programs can read and change cases as people can.
func TestSharedCaseAPI(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	path := "/api/v1/cases/" + d.AddCase(t).String()
	p := olga.Program("read", "review")
	var all struct {
		Cases []struct {
			ID, State   string
			Own, Theirs struct{ State, Words string }
			Shown       []struct{ By, What string }
		}
	}
	if p.JSON("GET", "/api/v1/cases?open=true", "", http.StatusOK, &all); len(all.Cases) != 1 || all.Cases[0].Theirs.State != "confirmed" ||
		len(all.Cases[0].Shown) != 2 || all.Cases[0].Shown[0].By != "partner" || all.Cases[0].Shown[1].By != "own" {
		t.Fatalf("got %+v", all)
	}
	var one struct{ State string }
	if p.JSON("POST", path, `{"state":"confirmed","words":"x"}`, http.StatusOK, &one); one.State != "confirmed" {
		t.Errorf("got %+v", one)
	}
	p.JSON("POST", path, `{"state":"guilty"}`, http.StatusUnprocessableEntity, nil)
	p.JSON("POST", path, `{}`, http.StatusBadRequest, nil)
	p.JSON("GET", "/api/v1/cases/"+strings.Repeat("9", 32), "", http.StatusNotFound, nil)
	olga.Program("read").JSON("POST", path, `{"state":"cleared"}`, http.StatusForbidden, nil)
	all.Cases = nil
	if p.JSON("GET", "/api/v1/cases?open=true", "", http.StatusOK, &all); len(all.Cases) != 0 {
		t.Errorf("settled: %+v", all)
	}
}
