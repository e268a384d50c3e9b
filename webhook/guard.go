package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"syscall"
	"time"

	"concordat"
	"concordat/webhook/outbound"
)

// plainKey marks the context of a request sent over plain http.
type plainKey struct{}

var errPrivate = errors.New("the address is not public")

// maxURL is the maximum length of an address in bytes.
const maxURL = 2000

// CheckURL returns the parsed address of a webhook, or an error that wraps concordat.ErrInvalid. The address must use https, or http if
// the host is an address in allow or a name that can resolve to one. It must have no user and no fragment, and at most 2000 bytes. The
// address to which a name resolves is checked for each connection.
func CheckURL(raw string, allow []netip.Prefix) (*url.URL, error) {
	bad := func(why string) (*url.URL, error) {
		return nil, fmt.Errorf("address: %w: %s", concordat.ErrInvalid, why)
	}
	if len(raw) > maxURL {
		return bad("too long")
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil || u.Hostname() == "" || u.Opaque != "":
		return bad("not a URL with a host")
	case u.User != nil || u.Fragment != "":
		return bad("must not contain a user or a fragment")
	case u.Scheme != "https" && (u.Scheme != "http" || len(allow) == 0):
		return bad("must begin with https://")
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && !reachable(ip, u.Scheme == "http", allow) {
		return bad(errPrivate.Error())
	}
	return u, nil
}

// newClient returns a client that connects only to addresses allowed for webhooks and does not follow redirections.
func newClient(o Options) *http.Client {
	d := &net.Dialer{Timeout: o.Timeout, Resolver: o.Resolver,
		// The checked address is the dialled one, so a name cannot resolve to another address in between.
		ControlContext: func(ctx context.Context, _, address string, _ syscall.RawConn) error {
			at, err := netip.ParseAddrPort(address)
			if err != nil {
				return errPrivate
			}
			plain, _ := ctx.Value(plainKey{}).(bool)
			if !reachable(at.Addr(), plain, o.Allow) {
				return errPrivate
			}
			return nil
		}}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{Proxy: nil, DialContext: d.DialContext, DisableKeepAlives: true, ForceAttemptHTTP2: true,
			TLSHandshakeTimeout: o.Timeout, ResponseHeaderTimeout: o.Timeout, MaxResponseHeaderBytes: 64 << 10, ExpectContinueTimeout: time.Second},
	}
}

// reachable reports whether an address may receive webhook requests.
func reachable(ip netip.Addr, plain bool, allow []netip.Prefix) bool {
	ip = ip.Unmap().WithZone("")
	for _, p := range allow {
		if p.Contains(ip) {
			return true
		}
	}
	return !plain && outbound.Public(ip)
}
