package web

import (
	"cmp"
	"net"
	"net/http"
	"time"

	"concordat/people"
	"concordat/web/limit"
	"concordat/web/review"
)

// Policy configures who can use the pages, how much, and what submitters see. With the zero value, administrators create accounts, there
// are no limits, and submitters see their own reports.
type Policy struct {
	// Public allows anyone to create an account.
	Public bool
	// Proxies are the proxies trusted to state a caller's address.
	Proxies     limit.Proxies
	SessionIdle time.Duration // an unused session ends after this time; the default is 2 h
	See         review.See    // what submitters see of their own reports; the default is everything
	From        review.From   // when they begin to see it; the default is when the check is done
	Accounts    people.Policy // quotas, and how many people can create accounts themselves
	Calls       int           // API calls per minute with one token; the default is 600
	NoStore     bool          // submissions are not kept once their reports are complete
}

func (p *Policy) fill() {
	p.SessionIdle = cmp.Or(p.SessionIdle, 2*time.Hour)
	p.See = cmp.Or(p.See, review.SeeEverything)
	p.From = cmp.Or(p.From, review.FromDone)
	p.Calls = cmp.Or(p.Calls, 600)
}

// Listener returns l with at most most connections at a time; see limit.Listener.
func (w *Web) Listener(l net.Listener, most int) net.Listener {
	return limit.NewListener(l, most, w.o.Logger, w.o.Policy.Proxies.Trusts)
}

// Server returns a server for h, which is w or wraps it, with time limits; see limit.Server. It must be used with the listener that
// Listener returns.
func (w *Web) Server(h http.Handler) *http.Server { return limit.Server(h, w.requestTime) }
