package outbound

import "net/netip"

// closed are the IPv4 networks that are not public (IANA IPv4 Special-Purpose Address Registry).
var closed = prefixes("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
	"192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/3")

// closed6 are the networks within 2000::/3 that are not public (IANA IPv6 Special-Purpose Address Registry) or that lead to IPv4
// addresses (Teredo and 6to4).
var closed6 = prefixes("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20")

func prefixes(all ...string) (out []netip.Prefix) {
	for _, s := range all {
		out = append(out, netip.MustParsePrefix(s))
	}
	return out
}

// Public reports whether an address belongs to the public Internet. IPv6 addresses that embed an IPv4 address, such as NAT64's, are not
// public.
func Public(ip netip.Addr) bool {
	ip = ip.Unmap()
	if !ip.IsValid() || ip.Zone() != "" {
		return false
	}
	not := closed
	if ip.Is6() {
		if not = closed6; !netip.MustParsePrefix("2000::/3").Contains(ip) {
			return false
		}
	}
	for _, p := range not {
		if p.Contains(ip) {
			return false
		}
	}
	return true
}

// PublicAddress is like Public for an address with a port, in the form used for dialling. An address that cannot be parsed is not public.
func PublicAddress(address string) bool {
	at, err := netip.ParseAddrPort(address)
	return err == nil && Public(at.Addr())
}
