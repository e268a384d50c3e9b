package zk

import (
	"context"
	"net"
	"strings"
)

// DropEvents sets whether the session's link ignores watch events.
func DropEvents(s *Session, drop bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.link.deaf.Store(drop)
}

// ServerOf returns the index of the session's current server.
func ServerOf(s *Session, servers []string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, a := range servers {
		if strings.HasSuffix(s.link.conn.Server(), a) {
			return i
		}
	}
	return -1
}

// WithDial returns o with the given dialer.
func WithDial(o Options, dial func(ctx context.Context, network, address string) (net.Conn, error)) Options {
	o.dial = dial
	return o
}
