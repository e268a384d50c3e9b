// Package chromium opens windows of Chromium for tests and collects what it complains about.
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

// limit ends a test that waits for what never comes. A walk over all pages takes minutes on a busy machine.
const limit = 20 * time.Minute

// Path returns the path of the Chromium of this machine, by the names that distributions give it; empty if there is none.
func Path() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// Window opens a window of a size in pixels, in a process of its own, in which nothing moves. It skips the test if there is
// no Chromium, or if tests are to be short.
func Window(t testing.TB, width, height int) context.Context {
	t.Helper()
	if testing.Short() {
		t.Skip("left out by -short: starts a browser")
	}
	path := Path()
	if path == "" {
		t.Skip("no chromium in PATH: the page is not tried in a browser")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.Flag("disable-quic", true), chromedp.Flag("force-prefers-reduced-motion", true),
		chromedp.WindowSize(max(width, 1200), height), chromedp.WSURLReadTimeout(limit/2))
	var err error
	for range 3 { // a Chromium ends at times before it has begun
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		t.Cleanup(cancel)
		ctx, cancel = chromedp.NewExecAllocator(ctx, options...)
		t.Cleanup(cancel)
		// Events newer than the client are no fault of the page.
		ctx, cancel = chromedp.NewContext(ctx, chromedp.WithErrorf(func(string, ...any) {}))
		t.Cleanup(cancel)
		if err = chromedp.Run(ctx, network.Enable(), log.Enable(), chromedp.EmulateViewport(int64(width), int64(height))); err == nil {
			return ctx
		}
	}
	t.Fatal(err)
	return nil
}

// Complaints collects from now on exceptions, words in the console and the log, dialogs, and requests for what does not begin
// with one of the addresses. The missing icon of a page is none.
func Complaints(ctx context.Context, addresses ...string) func() []string {
	var mu sync.Mutex // events come while a test reads what came before
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
