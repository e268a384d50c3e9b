package federation_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"concordat"
	"concordat/crypto"
	"concordat/federation"
	"concordat/federation/wire"
	"concordat/internal/fedtest"
)

// tap is a dialer that records every byte of its connections in both directions.
type tap struct {
	mu       sync.Mutex
	up, down bytes.Buffer
}

func (p *tap) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &tapped{Conn: c, tap: p}, nil
}

type tapped struct {
	net.Conn
	tap *tap
}

func (c *tapped) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.tap.mu.Lock()
	c.tap.down.Write(p[:n])
	c.tap.mu.Unlock()
	return n, err
}

func (c *tapped) Write(p []byte) (int, error) {
	c.tap.mu.Lock()
	c.tap.up.Write(p)
	c.tap.mu.Unlock()
	return c.Conn.Write(p)
}

// telling returns the parts of the ask, the sites and the answer that must not be visible.
func telling(f *fedtest.Federation, a *concordat.Ask, answers *scan) map[string][]byte {
	secrets := map[string][]byte{"purpose": []byte(a.Purpose), "library": []byte(a.Libraries[0]), "title": []byte(answers.title),
		"scheme": []byte("natural"), "job": a.Job[:]}
	for i, s := range a.Sentences {
		b, _ := s.Fingerprint.AppendBinary(nil)
		secrets["fingerprint "+string(rune('0'+i%10))+string(b[:2])] = b
		secrets["digits "+s.Fingerprint.String()] = []byte(s.Fingerprint.String())
	}
	return secrets
}

// outside returns the strings of the protocol and of the sites that TLS must also hide.
func outside(f *fedtest.Federation) map[string][]byte {
	marks := map[string][]byte{}
	for _, word := range []string{"concordat", "Concordat", "CCD1", "CCDC", "/message", "HTTP/", "POST", "octet-stream"} {
		marks[word] = []byte(word)
	}
	for _, s := range f.Sites {
		id, _ := s.Roster.Self()
		site := id.Site()
		marks["site "+string(s.ID)] = []byte(s.ID)
		marks["site group "+site.Short()] = []byte(site.Short())
		marks["site bytes of "+string(s.ID)] = site[:]
	}
	return marks
}

// serverHello returns the group chosen by the server of a recorded TLS 1.3 handshake: key_share, 51, of its first record (RFC 8446,
// sections 4.1.3 and 4.2.8).
func serverHello(t *testing.T, b []byte) tls.CurveID {
	t.Helper()
	if len(b) < 5+4+2+32+1 || b[0] != 22 || b[5] != 2 {
		t.Fatalf("no ServerHello in %d bytes", len(b))
	}
	b = b[5+4+2+32:]
	b = b[1+int(b[0])+2+1:] // skip session, cipher suite and compression
	extensions := b[2 : 2+int(binary.BigEndian.Uint16(b))]
	for len(extensions) >= 4 {
		kind, n := binary.BigEndian.Uint16(extensions), int(binary.BigEndian.Uint16(extensions[2:]))
		if kind == 51 {
			return tls.CurveID(binary.BigEndian.Uint16(extensions[4:]))
		}
		extensions = extensions[4+n:]
	}
	t.Fatal("the ServerHello has no key share")
	return 0
}

// TestW1_OnTheWire: the bytes of an exchange reveal neither the two sites nor the content nor the protocol, and the key agreement uses
// the hybrid group.
func TestW1_OnTheWire(t *testing.T) {
	r := newRand(t)
	answers := library(r, "A Thesis Of Some Title", 3, 30)
	f := fedtest.Join(t, scheme, &scan{}, answers)
	var wire tap
	p := f.Sites[0].NewClient(t, f.Sites[1], federation.ClientOptions{Dial: wire.dial})
	a := submission(r, answers, 100)
	tell, err := p.Ask(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if len(tell.Hits) == 0 {
		t.Fatal("nothing was found: the answer would tell nothing anyway")
	}
	wire.mu.Lock()
	defer wire.mu.Unlock()
	if wire.up.Len() < 5000 || wire.down.Len() < 5000 {
		t.Fatalf("recorded %d bytes up, %d down: not the exchange", wire.up.Len(), wire.down.Len())
	}
	for direction, b := range map[string][]byte{"up": wire.up.Bytes(), "down": wire.down.Bytes()} {
		for _, hidden := range []map[string][]byte{telling(f, a, answers), outside(f)} {
			for name, secret := range hidden {
				if bytes.Contains(b, secret) {
					t.Errorf("%s is in the clear (%s)", name, direction)
				}
			}
		}
	}
	if got := serverHello(t, wire.down.Bytes()); got != tls.X25519MLKEM768 {
		t.Errorf("keys were agreed on by %v, want %v", got, tls.X25519MLKEM768)
	}
	t.Logf("%d sentences: %d bytes up and %d down, handshake included", len(a.Sentences), wire.up.Len(), wire.down.Len())
}

// handshake tries to connect to the site with the TLS configuration, adds the certificate of cert, and tries to read a byte, because a
// server refuses a client's certificate only after the client's handshake.
func handshake(t *testing.T, site, cert *fedtest.Site, c *tls.Config) error {
	t.Helper()
	id, _ := cert.Roster.Self()
	der, key, err := id.TLS(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	c.InsecureSkipVerify = true
	c.Certificates = []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}
	conn, err := tls.Dial("tcp", strings.TrimPrefix(site.URL, "https://"), c)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, "GET /concordat/1/card HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
		return err
	}
	b, err := io.ReadAll(conn)
	if err == nil && !bytes.HasPrefix(b, []byte("HTTP/1.1 200")) {
		err = errors.New(string(b))
	}
	return err
}

// TestW1_Refused: a peer gets nothing if it has no hybrid groups, uses an older TLS, or presents no certificate or one that no card
// names. A client rejects a site whose key is not the one in its card.
func TestW1_Refused(t *testing.T) {
	f := fedtest.Join(t, scheme, &scan{}, &scan{})
	owner, asker := f.Sites[1], f.Sites[0]
	hybrid := []tls.CurveID{tls.X25519MLKEM768}
	if err := handshake(t, owner, asker, &tls.Config{CurvePreferences: hybrid}); err != nil {
		t.Fatalf("a partner: %v", err)
	}
	stranger := fedtest.NewSite(t, scheme)
	for name, try := range map[string]error{
		"classical groups only": handshake(t, owner, asker, &tls.Config{CurvePreferences: []tls.CurveID{tls.X25519, tls.CurveP256,
			tls.CurveP384}}),
		"TLS 1.2":               handshake(t, owner, asker, &tls.Config{MaxVersion: tls.VersionTLS12}),
		"wrong pin of a client": handshake(t, owner, stranger, &tls.Config{CurvePreferences: hybrid}),
	} {
		if try == nil {
			t.Errorf("%s: taken", name)
		} else {
			t.Logf("%s: %v", name, try)
		}
	}

	// This is the owner's card with another site's address, where the answering site is not the owner.
	moved := fedtest.NewSite(t, scheme)
	id, _ := owner.Roster.Self()
	moved.Roster.Use(t, id, f.Sites[0].URL)
	asker.Roster.Set(moved.Member(federation.StateActive))
	f.Sites[0].Roster.Set(asker.Member(federation.StateActive)) // so that the site's own listener accepts the connection
	_, err := asker.NewClient(t, owner, federation.ClientOptions{}).Catalogue(t.Context())
	var e *federation.Error
	if !errors.As(err, &e) || e.Kind != federation.KindStranger || !errors.Is(err, concordat.ErrUnavailable) {
		t.Errorf("another key than the card's: error %v, want kind %s", err, federation.KindStranger)
	}
}

// proxyOf returns what a proxy needs in front of a site: the site's identity, the address where the site speaks plain HTTP, and a
// listener with the TLS key named in its card.
func proxyOf(t *testing.T, owner *fedtest.Site) (*crypto.Identity, *url.URL, net.Listener) {
	t.Helper()
	id, _ := owner.Roster.Self()
	der, key, err := id.TLS(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	plain, err := url.Parse("http://" + strings.TrimPrefix(owner.URL, "https://"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{MinVersion: tls.VersionTLS13, ClientAuth: tls.RequestClientCert,
		Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}})
	if err != nil {
		t.Fatal(err)
	}
	return id, plain, l
}

// TestW2_BehindAProxy: with a proxy that terminates TLS, the exchange works, and the proxy sees only the two sites and the padded size.
func TestW2_BehindAProxy(t *testing.T) {
	r := newRand(t)
	answers := library(r, "A Thesis Of Some Title", 3, 30)
	f := fedtest.New(t, 2, scheme, func(i int, o *federation.ServerOptions) { o.Behind = i == 1 })
	f.Answer(1, answers)

	// The proxy has the TLS key named in the site's card and speaks plain HTTP to the site.
	owner := f.Sites[1]
	id, plain, l := proxyOf(t, owner)
	var seen struct {
		sync.Mutex
		up, down [][]byte
	}
	forward := httputil.NewSingleHostReverseProxy(plain)
	forward.ModifyResponse = func(resp *http.Response) error {
		b, err := io.ReadAll(resp.Body)
		resp.Body = io.NopCloser(bytes.NewReader(b))
		seen.Lock()
		seen.down = append(seen.down, b)
		seen.Unlock()
		return err
	}
	proxy := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		b, _ := io.ReadAll(req.Body)
		req.Body = io.NopCloser(bytes.NewReader(b))
		seen.Lock()
		seen.up = append(seen.up, b)
		seen.Unlock()
		forward.ServeHTTP(w, req)
	})}
	go func() { _ = proxy.Serve(l) }()
	t.Cleanup(func() { _ = proxy.Close() })
	owner.Roster.Use(t, id, "https://"+l.Addr().String())
	f.Sites[0].Roster.Set(owner.Member(federation.StateActive))

	a, b := submission(r, answers, 129), submission(r, answers, 160)
	p := f.Partner(0, 1)
	for _, ask := range []*concordat.Ask{a, b} {
		tell, err := p.Ask(t.Context(), ask)
		if err != nil {
			t.Fatal(err)
		}
		if len(tell.Hits) == 0 {
			t.Fatal("nothing was found")
		}
	}
	seen.Lock()
	defer seen.Unlock()
	if len(seen.up) != 2 || len(seen.up[0]) != len(seen.up[1]) {
		t.Fatalf("the proxy saw %d requests, of 129 and 160 sentences, not of one length", len(seen.up))
	}
	asker, _ := f.Sites[0].Roster.Self()
	for _, env := range append(seen.up, seen.down...) {
		h, err := crypto.ParseHeader(env)
		if err != nil {
			t.Fatal(err)
		}
		if ids := [2]crypto.SiteID{h.From, h.To}; ids != [2]crypto.SiteID{asker.Site(), id.Site()} &&
			ids != [2]crypto.SiteID{id.Site(), asker.Site()} {
			t.Errorf("between %v", ids)
		}
		for _, ask := range []*concordat.Ask{a, b} {
			for name, secret := range telling(f, ask, answers) {
				if bytes.Contains(env, secret) {
					t.Errorf("the proxy sees the %s", name)
				}
			}
		}
	}
}

// TestP1_Dummies: dummies look like uniformly random fingerprints, and the order of an ask reveals nothing about the order of the
// document.
func TestP1_Dummies(t *testing.T) {
	r := newRand(t)
	const asks = 200
	var ones [concordat.Bits]int
	var places [4]int // counts by the quarter of the ask with the document's first sentence
	dummies := 0
	for range asks {
		a := submission(r, library(r, "", 1, 5), 65)
		fillJob(r, &a.Job)
		var key [32]byte
		for i := range key {
			key[i] = byte(r.IntN(256))
		}
		padded, order, err := wire.Pad(a, key, newReader(r))
		if err != nil {
			t.Fatal(err)
		}
		for p, i := range order {
			if i == 0 {
				places[p*4/len(order)]++
			}
			if i < len(a.Sentences) {
				if padded.Sentences[p] != a.Sentences[i] {
					t.Fatalf("place %d holds another sentence than %d", p, i)
				}
				continue
			}
			dummies++
			hi, lo := padded.Sentences[p].Fingerprint.Halves()
			for b := range concordat.Bits {
				word := lo
				if b >= 64 {
					word = hi
				}
				ones[b] += int(word >> (b % 64) & 1)
			}
		}
	}
	// These are 100 and 4 tests at six standard deviations, with one false alarm in 10 million runs.
	sigma := math.Sqrt(float64(dummies)) / 2
	for b, n := range ones {
		if math.Abs(float64(n)-float64(dummies)/2) > 6*sigma {
			t.Errorf("bit %d of a dummy is set %d times of %d", b, n, dummies)
		}
	}
	for q, n := range places {
		if math.Abs(float64(n)-asks/4) > 6*math.Sqrt(asks*3/16.0) {
			t.Errorf("the first sentence stands in quarter %d %d times of %d", q, n, asks)
		}
	}
}

type reader struct{ next func() uint64 }

func newReader(r interface{ Uint64() uint64 }) io.Reader { return reader{r.Uint64} }

func (r reader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r.next())
	}
	return len(p), nil
}
