package web_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"concordat"
	"concordat/internal/webtest"
	"concordat/report"
	"concordat/store"
)

const (
	plainWords  = "The ferries of the upper lake were sold in the year of the flood to a company that never ran them."
	quotedWords = "“No pilot was ever paid in full, and no pilot who asked for the rest was ever hired again in this port.”"
)

// twoGroups returns findings with a passage without a citation and a quotation recognised with its source.
func twoGroups() *report.Findings {
	text := plainWords + "\n\nHall (2008, p. 12) writes: " + quotedWords +
		strings.Repeat(" The rest is the author's own and is about lamps.", 20)
	f := &report.Findings{Version: report.Version, Scheme: "s", Submission: concordat.Document{Title: "Ports", Text: text}, WordingOf: 9}
	for i, part := range []string{plainWords, quotedWords} {
		at := strings.Index(text, part)
		p := concordat.Passage{Span: concordat.Span{Start: at, End: at + len(part)}, Kind: concordat.KindVerbatim, Similarity: 1, Text: part,
			SourceSpan: concordat.Span{End: len(part)}, Title: "Of lakes",
			Source: concordat.Ref{Site: "here", Library: "theses", Document: concordat.DocumentID(string(rune('a' + i)))}}
		if i == 1 {
			p.Wording, p.Why = concordat.KindQuotation, "quotation"
			f.Wording = []report.Wording{{Span: p.Span, Kind: concordat.KindQuotation, Documents: 2, Of: 9, Why: "quotation"}}
		}
		f.Passages = append(f.Passages, p)
	}
	return f
}

// TestGroupsOverTheText: each group of passages has a button that shows its share and excludes the group or counts it again; the
// quotation with its source can be counted with its group or alone; undo works; users with read-only access see no buttons.
func TestGroupsOverTheText(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	ada := d.SignedIn(t, "ada", store.RoleOfficer)
	d.AddFinished(t, "one", "ada", twoGroups())
	score := func() string {
		page := ada.Get("/checks/one", http.StatusOK)
		_, rest, _ := strings.Cut(page, `<strong class="percent">`)
		share, _, _ := strings.Cut(rest, "<")
		return share
	}
	post := func(action, group string) string {
		return ada.Post("/checks/one/rules", http.StatusOK, url.Values{"action": {action}, "group": {group}, "at": {"over"}})
	}
	page := ada.Get("/checks/one", http.StatusOK)
	ada.Wants(page, `id="group-uncited" name="action" value="exclude-group" aria-pressed="true"`)
	ada.Wants(page, `id="group-quoted_cited" name="action" value="include-group" aria-pressed="false"`)
	ada.Wants(page, "1 passage, not counted")
	ada.Wants(page, "1 passage does not count: quotations and public wording (1)")
	before := score()
	page = post("include-group", "quoted_cited")
	ada.Wants(page, `id="group-quoted_cited" name="action" value="exclude-group" aria-pressed="true"`)
	ada.Wants(page, "Quoted and cited")
	both := score()
	page = post("exclude-group", "uncited")
	ada.Wants(page, `id="group-uncited" name="action" value="include-group" aria-pressed="false"`)
	ada.Wants(page, "in a group that does not count: no citation")
	one := score()
	if before == "0%" || before == both || one == both {
		t.Errorf("the score was %s, %s with the quotation, %s without the group", before, both, one)
	}
	ada.Post("/checks/one/rules", http.StatusOK, url.Values{"action": {"undo"}})
	if again := score(); again != both {
		t.Errorf("undone: %s, want %s", again, both)
	}
	post("exclude-group", "quoted_cited")
	ada.Wants(ada.Get("/checks/one/passages/2", http.StatusOK), `value="count-wording"`)
	at := strings.Index(twoGroups().Submission.Text, quotedWords)
	ada.Post("/checks/one/rules", http.StatusOK, url.Values{"action": {"count-wording"}, "start": {strconv.Itoa(at)},
		"end": {strconv.Itoa(at + len(quotedWords))}, "comment": {"it is long"}})
	if by := score(); by != both {
		t.Errorf("counted by hand: %s, want %s", by, both)
	}
	ada.Post("/checks/one/rules", http.StatusBadRequest, url.Values{"action": {"exclude-group"}, "group": {"songs"}})
	aud := d.SignedIn(t, "aud", store.RoleAuditor)
	if page := aud.Get("/checks/one", http.StatusOK); strings.Contains(page, "data-group") || !strings.Contains(page, "No citation") {
		t.Error("who only reads has buttons, or no groups")
	}
	program := ada.Program("read", "review")
	program.JSON("POST", "/api/v1/checks/one/rules", `{"action":"exclude-group","group":"uncited"}`, http.StatusOK, nil)
	program.JSON("POST", "/api/v1/checks/one/rules", `{"action":"exclude-group"}`, http.StatusBadRequest, nil)
}
