package web_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"concordat/internal/webtest"
	"concordat/store"
)

// workspaceOrder is the order in which the Tab key visits the parts of a report's workspace, as in doc/report.md; each part has the name
// of the nearest named element. A part with several stops occurs once. The map is not a stop because it leads to the same places as the
// text.
var workspaceOrder = []string{"skip link", "site", "pages of the site", "account", "parts of the report", "export", "meaning of the share",
	"text", "sources", "signs", "keys", "about", "review", "rules"}

// whereFocusIs returns the name of the part of the workspace that has the focus.
const whereFocusIs = `(() => {
	const at = document.activeElement, parts = [["skip link", "a.jump"], ["site", ".site"], ["account", ".who"],
		["pages of the site", "body > header nav"], ["export", ".workbar .menu"], ["meaning of the share", ".plainly"],
		["parts of the report", ".workbar"], ["map", ".map"], ["text", "#read"], ["sources", "#sources"], ["keys", ".keys"], ["signs", ".side-column"], ["about", "#about"], ["review", "#notes"],
		["rules", "#rules"], ["end", ".below"]];
	const part = parts.find(([, selector]) => at.closest(selector));
	return part ? part[0] : at.tagName;
})()`

// headingsRead are the headings in the order of a screen reader.
const headingsRead = `[...document.querySelectorAll("h1, h2, h3")].filter((h) => h.checkVisibility()).map((h) => h.tagName + " " + h.textContent.trim()).join("\n")`

// TestWorkspaceByKeyboard visits the parts of a report with the Tab key alone, from the top of the page. They come in the order of the
// page, with the text before its sources and no part twice. The headings have the same order and skip no level.
func TestWorkspaceByKeyboard(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	ctx, complaints := webtest.Browser(t, d.URL, 1360)
	d.AddFinished(t, "one", "olga", webtest.Thesis(t, 6_000, 6, 3))
	if err := chromedp.Run(ctx, d.Enter(t, "olga", store.RoleOfficer), chromedp.Navigate(d.URL+"/checks/one"),
		chromedp.WaitVisible(".workbar .percent", chromedp.ByQuery), webtest.Loaded()); err != nil {
		t.Fatal(err)
	}
	var walked []string
	for range 200 {
		var at string
		if err := chromedp.Run(ctx, chromedp.KeyEvent(kb.Tab), chromedp.Evaluate(whereFocusIs, &at)); err != nil {
			t.Fatal(err)
		}
		if at == "end" || at == "BODY" {
			break
		}
		if len(walked) == 0 || walked[len(walked)-1] != at {
			walked = append(walked, at)
		}
	}
	if !slices.Equal(walked, workspaceOrder) {
		t.Errorf("the Tab key goes by\n%s\nwant\n%s", strings.Join(walked, ", "), strings.Join(workspaceOrder, ", "))
	}
	var headings string
	if err := chromedp.Run(ctx, chromedp.Evaluate(headingsRead, &headings)); err != nil {
		t.Fatal(err)
	}
	level := 0
	for h := range strings.Lines(headings) {
		if n := int(h[1] - '0'); n > level+1 {
			t.Errorf("%q follows a heading of level %d", h, level)
		} else {
			level = n
		}
	}
	if !strings.HasPrefix(headings, "H1 A long thesis\nH2 The text\nH2 Sources\n") {
		t.Errorf("the headings are\n%s", headings)
	}
	for _, c := range complaints() {
		t.Error(c)
	}
}
