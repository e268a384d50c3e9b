package partners

import (
	"context"
	"time"

	"concordat"
	"concordat/federation"
	"concordat/store"
)

// maxRefused is the number of a partner's messages that may be refused in an hour, as too many, out of order or too slow,
// before an alarm is raised. A well-behaved partner has a few, for example while its keys change or when it is busy.
const maxRefused = 100

// refused counts the messages of a partner that were refused.
type refused struct {
	since time.Time
	n     int
}

// messageEnded receives the outcome of each message of a partner, and raises an alarm about one that floods this site.
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
		r.alarm(store.PartnerAlarm{Partner: site, Kind: store.AlarmFlooding}, "a partner sends more than may be taken", "flooding",
			map[string]any{"refused": x.n, "seconds": int(now.Sub(x.since).Seconds())})
	}
}

// callEnded receives the outcome of each call to a partner, and raises an alarm about an impossible answer.
func (r *Roster) callEnded(site concordat.SiteID, o federation.Outcome) {
	if o == federation.Outcome(federation.KindGarbage) {
		r.alarm(store.PartnerAlarm{Partner: site, Kind: store.AlarmFalse}, "a partner's answer is impossible, or answers a different question",
			"false answer", map[string]any{"in": "an answer to this site"})
	}
}

// alarm raises an alarm in the log, the audit, the pages and webhooks, once a day.
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
