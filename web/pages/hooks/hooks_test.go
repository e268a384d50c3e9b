package hooks_test

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"concordat/internal/chromium"
	"concordat/internal/suite"
	"concordat/internal/webtest"
	"concordat/people"
	"concordat/report/language"
	"concordat/store"
	"concordat/webhook"
)

var hookPath = regexp.MustCompile(`/account/webhooks/[a-z2-7]{26}`)

// TestHookPages creates a webhook, makes its delivery fail, and resends it.
func TestHookPages(t *testing.T) {
	t.Parallel()
	d := webtest.New(t, true)
	ada, bo, root := d.SignedIn(t, "ada", store.RoleOfficer), d.SignedIn(t, "bo", store.RoleAuditor),
		d.SignedIn(t, "root", store.RoleAdministrator)
	status := http.StatusInternalServerError
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	defer receiver.Close()
	sender := webhook.New(webhook.Options{Store: d.Store.Webhooks, Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}})
	const list = "/account/webhooks"
	for _, bad := range []url.Values{{}, {"url": {"https://10.0.0.1"}, "event": {"check.done"}}, {"url": {receiver.URL}},
		{"url": {receiver.URL}, "event": {"song"}}} {
		ada.Post(list, http.StatusBadRequest, bad)
	}
	ada.Post(list, http.StatusForbidden, url.Values{"url": {receiver.URL}, "event": {"check.done"}, "whole": {"1"}})
	page := ada.Post(list, http.StatusOK, url.Values{"url": {receiver.URL}, "title": {"portal <1>"}, "event": {"check.done", "check.failed"}})
	at := hookPath.FindString(page)
	if at == "" || !strings.Contains(page, "whsec_") || strings.Contains(page, "<1>") {
		t.Fatalf("no webhook, no secret, or markup in\n%s", page)
	}
	if page := ada.Get(at, http.StatusOK); strings.Contains(page, "whsec_") {
		t.Error("the secret is shown again")
	}
	ada.Post(at, http.StatusOK, url.Values{"action": {"ping"}})
	sender.Step(t.Context())
	if page := ada.Get(at+"?delivery=1", http.StatusOK); !strings.Contains(page, "answered 500") ||
		!strings.Contains(page, `&#34;type&#34;:&#34;ping&#34;`) {
		t.Errorf("no attempt in\n%s", page)
	}
	status = http.StatusOK
	ada.Post(at, http.StatusOK, url.Values{"action": {"replay"}, "delivery": {"1"}})
	sender.Step(t.Context())
	if page := ada.Get(at, http.StatusOK); !strings.Contains(page, "Delivered") {
		t.Errorf("not delivered:\n%s", page)
	}
	for _, action := range []string{"replay-dead", "pause", "resume"} {
		ada.Post(at, http.StatusOK, url.Values{"action": {action}})
	}
	ada.Post(at, http.StatusOK, url.Values{"action": {"save"}, "url": {receiver.URL + "/x"}, "title": {"other"}, "event": {"batch.done"}})
	if page := ada.Get(list, http.StatusOK); !strings.Contains(page, "other") || !strings.Contains(page, "batch.done") {
		t.Errorf("not saved:\n%s", page)
	}
	if page := ada.Post(at, http.StatusOK, url.Values{"action": {"rotate"}}); !strings.Contains(page, "whsec_") ||
		!strings.Contains(page, "previous secret") {
		t.Errorf("no new secret in\n%s", page)
	}
	for _, bad := range []url.Values{{}, {"action": {"sing"}}, {"action": {"replay"}},
		{"action": {"save"}, "url": {"http://8.8.8.8"}, "event": {"batch.done"}}} {
		ada.Post(at, http.StatusBadRequest, bad)
	}
	bo.Get(at, http.StatusNotFound)
	bo.Post(at, http.StatusNotFound, url.Values{"action": {"delete"}})
	if page := bo.Get(list, http.StatusOK); strings.Contains(page, receiver.URL) || strings.Contains(page, `name="whole"`) {
		t.Errorf("bo sees\n%s", page)
	}
	if page := root.Get(list, http.StatusOK); !strings.Contains(page, receiver.URL) || !strings.Contains(page, `name="whole"`) {
		t.Errorf("root sees\n%s", page)
	}
	root.Post(at, http.StatusOK, url.Values{"action": {"delete"}})
	ada.Get(at, http.StatusNotFound)
	for _, action := range []string{"webhook_rotated", "webhook_deleted"} {
		if n := strings.Count(d.Audited(t), action); n != 1 {
			t.Errorf("%d lines of %s in the audit, want 1", n, action)
		}
	}
	nobody := d.Visitor(t)
	nobody.Post(list, http.StatusForbidden, url.Values{"url": {receiver.URL}, "event": {"check.done"}})
}

// TestHookMessages: all text that pages show about webhooks exists.
func TestHookMessages(t *testing.T) {
	t.Parallel()
	keys := []string{"hook.active", "hook.paused", "delivery.pending", "delivery.delivered", "delivery.dead", "event.ping"}
	for _, k := range store.EventKinds() {
		keys = append(keys, "event."+string(k))
	}
	for _, s := range people.Scopes {
		keys = append(keys, "scope."+s)
	}
	for _, key := range keys {
		if language.English.Say(key) == key {
			t.Errorf("no message %s", key)
		}
	}
}

// TestHooksInBrowser creates a webhook on a wide and on a narrow screen.
func TestHooksInBrowser(t *testing.T) {
	t.Parallel()
	for _, width := range []int{1200, 390}[:suite.Rounds(1, 2)] {
		d := webtest.New(t, true)
		ctx, complaints := webtest.Browser(t, d.URL, width)
		link, err := d.Web.Accounts.FirstLink(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		var wide [2]bool
		overflow := func(i int) chromedp.Action {
			return chromedp.Evaluate(`document.documentElement.scrollWidth > document.documentElement.clientWidth`, &wide[i])
		}
		if err := chromedp.Run(ctx,
			chromedp.Navigate(d.URL+link),
			chromedp.SendKeys("#name", "ada", chromedp.ByQuery), chromedp.SendKeys("#password", "a good long secret", chromedp.ByQuery),
			chromedp.SendKeys("#again", "a good long secret", chromedp.ByQuery),
			chromium.Click("main form button", chromedp.ByQuery), chromedp.WaitVisible(`a[href="/checks/new"]`, chromedp.ByQuery),
			chromedp.Navigate(d.URL+"/account/webhooks"),
			chromedp.SendKeys("#title", "Learning platform", chromedp.ByQuery),
			chromedp.SendKeys("#url", "https://hooks.example/"+strings.Repeat("very-long-path-", 8), chromedp.ByQuery),
			chromium.Click(`input[value="check.done"]`, chromedp.ByQuery), overflow(0), webtest.Shot(t, "hooks", width),
			chromium.Click("main form button", chromedp.ByQuery), chromedp.WaitVisible(`button[value="ping"]`, chromedp.ByQuery),
			chromium.Click(`button[value="ping"]`, chromedp.ByQuery), chromedp.WaitVisible(`td form button`, chromedp.ByQuery),
			chromium.Click(`tbody a`, chromedp.ByQuery), chromedp.WaitVisible(`#delivery`, chromedp.ByQuery), overflow(1),
			webtest.Shot(t, "hook", width),
		); err != nil {
			t.Fatal(err)
		}
		if wide[0] || wide[1] {
			t.Errorf("%d pixels are too narrow: %v", width, wide)
		}
		for _, c := range complaints() {
			t.Errorf("%d: %s", width, c)
		}
	}
}
