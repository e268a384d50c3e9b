package federation

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"
)

// In TLS 1.3, a client writes its request before the server has decided on its certificate. A site that does not know the key, because
// the partner was revoked there, is pending or unknown, answers with an alert and closes the connection. The client then writes to a
// closed connection, and its caller sees whichever error is noticed first. alertedConn ensures that this error is the alert, which means
// that the request was refused rather than that the site is down.

// alertFor is how long a failed write waits for data that the other end sent before closing the connection. A broken connection causes no
// wait, because reading fails immediately.
const alertFor = 2 * time.Second

// alertedConn is a TLS connection that always has a reader, as in net/http.
type alertedConn struct {
	*tls.Conn
	once  sync.Once // ensures that ended is closed only once
	ended chan struct{}
	err   error // error that ended reading; set before ended is closed
}

// dialTLS returns a function that connects and completes the handshake within dialTimeout.
func dialTLS(dial func(context.Context, string, string) (net.Conn, error), c *tls.Config) func(context.Context, string, string) (net.Conn,
	error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		raw, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		config := c.Clone()
		if host, _, err := net.SplitHostPort(address); err == nil {
			config.ServerName = host
		}
		conn := tls.Client(raw, config)
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		if err := conn.HandshakeContext(ctx); err != nil {
			return nil, errors.Join(err, ignoreClosed(raw.Close()))
		}
		return &alertedConn{Conn: conn, ended: make(chan struct{})}, nil
	}
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

func (c *alertedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if err != nil {
		c.once.Do(func() {
			c.err = err
			close(c.ended)
		})
	}
	return n, err
}

// Write returns the other end's alert, if any, instead of the write error.
func (c *alertedConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err == nil {
		return n, nil
	}
	timer := time.NewTimer(alertFor)
	defer timer.Stop()
	select {
	case <-c.ended:
		if isAlert(c.err) {
			err = c.err
		}
	case <-timer.C:
	}
	return n, err
}

// isAlert reports whether an error is an alert from the other end of a TLS connection.
func isAlert(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "remote error"
}
