package federation

import (
	"crypto/tls"
	"net"
	"net/netip"
	"sync"
	"time"
)

// boundedListener is a listener that limits the number of connections, in total and per address, and the rate of new connections per
// address. Connections beyond these limits are closed immediately, before a byte is read or a key is used.
type boundedListener struct {
	net.Listener
	most, each int
	rate       float64 // new connections per second and address; ten times as many at once
	now        func() time.Time

	mu    sync.Mutex // guards the fields below
	open  int
	peers map[string]*caller
}

// caller is an address with its number of connections, and the number that it could open at time at.
type caller struct {
	open   int
	tokens float64
	at     time.Time
}

// callersKept is the number of addresses above which those without connections are forgotten as soon as they regain their full allowance.
const callersKept = 4096

func newBoundedListener(l net.Listener, most, each, rate int) *boundedListener {
	return &boundedListener{Listener: l, most: most, each: each, rate: float64(rate), now: time.Now, peers: map[string]*caller{}}
}

func newTLSListener(l net.Listener, c *tls.Config) net.Listener { return tls.NewListener(l, c) }

func (b *boundedListener) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		peer := callerOf(c.RemoteAddr())
		if b.enter(peer) {
			return &boundedConn{Conn: c, leave: sync.OnceFunc(func() { b.leave(peer) })}, nil
		}
		_ = c.Close()
	}
}

// callerOf returns the name of a caller, which is its address or, for IPv6, its /64 network, which usually belongs to one household or
// machine.
func callerOf(a net.Addr) string {
	p, err := netip.ParseAddrPort(a.String())
	if err != nil {
		return a.String()
	}
	ip := p.Addr().Unmap()
	if ip.Is6() {
		if n, err := ip.WithZone("").Prefix(64); err == nil {
			return n.String()
		}
	}
	return ip.String()
}

func (b *boundedListener) enter(peer string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, burst := b.now(), 10*b.rate
	if len(b.peers) > callersKept {
		for name, c := range b.peers {
			if c.open == 0 && c.tokens+now.Sub(c.at).Seconds()*b.rate >= burst {
				delete(b.peers, name)
			}
		}
	}
	c := b.peers[peer]
	if c == nil {
		c = &caller{tokens: burst, at: now}
		b.peers[peer] = c
	}
	c.tokens, c.at = min(c.tokens+now.Sub(c.at).Seconds()*b.rate, burst), now
	if b.open >= b.most || c.open >= b.each || c.tokens < 1 {
		return false
	}
	b.open++
	c.open++
	c.tokens--
	return true
}

func (b *boundedListener) leave(peer string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open--
	b.peers[peer].open--
}

type boundedConn struct {
	net.Conn
	leave func()
}

func (c *boundedConn) Close() error {
	c.leave()
	return c.Conn.Close()
}
