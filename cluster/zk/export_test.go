package zk

import (
	"context"
	"net"
	"strings"
)

// DropEvents makes the session's link deaf for what watches tell, or ends that.
func DropEvents(s *Session, drop bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.link.deaf.Store(drop)
}

// ServerOf returns which of the servers the session is connected with.
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
