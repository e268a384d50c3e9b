package web_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"concordat/store"
	"concordat/web/lti"
	"concordat/web/platforms"
)

// keepShot saves a picture of the page to the folder that CONCORDAT_SHOTS names, for people to look at.
func keepShot(t *testing.T, name string, b *[]byte) {
	t.Helper()
	if dir := os.Getenv("CONCORDAT_SHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), *b, 0o600); err != nil {
			t.Error(err)
		}
	}
}

// TestLTIInBrowser registers, configures and opens a report in a real browser, whose policies must allow each step, on
// a narrow screen.
func TestLTIInBrowser(t *testing.T) {
	t.Parallel()
	c := newCourse(t, platforms.Options{})
	c.send(200, c.Submission("u1", nil, c.Put("a1", "essay.txt", []byte(folios))))
	c.Await(t.Context(), "a1", lti.Processed, 0)
	ctx, complaints := browser(t, c.server.URL, 390)
	run := func(actions ...chromedp.Action) {
		t.Helper()
		if err := chromedp.Run(ctx, actions...); err != nil {
			t.Fatal(err)
		}
	}
	var wide, wide2, wide3 bool
	var platforms, configure, check []byte
	run(signIn(t, &testSite{Server: c.server, store: c.db}, "adam", store.RoleAdministrator),
		chromedp.EmulateViewport(390, 900),
		chromedp.Navigate(c.server.URL+"/platforms"), chromedp.WaitReady("#recent", chromedp.ByQuery), fits(&wide),
		chromedp.FullScreenshot(&platforms, 90))
	c.Next(map[string]any{"sub": "t1", "/message_type": lti.TypeDeepLinking, "/roles": []string{membership + "Instructor"},
		"https://purl.imsglobal.org/spec/lti-dl/claim/deep_linking_settings": map[string]any{"deep_link_return_url": c.URL + "/return",
			"accept_types": []string{lti.ItemProcessor}},
		"/platformnotificationservice": map[string]any{"platform_notification_service_url": c.URL +
			"/notices", "notice_types_supported": []string{lti.NoticeSubmission}}})
	run(chromedp.Navigate(c.LoginAt(c.loginURL())), chromedp.WaitVisible("#library-theses", chromedp.ByQuery), fits(&wide2),
		chromedp.FullScreenshot(&configure, 90),
		chromedp.Click("#library-theses", chromedp.ByQuery), chromedp.Click("main form button", chromedp.ByQuery),
		chromedp.WaitVisible("#back", chromedp.ByQuery))
	if n := len(c.Answers()); n != 1 {
		t.Errorf("%d answers came back", n)
	}
	c.Next(review("a1", "t1", "Instructor"))
	run(chromedp.Navigate(c.LoginAt(c.loginURL())), chromedp.WaitVisible("#summary", chromedp.ByQuery), fits(&wide3),
		chromedp.FullScreenshot(&check, 90),
		chromedp.Click("main a.button", chromedp.ByQuery), chromedp.WaitReady(".ev, article, h1", chromedp.ByQuery))
	if wide || wide2 || wide3 {
		t.Errorf("wider than the window: platforms %v, choices %v, check %v", wide, wide2, wide3)
	}
	for _, one := range complaints() {
		if !strings.HasPrefix(one, "request for "+c.URL+"/") { // requests that the browser made by itself
			t.Error(one)
		}
	}
	keepShot(t, "platforms", &platforms)
	keepShot(t, "configure", &configure)
	keepShot(t, "check", &check)
}

// TestLoginInBrowser goes to a provider and back.
func TestLoginInBrowser(t *testing.T) {
	t.Parallel()
	p := newIDP(t)
	p.claims = map[string]any{"preferred_username": "ada"}
	d := newLoginSite(t, false, uni(p))
	ctx, complaints := browser(t, d.URL, 390)
	var login, out []byte
	var wide bool
	if err := chromedp.Run(ctx, chromedp.EmulateViewport(390, 900), chromedp.Navigate(d.URL+"/login?next=/account"),
		chromedp.WaitVisible(".providers a", chromedp.ByQuery), fits(&wide),
		chromedp.FullScreenshot(&login, 90), chromedp.Click(".providers a", chromedp.ByQuery),
		chromedp.Click(".who summary", chromedp.ByQuery), chromedp.Click(`form[action="/logout"] button`, chromedp.ByQuery),
		chromedp.WaitVisible(`a[href*="/end?"]`, chromedp.ByQuery),
		chromedp.FullScreenshot(&out, 90)); err != nil {
		t.Fatal(err)
	}
	if wide {
		t.Error("wider than the window")
	}
	for _, one := range complaints() {
		if !strings.HasPrefix(one, "request for "+p.URL+"/auth?") {
			t.Error(one)
		}
	}
	keepShot(t, "login", &login)
	keepShot(t, "signedout", &out)
}
