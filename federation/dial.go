package federation

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"syscall"

	"concordat/crypto"
	"concordat/webhook/outbound"
)

// Addresses of partners come from their cards and invitations, so a partner chooses the addresses to which this site connects. It can
// name hosts on the Internet. It can name hosts in a private network, or this machine, only if this site itself is reached there, as its
// own card shows, or if an administrator allows the network. Link-local addresses, where clouds serve secrets of their machines, are
// never contacted unless an administrator allows them.

// errPrivate means that a partner's card names a forbidden address.
var errPrivate = errors.New("the address is not public; to allow its network, an administrator can add it to federation.allow")

// reach determines where partner connections can go besides the Internet.
type reach struct {
	allow             []netip.Prefix
	loopback, private bool // whether this site itself is reached there
}

// reachOf returns the addresses to which a site with the given card can connect.
func reachOf(own *crypto.Card, allow []netip.Prefix) reach {
	r := reach{allow: allow}
	if own == nil {
		return r
	}
	for _, at := range own.URLs {
		u, err := url.Parse(at)
		if err != nil {
			continue
		}
		ip, err := netip.ParseAddr(u.Hostname())
		switch {
		case u.Hostname() == "localhost":
			r.loopback = true
		case err != nil:
		case ip.Unmap().IsLoopback():
			r.loopback = true
		case ip.Unmap().IsPrivate():
			r.private = true
		}
	}
	return r
}

// allows reports whether a connection to an address is allowed.
func (r reach) allows(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	for _, p := range r.allow {
		if p.Contains(ip) {
			return true
		}
	}
	return outbound.Public(ip) || r.loopback && ip.IsLoopback() || (r.private || r.loopback) && ip.IsPrivate()
}

// dial connects over TCP. It checks the very address it dials, so a name cannot resolve to another address in between.
func (r reach) dial(ctx context.Context, network, address string) (net.Conn, error) {
	d := &net.Dialer{Timeout: dialTimeout, ControlContext: func(_ context.Context, _, at string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(at)
		if err != nil || !r.allows(to.Addr()) {
			return fmt.Errorf("%s: %w", at, errPrivate)
		}
		return nil
	}}
	return d.DialContext(ctx, network, address)
}
