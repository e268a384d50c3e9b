package api_test

import (
	"net/http"
	"testing"

	"concordat/internal/webtest"
	"concordat/store"
)

// TestHarvestAPI: programs add, follow, run and remove sources.
func TestHarvestAPI(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	prog := d.SignedIn(t, "ada", store.RoleAdministrator).Program("documents")
	made := prog.Exchange(http.MethodPost, "/harvests", `{"url":"https://repository.example/oai","library":"theses","every":24}`,
		http.StatusCreated)
	if made["id"] != "repository.example" || made["kind"] != "oai" || made["every"] != "24h0m0s" {
		t.Errorf("made %v", made)
	}
	prog.Exchange(http.MethodPost, "/harvests", `{"url":"https://repository.example/oai","library":"theses"}`, http.StatusConflict)
	d.AddSource(t, "oslo")
	if got := prog.Exchange(http.MethodGet, "/harvests?limit=1", "", http.StatusOK); got["next"] == nil ||
		len(entries(got["harvests"])) != 1 {
		t.Errorf("list %v", got)
	}
	got := prog.Exchange(http.MethodGet, "/harvests/oslo/records?limit=2", "", http.StatusOK)
	more := prog.Exchange(http.MethodGet, "/harvests/oslo/records?limit=2&cursor="+got["next"].(string), "", http.StatusOK)
	if len(entries(got["records"])) != 2 || len(entries(more["records"])) != 1 || more["next"] != nil {
		t.Errorf("records %v, then %v", got, more)
	}
	prog.Exchange(http.MethodPost, "/harvests/oslo/run?whole=true", "", http.StatusAccepted)
	prog.Exchange(http.MethodDelete, "/harvests/oslo", "", http.StatusNoContent)
	prog.Exchange(http.MethodGet, "/harvests/oslo", "", http.StatusNotFound)
	prog.Exchange(http.MethodGet, "/harvests/oslo/records", "", http.StatusNotFound)
}

func entries(v any) []any {
	l, _ := v.([]any)
	return l
}
