package web_test

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"concordat"
	"concordat/internal/webtest"
	"concordat/store"
)

// voidElements have no end tag (HTML, section 13.1.2).
var voidElements = strings.Fields("area base br col embed hr img input link meta source track wbr")

// markupFaults returns faults that browsers repair silently and the Nu HTML checker reports: an element that is not closed, or is closed
// in the wrong order; a duplicate ID; a reference to an ID that no element of the page has; a form within a form.
func markupFaults(page string) (faults []string) {
	ids, wanted := map[string]bool{}, map[string]bool{}
	var open []string
	z := html.NewTokenizer(strings.NewReader(page))
	for {
		kind := z.Next()
		token := z.Token()
		switch kind {
		case html.ErrorToken:
			if err := z.Err(); err != io.EOF {
				faults = append(faults, err.Error())
			}
			for _, name := range open {
				faults = append(faults, "<"+name+"> is not closed")
			}
			for _, id := range slices.Sorted(maps.Keys(wanted)) {
				if !ids[id] {
					faults = append(faults, "no element has the id "+id)
				}
			}
			return faults
		case html.StartTagToken:
			if slices.Contains(open, "svg") && z.Raw()[len(z.Raw())-2] == '/' {
				continue
			}
			if token.Data == "form" && slices.Contains(open, "form") {
				faults = append(faults, "a form in a form")
			}
			if !slices.Contains(voidElements, token.Data) {
				open = append(open, token.Data)
			}
			faults = append(faults, attributeFaults(token, ids, wanted)...)
		case html.SelfClosingTagToken:
			faults = append(faults, attributeFaults(token, ids, wanted)...)
		case html.EndTagToken:
			if last := len(open) - 1; last < 0 || open[last] != token.Data {
				faults = append(faults, fmt.Sprintf("</%s> within %s", token.Data, open))
				return faults // the same fault would be reported for everything that follows
			}
			open = open[:len(open)-1]
		}
	}
}

// attributeFaults returns the faults of a start tag, and records the IDs that it defines and refers to.
func attributeFaults(token html.Token, ids, wanted map[string]bool) (faults []string) {
	for _, a := range token.Attr {
		switch a.Key {
		case "id":
			if ids[a.Val] || a.Val == "" || strings.ContainsAny(a.Val, " \t\n") {
				faults = append(faults, fmt.Sprintf("id %q, empty, with a space or of another element, in %s", a.Val, token))
			}
			ids[a.Val] = true
		case "for", "form", "list", "aria-labelledby", "aria-describedby", "aria-controls", "aria-owns":
			for _, id := range strings.Fields(a.Val) {
				wanted[id] = true
			}
		case "href":
			if id, inside := strings.CutPrefix(a.Val, "#"); inside && id != "" {
				wanted[id] = true
			}
		}
	}
	return faults
}

// TestMarkupFaults: each class of faults is found, and correct markup has none.
func TestMarkupFaults(t *testing.T) {
	t.Parallel()
	right := `<!doctype html><p id="a">x<br><input aria-describedby="a"></p><svg><path d="M0 0"/></svg><a href="#a">x</a>`
	if faults := markupFaults(right); faults != nil {
		t.Errorf("%s has faults: %q", right, faults)
	}
	for _, wrong := range []string{"<div>", "<div><p>x</div>", "</p>", `<p id="a"></p><p id="a"></p>`, `<p id=""></p>`, `<p id="a b"></p>`,
		`<label for="a"></label>`, `<a href="#a"></a>`, `<form><form></form></form>`} {
		if markupFaults(wrong) == nil {
			t.Errorf("%s has no fault", wrong)
		}
	}
}

// TestMarkup finds no markup faults in reports as separate files or on any page: the pages of TestAccessible, a check with a verdict, a
// comment and an exclusion, a waiting check, an empty site, a submitter's pages, and refusals. If CONCORDAT_PAGES is set, the pages are
// kept in that folder for the Nu HTML checker (make check-pages).
func TestMarkup(t *testing.T) {
	t.Parallel()
	if folder := os.Getenv("CONCORDAT_PAGES"); folder != "" {
		if err := os.MkdirAll(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	d, ada, fill := shownSite(t)
	looked := 0
	look := func(state, path, page string) {
		t.Helper()
		looked++
		for _, f := range markupFaults(page) {
			t.Errorf("%s %s: %s", state, path, f)
		}
		if folder := os.Getenv("CONCORDAT_PAGES"); folder != "" {
			name := state + strings.NewReplacer("/", "_", "?", "_", "&", "_", "=", "_").Replace(path) + ".html"
			if err := os.WriteFile(filepath.Join(folder, name), []byte(page), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	get := func(state string, p *webtest.Person, paths ...string) {
		t.Helper()
		for _, path := range paths {
			resp, err := p.Do(p.Request(http.MethodGet, fill.Replace(path), nil))
			if err != nil {
				t.Fatal(err)
			}
			page, err := io.ReadAll(resp.Body)
			if resp.Body.Close(); err != nil {
				t.Fatal(err)
			}
			if state == "administrator" && resp.StatusCode != http.StatusOK && path != "/checks/no-such-check" {
				t.Errorf("%s: status %d: what it shows is looked at by nobody", path, resp.StatusCode)
			}
			look(state, path, string(page))
		}
	}
	get("stranger", d.Visitor(t), openPages...)
	look("refused", "/login", d.Visitor(t).Post("/login", http.StatusForbidden, url.Values{"name": {"ada"}, "password": {"wrong"}}))
	for _, p := range slices.Sorted(maps.Keys(shownPages)) {
		get("administrator", ada, shownPages[p]...)
	}
	d.AddFinished(t, "long", "ada", webtest.Thesis(t, 60_000, 100, 20))
	get("long", ada, "/checks/long", "/checks/long/report?format=html", "/checks/long/sources")
	get("nowhere", ada, "/nowhere")
	get("alone", ada, "/checks/C/report?format=html")
	get("submitter", d.SignedIn(t, "sue", store.RoleSubmitter), "/checks", "/checks/new", "/checks/C", "/batches", "/libraries", "/account")
	bo := d.SignedIn(t, "bo", store.RoleOfficer)
	check := fill.Replace("/checks/C")
	f, err := d.Site.KeptFindings(t.Context(), concordat.TaskID(strings.TrimPrefix(check, "/checks/")))
	if err != nil {
		t.Fatal(err)
	}
	at := f.Passages[0].Span
	look("commented", "/checks/C", bo.Post(check+"/notes", http.StatusOK, url.Values{"kind": {"comment"}, "text": {"to be read <again>"},
		"number": {"1"}, "start": {strconv.Itoa(at.Start)}, "end": {strconv.Itoa(at.End)}}))
	look("judged", "/checks/C", bo.Post(check+"/notes", http.StatusOK, url.Values{"kind": {"verdict"}, "verdict": {"suspected"},
		"text": {"no quotation marks"}}))
	look("excluded", "/checks/C", ada.Post(check+"/rules", http.StatusOK, url.Values{"action": {"exclude-source"}, "site": {"here"},
		"library": {"theses"}, "document": {"folios.txt"}}))
	get("reviewed", bo, "/checks/C/report?format=html", "/checks", "/checks/C/passages/1")

	empty := webtest.New(t, true)
	eve := empty.SignedIn(t, "eve", store.RoleAdministrator)
	get("empty", eve, "/checks", "/libraries", "/libraries/theses", "/batches", "/requests", "/alerts", "/people", "/deletions", "/rechecks",
		"/account/webhooks", "/admin/partners")
	look("waiting", "/checks", eve.Upload(http.StatusOK, nil, "essay.txt", webtest.Folios, "other.txt", keeper))
	look("waiting", "/checks/C", eve.Upload(http.StatusOK, nil, "essay.txt", webtest.Folios))
	get("waiting", eve, eve.HandBatch(http.StatusOK, nil, "a.txt", ledger+keeper, "b.txt", ledger))
	t.Logf("%d pages", looked)
}

// TestFilesAreDropped: on every page that asks for files, files can be dropped on a zone that covers the field drawn by the browser.
func TestFilesAreDropped(t *testing.T) {
	t.Parallel()
	fields := 0
	for _, pattern := range []string{"templates/*.html", "templates/parts/*.html"} {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatal(names, err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			before := ""
			for i, part := range strings.Split(string(b), `type="file"`) {
				tag, _, _ := strings.Cut(part, ">")
				if i > 0 && !strings.HasSuffix(tag, " hidden") {
					fields++
					zone := before[max(0, strings.LastIndex(before, "<div")):]
					if !strings.HasPrefix(zone, `<div class="drop`) {
						t.Errorf("%s: a field for files that stands in no zone to drop them", name)
					}
				}
				before = part
			}
		}
	}
	if fields < 4 {
		t.Errorf("%d fields for files, want four at least", fields)
	}
}
