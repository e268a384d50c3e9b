package partners

import (
	"context"
	"time"

	"concordat"
	"concordat/federation"
	"concordat/store"
)

// maxRefused is the number of refused messages per partner and hour that raises an alarm. Messages are refused if there are too many of
// them, or if they are out of order or too slow. A well-behaved partner also has a few, for example while its keys change or when it is
// busy.
const maxRefused = 100

// refused counts the refused messages of a partner.
type refused struct {
	since time.Time
	n     int
}

// messageEnded receives the outcome of each message from a partner, and raises an alarm if a partner floods this site.
func (r *Roster) messageEnded(site concordat.SiteID, o federation.Outcome) {
	if site == "" || o != federation.OutcomeBusy && o != federation.OutcomeRejected {
		return
	}
	r.mu.Lock()
	x, now := r.refused[site], r.now()
	if now.Sub(x.since) >= time.Hour {
		x = refused{since: now}
	}
	x.n++
	r.refused[site] = x
	r.mu.Unlock()
	if x.n == maxRefused {
		r.alarm(store.PartnerAlarm{Partner: site, Kind: store.AlarmFlooding}, "a partner sends more than this site accepts", "flooding",
			map[string]any{"refused": x.n, "seconds": int(now.Sub(x.since).Seconds())})
	}
}

// callEnded receives the outcome of each call to a partner, and raises an alarm if the answer is impossible.
func (r *Roster) callEnded(site concordat.SiteID, o federation.Outcome) {
	if o == federation.Outcome(federation.KindGarbage) {
		r.alarm(store.PartnerAlarm{Partner: site, Kind: store.AlarmFalse}, "a partner's answer is impossible, or answers a different question",
			"false answer", map[string]any{"in": "an answer to this site"})
	}
}

// alarm raises an alarm in the log, the audit, the web pages and webhooks, at most once a day.
func (r *Roster) alarm(a store.PartnerAlarm, words, action string, detail any) {
	ctx := context.Background()
	raised, err := r.db.Partners.RaiseAlarm(ctx, a)
	if err == nil && raised {
		r.log.Error(words, "site", a.Partner)
		err = r.audit(ctx, string(a.Partner), action, detail)
	}
	if err != nil {
		r.log.Error("alarm", "site", a.Partner, "error", err)
	}
}
