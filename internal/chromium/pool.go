package chromium

import (
	"context"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
)

// Pool reuses browsers for the tests of a process, since starting one takes longer than most pages. A browser shows one test's window at
// a time, because animations stop in a window hidden by another. Each window has its own cookies and storage. The zero value is ready and
// safe for concurrent use; Close it after the tests. A test that changes browser-wide settings, for example the download folder, needs
// its own browser; see the function [Window].
type Pool struct {
	mu   sync.Mutex
	idle []browser
	stop []func() // stop the started browsers
}

// browser is the context of a running Chromium.
type browser struct{ context.Context }

// Window is like the function of that name, but takes a browser from the pool and returns it when the test has ended.
func (p *Pool) Window(t testing.TB, width, height int) context.Context {
	t.Helper()
	path := needed(t)
	var err error
	for range 3 { // Chromium sometimes exits during startup
		var b browser
		if b, err = p.take(path, height); err != nil {
			continue
		}
		var ctx context.Context
		var closeWindow func()
		if ctx, closeWindow, err = b.window(width, height); err != nil {
			continue // drop this browser
		}
		t.Cleanup(func() {
			closeWindow()
			p.giveBack(b)
		})
		return ctx
	}
	t.Fatal(err)
	return nil
}

// window opens a window with its own cookies and storage; its context ends at a test's time limit.
func (b browser) window(width, height int) (ctx context.Context, closeWindow func(), err error) {
	ctx, end := context.WithTimeout(b, limit)
	commands := cdp.WithExecutor(ctx, chromedp.FromContext(b).Browser)
	own, err := target.CreateBrowserContext().Do(commands)
	if err != nil {
		end()
		return nil, nil, err
	}
	dispose := func() {
		// The context might have ended, and the browser with it.
		ctx, end := context.WithTimeout(context.Background(), limit)
		defer end()
		_ = target.DisposeBrowserContext(own).Do(cdp.WithExecutor(ctx, chromedp.FromContext(b).Browser))
	}
	id, err := target.CreateTarget("about:blank").WithBrowserContextID(own).WithNewWindow(true).Do(commands)
	if err != nil {
		dispose()
		end()
		return nil, nil, err
	}
	ctx, closeTarget := chromedp.NewContext(ctx, chromedp.WithTargetID(id))
	closeWindow = func() {
		closeTarget()
		dispose()
		end()
	}
	if err := prepare(ctx, width, height); err != nil {
		closeWindow()
		return nil, nil, err
	}
	return ctx, closeWindow, nil
}

// prepare sets the size of ctx's window and enables its events.
func prepare(ctx context.Context, width, height int) error {
	return chromedp.Run(ctx, network.Enable(), log.Enable(), chromedp.EmulateViewport(int64(width), int64(height)))
}

// take returns a browser that shows no window, or a new one.
func (p *Pool) take(path string, height int) (browser, error) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		b := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return b, nil
	}
	p.mu.Unlock()
	b, stop, err := start(path, height)
	if err != nil {
		return browser{}, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stop = append(p.stop, stop)
	return b, nil
}

// start starts a browser.
func start(path string, height int) (b browser, stop func(), err error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.Flag("disable-quic", true), chromedp.Flag("force-prefers-reduced-motion", true),
		chromedp.WindowSize(1400, height), chromedp.WSURLReadTimeout(limit/2))
	ctx, end := chromedp.NewExecAllocator(context.Background(), options...)
	// Events newer than the client are not a fault of the page.
	ctx, closeBrowser := chromedp.NewContext(ctx, chromedp.WithErrorf(func(string, ...any) {}))
	stop = func() {
		closeBrowser()
		end()
	}
	if err := chromedp.Run(ctx); err != nil {
		stop()
		return browser{}, nil, err
	}
	return browser{ctx}, stop, nil
}

func (p *Pool) giveBack(b browser) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, b)
}

// Close stops the browsers.
func (p *Pool) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, stop := range p.stop {
		stop()
	}
	p.idle, p.stop = nil, nil
}
