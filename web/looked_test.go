package web_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"concordat/internal/webtest"
	"concordat/store"
)

// TestLongWordsFit: if words are long and windows narrow, a chip continues from line to line, and the list of checks does not have to be
// scrolled sideways.
func TestLongWordsFit(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	ada := d.SignedIn(t, "ada", store.RoleOfficer)
	d.AddFinished(t, "one", "ada", twoGroups())
	d.AwaitBatch(t, ada.HandBatch(http.StatusOK, nil, "a.txt", webtest.Folios, "b.txt", webtest.Folios+" And more."))
	const (
		// broken returns a chip whose figure is not on the last line of its words, or whose further lines do not begin at its left edge;
		// it returns an empty text if there is none.
		broken = `(() => { for (const chip of document.querySelectorAll(".groups .chip")) {
			const words = document.createRange(); words.selectNode(chip.firstChild);
			const lines = [...words.getClientRects()], last = lines.at(-1), figure = chip.querySelector("b").getClientRects()[0];
			const left = chip.getBoundingClientRect().left;
			if (figure.top < last.top - 3 || lines.length > 1 && lines.slice(1).some((l) => l.left > left + 20)) return chip.outerHTML;
		} return ""; })()`
		wider = `(() => { const box = document.querySelector(".scroll:has(.cases)"); return box.scrollWidth - box.clientWidth; })()`
		apart = `(() => { const a = document.querySelector(".cases .group th a");
			return Math.abs(a.querySelector(".icon").getBoundingClientRect().top - a.querySelector("bdi").getClientRects()[0].top); })()`
	)
	german := network.SetCookie("language", "de").WithURL(d.URL).WithPath("/")
	narrow, _ := webtest.Browser(t, d.URL, 390)
	var chip string
	if err := chromedp.Run(narrow, german, webtest.SessionOf(d, "ada"), chromedp.Navigate(d.URL+"/checks/one"), webtest.Loaded(),
		chromedp.Evaluate(broken, &chip)); err != nil {
		t.Fatal(err)
	}
	if chip != "" {
		t.Errorf("this chip cannot be read on: %s", chip)
	}
	wide, _ := webtest.Browser(t, d.URL, 1360)
	var over, away float64
	if err := chromedp.Run(wide, german, webtest.SessionOf(d, "ada"), chromedp.Navigate(d.URL+"/checks"), webtest.Loaded(),
		chromedp.Evaluate(wider, &over), chromedp.Evaluate(apart, &away)); err != nil {
		t.Fatal(err)
	}
	if over > 0 || away > 12 {
		t.Errorf("the list of checks is %.0f pixels wider than its box, and the sign of a batch %.0f away from its name", over, away)
	}
}

// TestChipByKeyboard uses the keyboard to exclude a chip's group and count it again. The score changes, and the page and the focus stay
// the same.
func TestChipByKeyboard(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	d.SignedIn(t, "ada", store.RoleOfficer)
	d.AddFinished(t, "one", "ada", twoGroups())
	ctx, complaints := webtest.Browser(t, d.URL, 1200)
	const at = `document.querySelector("#group-uncited").getAttribute("aria-pressed")`
	const score = `document.querySelector(".percent").innerText`
	var before, without, again, focus string
	var same bool
	if err := chromedp.Run(ctx, webtest.SessionOf(d, "ada"), chromedp.Navigate(d.URL+"/checks/one"), webtest.Loaded(),
		chromedp.Evaluate(score, &before), chromedp.Evaluate("void (window.same = true)", nil),
		chromedp.Focus("#group-uncited", chromedp.ByQuery), chromedp.KeyEvent(" "), webtest.Until(at+` === "false"`),
		chromedp.Evaluate(score, &without), chromedp.Evaluate("document.activeElement.id", &focus),
		chromedp.KeyEvent(" "), webtest.Until(at+` === "true"`), chromedp.Evaluate(score, &again),
		chromedp.Evaluate("!!window.same", &same)); err != nil {
		t.Fatal(err)
	}
	if before == without || again != before || focus != "group-uncited" || !same {
		t.Errorf("scores %s, %s, %s; the focus was at %q; the page stayed: %v", before, without, again, focus, same)
	}
	for _, c := range complaints() {
		t.Error(c)
	}
}

// TestHelpOfKeys: "?" opens the help for single-key shortcuts on pages that have them, and moves the focus there.
func TestHelpOfKeys(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, false)
	ada := d.SignedIn(t, "ada", store.RoleOfficer)
	d.AddFinished(t, "one", "ada", twoGroups())
	batch := ada.HandBatch(http.StatusOK, nil, "a.txt", webtest.Folios, "b.txt", webtest.Folios+" And more.")
	d.AwaitBatch(t, batch)
	ctx, _ := webtest.Browser(t, d.URL, 1200)
	for _, path := range []string{"/checks/one", batch + "/pairs/1/2"} {
		if err := chromedp.Run(ctx, webtest.SessionOf(d, "ada"), chromedp.Navigate(d.URL+path), webtest.Loaded(), chromedp.KeyEvent("?"),
			webtest.Until(`document.querySelector("details.keys").open && document.activeElement.closest("details.keys")`)); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
}

// TestNoKeysWithoutScript: functions that require a script are not offered before the script runs.
func TestNoKeysWithoutScript(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	ada := d.SignedIn(t, "ada", store.RoleOfficer)
	d.AddFinished(t, "one", "ada", twoGroups())
	if page := ada.Get("/checks/one", http.StatusOK); strings.Count(page, "<details class=\"keys") != 1 ||
		!strings.Contains(page, `<details class="keys fold" data-script hidden>`) {
		t.Error("keys are named that nothing listens to")
	}
}
