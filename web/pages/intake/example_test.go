package intake_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"testing/fstest"

	"concordat/internal/webtest"
	"concordat/store"
	"concordat/web"
)

// TestExample: the administrator of a site without checks adds the example with one click, reads its report, and removes all of it with
// another click; other users are not offered it.
func TestExample(t *testing.T) {
	t.Parallel()
	d := webtest.NewWith(t, false, func(o *web.Options) {
		o.Example = fstest.MapFS{"library/calls/one.txt": {Data: []byte("On surveyors\n\n" + webtest.Ledger)},
			"library/calls/rows.tsv": {Data: []byte("R-1\tOn keepers\t" + webtest.Keeper + "\nR-2\tOn nothing\tA row about nothing that anyone has ever copied.\n")},
			"submission/thesis.docx": {Data: []byte("My thesis begins. " + webtest.Ledger + "It goes on. " + webtest.Keeper)}}
	})
	ada, olga := d.SignedIn(t, "ada", store.RoleAdministrator), d.SignedIn(t, "olga", store.RoleOfficer)
	add, remove := url.Values{"action": {"add"}}, url.Values{"action": {"remove"}}
	if strings.Contains(olga.Get("/checks", http.StatusOK), "/example") {
		t.Error("an officer is offered the example")
	}
	olga.Post("/example", http.StatusForbidden, add)
	ada.Post("/example", http.StatusNotFound, remove)
	ada.Wants(ada.Get("/checks", http.StatusOK), "Try it with an example", `action="/example"`)
	ada.Post("/example", http.StatusOK, add)
	id := string(d.Await(t)["thesis.docx"])
	ada.Wants(ada.Get("/checks/"+id+"/report?format=json", http.StatusOK), "On surveyors", "On keepers", `"calls/rows.tsv#R-1"`)
	ada.Wants(ada.Get("/libraries/example", http.StatusOK), "Example library", "calls/one.txt")
	if page := ada.Get("/checks", http.StatusOK); !strings.Contains(page, "Remove the example") || strings.Contains(page, "Try it with") {
		t.Errorf("the example is there:\n%s", page)
	}
	ada.Post("/example", http.StatusConflict, add) // only once
	ada.Wants(ada.Post("/example", http.StatusOK, remove), "Try it with an example")
	ada.Get("/libraries/example", http.StatusNotFound)
	ada.Get("/checks/"+id, http.StatusNotFound)
	// The example is not offered on a site with its own checks.
	d.CheckedBy(t, ada, "own", webtest.Ledger)
	if strings.Contains(ada.Get("/checks", http.StatusOK), "/example") {
		t.Error("a site with checks is offered the example")
	}
}
