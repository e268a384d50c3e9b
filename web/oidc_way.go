package web

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"concordat"
	"concordat/webhook/outbound"
)

// way is where the connections of one provider go. The administrator names the host of the issuer, and proxies in the
// environment: they may be anywhere. All other hosts are named by the provider: they are public, unless the
// issuer has shown by its discovery document, which its certificate vouches for, that it is in a network of the site
// itself. It is safe for concurrent use.
type way struct {
	own    string // host of the issuer, with the port
	dialer net.Dialer

	proxies sync.Map    // hosts of proxies, with the port
	near    atomic.Bool // the latest connection to the issuer went to an address that is not public
	inside  atomic.Bool // and an answer came of it
}

func newWay(issuer string) *way {
	w := &way{dialer: net.Dialer{Timeout: SignTime, KeepAlive: 30 * time.Second}}
	if u, err := url.Parse(issuer); err == nil {
		w.own = hostPort(u)
	}
	return w
}

// hostPort is the host of an address with its port, as it is dialled.
func hostPort(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "socks5": "1080", "socks5h": "1080"}[u.Scheme]
	}
	if port == "" {
		port = "443"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// transport returns one that goes this way.
func (w *way) transport() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.Proxy = func(r *http.Request) (*url.URL, error) {
		u, err := http.ProxyFromEnvironment(r)
		if u != nil {
			w.proxies.Store(hostPort(u), true)
		}
		return u, err
	}
	t.DialContext = w.dial
	return t
}

// proven notes that the issuer has answered.
func (w *way) proven() { w.inside.Store(w.near.Load()) }

func (w *way) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if _, proxy := w.proxies.Load(address); proxy {
		return w.dialer.DialContext(ctx, network, address)
	}
	d, own := w.dialer, address == w.own
	d.ControlContext = func(_ context.Context, _, at string, _ syscall.RawConn) error {
		public := outbound.PublicAddress(at)
		switch {
		case own:
			w.near.Store(!public)
		case !public && !w.inside.Load():
			return fmt.Errorf("%w: %s leads to %s, which is not public, and is not the host of the issuer", concordat.ErrRefused, address, at)
		}
		return nil
	}
	return d.DialContext(ctx, network, address)
}
