package limit

import (
	"container/list"
	"context"
	"log/slog"
	"net"
	"net/netip"
	"sync"
	"time"
)

// Listener accepts a bounded number of connections at a time. To admit another connection, it closes one: a stranger's if strangers have
// more than half of all connections, otherwise a known caller's. In either case it closes the oldest connection of the address with the
// most connections of that kind. An address can have at most a quarter of the strangers' share, unless it is a trusted proxy. A
// connection becomes known when Known is called for a request on it. An address that opens many connections therefore loses its own, and
// newcomers are admitted. Accept must be called by one goroutine at a time.
type Listener struct {
	net.Listener
	most    int
	log     *slog.Logger
	trusted func(netip.Addr) bool

	mu             sync.Mutex // guards the fields below
	known, strange int
	addresses      map[string]*sharers
	closed         int       // connections closed since the last log entry
	logged         time.Time // time of the last log entry
}

// NewListener returns a Listener on l with at most most client connections, but at least 4; log receives the number of connections closed
// in favour of others.
func NewListener(l net.Listener, most int, log *slog.Logger, trusted func(netip.Addr) bool) *Listener {
	return &Listener{Listener: l, most: max(most, 4), log: log, trusted: trusted, addresses: map[string]*sharers{}}
}

// Counts returns the numbers of open connections of known callers and of strangers.
func (b *Listener) Counts() (known, strange int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.known, b.strange
}

// sharers are the connections of one address, oldest first.
type sharers struct{ known, strange list.List } // elements are *heldConn

// heldConn is a connection counted by the Listener.
type heldConn struct {
	net.Conn
	l       *Listener
	address string

	at   *list.Element // nil when it is no longer counted; guarded by l.mu
	meet bool          // it is a known caller's; guarded by l.mu
}

// tellEvery is how often closed connections are logged.
const tellEvery = time.Minute

// Accept implements net.Listener.
func (b *Listener) Accept() (net.Conn, error) {
	c, err := b.Listener.Accept()
	if err != nil {
		return nil, err
	}
	held := &heldConn{Conn: c, l: b}
	proxy := false
	if at, err := netip.ParseAddrPort(c.RemoteAddr().String()); err == nil {
		held.address, proxy = Network(at.Addr()), b.trusted(at.Addr())
	}
	if gone := b.enter(held, proxy); gone != nil {
		_ = gone.Close() // the connection's reader gets the error
	}
	return held, nil
}

// enter counts a connection and returns the connection to close in its favour, or nil if there is room.
func (b *Listener) enter(c *heldConn, proxy bool) (gone *heldConn) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.addresses[c.address]
	switch {
	case !proxy && s != nil && s.strange.Len() >= max(b.most/4, 1):
		gone = s.strange.Front().Value.(*heldConn)
	case b.known+b.strange >= b.most:
		gone = b.oldest(b.strange > b.most/2)
	}
	if gone != nil {
		b.remove(gone)
		b.closed++
		if now := time.Now(); now.Sub(b.logged) >= tellEvery {
			b.log.Warn("connections closed for others", "closed", b.closed, "open", b.known+b.strange, "most", b.most)
			b.closed, b.logged = 0, now
		}
	}
	if s = b.addresses[c.address]; s == nil { // its last connection may have been closed
		s = &sharers{}
		b.addresses[c.address] = s
	}
	if c.meet = proxy; proxy {
		c.at = s.known.PushBack(c)
		b.known++
	} else {
		c.at = s.strange.PushBack(c)
		b.strange++
	}
	return gone
}

// oldest returns the oldest connection of the address with the most connections of the given kind (strangers or known callers), or of the
// other kind if there are none. The caller holds b.mu, and there is at least one connection.
func (b *Listener) oldest(strange bool) *heldConn {
	var largest *list.List
	for _, s := range b.addresses {
		one := &s.known
		if strange {
			one = &s.strange
		}
		if largest == nil || one.Len() > largest.Len() {
			largest = one
		}
	}
	if largest.Len() == 0 {
		return b.oldest(!strange)
	}
	return largest.Front().Value.(*heldConn)
}

// remove stops counting a connection. The caller holds b.mu.
func (b *Listener) remove(c *heldConn) {
	if c.at == nil {
		return
	}
	s := b.addresses[c.address]
	if c.meet {
		s.known.Remove(c.at)
		b.known--
	} else {
		s.strange.Remove(c.at)
		b.strange--
	}
	if c.at = nil; s.known.Len()+s.strange.Len() == 0 {
		delete(b.addresses, c.address)
	}
}

// Network returns the network of a caller: its address or, for IPv6, the 64-bit prefix that a household shares.
func Network(at netip.Addr) string {
	if at = at.Unmap().WithZone(""); at.Is6() {
		if p, err := at.Prefix(64); err == nil {
			return p.String()
		}
	}
	return at.String()
}

// know marks the connection as a known caller's.
func (c *heldConn) know() {
	c.l.mu.Lock()
	defer c.l.mu.Unlock()
	if c.at == nil || c.meet {
		return
	}
	s := c.l.addresses[c.address]
	s.strange.Remove(c.at)
	c.l.strange--
	c.at, c.meet = s.known.PushBack(c), true
	c.l.known++
}

// Close closes the connection and stops counting it.
func (c *heldConn) Close() error {
	c.l.mu.Lock()
	c.l.remove(c)
	c.l.mu.Unlock()
	return c.Conn.Close()
}

type connKey struct{}

// withConn adds a connection to the context of its requests.
func withConn(ctx context.Context, c net.Conn) context.Context {
	if held, ok := c.(*heldConn); ok {
		return context.WithValue(ctx, connKey{}, held)
	}
	return ctx
}
