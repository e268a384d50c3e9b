package federation_test

import (
	"bufio"
	"bytes"
	"context"
	crand "crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"strings"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation"
	"concordat/internal/fedtest"
)

// dripping opens connections that begin a message and never finish it, and returns them.
func dripping(t *testing.T, n int, dial func() (net.Conn, error)) []net.Conn {
	t.Helper()
	var out []net.Conn
	for range n {
		c, err := dial()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		if _, err := io.WriteString(c, "POST /concordat/1/message HTTP/1.1\r\nHost: x\r\nContent-Length: 50000\r\n\r\nCC"); err != nil {
			t.Fatal(err)
		}
		out = append(out, c)
	}
	return out
}

// unheld is the limit for an answer to a partner that slow ones do not hold up. It is less than the five seconds that each slow partner is
// allowed, but enough for a busy machine.
const unheld = 4 * time.Second

// answeredWithin requires that a partner is answered within unheld.
func answeredWithin(t *testing.T, c *federation.Client, a *concordat.Ask, most time.Duration) {
	t.Helper()
	began := time.Now()
	if _, err := c.Ask(t.Context(), a); err != nil {
		t.Errorf("an honest partner: %v", err)
	}
	if took := time.Since(began); took > most {
		t.Errorf("an honest partner waited %v", took)
	}
}

// drip is like dripping for a partner, with the partner's key.
func (x *slowSite) drip(t *testing.T, n int) []net.Conn {
	t.Helper()
	id, _ := x.from.Roster.Self()
	der, key, err := id.TLS(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	return dripping(t, n, func() (net.Conn, error) {
		return tls.Dial("tcp", strings.TrimPrefix(x.to.URL, "https://"), &tls.Config{InsecureSkipVerify: true,
			Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
	})
}

// slowSite is a partner that sends as slowly as it can.
type slowSite struct{ from, to *fedtest.Site }

// TestN1SlowPartners is attack N1: four partners send as slowly as they can, on as many connections as they are allowed, while five
// honest partners ask.
func TestN1SlowPartners(t *testing.T) {
	r := newRand(t)
	answers := library(r, "Thesis", 1, 10)
	f := fedtest.New(t, 10, scheme, func(_ int, o *federation.ServerOptions) { o.ConnsPer = 500 }) // all have the same address here
	f.Answer(0, answers)
	for s := 1; s <= 4; s++ {
		(&slowSite{f.Sites[s], f.Sites[0]}).drip(t, 16)
	}
	for s := 5; s <= 9; s++ {
		answeredWithin(t, f.Partner(s, 0), submission(r, answers, 5), unheld)
	}
}

// TestReadingBusy: if there is no room for more of a partner's messages, the next one is refused with a request to retry, and accepted
// once there is room.
func TestReadingBusy(t *testing.T) {
	r := newRand(t)
	answers := library(r, "Thesis", 1, 10)
	told := &outcomes{}
	f := fedtest.New(t, 2, scheme, func(_ int, o *federation.ServerOptions) { o.Bytes, o.Observe = 20<<10, told.observe })
	f.Answer(0, answers)
	slow := &slowSite{f.Sites[1], f.Sites[0]}
	drips := slow.drip(t, 2) // each takes 8 KiB at the start
	c := f.Sites[1].NewClient(t, f.Sites[0], federation.ClientOptions{Tries: 1, Timeout: time.Minute})
	busy := func() bool {
		_, err := c.Catalogue(t.Context())
		if err != nil && !errors.Is(err, concordat.ErrUnavailable) {
			t.Fatal(err)
		}
		return err != nil
	}
	for tries := 1; !busy(); tries++ { // until both slow messages have arrived
		time.Sleep(50 * time.Millisecond) // each try is a complete exchange
		if tries%100 == 0 {               // even a busy machine has dropped them by then
			for _, c := range drips {
				_ = c.Close()
			}
			drips = slow.drip(t, 2)
		}
	}
	if told.last() != federation.OutcomeBusy {
		t.Errorf("observed %q, want %q", told.last(), federation.OutcomeBusy)
	}
	for _, c := range drips {
		_ = c.Close()
	}
	for busy() { // until both have been dropped
		time.Sleep(50 * time.Millisecond) // each try is a complete exchange
	}
}

// TestN1SlowStrangers: behind a proxy that forwards data as it arrives, 200 strangers send just as slowly. The site waits for each no
// longer than a message at the minimum rate takes, and none keeps later ones out.
func TestN1SlowStrangers(t *testing.T) {
	w := newWorkbench(t, time.Now)
	w.reopen(t, federation.ServerOptions{Behind: true, Strangers: 1200 << 10})
	served := httptest.NewServer(w.server)
	defer served.Close()
	addr := served.Listener.Addr().String()
	drips := dripping(t, 200, func() (net.Conn, error) { return net.Dial("tcp", addr) }) // 1.6 MiB, so the first ones are dropped
	env, pending := w.seal(t, crypto.TypeQuery, w.query(t, 20), time.Minute)
	began := time.Now()
	resp, err := http.Post(served.URL+"/concordat/1/message", "application/octet-stream", bytes.NewReader(env))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if took := time.Since(began); err != nil || resp.StatusCode != http.StatusOK || took > unheld {
		t.Fatalf("a partner among strangers: %s, error %v, after %v", resp.Status, err, took)
	}
	if _, refusal := w.opened(t, answer, pending, crypto.TypeReply); refusal != nil {
		t.Errorf("a partner among strangers: %v", refusal)
	}
	for i, c := range drips {
		_ = c.SetReadDeadline(began.Add(40 * time.Second)) // less than the minute allowed for a message
		resp, err := http.ReadResponse(bufio.NewReader(c), nil)
		if err != nil {
			t.Fatalf("stranger %d is waited for: %v", i, err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != http.StatusBadRequest {
			t.Errorf("stranger %d: %s, want 400", i, resp.Status)
		}
	}
}

// TestRate: a partner that keeps sending requests is told to retry later, while another partner is answered.
func TestRate(t *testing.T) {
	r := newRand(t)
	answers := library(r, "Thesis", 1, 10)
	book := &diary{}
	f := fedtest.New(t, 3, scheme, func(_ int, o *federation.ServerOptions) { o.Rate, o.Journal = 1, book })
	f.Answer(0, answers)
	c := f.Sites[1].NewClient(t, f.Sites[0], federation.ClientOptions{Tries: 1, Timeout: time.Minute})
	var refusal *concordat.Refusal
	answered := 0
	for ; refusal == nil && answered < 600; answered++ {
		if _, err := c.Catalogue(t.Context()); err != nil && !errors.As(err, &refusal) {
			t.Fatal(err)
		}
	}
	if refusal == nil || refusal.Reason != concordat.ReasonBusy || refusal.Retry.IsZero() || answered < 500 {
		t.Errorf("%d requests were answered, then %v; want 500 and a time to come again", answered, refusal)
	}
	before := len(book.exchanges)
	for range 20 { // each would remain in the audit forever
		if _, err := c.Catalogue(t.Context()); err != nil && !errors.As(err, &refusal) {
			t.Fatal(err)
		}
	}
	if n := len(book.exchanges) - before; n > 10 {
		t.Errorf("20 requests too many leave %d entries in the audit", n)
	}
	answeredWithin(t, f.Partner(2, 0), submission(r, answers, 5), time.Minute/2)
}

// TestWaitingHolds: while requests wait for their answers, their bytes count against the partner's allowance. The partner is told to
// retry later with further requests, while another partner is answered.
func TestWaitingHolds(t *testing.T) {
	r := newRand(t)
	answers := library(r, "Thesis", 1, 10)
	told := &outcomes{}
	f := fedtest.New(t, 3, scheme, func(_ int, o *federation.ServerOptions) { o.Bytes, o.Parallel, o.Observe = 20<<10, 4, told.observe })
	slow := &holding{Answerer: answers, hold: f.ID(1), came: make(chan struct{}, 10), proceed: make(chan struct{})}
	f.Answer(0, slow)
	c := f.Sites[1].NewClient(t, f.Sites[0], federation.ClientOptions{Tries: 1, Timeout: time.Minute})
	var waiting sync.WaitGroup
	for i := range 2 { // each takes 8 KiB
		waiting.Go(func() { _, _ = c.Ask(t.Context(), submission(newRand(t), answers, 5+i)) })
	}
	<-slow.came
	<-slow.came
	_, err := c.Ask(t.Context(), submission(r, answers, 5))
	if kindOf(err) != federation.KindDown || told.last() != federation.OutcomeBusy {
		t.Errorf("a third: error %v, observed %q, want it to be busy", err, told.last())
	}
	answeredWithin(t, f.Partner(2, 0), submission(r, answers, 5), time.Minute/2)
	close(slow.proceed)
	waiting.Wait()
	if _, err := c.Ask(t.Context(), submission(r, answers, 5)); err != nil {
		t.Errorf("once they are answered: %v", err)
	}
}

// holding delays its answers to one site until released.
type holding struct {
	concordat.Answerer
	hold          concordat.SiteID
	came, proceed chan struct{}
}

func (h *holding) Answer(ctx context.Context, from concordat.SiteID, a *concordat.Ask) (*concordat.SiteAnswer, error) {
	if from == h.hold {
		h.came <- struct{}{}
		<-h.proceed
	}
	return h.Answerer.Answer(ctx, from, a)
}

// dripNamed is like dripping, but starts with a message that a partner has sealed, and sends more than the part that is read before it is
// examined.
func dripNamed(t *testing.T, from, to *fedtest.Site, n int, dial func() (net.Conn, error)) {
	t.Helper()
	id, _ := from.Roster.Self()
	env, _, err := id.SealRequest(crypto.Request{Type: crypto.TypeQuery, TTL: time.Minute, Payload: make([]byte, 60_000)},
		to.Member(federation.StateActive).Card, time.Now(), crand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for range n {
		c, err := dial()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		head := fmt.Sprintf("POST /concordat/1/message HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n", len(env))
		if _, err := c.Write(append([]byte(head), env[:9000]...)); err != nil {
			t.Fatal(err)
		}
	}
}

// endTLS puts a proxy that terminates TLS in front of site 0, and tells the others its address.
func endTLS(t *testing.T, f *fedtest.Federation) {
	t.Helper()
	owner := f.Sites[0]
	id, plain, l := proxyOf(t, owner)
	proxy := &http.Server{ReadHeaderTimeout: time.Minute, Handler: httputil.NewSingleHostReverseProxy(plain)}
	go func() { _ = proxy.Serve(l) }()
	t.Cleanup(func() { _ = proxy.Close() })
	owner.Roster.Use(t, id, "https://"+l.Addr().String())
	for _, s := range f.Sites[1:] {
		s.Roster.Set(owner.Member(federation.StateActive))
	}
}

// TestN1AllAtOnce: four hostile partners and 200 strangers all send as slowly as they can on as many connections as they are allowed,
// while five honest partners ask; each of these five is answered within a second. In one case the site terminates TLS itself, so
// strangers get no farther than the handshake. In the other a proxy does, and all partners look alike. Some of the hostile partners'
// messages carry their names.
func TestN1AllAtOnce(t *testing.T) {
	for _, behind := range []bool{false, true} {
		t.Run(map[bool]string{false: "at the address", true: "behind a proxy"}[behind], func(t *testing.T) {
			r := newRand(t)
			answers := library(r, "Thesis", 1, 10)
			f := fedtest.New(t, 10, scheme, func(i int, o *federation.ServerOptions) {
				o.ConnsPer, o.ConnRate = 1000, 1000 // all sites have the same address here
				o.Behind = behind && i == 0
				o.Strangers = 1200 << 10 // less than all slow messages together
			})
			f.Answer(0, answers)
			site := strings.TrimPrefix(f.Sites[0].URL, "https://")
			plain := func() (net.Conn, error) { return net.Dial("tcp", site) }
			if behind {
				endTLS(t, f)
				dripping(t, 200, plain)
				for s := 1; s <= 4; s++ {
					dripNamed(t, f.Sites[s], f.Sites[0], 16, plain)
				}
			} else {
				for range 200 { // handshakes that do not continue
					c, err := plain()
					if err != nil {
						t.Fatal(err)
					}
					t.Cleanup(func() { _ = c.Close() })
					if _, err := c.Write([]byte{22, 3, 1, 2, 0, 1}); err != nil {
						t.Fatal(err)
					}
				}
				for s := 1; s <= 4; s++ {
					(&slowSite{f.Sites[s], f.Sites[0]}).drip(t, 16)
				}
			}
			for s := 5; s <= 9; s++ {
				answeredWithin(t, f.Partner(s, 0), submission(r, answers, 5), unheld)
			}
		})
	}
}
