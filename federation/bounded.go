package federation

import (
	"crypto/tls"
	"net"
	"sync"
)

// bounded is a listener with a bounded number of connections, of all addresses and of each: whoever
// opens more has them closed at once, before a byte is read or a key is used.
type bounded struct {
	net.Listener
	most, each int

	mu    sync.Mutex // guards what follows
	open  int
	peers map[string]int
}

func newBounded(l net.Listener, most, each int) *bounded {
	return &bounded{Listener: l, most: most, each: each, peers: map[string]int{}}
}

func newTLSListener(l net.Listener, c *tls.Config) net.Listener { return tls.NewListener(l, c) }

func (b *bounded) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err
		}
		peer, _, err := net.SplitHostPort(c.RemoteAddr().String())
		if err != nil {
			peer = c.RemoteAddr().String()
		}
		if b.enter(peer) {
			return &boundedConn{Conn: c, leave: sync.OnceFunc(func() { b.leave(peer) })}, nil
		}
		_ = c.Close()
	}
}

func (b *bounded) enter(peer string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open >= b.most || b.peers[peer] >= b.each {
		return false
	}
	b.open++
	b.peers[peer]++
	return true
}

func (b *bounded) leave(peer string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open--
	if b.peers[peer]--; b.peers[peer] == 0 {
		delete(b.peers, peer)
	}
}

type boundedConn struct {
	net.Conn
	leave func()
}

func (c *boundedConn) Close() error {
	c.leave()
	return c.Conn.Close()
}
