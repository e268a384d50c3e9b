package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"concordat/store"
)

// TestTwoOfficers: a change tells the score before and after; each takes back the own one, while the other's stays and is
// told as theirs. Numbers of passages and letters of sources do not move.
func TestTwoOfficers(t *testing.T) {
	d := newDesk(t, true)
	ada, bo := d.signedIn(t, "ada", store.RoleOfficer), d.signedIn(t, "bo", store.RoleOfficer)
	d.finished(t, "one", "ada", thesis(t, 20_000, 10, 5))
	page := ada.get("/checks/one", http.StatusOK)
	numbers := func(page string) string {
		_, s, _ := strings.Cut(page, `data-numbers="`)
		s, _, _ = strings.Cut(s, `"`)
		return s
	}
	if numbers(page) != "1 2 3 4 5 6 7 8 9 10" {
		t.Fatalf("passages %q", numbers(page))
	}
	m := regexp.MustCompile(`name="site" value="([^"]*)"><input type="hidden" name="library" value="([^"]*)"><input type="hidden" name="document" value="([^"]*)"`).
		FindStringSubmatch(page)
	if m == nil {
		t.Fatal("no source can be excluded")
	}
	source := url.Values{"action": {"exclude-source"}, "at": {"sources"}, "site": {m[1]}, "library": {m[2]}, "document": {m[3]}}
	after := ada.post("/checks/one/rules", http.StatusOK, source)
	if !regexp.MustCompile(`class="toast".*[0-9]+ % → <strong>[0-9]+ %`).MatchString(after) || !strings.Contains(after, `name="change"`) {
		t.Errorf("no scores, or no undo, in\n%s", after)
	}
	left := strings.Fields(numbers(after))
	if len(left) == 0 || len(left) >= 10 {
		t.Fatalf("passages %q", left)
	}
	for _, n := range left {
		if !strings.Contains(numbers(page)+" ", n+" ") {
			t.Errorf("passage %s had another number", n)
		}
	}
	bo.post("/checks/one/rules", http.StatusOK, url.Values{"action": {"set"}, "min_characters": {"60"}, "min_source": {"0"}})
	if told := ada.get("/checks/one/changes?after=1", http.StatusOK); !strings.Contains(told, "<strong>bo</strong>") ||
		strings.Contains(told, `name="change"`) {
		t.Errorf("ada is told %q", told)
	}
	if told := bo.get("/checks/one/changes?after=1", http.StatusOK); told != "" {
		t.Errorf("bo is told %q of the own change", told)
	}
	bo.post("/checks/one/rules", http.StatusBadRequest, url.Values{"action": {"undo"}, "change": {"1"}}) // ada's
	page = ada.post("/checks/one/rules", http.StatusOK, url.Values{"action": {"undo"}})
	if len(strings.Fields(numbers(page))) != 10 || !strings.Contains(page, `name="min_characters" type="number" min="0" value="60"`) {
		t.Errorf("passages %q; bo's rule is gone, or ada's still there", numbers(page))
	}
	ada.post("/checks/one/rules", http.StatusBadRequest, url.Values{"action": {"undo"}}) // nothing left
	// A comment belongs to its passage.
	page = ada.post("/checks/one/notes", http.StatusOK, url.Values{"kind": {"comment"}, "text": {"look here"}, "start": {"0"},
		"end": {"20000"}, "number": {"3"}})
	if !strings.Contains(page, "look here") || !strings.Contains(page, "Passage 3 of 10") {
		t.Errorf("the comment is not on the passage:\n%s", page)
	}
	ada.post("/checks/one/notes", http.StatusNotFound, url.Values{"kind": {"comment"}, "text": {"nowhere"}, "start": {"9"}, "end": {"9"}})
}
