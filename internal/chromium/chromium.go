// Package chromium opens Chromium windows for tests and collects the complaints of the browser.
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

// limit ends a test that would otherwise wait forever. A walk over all pages takes minutes on a busy machine.
const limit = 20 * time.Minute

// Path returns the path of Chromium on this machine, under any of the names that distributions give it; empty if
// there is none.
func Path() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Window opens a window of a size in pixels, without animations, in a separate process. It skips the test if there is no
// Chromium, or if short tests are run.
func Window(t testing.TB, width, height int) context.Context {
	t.Helper()
	path := needed(t)
	var err error
	for range 3 { // Chromium sometimes ends before it has started
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
		t.Skip("no chromium in PATH: the page is not tried in a browser")
	}
	return path
}

// Complaints collects, from now on, exceptions, messages in the console and the log, dialogs, and requests to addresses that
// begin with none of the given ones. A missing icon of a page is not a complaint.
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
