package federation_test

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation"
	"concordat/internal/fedtest"
)

// observer answers at a partner's address with its own key, and records the keys of all callers.
type observer struct {
	addr string

	mu   sync.Mutex // guards the fields below
	seen []crypto.Pin
}

// observe starts an observer. If within is not nil, it provides the answers.
func observe(t *testing.T, within http.Handler) *observer {
	t.Helper()
	o := &observer{}
	der, key, err := crypto.GuestTLS(crypto.SiteID{1}, time.Now(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{MinVersion: tls.VersionTLS13, ClientAuth: tls.RequestClientCert,
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}},
		VerifyConnection: func(cs tls.ConnectionState) error {
			o.mu.Lock()
			defer o.mu.Unlock()
			for _, c := range cs.PeerCertificates {
				o.seen = append(o.seen, crypto.PinOf(c.RawSubjectPublicKeyInfo))
			}
			return nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	o.addr = l.Addr().String()
	s := &http.Server{Handler: within, ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return o
}

// keys returns the number of keys that the observer has seen, and fails if one belongs to the site or was used twice.
func (o *observer) keys(t *testing.T, what string, own *crypto.Card) int {
	t.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	times := map[crypto.Pin]int{}
	for _, p := range o.seen {
		if own.PinnedTLS(p) {
			t.Errorf("%s: the observer sees the TLS key of the site that asks", what)
		}
		if times[p]++; times[p] > 1 {
			t.Errorf("%s: one key came twice: the observer knows who comes again", what)
		}
	}
	return len(o.seen)
}

// TestW1_ActiveObserver: an observer that answers at the address of a partner or an invitation, without the partner's key, sees no key
// that identifies the asking member, even if it presents the partner's card.
func TestW1_ActiveObserver(t *testing.T) {
	f := fedtest.Join(t, scheme, &scan{}, &scan{level: concordat.ShowMetadata})
	asker, owner := f.Sites[0], f.Sites[1]
	_, own := asker.Roster.Self()
	card := owner.Member(federation.StateActive).Card
	for _, test := range []struct {
		what   string
		within http.Handler
	}{
		{"an observer that says nothing", http.NotFoundHandler()},
		{"an observer that shows the partner's card", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = w.Write(card.Bytes())
		})},
	} {
		t.Run(test.what, func(t *testing.T) {
			o := observe(t, test.within)
			to := federation.ClientOptions{Tries: 1, Timeout: time.Minute, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
				return (&net.Dialer{}).DialContext(ctx, network, o.addr)
			}}
			c := asker.NewClient(t, owner, to)
			if _, err := c.Catalogue(t.Context()); kindOf(err) != federation.KindStranger {
				t.Errorf("call: error %v, want kind %s", err, federation.KindStranger)
			}
			if err := c.Refresh(t.Context()); err == nil {
				t.Error("a card was taken from the observer")
			}
			inviting, registrar := startInviting(t)
			if _, err := federation.Redeem(t.Context(), registrar.invite(t, inviting.URL), asker.Roster, to); err == nil {
				t.Error("an invitation was redeemed at the observer")
			}
			if n := o.keys(t, test.what, own); n < 3 {
				t.Errorf("%d visits were seen, want those of the call, the card and the invitation", n)
			}
		})
	}
}

// TestGuest: a guest sees only the site's card; a caller without the site's name is not a guest.
func TestGuest(t *testing.T) {
	site := fedtest.Join(t, scheme, &scan{level: concordat.ShowMetadata}, &scan{}).Sites[0]
	id, _ := site.Roster.Self()
	visit := func(to crypto.SiteID) *http.Client {
		der, key, err := crypto.GuestTLS(to, time.Now(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true,
			Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}}}
	}
	for _, test := range []struct {
		what, method, path string
		to                 crypto.SiteID
		want               int // 0 if TLS refuses
	}{
		{"the card", http.MethodGet, "card", id.Site(), http.StatusOK},
		{"a message", http.MethodPost, "message", id.Site(), http.StatusBadRequest},
		{"an enrolment", http.MethodPost, "enrol", id.Site(), http.StatusBadRequest},
		{"the card, as another site's guest", http.MethodGet, "card", crypto.SiteID{2}, 0},
	} {
		c := visit(test.to)
		req, err := http.NewRequestWithContext(t.Context(), test.method, site.URL+"/concordat/1/"+test.path, strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		resp, err := c.Do(req)
		got := 0
		if err == nil {
			got = resp.StatusCode
			_ = resp.Body.Close()
		}
		if got != test.want {
			t.Errorf("%s: status %d, error %v, want %d", test.what, got, err, test.want)
		}
		c.CloseIdleConnections()
	}
}
