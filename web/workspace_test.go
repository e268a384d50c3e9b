package web_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"html"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"concordat/instance/signing"
	"concordat/internal/webtest"
	"concordat/report"
	"concordat/report/pdf"
	"concordat/store"
	"concordat/web"
	"concordat/web/pages/reports"
)

// TestTwoOfficers: a change shows the score before and after; each officer can undo only their own changes, while the other officer's
// changes remain and are shown as theirs. The numbers of passages and the letters of sources do not change.
func TestTwoOfficers(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	ada, bo := d.SignedIn(t, "ada", store.RoleOfficer), d.SignedIn(t, "bo", store.RoleOfficer)
	d.AddFinished(t, "one", "ada", webtest.Thesis(t, 20_000, 10, 5))
	page := ada.Get("/checks/one", http.StatusOK)
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
	after := ada.Post("/checks/one/rules", http.StatusOK, source)
	if !regexp.MustCompile(`class="toast".*[0-9]+% → <strong>[0-9]+%`).MatchString(after) || !strings.Contains(after, `name="change"`) {
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
	bo.Post("/checks/one/rules", http.StatusOK, url.Values{"action": {"set"}, "min_characters": {"60"}, "min_source_share": {"0"}})
	if told := ada.Get("/checks/one/changes?after=1", http.StatusOK); !strings.Contains(told, "<strong>bo</strong>") ||
		strings.Contains(told, `name="change"`) {
		t.Errorf("ada is told %q", told)
	}
	if told := bo.Get("/checks/one/changes?after=1", http.StatusOK); told != "" {
		t.Errorf("bo is told %q of the own change", told)
	}
	bo.Post("/checks/one/rules", http.StatusBadRequest, url.Values{"action": {"undo"}, "change": {"1"}}) // the change is ada's
	page = ada.Post("/checks/one/rules", http.StatusOK, url.Values{"action": {"undo"}})
	if len(strings.Fields(numbers(page))) != 10 || !strings.Contains(page, `name="min_characters" type="number" min="0" max="1000000" value="60"`) {
		t.Errorf("passages %q; bo's rule is gone, or ada's still there", numbers(page))
	}
	ada.Post("/checks/one/rules", http.StatusBadRequest, url.Values{"action": {"undo"}}) // nothing left to undo
	// A comment belongs to its passage.
	page = ada.Post("/checks/one/notes", http.StatusOK, url.Values{"kind": {"comment"}, "text": {"look here"}, "start": {"0"},
		"end": {"20000"}, "number": {"3"}})
	if !strings.Contains(page, "look here") || !strings.Contains(page, "Passage 3 of 10") {
		t.Errorf("the comment is not on the passage:\n%s", page)
	}
	ada.Post("/checks/one/notes", http.StatusNotFound, url.Values{"kind": {"comment"}, "text": {"nowhere"}, "start": {"9"}, "end": {"9"}})
}

// TestSameNumbers: after an exclusion, the remaining passages keep their numbers on the page, in the JSON and the CSV, on the pages of
// the PDF, and next to each source, which also keeps its colour and letter.
func TestSameNumbers(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	ada := d.SignedIn(t, "ada", store.RoleOfficer)
	d.AddFinished(t, "one", "ada", webtest.Thesis(t, 20_000, 10, 5))
	type passage struct {
		Number string
		Start  int
		By     []string // documents
	}
	passages := func() (out []passage) {
		t.Helper()
		var r struct {
			Evidence []struct {
				Number  string
				Span    struct{ Start, End int }
				Sources []struct{ Document string }
			}
		}
		if err := json.Unmarshal([]byte(ada.Get("/checks/one/report?format=json", http.StatusOK)), &r); err != nil {
			t.Fatal(err)
		}
		for _, e := range r.Evidence {
			one := passage{Number: e.Number, Start: e.Span.Start}
			for _, s := range e.Sources {
				one.By = append(one.By, s.Document)
			}
			out = append(out, one)
		}
		return out
	}
	before := map[int]string{}
	for _, p := range passages() {
		before[p.Start] = p.Number
	}
	if len(before) != 10 {
		t.Fatalf("%d passages", len(before))
	}
	chips := regexp.MustCompile(`<span class="sq( so so[0-9])">([A-Z]+)</span><h3 dir="auto"><a class="only"[^>]*>([^<]*)`)
	letters := map[string]string{} // letters of the sources, by title
	for _, m := range chips.FindAllStringSubmatch(ada.Get("/checks/one", http.StatusOK), -1) {
		letters[m[3]] = m[1] + m[2]
	}
	beside := regexp.MustCompile(`href="(/checks/one/compare\?[^"]*document=([^"&]*)[^"]*)"`)
	excluded := beside.FindStringSubmatch(ada.Get("/checks/one", http.StatusOK))
	page := ada.Post("/checks/one/rules", http.StatusOK, url.Values{"action": {"exclude-source"}, "site": {"here"}, "library": {"theses"},
		"document": {excluded[2]}})
	left := passages()
	var numbers []string
	for _, p := range left {
		numbers = append(numbers, p.Number)
		if before[p.Start] != p.Number {
			t.Errorf("the passage at %d was %s, and is %s", p.Start, before[p.Start], p.Number)
		}
	}
	if len(left) == 0 || numbers[len(numbers)-1] == strconv.Itoa(len(numbers)) {
		t.Fatalf("the exclusion left %v, of which nothing can be seen", numbers)
	}
	for _, m := range chips.FindAllStringSubmatch(page, -1) {
		if letters[m[3]] != m[1]+m[2] {
			t.Errorf("%s was%s, and is%s", m[3], letters[m[3]], m[1]+m[2])
		}
	}
	if want := `data-numbers="` + strings.Join(numbers, " ") + `"`; !strings.Contains(page, want) {
		t.Errorf("the page lacks %s", want)
	}
	table := strings.TrimPrefix(ada.Get("/checks/one/report?format=csv", http.StatusOK), "\ufeff")
	rows, err := csv.NewReader(strings.NewReader(table)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	var listed []string
	for _, row := range rows[1:] {
		if !slices.Contains(listed, row[0]) {
			listed = append(listed, row[0])
		}
	}
	if !slices.Equal(listed, numbers) {
		t.Errorf("CSV has %v, want %v", listed, numbers)
	}
	text, err := pdfText(t, ada.Get("/checks/one/report?format=pdf", http.StatusOK))
	if err != nil {
		t.Log(err) // the rest can still be checked
	} else {
		var printed []string
		heads := regexp.MustCompile(`(?m)^\s*(\d+[a-z]*)\. (?:Word for word|Lightly edited|Reworded)`)
		_, full, _ := strings.Cut(text, "Full report") // skip the pages for a committee
		for _, m := range heads.FindAllStringSubmatch(full, -1) {
			printed = append(printed, m[1])
		}
		if !slices.Equal(printed, numbers) {
			t.Errorf("the PDF has %v, want %v in\n%s", printed, numbers, text)
		}
	}
	seen := 0
	for _, m := range beside.FindAllStringSubmatch(page, -1) {
		side := ada.Get(html.UnescapeString(m[1]), http.StatusOK)
		var want, got []string
		for _, p := range left {
			if slices.Contains(p.By, m[2]) {
				want = append(want, p.Number)
			}
		}
		here, _, _ := strings.Cut(side, `id="there"`)
		places := regexp.MustCompile(`<span class="m k-\S+ so so[0-9]" id="h\d+"[^>]*><a class="no"[^>]*>([^&]+)&nbsp;`)
		for _, n := range places.FindAllStringSubmatch(here, -1) {
			if !slices.Contains(got, n[1]) {
				got = append(got, n[1])
			}
		}
		if seen++; !slices.Equal(got, want) {
			t.Errorf("beside %s: %v, want %v", m[2], got, want)
		}
		chip := regexp.MustCompile(`<span class="sq( so so[0-9])">([A-Z]+)</span>`).FindStringSubmatch(side)
		if chip == nil || !slices.Contains(slices.Collect(maps.Values(letters)), chip[1]+chip[2]) {
			t.Errorf("beside %s: no letter, or another: %v", m[2], chip)
		}
	}
	if seen < 3 {
		t.Errorf("%d sources were looked at", seen)
	}
}

// pdfText returns the words of a PDF; it fails without poppler.
func pdfText(t *testing.T, file string) (string, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report.pdf")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "pdftotext", "-layout", path, "-").Output()
	return string(out), err
}

// withNotes writes PDFs with the comments in a store.
type withNotes struct {
	reports.Unsigned
	store *store.DB
}

// WritePDF implements reports.Writer.
func (f withNotes) WritePDF(ctx context.Context, out io.Writer, rep *report.Report, _ bool) error {
	notes, err := signing.Notes(ctx, f.store, rep.Task)
	if err != nil {
		return err
	}
	b, err := pdf.Write(rep, pdf.Options{Notes: notes})
	if err == nil {
		_, err = out.Write(b)
	}
	return err
}

// TestComments: only the author of a comment can edit and delete it. An edited comment is marked as such, belongs to its passage on the
// page, in the API and in the PDF, and other officers are notified of it.
func TestComments(t *testing.T) {
	t.Parallel()
	d := webtest.NewWith(t, true, func(o *web.Options) {
		o.ReportFiles = withNotes{store: o.Store}
	})
	ada, bo := d.SignedIn(t, "ada", store.RoleOfficer), d.SignedIn(t, "bo", store.RoleOfficer)
	d.AddFinished(t, "one", "ada", webtest.Thesis(t, 20_000, 10, 5))
	prog := ada.Program("read", "review")
	const path = "/checks/one/comments"
	note := prog.Exchange(http.MethodPost, path, `{"text": "look here", "passage": "3"}`, http.StatusOK)
	if note["passage"] != "3" || note["seq"] != 1.0 {
		t.Fatalf("a comment on passage 3 is %v", note)
	}
	prog.Exchange(http.MethodPost, path, `{"text": "nowhere", "passage": "99"}`, http.StatusNotFound)
	edit := func(text string) url.Values { return url.Values{"kind": {"edit"}, "comment": {"1"}, "text": {text}} }
	bo.Post("/checks/one/notes", http.StatusForbidden, edit("not mine"))
	bo.Post("/checks/one/notes", http.StatusForbidden, url.Values{"kind": {"remove"}, "comment": {"1"}})
	if page := bo.Get("/checks/one", http.StatusOK); strings.Contains(page, `value="remove"`) {
		t.Error("others are offered to delete it")
	}
	ada.Post("/checks/one/notes", http.StatusBadRequest, edit(" "))
	page := ada.Post("/checks/one/notes", http.StatusOK, edit("seen <twice>"))
	ada.Wants(page, "seen &lt;twice&gt;", "· edited ", `value="remove"`)
	if strings.Contains(page, "look here") {
		t.Error("the former text is still there")
	}
	ada.Wants(ada.Get("/checks/one/passages/3", http.StatusOK), "seen &lt;twice&gt;", "· edited ")
	if told := bo.Get("/checks/one/changes?after=1", http.StatusOK); !strings.Contains(told, "<strong>ada</strong> edited a comment") {
		t.Errorf("bo is told %q", told)
	}
	text, err := pdfText(t, ada.Get("/checks/one/report?format=pdf", http.StatusOK))
	if err == nil && !strings.Contains(text, "comment on passage 3") {
		t.Errorf("the PDF does not say on which passage the comment is:\n%.3000s", text)
	}
	// After an exclusion the passage keeps its number and therefore its comment.
	prog.Exchange(http.MethodPost, "/checks/one/exclusions", `{"exclude": true, "source": {"site": "here", "library": "theses", "document": "source-001.txt"}}`,
		http.StatusOK)
	var list struct {
		Notes []struct{ Text, Passage, Edited string }
	}
	prog.JSON(http.MethodGet, "/api/v1/checks/one/notes", "", http.StatusOK, &list)
	if len(list.Notes) != 1 || list.Notes[0].Text != "seen <twice>" || list.Notes[0].Passage != "3" || list.Notes[0].Edited == "" {
		t.Errorf("notes %+v", list.Notes)
	}
	bo.Program("review").Exchange(http.MethodPut, path+"/1", `{"text": "x"}`, http.StatusForbidden)
	if n := prog.Exchange(http.MethodPut, path+"/1", `{"text": "third"}`, http.StatusOK); n["text"] != "third" {
		t.Errorf("edited: %v", n)
	}
	prog.Exchange(http.MethodDelete, path+"/1", "", http.StatusNoContent)
	prog.Exchange(http.MethodDelete, path+"/1", "", http.StatusNotFound)
	page = bo.Get("/checks/one", http.StatusOK)
	if strings.Contains(page, "third") {
		t.Error("a deleted comment is still shown")
	}
	ada.Wants(d.SignedIn(t, "admin", store.RoleAdministrator).Get("/admin/audit", http.StatusOK), "comment_edited", "comment_removed")
}
