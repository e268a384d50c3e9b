package zk

import (
	"context"
	"net"
	"strings"
)

// DropEvents makes the session's link ignore the events of watches, or stops doing so.
func DropEvents(s *Session, drop bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.link.deaf.Store(drop)
}

// ServerOf returns the server to which the session is connected.
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

// WithDial returns o with another dialer.
func WithDial(o Options, dial func(ctx context.Context, network, address string) (net.Conn, error)) Options {
	o.dial = dial
	return o
}
