package limit

import (
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Proxies are the proxies trusted to state a caller's address.
type Proxies []netip.Prefix

// Trusts reports whether the address belongs to one of the proxies.
func (p Proxies) Trusts(a netip.Addr) bool {
	return slices.ContainsFunc(p, func(p netip.Prefix) bool { return p.Contains(a.Unmap()) || p.Contains(a) })
}

// Address returns the client address of a request: the peer of the connection, or the address stated by trusted proxies. It reduces an
// IPv6 address to its /64 network, since one customer can use all addresses in it.
func (p Proxies) Address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	at, err := netip.ParseAddr(host)
	if err != nil {
		return "unknown"
	}
	// The header is read from the right because the proxies append to text from the caller.
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && p.Trusts(at); i-- {
		next, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		at = next
	}
	return Network(at)
}
