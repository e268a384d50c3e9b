package limit

import (
	"bytes"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// callers is a listener whose callers have chosen addresses.
type callers struct {
	net.Listener
	next string
}

func (c *callers) Accept() (net.Conn, error) {
	return &call{at: net.TCPAddrFromAddrPort(netip.MustParseAddrPort(c.next + ":1"))}, nil
}

type call struct {
	net.Conn
	at     net.Addr
	closed bool
}

func (c *call) RemoteAddr() net.Addr { return c.at }
func (c *call) Close() error         { c.closed = true; return nil }

// TestListener: of eight connections, a stranger's address can have two, and a newer one replaces its oldest; a trusted proxy can have
// any number. If all are in use, a newcomer replaces a stranger while strangers have more than half, and otherwise a known user. The
// replaced connection is always the oldest of the address with the most connections. Closed connections make room.
func TestListener(t *testing.T) {
	var log bytes.Buffer
	in := &callers{}
	var l *Listener
	var all []*heldConn
	begin := func() {
		log.Reset()
		all = nil
		l = NewListener(in, 8, slog.New(slog.NewTextHandler(&log, nil)), func(a netip.Addr) bool { return a.String() == "192.0.2.99" })
	}
	// from accepts a connection and returns the numbers of the connections closed so far.
	from := func(address string) (closed []int) {
		t.Helper()
		in.next = address
		c, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, c.(*heldConn))
		for i, c := range all {
			if c.Conn.(*call).closed {
				closed = append(closed, i)
			}
		}
		return closed
	}
	want := func(what string, got []int, closed ...int) {
		t.Helper()
		if !slices.Equal(got, closed) {
			t.Errorf("%s: closed are %v, want %v", what, got, closed)
		}
	}
	counts := func(known, strange int) {
		t.Helper()
		if k, s := l.Counts(); k != known || s != strange {
			t.Errorf("%d known and %d strangers, want %d and %d", k, s, known, strange)
		}
	}

	begin()
	want("two of an address", append(from("192.0.2.1"), from("192.0.2.1")...))
	want("a third", from("192.0.2.1"), 0)
	want("a fourth", from("192.0.2.1"), 0, 1)
	want("another address", from("192.0.2.2"), 0, 1)
	counts(0, 3)
	if n := strings.Count(log.String(), "closed for others"); n != 1 {
		t.Errorf("%d lines of the log within a minute, want one:\n%s", n, log.String())
	}
	_ = all[2].Close()
	_ = all[2].Close()
	counts(0, 2)

	begin()
	for range 6 {
		want("a proxy", from("192.0.2.99"))
	}
	counts(6, 0)
	want("beside a proxy", append(from("192.0.2.1"), from("192.0.2.2")...))
	counts(6, 2)
	want("more than all", from("192.0.2.3"), 0) // strangers have less than half
	counts(5, 3)
	_ = all[5].Close()
	counts(4, 3)

	begin()
	for _, a := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.3", "192.0.2.4", "192.0.2.5", "192.0.2.6", "192.0.2.7"} {
		want("eight", from(a))
	}
	all[0].know()
	all[0].know()
	all[1].know()
	counts(2, 6)
	want("a ninth", from("192.0.2.8"), 2) // the oldest of the stranger's address with the most connections
	counts(2, 6)
	if closed := from("192.0.2.1"); len(closed) != 2 || slices.Contains(closed, 0) || slices.Contains(closed, 1) {
		t.Errorf("a tenth: closed are %v, want 2 and another stranger", closed)
	}
	counts(2, 6)
	all[2].know() // it has been closed
	counts(2, 6)

	begin()
	for _, a := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.2", "192.0.2.3", "192.0.2.4", "192.0.2.5", "192.0.2.6", "192.0.2.7"} {
		from(a)
	}
	for _, c := range all[:4] {
		c.know()
	}
	counts(4, 4)
	want("where half are known", from("192.0.2.8"), 1) // the oldest of the known address with the most connections
	counts(3, 5)

	begin()
	l = NewListener(in, 1, l.log, l.trusted)
	for _, a := range []string{"192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4"} {
		want("four at least", from(a))
	}
	if n := len(from("192.0.2.5")); n != 1 {
		t.Errorf("beyond the least of four: %d closed, want one", n)
	}
}

// TestNetwork: callers from one household count as one.
func TestNetwork(t *testing.T) {
	for address, want := range map[string]string{"192.0.2.7": "192.0.2.7", "::ffff:192.0.2.7": "192.0.2.7",
		"2001:db8:1:2:3:4:5:6": "2001:db8:1:2::/64", "fe80::1%eth0": "fe80::/64"} {
		if got := Network(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}
