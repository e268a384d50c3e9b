package web_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"concordat/internal/axe"
	"concordat/internal/suite"
	"concordat/internal/webtest"
	"concordat/report/language"
	"concordat/store"
	"concordat/view"
	"concordat/web"
	"concordat/web/pages/settings"
)

// shownPages maps the pattern of each page to its addresses; C is a placeholder for a check with a report. A page that is in neither
// shownPages nor unshownPages fails TestAccessible.
var shownPages = map[string][]string{
	"GET /checks":                        {"/checks"},
	"GET /checks/new":                    {"/checks/new"},
	"GET /checks/{id}":                   {"/checks/C", "/checks/BAD", "/checks/no-such-check"},
	"GET /checks/{id}/report":            {"/checks/C/report"},
	"GET /checks/{id}/sources":           {"/checks/C/sources"},
	"GET /checks/{id}/passages/{number}": {"/checks/C/passages/1"},
	"GET /checks/{id}/compare":           {"/checks/C/compare?site=here&library=theses&document=folios.txt"},
	"GET /libraries":                     {"/libraries"},
	"GET /requests":                      {"/requests"},
	"GET /requests/{id}":                 {"/requests/one"},
	"GET /alerts":                        {"/alerts", "/alerts?all=yes"},
	"GET /cases":                         {"/cases", "/cases?all=yes"},
	"GET /cases/{id}":                    {"/cases/01000000000000000000000000000000"},
	"GET /alerts/{number}":               {"/alerts/1", "/alerts/2"},
	"GET /account":                       {"/account"},
	"GET /people":                        {"/people"},
	"GET /deletions":                     {"/deletions"},
	"GET /account/webhooks":              {"/account/webhooks"},
	"GET /libraries/{id}":                {"/libraries/theses", "/libraries/theses?q=nothing"},
	"GET /libraries/{id}/settings":       {"/libraries/theses/settings"},
	"GET /libraries/{id}/additions":      {"/libraries/theses/additions"},
	"GET /admin":                         {"/admin"},
	"GET /admin/design":                  {"/admin/design"},
	"GET /admin/tasks":                   {"/admin/tasks"},
	"GET /admin/harvest":                 {"/admin/harvest"},
	"GET /admin/harvest/{id}":            {"/admin/harvest/repo"},
	"GET /admin/inbox":                   {"/admin/inbox"},
	"GET /admin/storage":                 {"/admin/storage"},
	"GET /admin/schemes":                 {"/admin/schemes"},
	"GET /admin/cluster":                 {"/admin/cluster"},
	"GET /admin/settings":                {"/admin/settings"},
	"GET /admin/partners":                {"/admin/partners"},
	"GET /admin/partners/{site}":         {"/admin/partners/SOUTH"},
	"GET /admin/audit":                   {"/admin/audit"},
	"GET /account/webhooks/{id}":         {"/account/webhooks/HOOK"},
	"GET /checks/{id}/pages":             {"/checks/PDF/pages"},
	"GET /batches":                       {"/batches"},
	"GET /batches/new":                   {"/batches/new"},
	"GET /batches/{id}":                  {"/batches/BATCH", "/batches/BATCH?min=100&q=nothing", "LEADS"},
	"GET /batches/{id}/pairs/{a}/{b}":    {"/batches/BATCH/pairs/1/2", "LEADS/pairs/1/2"},
	"GET /batches/{id}/wording/{n}":      {"/batches/BATCH/wording/1"},
	"GET /rechecks":                      {"/rechecks"},
}

// unshownPages are GET patterns without a visible page.
var unshownPages = map[string]string{
	"GET /{$}":                        "goes on to the checks",
	"GET /checks/{id}/events":         "a stream",
	"GET /checks/{id}/text/{page}":    "a part of the page of a check",
	"GET /checks/{id}/changes":        "a part of the page of a check",
	"GET /admin/audit/export":         "a download",
	"GET /batches/{id}/events":        "a stream",
	"GET /batches/{id}/charts":        "what the pictures of a batch are drawn from",
	"GET /batches/{id}/tables/{name}": "a download",
	"GET /checks/{id}/pages/{n}":      "a picture",
	"GET /deletions/{id}":             "a receipt, to be kept",
}

// openPages are pages for visitors who have not signed in.
var openPages = []string{"/login", "/join?key=none", "/first?key=none"}

// standsOut returns the first element that makes a page wider than its window, or an empty text if none does.
const standsOut = `(() => {
	const root = document.documentElement, width = root.clientWidth;
	if (root.scrollWidth <= width) return "";
	const all = [...document.body.querySelectorAll("*")].filter(e => !e.parentElement.closest(".scroll") && e.getBoundingClientRect().right > width + 1);
	const last = all[all.length - 1];
	return last ? last.outerHTML.slice(0, 300) : "something";
})()`

// cut returns the first element whose words cannot be read in full where it is: a table other than a matrix that must be scrolled
// sideways in a narrow window, a cell whose label overflows into the next, or content wider than the box that clips it. It returns an
// empty text if there is none.
const cut = `(() => {
	const shown = e => e.checkVisibility() && !e.closest(".hidden, .vh, nav, pre, .charts, .matrix, .picture, textarea, input, select, .site");
	for (const e of document.querySelectorAll(".scroll")) {
		if (innerWidth < 500 && !e.querySelector(".matrix") && e.checkVisibility() && e.scrollWidth > e.clientWidth + 1) return e.outerHTML.slice(0, 300);
	}
	for (const e of document.querySelectorAll(".stacked td[data-label]:not([data-label=''], :has(> input[type=checkbox]))")) {
		if (e.checkVisibility() && parseFloat(getComputedStyle(e).paddingLeft) < parseFloat(getComputedStyle(e, "::before").width)) return e.outerHTML.slice(0, 300);
	}
	for (const e of document.body.querySelectorAll("*")) {
		if (e.namespaceURI.endsWith("svg") || !shown(e) || !["hidden", "clip"].includes(getComputedStyle(e).overflowX)) continue;
		if (e.textContent.trim() && e.clientWidth > 1 && e.scrollWidth > e.clientWidth + 1) return e.outerHTML.slice(0, 300);
	}
	return "";
})()`

// untranslated returns an English text of the language table that occurs on a page in another language (words is the page's text) but in
// none of that language's texts. It returns "" if there is none. It ignores short texts, which can be part of a name, and texts with
// placeholders.
func untranslated(tag, words string) string {
	var english, other map[string]string
	for l, into := range map[string]*map[string]string{"en": &english, tag: &other} {
		b, err := os.ReadFile("../report/language/" + l + ".json")
		if err == nil {
			err = json.Unmarshal(b, into)
		}
		if err != nil {
			return err.Error()
		}
	}
	there := strings.Join(slices.Collect(maps.Values(other)), "\n") // some words are the same in both languages
	for _, text := range english {
		if len(text) >= 12 && !strings.ContainsAny(text, "%{") && !strings.Contains(there, text) && strings.Contains(words, text) {
			return text
		}
	}
	return ""
}

// look is a combination of language, width and theme.
type look struct {
	language string
	width    int
	dark     bool
}

// looks returns the combinations for TestAccessible: all of them if pictures are kept, and otherwise each language, width and theme once.
func looks() []look {
	if os.Getenv("CONCORDAT_SHOTS") == "" {
		return []look{{"de", 390, true}, {"en", 1360, false}, {"zh-Hans", 390, false}}
	}
	var all []look
	for _, l := range language.All() {
		for _, width := range []int{1360, 390} {
			all = append(all, look{l.Tag(), width, false}, look{l.Tag(), width, true})
		}
	}
	return all
}

// name returns the file name of a picture.
func (l look) name(path string) string {
	theme := map[bool]string{true: "dark", false: "light"}[l.dark]
	return "page" + strings.NewReplacer("/", "_", "?", "_", "&", "_", "=", "_").Replace(path) + "-" + l.language + "-" + theme
}

// theme selects the colours as a person's system would.
func (l look) theme() chromedp.Action {
	value := map[bool]string{true: "dark", false: "light"}[l.dark]
	return emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: value}})
}

// shownSite returns a site with content on every page, its administrator ada, and a replacer that adapts the addresses of shownPages to
// the site.
func shownSite(t *testing.T) (*webtest.Site, *webtest.Person, *strings.Replacer) {
	t.Helper()
	d := webtest.NewWith(t, false, showSettings)
	ada := d.SignedIn(t, "ada", store.RoleAdministrator)
	ada.Upload(http.StatusOK, nil, "essay.txt", webtest.Folios, "broken.bad", "x", "paged.pdf", webtest.Paged)
	ids := d.Await(t)
	d.AddRequest(t, "one", time.Now().Add(24*time.Hour))
	d.AddAlerts(t, ids["essay.txt"])
	d.AddCase(t)
	ada.Post("/account/tokens", http.StatusOK, url.Values{"action": {"add"}, "name": {"portal"}, "scope": {"read"}})
	ids["essay"], ids["broken"] = ids["essay.txt"], ids["broken.bad"]
	if err := d.Store.Partners.AddPartner(t.Context(), store.Partner{Site: "SOUTH", Serial: 1, Card: []byte("card"),
		Words: "six words"}); err != nil {
		t.Fatal(err)
	}
	const question = "Describe the aims of your project in no more than two hundred words of plain language for the panel.\n\n"
	batch := ada.HandBatch(http.StatusOK, url.Values{"title": {"Call"}}, "a.txt", question+ledger+keeper, "b.txt", question+ledger,
		"c.txt", question+webtest.Folios, "d.txt", question+strings.Repeat("The granary was counted every year by another clerk. ", 3),
		"e.txt", question+"A ferry crossed the sound twice in the night, and the pilot wrote both of the times on a slate beside his door.")
	d.AwaitBatch(t, batch)
	d.AddSource(t, "repo")
	notified(t, d)
	hook := regexp.MustCompile(`/account/webhooks/[a-z2-7]{26}`).FindString(ada.Post("/account/webhooks", http.StatusOK,
		url.Values{"url": {"https://hooks.example/"}, "title": {"portal"}, "event": {"check.done"}}))
	ada.Post(hook, http.StatusOK, url.Values{"action": {"ping"}})
	return d, ada, strings.NewReplacer("/C", "/"+string(ids["essay"]), "/BATCH", strings.TrimPrefix(batch, "/batches"),
		"LEADS", d.LeadBatch(t), "/BAD",
		"/"+string(ids["broken"]),
		"/PDF", "/"+string(ids["paged.pdf"]), "/HOOK", strings.TrimPrefix(hook, "/account/webhooks"))
}

// TestAccessible: axe-core finds no fault on any page when it is narrow, dark and in German; make rest also tests wide pages in English
// and narrow pages in Chinese.
func TestAccessible(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("left out by -short: opens every page three times")
	}
	d, _, fill := shownSite(t)
	known := map[string]bool{}
	for _, a := range d.Web.Access() {
		if strings.HasPrefix(a.Pattern, "GET ") && slices.Contains(a.Roles, store.RoleAdministrator) {
			known[a.Pattern] = true
			if shownPages[a.Pattern] == nil && unshownPages[a.Pattern] == "" {
				t.Errorf("%s is looked at by nobody: add it to shownPages, or to unshownPages with the reason", a.Pattern)
			}
		}
	}
	for _, p := range slices.Sorted(maps.Keys(shownPages)) {
		if !known[p] {
			t.Errorf("shownPages has %s, which is no page", p)
		}
	}
	all := looks()
	if os.Getenv("CONCORDAT_SHOTS") == "" {
		all = all[:suite.Rounds(1, len(all))]
	}
	for _, look := range all {
		cookie := func(name, value string) chromedp.Action {
			return network.SetCookie(name, value).WithURL(d.URL).WithPath("/")
		}
		// The lifetime of a window is limited but sufficient for a few pages on any machine.
		open := func(t *testing.T, session string) context.Context {
			t.Helper()
			ctx := webtest.Window(t, look.width)
			if err := chromedp.Run(ctx, look.theme(), cookie("language", look.language), cookie("session", session)); err != nil {
				t.Fatal(err)
			}
			return ctx
		}
		visit := func(t *testing.T, session string, paths []string) {
			ctx := open(t, session)
			for _, path := range paths {
				var wide, hidden, words string // the first element that is too wide, the first that is cut off, and the text
				if err := chromedp.Run(ctx, chromedp.Navigate(d.URL+fill.Replace(path)), chromedp.WaitReady("main", chromedp.ByQuery),
					chromedp.Evaluate(standsOut, &wide), chromedp.Evaluate(cut, &hidden), chromedp.Evaluate("document.body.innerText", &words),
					webtest.Shot(t, look.name(path), look.width)); err != nil {
					t.Fatalf("%s: %v", path, err)
				}
				faults, err := axe.Violations(ctx)
				if err != nil {
					t.Fatalf("%s: %v", path, err)
				}
				for _, f := range faults {
					t.Errorf("%s: %s", look.name(path), f)
				}
				if hidden != "" {
					t.Errorf("%s is not to be read whole: %s", look.name(path), hidden)
				}
				if look.language != "en" && path != "/admin/design" {
					if text := untranslated(look.language, words); text != "" {
						t.Errorf("%s is in English here: %s", look.name(path), text)
					}
				}
				if wide != "" {
					t.Errorf("%s in %s is wider than %d pixels: %s", path, look.language, look.width, wide)
				}
			}
		}
		t.Run("stranger", func(t *testing.T) { visit(t, "nobody's", openPages) })
		var paths []string
		for _, p := range slices.Sorted(maps.Keys(shownPages)) {
			for _, path := range shownPages[p] {
				if only := os.Getenv("CONCORDAT_PAGES"); only == "" || slices.Contains(strings.Fields(only), path) {
					paths = append(paths, path)
				}
			}
		}
		for few := range slices.Chunk(paths, 20) {
			t.Run("ada", func(t *testing.T) { visit(t, "secret-of-ada", few) })
		}
	}
}

// notified stores notifications in every state, with answers in every state.
func notified(t testing.TB, d *webtest.Site) {
	t.Helper()
	at := time.Date(2026, 11, 20, 9, 0, 0, 0, time.UTC)
	for i, state := range store.NotificationStates {
		n := store.Notification{ID: fmt.Sprint("n", i), Account: "ada", Activity: fmt.Sprint("urn:uuid:", i),
			Kind: "Offer coar-notify:ReviewAction", Origin: "https://repository.example.edu/server",
			Inbox:  "https://repository.example.edu/server/ldn/inbox",
			Object: fmt.Sprintf("https://repository.example.edu/items/%d", 4711+i), Body: []byte(`{}`), State: state,
			Due: at.AddDate(9, 0, 0), Made: at}
		if state == store.NotificationFailed {
			n.Cause = "https://repository.example.edu/items/4714 cannot be read: the server responded with 404 Not Found."
		}
		var answers []store.NotificationAnswer
		for j, kind := range []string{"TentativeAccept", "Accept"} {
			answers = append(answers, store.NotificationAnswer{ID: fmt.Sprint(i, j), Kind: kind, Body: []byte(`{}`), Due: at,
				Until: at.AddDate(9, 0, 0), Made: at})
		}
		if _, _, err := d.Store.Notifications.TakeNotification(t.Context(), n, answers...); err != nil {
			t.Fatal(err)
		}
	}
	for _, state := range []store.DeliveryState{store.DeliveryDelivered, store.DeliveryDead, store.DeliveryPending} {
		r, _, err := d.Store.Notifications.ClaimReply(t.Context(), time.Hour)
		if err == nil {
			r.State, r.Due = state, at.AddDate(9, 0, 0)
			if state != store.DeliveryDelivered {
				r.Status, r.Cause = http.StatusServiceUnavailable, "the server responded with 503 Service Unavailable"
			}
			err = d.Store.Notifications.KeepReply(t.Context(), r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// showSettings adds to a site a setting of each form, an unfinished index, and an encoder that could not be downloaded.
func showSettings(o *web.Options) {
	form := func(key, value string, words ...string) settings.Setting {
		at := view.Setting{Key: key, Value: value, Origin: "default", Live: true}
		return settings.Setting{Setting: at, Changeable: true, Words: words}
	}
	days := form("check.again_days", "0")
	days.Least, days.Most = "0", "3650"
	all := []settings.Setting{form("site.title", "North"), form("report.language", "en", "en", "de", "zh"),
		form("check.threshold", "0.3"), form("check.probe", "one", "exact", "one"), form("check.short", "true", "true", "false"), days,
		form("submissions.add", "ask", "never", "ask", "verdict"), form("report.exclude_quotes", "false", "true", "false"),
		form("report.min_source_share", "0.01"), form("report.common_above", "20"), form("report.exclude_kinds", "near, summary"),
		form("meaning.leads", "on", "off", "on"), form("meaning.index", "true", "false", "true", "encoder"),
		form("check.forward", "unmatched", "unmatched", "all", "none"), form("log.level", "info", "debug", "info"),
		{Setting: view.Setting{Key: "serve.listen", Value: "127.0.0.1:8420", Origin: "--listen"}}}
	o.Settings = webtest.FixedSettings(all)
	o.Meaning = &webtest.ScriptedMeaning{Now: settings.Meaning{Leads: true,
		Index:   settings.MeaningIndex{On: true, Documents: 300, Lacking: 100, Making: true, Done: 200, All: 300},
		Encoder: settings.MeaningEncoder{State: settings.EncoderFailed, Problem: settings.EncoderFetch, Detail: "no route to the registry"}}}
}
