package webhook_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"

	"concordat"
	"concordat/store"
	"concordat/webhook"
)

// TestRequest: a receiver is notified by POST, in JSON, with the event's name.
func TestRequest(t *testing.T) {
	var got http.Header
	var method string
	r := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { method, got = r.Method, r.Header }))
	t.Cleanup(r.Close)
	p := newPlace(t)
	p.hook(t, r.URL)
	p.announce(t, 1)
	p.sender(webhook.Options{Allow: loopback}).Step(t.Context())
	if method != http.MethodPost || got.Get("Content-Type") != "application/json" || got.Get("User-Agent") != "Concordat" {
		t.Errorf("%s %v", method, got)
	}
}

// TestLeftAloneForAsLongAsAsked: a receiver that requests a pause in seconds gets it, up to six hours. Without a number nothing changes,
// and no number shortens a pause.
func TestLeftAloneForAsLongAsAsked(t *testing.T) {
	asked := make(chan string, 1)
	r := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", <-asked)
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(r.Close)
	p := newPlace(t)
	h := p.hook(t, r.URL)
	first := webhook.Backoff(1, 0)
	for i, x := range []struct {
		asked string
		want  time.Duration
	}{
		{"", first}, {"soon", first}, {"-600", first}, {"1", first}, {"-99999999999999999999", first}, {"60", time.Minute},
		{"21599", 6*time.Hour - time.Second}, {"21601", 6 * time.Hour}, {"9223372036854775807", 6 * time.Hour},
		{"9223372036854775808", 6 * time.Hour}, {"99999999999999999999", 6 * time.Hour},
	} {
		p.announce(t, 1)
		asked <- x.asked
		if n := p.sender(webhook.Options{Allow: loopback}).Step(t.Context()); n != 1 {
			t.Fatalf("%d attempts, want that of the new event", n)
		}
		d, _, err := p.Webhooks.Delivery(t.Context(), h.ID, int64(i+1))
		if err != nil || d.State != store.DeliveryPending || d.Due.Sub(p.now()) != x.want {
			t.Errorf("Retry-After %q: left alone for %s, want %s (%s, %v)", x.asked, d.Due.Sub(p.now()), x.want, d.State, err)
		}
	}
}

// TestPanicNobodyCounts: a panic in an attempt ends only that attempt, even if panics are not counted.
func TestPanicNobodyCounts(t *testing.T) {
	p := newPlace(t)
	r := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(r.Close)
	p.hook(t, r.URL)
	p.announce(t, 1)
	s := webhook.New(webhook.Options{Store: &panickingStore{Store: p.Webhooks, broken: true}, Allow: loopback, Now: p.now})
	if n := s.Step(t.Context()); n != 1 {
		t.Errorf("%d attempts, want 1", n)
	}
}

// TestPlainHTTPStaysInside: nothing is sent over plain http to an address that is not explicitly allowed, even if the address is public
// or a name resolves to it.
func TestPlainHTTPStaysInside(t *testing.T) {
	names, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { // answers each address query with a public address
		defer close(ended)
		b := make([]byte, 2000)
		for {
			n, from, err := names.ReadFrom(b)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(b[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			m.Response, m.Additionals = true, nil
			if q := m.Questions[0]; q.Type == dnsmessage.TypeA {
				m.Answers = []dnsmessage.Resource{{Header: dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 60},
					Body: &dnsmessage.AResource{A: [4]byte{93, 184, 216, 34}}}}
			}
			if out, err := m.Pack(); err == nil {
				_, _ = names.WriteTo(out, from)
			}
		}
	}()
	t.Cleanup(func() { _ = names.Close(); <-ended })
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", names.LocalAddr().String())
	}}
	p := newPlace(t)
	h := p.hook(t, "http://receiver.example/")
	p.announce(t, 1)
	p.sender(webhook.Options{Allow: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Resolver: resolver}).Step(t.Context())
	if d, _, err := p.Webhooks.Delivery(t.Context(), h.ID, 1); err != nil || !strings.Contains(d.Cause, "not public") {
		t.Errorf("got %+v, %v", d, err)
	}
}

// endingStore has nothing to deliver, and cancels its caller's context.
type endingStore struct {
	webhook.Store
	end    func()
	forget func() error
}

func (e *endingStore) ForgetDeliveries(context.Context, time.Time, int) (int64, error) {
	return 0, e.forget()
}

func (e *endingStore) ClaimDelivery(context.Context, time.Duration, ...store.HookID) (store.Delivery, store.Hook, error) {
	e.end()
	return store.Delivery{}, store.Hook{}, concordat.ErrNotFound
}

// TestOnlyFailuresAreLogged: a failure of the store is logged, but nothing is logged if there is no failure or the process ends.
func TestOnlyFailuresAreLogged(t *testing.T) {
	for name, want := range map[string]int{"well": 0, "failed": 1, "ended": 0} {
		ctx, cancel := context.WithCancel(t.Context())
		var log bytes.Buffer
		forget := func() error {
			switch name {
			case "failed":
				return errors.New("disk full")
			case "ended":
				cancel()
				return ctx.Err()
			}
			return nil
		}
		s := webhook.New(webhook.Options{Store: &endingStore{end: cancel, forget: forget}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
		if err := s.Run(ctx); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if n := strings.Count(log.String(), "\n"); n != want || strings.Count(log.String(), "disk full") != want {
			t.Errorf("%s: %d lines, want %d:\n%s", name, n, want, log.String())
		}
		cancel()
	}
	for _, status := range []int{http.StatusOK, http.StatusGone} {
		r := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		t.Cleanup(r.Close)
		p := newPlace(t)
		p.hook(t, r.URL)
		p.announce(t, 1)
		var log bytes.Buffer
		p.sender(webhook.Options{Allow: loopback, Logger: slog.New(slog.NewTextHandler(&log, nil))}).Step(t.Context())
		if log.Len() > 0 {
			t.Errorf("of an attempt that was answered %d:\n%s", status, log.String())
		}
	}
}
