package intake_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"concordat/internal/webtest"
	"concordat/store"
)

// TestPartnersAreChosen: the form states in advance what a partner would learn, and only partners can be selected.
func TestPartnersAreChosen(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	p := d.SignedIn(t, "ada", store.RoleOfficer)
	page := p.Get("/checks/new", http.StatusOK)
	for _, want := range []string{"South &lt;Site&gt;", "shared words, on request", "has not listed its libraries yet",
		"can test guesses"} {
		if !strings.Contains(page, want) {
			t.Errorf("no %q in\n%s", want, page)
		}
	}
	p.Upload(http.StatusBadRequest, url.Values{"partner": {"NOBODY"}}, "one.txt", "one")
	p.Upload(http.StatusOK, url.Values{"partner": {"SOUTH"}, "purpose": {" thesis "}}, "one.txt", "one")
	tasks, err := d.Store.Checks.Tasks(t.Context(), 0, 0)
	if err != nil || len(tasks) != 1 {
		t.Fatal(tasks, err)
	}
	if want := `"partners":["SOUTH"],"purpose":"thesis"`; !strings.Contains(string(tasks[0].Request), want) {
		t.Errorf("request %s, want %s", tasks[0].Request, want)
	}
}
