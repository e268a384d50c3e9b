package intake_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/webtest"
	"concordat/store"
	"concordat/web"
	"concordat/web/pages"
)

// TestSessionEnded: a user who submits after the session has ended is told so and where to sign in; a text keeps its own name.
func TestSessionEnded(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	for _, path := range []string{"/checks", "/libraries/theses/documents"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, d.URL+path, strings.NewReader("text=some"))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Accept", "application/json")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		var got struct{ Problem, SignIn string }
		err = json.NewDecoder(answer.Body).Decode(&got)
		answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusUnauthorized || got.SignIn != "/login?next=/checks" ||
			!strings.Contains(got.Problem, "session has ended") {
			t.Errorf("%s: %s, %+v, %v", path, answer.Status, got, err)
		}
	}
}

// TestTooLarge: the API reports that a file is larger than the site accepts, and rejects no other file of the same request.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	prog := olga.Program("check")
	large := strings.Repeat("many words ", 1<<17)
	for _, c := range []struct {
		status int
		files  []string
	}{{http.StatusRequestEntityTooLarge, []string{"large.txt", large}},
		{http.StatusAccepted, []string{"large.txt", large, "small.txt", webtest.Folios}},
		{http.StatusBadRequest, []string{"empty.txt", ""}}} {
		r := olga.Form("/api/v1/checks", nil, c.files...)
		r.Header.Set("Authorization", "Bearer "+prog.Token)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		if answer.StatusCode != c.status {
			t.Errorf("%q: %s, want %d", c.files[0], answer.Status, c.status)
		}
	}
}

// TestPurposes: users select a purpose for which partners open libraries, and a check for a purpose without open libraries is rejected
// before it begins.
func TestPurposes(t *testing.T) {
	t.Parallel()
	d := webtest.NewWith(t, true, func(o *web.Options) {
		o.Choices = webtest.Choices{Sites: []pages.Partner{{Site: "SOUTH", Name: "South", Libraries: []concordat.OpenLibrary{{ID: "theses",
			Purposes: []string{"thesis"}}, {ID: "calls", Purposes: []string{"grant", "appeal"}}}}, {Site: "WEST", Name: "West"}}}
	})
	olga := d.SignedIn(t, "olga", store.RoleOfficer)
	page := olga.Get("/checks/new", http.StatusOK)
	olga.Wants(page, `<select id="purpose"`, "<option>appeal</option>", "<option>grant</option>", "<option>thesis</option>")
	for _, c := range []struct {
		partner, purpose string
		status           int
	}{{"SOUTH", "", 400}, {"SOUTH", "grant", 200}, {"SOUTH/theses", "grant", 400}, {"SOUTH/theses", "thesis", 200}, {"WEST", "", 200}} {
		got := olga.Upload(c.status, url.Values{"partner": {c.partner}, "purpose": {c.purpose}}, "essay.txt", webtest.Folios)
		if c.status == 400 && !strings.Contains(got, "is open for this purpose") {
			t.Errorf("%s for %q is refused without the reason", c.partner, c.purpose)
		}
	}
}
