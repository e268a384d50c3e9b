// Package chromium opens Chromium windows for tests and collects errors reported by the browser.
package chromium

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// limit is the maximum duration of a test, which could otherwise wait forever. Visiting all pages takes minutes on a busy machine.
const limit = 20 * time.Minute

// Path returns the path of Chromium on this machine, under any of the names used by distributions, or "" if it is not installed. It prefers
// the build without a user interface, which needs less than half of the processor time. Debian's command for that build is a shell script
// that would survive as the parent of the browser, so it is not used.
func Path() string {
	for _, name := range []string{"/usr/lib/chromium/chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Window opens a window of the given size in pixels, without animations, in a separate process. It skips the test if there is no Chromium
// or only short tests run.
func Window(t testing.TB, width, height int) context.Context {
	t.Helper()
	path := needed(t)
	var err error
	for range 3 { // Chromium sometimes exits during startup
		var b browser
		var stop func()
		if b, stop, err = start(path, height); err != nil {
			continue
		}
		t.Cleanup(stop)
		ctx, end := context.WithTimeout(b, limit)
		t.Cleanup(end)
		if err = prepare(ctx, width, height); err == nil {
			return ctx
		}
	}
	t.Fatal(err)
	return nil
}

// needed returns the path of Chromium, or skips the test.
func needed(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("left out by -short: starts a browser")
	}
	path := Path()
	if path == "" {
		t.Skip("cannot find chromium in PATH, so the page is not tested in a browser")
	}
	return path
}

// Complaints starts collecting exceptions, console and log messages, dialogs, and requests to addresses without any of the given
// prefixes. It ignores a page's missing icon.
func Complaints(ctx context.Context, addresses ...string) func() []string {
	var mu sync.Mutex // events arrive while a test reads earlier ones
	var out []string
	chromedp.ListenTarget(ctx, func(ev any) {
		mu.Lock()
		defer mu.Unlock()
		switch ev := ev.(type) {
		case *runtime.EventExceptionThrown:
			out = append(out, "exception: "+ev.ExceptionDetails.Error())
		case *runtime.EventConsoleAPICalled:
			out = append(out, "console: "+string(ev.Type))
		case *log.EventEntryAdded:
			if !strings.HasSuffix(ev.Entry.URL, "/favicon.ico") {
				out = append(out, ev.Entry.Text+" "+ev.Entry.URL)
			}
		case *network.EventRequestWillBeSent:
			for _, a := range addresses {
				if strings.HasPrefix(ev.Request.URL, a) {
					return
				}
			}
			out = append(out, "request for "+ev.Request.URL)
		case *page.EventJavascriptDialogOpening:
			out = append(out, "dialog: "+ev.Message)
		}
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(out)
	}
}
