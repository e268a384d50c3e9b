package webtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"concordat/internal/chromium"
	"concordat/store"
)

// Enter gives a browser the session of a new account.
func (d *Site) Enter(t *testing.T, name string, role store.Role) chromedp.Action {
	d.SignedIn(t, name, role)
	return SessionOf(d, name)
}

// SessionOf signs the browser in as the given person.
func SessionOf(d *Site, name string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		return network.SetCookie("session", "secret-of-"+name).WithURL(d.URL).Do(ctx)
	})
}

// browsers is the pool shared by all tests.
var browsers chromium.Pool

// Window opens Chromium with the given width.
func Window(t testing.TB, width int) context.Context {
	t.Helper()
	return browsers.Window(t, width, 900)
}

// Browser is like window, and also collects Chromium's complaints.
func Browser(t testing.TB, base string, width int) (context.Context, func() []string) {
	t.Helper()
	ctx := Window(t, width)
	// An address beginning with data: is the browser's own image, for example of a calendar; the policy refuses all others.
	return ctx, chromium.Complaints(ctx, base, "data:")
}

// Until waits until a JavaScript expression is true on the page, even if other pages are loaded in the meantime, because a click, a key
// or a message takes effect only after a while.
func Until(expression string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		var is bool
		return read(ctx, "!!("+expression+")", &is, func() bool { return is })
	})
}

// read evaluates an expression into to until wanted returns true.
func read(ctx context.Context, expression string, to any, wanted func() bool) error {
	var err error
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); {
		if err = chromedp.Evaluate(expression, to).Do(ctx); err == nil && wanted() {
			return nil
		}
		if err := chromedp.Sleep(50 * time.Millisecond).Do(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("the page did not reach this state within five minutes: %s (%w)", expression, cmp.Or(err, errors.New("the value differs")))
}

// Loaded waits until the page is complete and its scripts have run. First wait for the navigation to the page.
func Loaded() chromedp.Action { return Until(`document.readyState === "complete"`) }

// ReadText waits until an element is visible and reads its text in the same step. If a part of a page reloads, for example one with
// data-live, its elements are soon replaced, and chromedp.Text fails with the old one.
func ReadText(selector string, to *string) chromedp.Action {
	const seen = `document.querySelector(%q)?.checkVisibility() && { says: document.querySelector(%[1]q).innerText }`
	return chromedp.ActionFunc(func(ctx context.Context) error {
		var found struct{ Says *string }
		if err := read(ctx, fmt.Sprintf("("+seen+") || {}", selector), &found, func() bool { return found.Says != nil }); err != nil {
			return err
		}
		*to = *found.Says
		return nil
	})
}

// Shot saves a picture of the page in the folder CONCORDAT_SHOTS, if it is set.
func Shot(t testing.TB, name string, width int) chromedp.Action {
	// draw makes a browser draw content that it would otherwise draw only when visible, because a picture of the whole page includes
	// content outside the window.
	const draw = `document.styleSheets[0]?.insertRule("* { content-visibility: visible !important; }", document.styleSheets[0].cssRules.length)`
	return Picture(name, width, func(b *[]byte) chromedp.Action {
		return chromedp.Tasks{chromedp.Evaluate(draw, nil), chromedp.FullScreenshot(b, 100)}
	})
}

func Picture(name string, width int, take func(*[]byte) chromedp.Action) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		dir := os.Getenv("CONCORDAT_SHOTS")
		if dir == "" {
			return nil
		}
		var b []byte
		if err := take(&b).Do(ctx); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, name+"-"+map[bool]string{true: "wide", false: "narrow"}[width > 500]+".png"), b, 0o600)
	})
}

// KeepShot saves a picture of the page to the folder that CONCORDAT_SHOTS names, for people to look at.
func KeepShot(t *testing.T, name string, b *[]byte) {
	t.Helper()
	if dir := os.Getenv("CONCORDAT_SHOTS"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), *b, 0o600); err != nil {
			t.Error(err)
		}
	}
}

// Cookies gives a browser the session of the person.
func (p *Person) Cookies(base string) chromedp.Action {
	return chromedp.ActionFunc(func(ctx context.Context) error {
		u, err := url.Parse(base)
		if err != nil {
			return err
		}
		for _, c := range p.Jar.Cookies(u) {
			if err := network.SetCookie(c.Name, c.Value).WithURL(base).Do(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// SignIn gives the browser the session of an account.
func SignIn(t *testing.T, d *Site, name string, role store.Role) chromedp.Action {
	t.Helper()
	d.SignedIn(t, name, role)
	u, err := url.Parse(d.URL)
	if err != nil {
		t.Fatal(err)
	}
	return network.SetCookie("session", "secret-of-"+name).WithDomain(u.Hostname()).WithPath("/")
}

// Fits reports in bad whether the page is wider than the window.
func Fits(bad *bool) chromedp.Action {
	return chromedp.Evaluate(`document.documentElement.scrollWidth > document.documentElement.clientWidth`, bad)
}
