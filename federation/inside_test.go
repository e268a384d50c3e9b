package federation

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"concordat"
	"concordat/crypto"
)

// TestTurnstile: waiting partners take turns, however many requests each has.
func TestTurnstile(t *testing.T) {
	a, b := crypto.SiteID{1}, crypto.SiteID{2}
	s := newTurnstile(1, 1, 3)
	ctx := t.Context()
	if err := s.enter(ctx, a); err != nil {
		t.Fatal(err)
	}
	entered := make(chan crypto.SiteID, 10)
	wait := func(site crypto.SiteID) {
		s.mu.Lock()
		before := 0
		if l := s.lines[site]; l != nil {
			before = len(l.queue)
		}
		s.mu.Unlock()
		go func() {
			if s.enter(ctx, site) == nil {
				entered <- site
			}
		}()
		for {
			s.mu.Lock()
			l := s.lines[site]
			queued := l != nil && len(l.queue) > before
			s.mu.Unlock()
			if queued {
				return
			}
		}
	}
	wait(a)
	wait(a)
	wait(a)
	wait(b)
	if err := s.enter(ctx, a); !errors.Is(err, errBusy) {
		t.Errorf("a fourth waiting request: error %v, want errBusy", err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if err := s.enter(cancelled, b); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: error %v", err)
	}
	last := a
	var got []crypto.SiteID
	for range 4 {
		s.leave(last)
		last = <-entered
		got = append(got, last)
	}
	s.leave(last)
	if want := []crypto.SiteID{a, b, a, a}; !equal(got, want) {
		t.Errorf("entered in the order %v, want %v", got, want)
	}
	if len(s.lines) != 0 || len(s.ring) != 0 || s.free != 1 {
		t.Errorf("left behind: %d lines, %d in the ring, %d places", len(s.lines), len(s.ring), s.free)
	}
}

func equal(a, b []crypto.SiteID) bool {
	for i := range a {
		if len(a) != len(b) || a[i] != b[i] {
			return false
		}
	}
	return true
}

func replaysOf(t *testing.T, now time.Time) *Replays {
	t.Helper()
	path := filepath.Join(t.TempDir(), "replays")
	if err := CreateReplays(path); err != nil {
		t.Fatal(err)
	}
	if err := CreateReplays(path); !errors.Is(err, concordat.ErrExists) {
		t.Errorf("created twice: error %v, want ErrExists", err)
	}
	r, err := OpenReplays(path, now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return r
}

func verified(from byte, now time.Time) *crypto.Verified {
	v := &crypto.Verified{Until: now.Add(time.Minute)}
	v.From = crypto.SiteID{from}
	v.Issued = now
	_, _ = rand.Read(v.ID[:])
	_, _ = rand.Read(v.Digest[:])
	return v
}

// TestReplaysBounded: one partner's replies do not displace another's, the file stays within its limits, and the entries survive this in
// the same process and in the next one.
func TestReplaysBounded(t *testing.T) {
	now := time.Now()
	r := replaysOf(t, now)
	r.most = 1 << 20
	reply := func(i int) []byte { return bytes.Repeat([]byte{byte(i + 1)}, 10_000) }
	run := func(from byte, i int) *crypto.Verified {
		t.Helper()
		v := verified(from, now)
		e, found := r.begin(v, now)
		if found != beginFresh {
			t.Fatalf("message %d of partner %d: found %d, want fresh", i, from, found)
		}
		if err := errors.Join(r.commit(t.Context(), e), r.finish(e, reply(i))); err != nil {
			t.Fatal(err)
		}
		return v
	}
	check := func(r *Replays, v *crypto.Verified, i int, want begun) {
		t.Helper()
		e, found := r.begin(v, now)
		if found != want {
			t.Fatalf("message %d: found %d, want %d", i, found, want)
		}
		if found != beginStored {
			return
		}
		if got, err := r.reply(e); err != nil || !bytes.Equal(got, reply(i)) {
			t.Errorf("message %d: another reply than was kept, error %v", i, err)
		}
	}
	other := run(2, 7)
	var flood []*crypto.Verified
	for i := range 300 { // three times the limit
		flood = append(flood, run(1, i))
		if r.size > 2*r.most+20_000 {
			t.Fatalf("the file grew to %d bytes, at most %d", r.size, 2*r.most)
		}
	}
	next, err := OpenReplays(r.path, now)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = next.Close() }()
	for _, r := range []*Replays{r, next} {
		check(r, other, 7, beginStored)
		check(r, flood[0], 0, beginLost)
		for i := 290; i < 300; i++ {
			check(r, flood[i], i, beginStored)
		}
	}
	now = now.Add(2 * time.Minute) // all entries have expired
	fresh := run(3, 1)
	if len(r.entries) != 1 || len(r.replies) != 1 || r.live != sizeOf(r) {
		t.Errorf("%d entries, replies of %d partners, %d bytes are left", len(r.entries), len(r.replies), r.live)
	}
	check(r, fresh, 1, beginStored)
	files, err := os.ReadDir(filepath.Dir(r.path))
	if err != nil || len(files) != 1 {
		t.Errorf("%d files beside each other, error %v", len(files), err)
	}
}

// sizeOf returns the total size of the entries in bytes.
func sizeOf(r *Replays) (n int64) {
	for _, e := range r.entries {
		n += e.cost
	}
	return n
}

// TestAlertOfPartner: if a partner ends TLS with an alert, it rejects this site; a broken connection does not mean rejection.
func TestAlertOfPartner(t *testing.T) {
	id, err := crypto.New(time.Now(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, key, err := id.TLS(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	pair := tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
	for name, rejects := range map[string]bool{"an alert": true, "a broken connection": false} {
		a, b := net.Pipe()
		ended := make(chan error, 1)
		go func() {
			defer func() { _ = b.Close() }()
			s := baseTLS()
			s.Certificates, s.ClientAuth = []tls.Certificate{pair}, tls.RequireAnyClientCert
			s.VerifyConnection = func(tls.ConnectionState) error {
				if !rejects {
					_ = b.Close()
				}
				return errPin
			}
			ended <- tls.Server(b, s).Handshake()
		}()
		c := baseTLS()
		c.InsecureSkipVerify, c.Certificates = true, []tls.Certificate{pair}
		conn := tls.Client(a, c)
		_, err := conn.Read(make([]byte, 1))
		if kind := (*Error)(nil); err == nil || errors.As(connectionError(err), &kind) != rejects || rejects && kind.Kind != KindRejected {
			t.Errorf("%s: error %v is told as %v", name, err, connectionError(err))
		}
		_ = a.Close()
		<-ended
	}
}

func TestCallerOf(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.7:443": "192.0.2.7", "[::ffff:192.0.2.7]:1": "192.0.2.7", "[2001:db8:1:2:3:4:5:6]:9": "2001:db8:1:2::/64",
		"[fe80::1%eth0]:9": "fe80::/64",
	} {
		a := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(address))
		if got := callerOf(a); got != want {
			t.Errorf("%s: got %s, want %s", address, got, want)
		}
	}
	if got := callerOf(&net.UnixAddr{Name: "/run/one"}); got != "/run/one" {
		t.Errorf("an address of another kind: %s", got)
	}
}

// TestBounded: an address is limited in the number and rate of its connections, and its allowance recovers over time.
func TestBounded(t *testing.T) {
	now := time.Now()
	b := newBoundedListener(nil, 5, 3, 2)
	b.now = func() time.Time { return now }
	enter := func(peer string, want bool) {
		t.Helper()
		if got := b.enter(peer); got != want {
			t.Errorf("%s entered: %v, want %v", peer, got, want)
		}
	}
	for range 3 {
		enter("a", true)
	}
	enter("a", false) // three connections at once are the limit
	enter("b", true)
	enter("b", true)
	enter("b", false) // five connections in total are the limit
	b.leave("b")
	for range 17 { // a has opened three of its twenty
		b.leave("a")
		enter("a", true)
	}
	b.leave("a")
	enter("a", false)
	enter("c", true)
	now = now.Add(500 * time.Millisecond)
	enter("a", true)
	b.leave("a")
	enter("a", false)
	for i := range 2 * callersKept {
		if peer := string(rune('d' + i)); b.enter(peer) {
			b.leave(peer)
		}
	}
	enter("a", false) // many connections from others do not reset it
	b.leave("c")      // an unidentified connection does not reset it either
	now = now.Add(time.Minute)
	enter("a", true)
	if len(b.peers) > 10 {
		t.Errorf("%d addresses are remembered", len(b.peers))
	}
}

// TestUncheckedBody: only the first bytes of a message are kept until it has been checked.
func TestUncheckedBody(t *testing.T) {
	x := newBodies(1<<20, 1<<20).begin(crypto.SiteID{}, false, func() {})
	defer x.end()
	refused := errors.New("refused")
	r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(make([]byte, 3*firstRead)))
	first, held := 0, 0
	_, err := x.read(httptest.NewRecorder(), r, 1<<20, time.Minute, func(b []byte) error {
		first, held = len(b), x.held
		return refused
	})
	if !errors.Is(err, refused) || first != firstRead || held != firstRead {
		t.Errorf("checked after %d bytes, with %d held, want %d: %v", first, held, firstRead, err)
	}
}
