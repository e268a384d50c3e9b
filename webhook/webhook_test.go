package webhook_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"concordat/store"
	"concordat/webhook"
	"concordat/webhook/outbound"
)

// clock is a clock that changes only when it is advanced.
type clock struct {
	mu sync.Mutex
	t  time.Time // guarded by mu
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) move(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

var loopback = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128")}

// place is a store with one account and its own clock.
type place struct {
	*store.DB
	*clock
	path string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{clock: &clock{t: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}, path: filepath.Join(t.TempDir(), "site.db")}
	p.open(t)
	t.Cleanup(func() { _ = p.Close() })
	if err := p.People.CreateAccount(t.Context(), store.Account{Name: "ada", Role: store.RoleAdministrator, Created: p.now()}); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *place) open(t *testing.T) {
	t.Helper()
	var err error
	if p.DB, err = (store.Options{Now: p.now}).Open(t.Context(), p.path); err != nil {
		t.Fatal(err)
	}
}

func (p *place) hook(t *testing.T, url string) store.Hook {
	t.Helper()
	h, err := p.Webhooks.CreateHook(t.Context(), store.Hook{Account: "ada", Whole: true, URL: url, Kinds: store.EventKinds()})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func (p *place) announce(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		if err := p.Webhooks.Announce(t.Context(), store.EventCheckDone, "ada", json.RawMessage(fmt.Sprintf(`{"id":"%d"}`, i))); err != nil {
			t.Fatal(err)
		}
	}
}

func (p *place) sender(o webhook.Options) *webhook.Sender {
	o.Store, o.Now, o.Random = p.Webhooks, p.now, func() float64 { return 0 }
	return webhook.New(o)
}

// TestVector checks the example in the Standard Webhooks specification, with its published secret.
func TestVector(t *testing.T) {
	secret, err := base64.StdEncoding.DecodeString("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	if err != nil {
		t.Fatal(err)
	}
	got := webhook.Signature([][]byte{secret}, "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	if want := "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestFaultyReceivers: whatever the receiver does and however often the process ends, each event arrives at least once, and the signature
// covers the body that was sent.
func TestFaultyReceivers(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			random, script := rand.New(rand.NewPCG(seed, 1)), rand.New(rand.NewPCG(seed, 2)) // script is guarded by mu
			var mu sync.Mutex
			got := map[string]int{} // accepted deliveries, by event; guarded by mu
			var secrets [][]byte    // guarded by mu
			faults := 0             // guarded by mu
			r := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				body, err := io.ReadAll(r.Body)
				var at int64
				if _, e := fmt.Sscan(r.Header.Get("webhook-timestamp"), &at); err != nil || e != nil {
					t.Error(err, e)
				}
				if want := webhook.Signature(secrets, r.Header.Get("webhook-id"), time.Unix(at, 0), body); r.Header.Get("webhook-signature") != want {
					t.Errorf("signature %s, want %s", r.Header.Get("webhook-signature"), want)
				}
				faults++
				switch script.IntN(6) {
				case 0:
					w.WriteHeader(http.StatusInternalServerError)
				case 1:
					http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
				case 2: // close the connection
					panic(http.ErrAbortHandler)
				case 3: // accept, but lose the answer
					got[r.Header.Get("webhook-id")]++
					panic(http.ErrAbortHandler)
				case 4:
					w.Header().Set("Retry-After", "60")
					w.WriteHeader(http.StatusTooManyRequests)
				default:
					faults--
					got[r.Header.Get("webhook-id")]++
					_, _ = io.WriteString(w, strings.Repeat("x", 100_000)) // more than the sender reads
				}
			}))
			defer r.Close()
			r.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
			p := newPlace(t)
			h := p.hook(t, r.URL)
			mu.Lock()
			secrets = h.Secrets
			mu.Unlock()
			const events = 12
			p.announce(t, events)
			for range 200 {
				if random.IntN(4) == 0 { // the process ends and another one starts
					if err := p.Close(); err != nil {
						t.Fatal(err)
					}
					p.open(t)
				}
				p.sender(webhook.Options{Allow: loopback}).Step(t.Context())
				p.move(time.Duration(random.IntN(int(3 * time.Hour))))
				waiting, err := p.Webhooks.Deliveries(t.Context(), h.ID, store.DeliveryPending, 0, 0)
				if err != nil {
					t.Fatal(err)
				}
				// If all attempts have failed by chance, a person resends it.
				n, err := p.Webhooks.ReplayDeliveries(t.Context(), h.ID, store.Replay{State: store.DeliveryDead})
				if err != nil {
					t.Fatal(err)
				}
				if len(waiting) == 0 && n == 0 {
					break
				}
			}
			mu.Lock()
			defer mu.Unlock()
			ds, err := p.Webhooks.Deliveries(t.Context(), h.ID, "", 0, 0)
			if err != nil {
				t.Fatal(err)
			}
			attempts := 0
			for _, d := range ds {
				attempts += d.Attempts
				if d.State != store.DeliveryDelivered || got[d.Event] == 0 {
					t.Errorf("%+v came %d times", d, got[d.Event])
				}
			}
			if len(ds) != events || faults == 0 || attempts != events+faults {
				t.Errorf("%d deliveries, %d attempts, %d faults", len(ds), attempts, faults)
			}
		})
	}
}

// TestDead: a delivery that is never accepted is retried for three days at increasing intervals and is then dead; a replay sends it under
// the same ID.
func TestDead(t *testing.T) {
	var mu sync.Mutex
	status := http.StatusServiceUnavailable // guarded by mu
	var ids []string                        // guarded by mu
	r := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		ids = append(ids, r.Header.Get("webhook-id"))
		w.WriteHeader(status)
	}))
	defer r.Close()
	p := newPlace(t)
	h := p.hook(t, r.URL)
	p.announce(t, 1)
	s := p.sender(webhook.Options{Allow: loopback})
	began := p.now()
	var gap time.Duration
	for {
		if n := s.Step(t.Context()); n != 1 {
			t.Fatalf("%d attempts where one was due", n)
		}
		d, _, err := p.Webhooks.Delivery(t.Context(), h.ID, 1)
		if err != nil {
			t.Fatal(err)
		}
		if d.State != store.DeliveryPending {
			break
		}
		next := d.Due.Sub(p.now())
		if next < gap {
			t.Errorf("a gap of %s after one of %s", next, gap)
		}
		gap = next
		p.move(next - time.Microsecond)
		if n := s.Step(t.Context()); n != 0 {
			t.Error("an attempt before it was due")
		}
		p.move(time.Microsecond)
	}
	last := p.now().Sub(began)
	d, attempts, err := p.Webhooks.Delivery(t.Context(), h.ID, 1)
	if err != nil || d.State != store.DeliveryDead || d.Cause != "answered 503" || len(attempts) != d.Attempts || d.Attempts < 12 ||
		d.Attempts > 24 {
		t.Fatalf("got %+v, %d attempts, %v", d, len(attempts), err)
	}
	if last > store.HookTime || last < store.HookTime-7*time.Hour {
		t.Errorf("an attempt after %s", last)
	}
	mu.Lock()
	status = http.StatusNoContent
	mu.Unlock()
	if n, err := p.Webhooks.ReplayDeliveries(t.Context(), h.ID, store.Replay{Seq: d.Seq}); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if n := s.Step(t.Context()); n != 1 {
		t.Errorf("%d attempts", n)
	}
	if d, _, err = p.Webhooks.Delivery(t.Context(), h.ID, 1); err != nil || d.State != store.DeliveryDelivered {
		t.Errorf("got %+v, %v", d, err)
	}
	mu.Lock()
	defer mu.Unlock()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("ids %v", ids)
		}
	}
}

// TestGone: a receiver that answers 410 Gone is no longer notified.
func TestGone(t *testing.T) {
	r := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusGone) }))
	defer r.Close()
	p := newPlace(t)
	h := p.hook(t, r.URL)
	p.announce(t, 2)
	s := p.sender(webhook.Options{Allow: loopback})
	if n := s.Step(t.Context()); n != 1 {
		t.Errorf("%d attempts", n)
	}
	if h, err := p.Webhooks.Hook(t.Context(), h.ID); err != nil || h.State != store.HookPaused || h.Cause == "" {
		t.Errorf("got %+v, %v", h, err)
	}
}

// TestSlow: a slow receiver does not delay others, and Run ends with its context.
func TestSlow(t *testing.T) {
	stop := make(chan struct{})
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	}))
	defer slow.Close()
	defer close(stop)
	came := make(chan struct{}, 100)
	quick := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { came <- struct{}{} }))
	defer quick.Close()
	p := newPlace(t)
	p.hook(t, slow.URL)
	p.hook(t, quick.URL)
	p.announce(t, 5)
	ctx, cancel := context.WithCancel(t.Context())
	ran := make(chan error, 1)
	go func() {
		ran <- p.sender(webhook.Options{Allow: loopback, Workers: 3, Timeout: time.Hour}).Run(ctx)
	}()
	for range 5 {
		<-came
	}
	cancel()
	if err := <-ran; err != nil {
		t.Error(err)
	}
	// A delivery in progress is retried when its lease expires.
	p.move(3 * time.Hour)
	if _, _, err := p.Webhooks.ClaimDelivery(t.Context(), time.Minute); err != nil {
		t.Error(err)
	}
	short := p.sender(webhook.Options{Allow: loopback, Timeout: 20 * time.Millisecond})
	if n := short.Step(t.Context()); n == 0 {
		t.Error("no attempt")
	}
	hs, err := p.Webhooks.Hooks(t.Context(), "", "", 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hs {
		ds, err := p.Webhooks.Deliveries(t.Context(), h.ID, store.DeliveryPending, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range ds {
			if d.Cause != "" && d.Cause != "no answer in time" {
				t.Errorf("cause %q", d.Cause)
			}
		}
	}
}

// TestPrivate: nothing is sent into the site's own network, even if a name resolves to an address there.
func TestPrivate(t *testing.T) {
	called := false
	r := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { called = true }))
	defer r.Close()
	port := r.URL[strings.LastIndex(r.URL, ":"):]
	for _, url := range []string{r.URL, "https://localhost" + port, "https://[::1]" + port, "https://[::ffff:127.0.0.1]" + port,
		"https://0.0.0.0" + port} {
		p := newPlace(t)
		h := p.hook(t, url)
		p.announce(t, 1)
		p.sender(webhook.Options{}).Step(t.Context())
		d, _, err := p.Webhooks.Delivery(t.Context(), h.ID, 1)
		if err != nil || d.Status != 0 || !strings.Contains(d.Cause, "not public") {
			t.Errorf("%s: got %+v, %v", url, d, err)
		}
	}
	if called {
		t.Error("the receiver was called")
	}
	for _, bad := range []string{"", "http://example.com/", "https://", "ftp://example.com", "https://a:b@example.com",
		"https://example.com/#x", "https://192.168.1.1/",
		"https://[fd00::1]/", "https://169.254.169.254/latest", "javascript:x", "https://" + strings.Repeat("x", 2000)} {
		if _, err := webhook.CheckURL(bad, nil); err == nil {
			t.Errorf("%q passed", bad)
		}
	}
	if _, err := webhook.CheckURL("http://10.1.2.3/x", []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}); err != nil {
		t.Error(err)
	}
}

func TestBackoff(t *testing.T) {
	for n := 1; n < 40; n++ {
		long, short := webhook.Backoff(n, 0), webhook.Backoff(n, 0.999)
		if long < 5*time.Second || long > 6*time.Hour || short < long/2 || short > long || (n > 1 && long < webhook.Backoff(n-1, 0)) {
			t.Errorf("%d: %s to %s", n, short, long)
		}
	}
}

func FuzzCheckURL(f *testing.F) {
	for _, s := range []string{"https://example.com/hook?x=1", "http://10.0.0.1/", "https://[::1%25eth0]/", "https://user@x", "//x",
		"https://0x7f.1/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		u, err := webhook.CheckURL(s, nil)
		if err != nil {
			return
		}
		if ip, err := netip.ParseAddr(u.Hostname()); u.Scheme != "https" || u.User != nil || (err == nil && !outbound.Public(ip)) {
			t.Errorf("%q passed", s)
		}
	})
}

var _ webhook.Store = (*store.Webhooks)(nil)
