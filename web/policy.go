package web

import (
	"cmp"
	"net"
	"net/http"
	"time"

	"concordat/people"
	"concordat/report"
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
	See         See           // what submitters see of their own reports; the default is everything
	From        From          // when they begin to see it; the default is when the check is done
	Accounts    people.Policy // quotas, and how many people can create accounts themselves
	Calls       int           // API calls per minute with one token; the default is 600
	NoStore     bool          // submissions are not kept once their reports are complete
}

// See is the part of their own reports that submitters see.
type See string

// The levels of access for submitters.
const (
	SeeEverything See = "everything"
	SeeReport     See = "report" // the report without other people's wording
	SeeScore      See = "score"
	SeeNothing    See = "nothing"
)

// From is the event after which submitters see their reports.
type From string

// The events.
const (
	FromDone    From = "done"    // the check is done
	FromVerdict From = "verdict" // an officer has given a verdict
	FromSigned  From = "signed"  // a second officer has agreed
)

func (p *Policy) fill() {
	p.SessionIdle = cmp.Or(p.SessionIdle, 2*time.Hour)
	p.See = cmp.Or(p.See, SeeEverything)
	p.From = cmp.Or(p.From, FromDone)
	p.Calls = cmp.Or(p.Calls, 600)
}

// Listener returns l with at most most connections at a time; see limit.Listener.
func (w *Web) Listener(l net.Listener, most int) net.Listener {
	return limit.NewListener(l, most, w.o.Logger, w.o.Policy.Proxies.Trusts)
}

// Server returns a server for h, which is w or wraps it, with time limits; see limit.Server. It must be used with the listener that
// Listener returns.
func (w *Web) Server(h http.Handler) *http.Server { return limit.Server(h, w.requestTime) }

// Sees returns the part of a report with this review that the visitor may currently see.
func (w *Web) Sees(v *Visitor, now *review.Review) See {
	if v.SeesAll() {
		return SeeEverything
	}
	p := w.o.Policy
	if p.From == FromVerdict && now.Verdict == nil || p.From == FromSigned && len(now.Signed) == 0 {
		return SeeNothing
	}
	return p.See
}

// seen returns the visible part of a report, or nil if nothing is visible.
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
