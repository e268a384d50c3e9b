package federation

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"

	"concordat/crypto"
)

// TestReach: a partner's card can name hosts on the Internet. A private network or this machine is accepted only if this site is reached
// there too or an administrator allows it; link-local and other special addresses are accepted only if an administrator allows them.
func TestReach(t *testing.T) {
	card := func(urls ...string) *crypto.Card { return &crypto.Card{CardFields: crypto.CardFields{URLs: urls}} }
	public := card("https://concordat.example.edu", "https://8.8.8.8:8421")
	private, loopback := card("https://10.1.2.3"), card("https://127.0.0.1:8421")
	allow := []netip.Prefix{netip.MustParsePrefix("10.9.0.0/16"), netip.MustParsePrefix("169.254.7.0/24")}
	for _, c := range []struct {
		own     *crypto.Card
		allow   []netip.Prefix
		address string
		want    bool
	}{
		{public, nil, "1.1.1.1", true}, {nil, nil, "1.1.1.1", true}, {public, nil, "2606:4700::1111", true},
		{public, nil, "10.1.2.3", false}, {public, nil, "127.0.0.1", false}, {public, nil, "::1", false}, {public, nil, "fd00::1", false},
		{public, nil, "169.254.169.254", false}, {public, nil, "fe80::1", false}, {public, nil, "0.0.0.0", false},
		{public, nil, "64:ff9b::a01:203", false}, {public, nil, "::ffff:10.1.2.3", false}, {nil, nil, "10.1.2.3", false},
		{public, allow, "10.9.4.4", true}, {public, allow, "::ffff:10.9.4.4", true}, {public, allow, "10.8.4.4", false},
		{public, allow, "169.254.7.1", true}, {public, allow, "127.0.0.1", false},
		{private, nil, "10.200.0.1", true}, {private, nil, "192.168.1.1", true}, {private, nil, "fd00::1", true},
		{private, nil, "127.0.0.1", false}, {private, nil, "169.254.169.254", false}, {private, nil, "1.1.1.1", true},
		{loopback, nil, "127.0.0.1", true}, {loopback, nil, "::1", true}, {loopback, nil, "169.254.169.254", false},
		{card("https://localhost:8421"), nil, "127.0.0.1", true}, {card("https://[::1]:8421"), nil, "127.0.0.1", true},
		{loopback, nil, "0.0.0.0", false}, {loopback, nil, "224.0.0.1", false},
	} {
		if got := reachOf(c.own, c.allow).allows(netip.MustParseAddr(c.address)); got != c.want {
			t.Errorf("from %+v with %v to %s: %v, want %v", c.own, c.allow, c.address, got, c.want)
		}
	}
}

// TestReachIsKept: nothing is sent to a forbidden address, even if a name resolves to it.
func TestReachIsKept(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	public := reachOf(&crypto.Card{CardFields: crypto.CardFields{URLs: []string{"https://concordat.example.edu"}}}, nil)
	for _, host := range []string{"127.0.0.1", "localhost"} {
		if c, err := public.dial(context.Background(), "tcp", net.JoinHostPort(host, port)); !errors.Is(err, errPrivate) {
			t.Errorf("%s: connected to %v, error %v", host, c, err)
		}
	}
	own := reachOf(&crypto.Card{CardFields: crypto.CardFields{URLs: []string{"https://127.0.0.1:1"}}}, nil)
	c, err := own.dial(context.Background(), "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
