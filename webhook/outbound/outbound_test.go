package outbound_test

import (
	"net/netip"
	"testing"

	"concordat/webhook/outbound"
)

// TestPublic: a site's own networks, link-local and documentation networks, and IPv4 addresses embedded in IPv6 are not public.
func TestPublic(t *testing.T) {
	for address, want := range map[string]bool{
		"8.8.8.8": true, "1.1.1.1": true, "2606:4700::1111": true, "127.0.0.1": false, "10.0.0.1": false, "172.31.255.255": false,
		"172.32.0.1": true,
		"100.64.0.1": false, "169.254.169.254": false, "0.0.0.0": false, "224.0.0.1": false, "255.255.255.255": false, "::": false, "::1": false,
		"fe80::1": false, "fc00::1": false, "64:ff9b::a00:1": false, "2002:a00:1::": false, "2001::1": false, "2001:db8::1": false,
		"::ffff:10.0.0.1": false, "::ffff:8.8.8.8": true,
		"192.88.99.1": false, "198.51.100.7": false, "203.0.113.1": false, "192.0.2.1": false, "::7f00:1": false, "fec0::1": false,
		"2001:0:4136:e378::1": false, "3fff::1": false, "fe80::1%eth0": false,
	} {
		if got := outbound.Public(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s: %v, want %v", address, got, want)
		}
	}
}

// TestPublicAddress: an address that cannot be parsed is not public.
func TestPublicAddress(t *testing.T) {
	for address, want := range map[string]bool{"8.8.8.8:443": true, "[2606:4700::1111]:443": true, "127.0.0.1:443": false,
		"localhost:443": false, "8.8.8.8": false, "": false} {
		if got := outbound.PublicAddress(address); got != want {
			t.Errorf("%s: %v, want %v", address, got, want)
		}
	}
}
