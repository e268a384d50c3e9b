package zk

import (
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"time"

	zkclient "github.com/go-zookeeper/zk"
)

// hosts passes the servers to the client library by name, so that names are resolved for each connection; the library's own provider
// resolves them only once.
type hosts struct {
	mu      sync.Mutex // protects the following fields
	servers []string
	at      int // index of the next server
	start   int // where the current round of servers started
}

var _ zkclient.HostProvider = (*hosts)(nil)

// Init implements zkclient.HostProvider. It draws the first server at random to spread nodes over servers.
func (h *hosts) Init(servers []string) error {
	h.servers = servers
	h.at = rand.IntN(len(servers))
	h.start = h.at
	return nil
}

// Len implements zkclient.HostProvider.
func (h *hosts) Len() int { return len(h.servers) }

// Next implements zkclient.HostProvider. Before a second round, the library pauses for a second.
func (h *hosts) Next() (server string, again bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.at >= h.start+len(h.servers) {
		again, h.start = true, h.at
	}
	server = h.servers[h.at%len(h.servers)]
	h.at++
	return server, again
}

// Connected implements zkclient.HostProvider.
func (h *hosts) Connected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.start = h.at
}

// dial connects to a server, with TLS if configured.
func (l *link) dial(network, address string, limit time.Duration) (net.Conn, error) {
	if l.isDead() {
		return nil, errDead // nothing must be sent in any session other than the link's
	}
	ctx, cancel := context.WithTimeout(context.Background(), l.wanted/3)
	defer cancel()
	// A host that is gone must cost less time than one that hangs, since the session must reach the next host before it expires.
	connect, stop := context.WithTimeout(ctx, limit)
	raw, err := l.open(connect, network, address)
	stop()
	if err != nil {
		return nil, err
	}
	if l.tls == nil {
		return &clipped{Conn: raw, link: l}, nil
	}
	cfg := l.tls.Clone()
	if cfg.ServerName == "" {
		cfg.ServerName, _, _ = net.SplitHostPort(address)
	}
	c := tls.Client(raw, cfg)
	if err := c.HandshakeContext(ctx); err != nil {
		raw.Close()
		return nil, err
	}
	return &clipped{Conn: c, link: l}, nil
}

// clipped is a connection with shorter deadlines than the library requests. The library waits ten times 2/3 of the session timeout for
// the answer to its handshake, and forever for the rest of a message, so a single hung server would cost the session even though others
// would answer. It also records the session granted by ZooKeeper, which the library does not report.
type clipped struct {
	net.Conn
	link   *link
	asked  bool // the deadline of the handshake was set
	header []byte
}

// SetReadDeadline sets deadline t, or an earlier one.
func (c *clipped) SetReadDeadline(t time.Time) error {
	limit := c.link.wanted * 2 / 3
	if c.asked {
		limit = c.link.timeout() * 2 / 3
	} else {
		limit /= 2
		c.asked = true
	}
	if most := time.Now().Add(limit); t.IsZero() || t.After(most) {
		t = most
	}
	return c.Conn.SetReadDeadline(t)
}

// SetWriteDeadline sets deadline t, or an earlier one.
func (c *clipped) SetWriteDeadline(t time.Time) error {
	if most := time.Now().Add(c.link.wanted * 2 / 3); t.After(most) {
		t = most
	}
	return c.Conn.SetWriteDeadline(t)
}

// Read reads, and keeps the start of the answer to the handshake: length, protocol, timeout in milliseconds and session, all big-endian
// (4, 4, 4 and 8 bytes).
func (c *clipped) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	const whole = 20
	if err == io.EOF {
		return n, err // unchanged, because callers compare it
	}
	if missing := whole - len(c.header); missing > 0 {
		c.header = append(c.header, b[:min(n, missing)]...)
		if len(c.header) == whole {
			return n, errors.Join(err, c.grant(binary.BigEndian.Uint32(c.header[8:])))
		}
	}
	return n, err
}

// grant records the session timeout in an answer. The library accepts any timeout, but panics for some of them.
func (c *clipped) grant(milliseconds uint32) error {
	const least, most = 100, 10 * 60 * 1000
	switch {
	case milliseconds == 0: // the session has ended
	case milliseconds < least || milliseconds > most:
		return fmt.Errorf("ZooKeeper granted a session timeout of %d ms, want %d to %d", milliseconds, least, most)
	default:
		c.link.granted.Store(int64(time.Duration(milliseconds) * time.Millisecond))
	}
	return nil
}
