package web

import (
	"cmp"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"concordat/people"
	"concordat/report"
	"concordat/web/limit"
)

// Policy says who may use the pages, how much, and what submitters see. The zero value: accounts that
// administrators make, without limits, who see their reports.
type Policy struct {
	// Public lets everybody make an account.
	Public bool
	// Proxies are whose word about a caller's address is taken.
	Proxies     []netip.Prefix
	SessionIdle time.Duration // a session that is not used for so long ends; 0: 2 h
	See         See           // what submitters see of own reports; empty: everything
	From        From          // and from when; empty: when the check is done
	Accounts    people.Policy // quotas, and how many make accounts themselves
	Calls       int           // of the API in a minute, by one token; 0: 600
	NoStore     bool          // nothing that is submitted is kept once its report is made
}

// See is the part of the reports about their own documents that submitters see.
type See string

// What they see.
const (
	SeeEverything See = "everything"
	SeeReport     See = "report" // without other people's wording
	SeeScore      See = "score"
	SeeNothing    See = "nothing"
)

// From is from when submitters see it.
type From string

// The moments.
const (
	FromDone    From = "done"    // the check is done
	FromVerdict From = "verdict" // an officer has given a verdict
	FromSigned  From = "signed"  // a second one has agreed
)

func (p *Policy) fill() {
	p.SessionIdle = cmp.Or(p.SessionIdle, 2*time.Hour)
	p.See = cmp.Or(p.See, SeeEverything)
	p.From = cmp.Or(p.From, FromDone)
	p.Calls = cmp.Or(p.Calls, 600)
}

// Address returns the address of a request's client: the peer of the connection, or the one named by trusted
// proxies. A network stands for IPv6, of which one customer has a /64.
func (w *Web) Address(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		host = r.RemoteAddr
	}
	at, err := netip.ParseAddr(host)
	if err != nil {
		return "unknown"
	}
	// From the right: what a caller wrote into the header itself stands to the left of what proxies add.
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for i := len(hops) - 1; i >= 0 && w.trusted(at); i-- {
		next, err := netip.ParseAddr(strings.TrimSpace(hops[i]))
		if err != nil {
			break
		}
		at = next
	}
	return limit.Network(at)
}

// Listener returns l with at most so many connections at a time; see limit.Listener.
func (w *Web) Listener(l net.Listener, most int) net.Listener {
	return limit.NewListener(l, most, w.o.Logger, w.trusted)
}

// Server returns a server of h, which is w or leads to it, with limits of time; see limit.Server. It must be served on the
// listener that Listener returns.
func (w *Web) Server(h http.Handler) *http.Server { return limit.Server(h, w.requestTime) }

func (w *Web) trusted(a netip.Addr) bool {
	return slices.ContainsFunc(w.o.Policy.Proxies, func(p netip.Prefix) bool { return p.Contains(a.Unmap()) || p.Contains(a) })
}

// Sees returns what the visitor may see today of a report whose review this is.
func (w *Web) Sees(v *Visitor, now *Review) See {
	if v.SeesAll() {
		return SeeEverything
	}
	p := w.o.Policy
	if p.From == FromVerdict && now.Verdict == nil || p.From == FromSigned && len(now.Signed) == 0 {
		return SeeNothing
	}
	return p.See
}

// seen returns the part of a report that the visitor sees; nil: nothing of it.
func seen(rep *report.Report, s See) *report.Report {
	switch s {
	case SeeReport:
		return report.WithoutWording(rep)
	case SeeScore:
		return report.ScoreOnly(rep)
	case SeeNothing:
		return nil
	}
	return rep
}
