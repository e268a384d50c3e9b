package platforms_test

import (
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"concordat/internal/chromium"
	"concordat/internal/webtest"
	"concordat/store"
	"concordat/web/lti"
	"concordat/web/platforms"
)

// TestLTIInBrowser registers a platform, configures an activity and opens a report in a real browser, whose policies must allow each
// step, on a narrow screen.
func TestLTIInBrowser(t *testing.T) {
	t.Parallel()
	c := newCourse(t, platforms.Options{})
	c.send(200, c.Submission("u1", nil, c.Put("a1", "essay.txt", []byte(webtest.Folios))))
	c.Await(t.Context(), "a1", lti.Processed, 0)
	ctx, complaints := webtest.Browser(t, c.server.URL, 390)
	run := func(actions ...chromedp.Action) {
		t.Helper()
		if err := chromedp.Run(ctx, actions...); err != nil {
			t.Fatal(err)
		}
	}
	var wide, wide2, wide3 bool
	var platforms, configure, check []byte
	run(webtest.SignIn(t, &webtest.Site{Server: c.server, Store: c.db}, "adam", store.RoleAdministrator),
		chromedp.EmulateViewport(390, 900),
		chromedp.Navigate(c.server.URL+"/platforms"), chromedp.WaitReady("#recent", chromedp.ByQuery), webtest.Fits(&wide),
		chromedp.FullScreenshot(&platforms, 90))
	c.Next(map[string]any{"sub": "t1", "/message_type": lti.TypeDeepLinking, "/roles": []string{membership + "Instructor"},
		"https://purl.imsglobal.org/spec/lti-dl/claim/deep_linking_settings": map[string]any{"deep_link_return_url": c.URL + "/return",
			"accept_types": []string{lti.ItemProcessor}},
		"/platformnotificationservice": map[string]any{"platform_notification_service_url": c.URL +
			"/notices", "notice_types_supported": []string{lti.NoticeSubmission}}})
	run(chromedp.Navigate(c.LoginAt(c.loginURL())), chromedp.WaitVisible("#library-theses", chromedp.ByQuery), webtest.Fits(&wide2),
		chromedp.FullScreenshot(&configure, 90),
		chromium.Click("#library-theses", chromedp.ByQuery), chromium.Click("main form button", chromedp.ByQuery),
		chromedp.WaitVisible("#back", chromedp.ByQuery))
	if n := len(c.Answers()); n != 1 {
		t.Errorf("%d answers came back", n)
	}
	c.Next(review("a1", "t1", "Instructor"))
	run(chromedp.Navigate(c.LoginAt(c.loginURL())), chromedp.WaitVisible("#summary", chromedp.ByQuery), webtest.Fits(&wide3),
		chromedp.FullScreenshot(&check, 90),
		chromium.Click("main a.button", chromedp.ByQuery), chromedp.WaitReady(".ev, article, h1", chromedp.ByQuery))
	if wide || wide2 || wide3 {
		t.Errorf("wider than the window: platforms %v, choices %v, check %v", wide, wide2, wide3)
	}
	for _, one := range complaints() {
		if !strings.HasPrefix(one, "request for "+c.URL+"/") { // requests made by the browser itself
			t.Error(one)
		}
	}
	webtest.KeepShot(t, "platforms", &platforms)
	webtest.KeepShot(t, "configure", &configure)
	webtest.KeepShot(t, "check", &check)
}
