package daemon

import (
	"context"
	"net/http"
	"time"

	"concordat/instance"
	"concordat/instance/config"
	"concordat/people"
	"concordat/site/retain"
	"concordat/web"
)

// policyOf returns who may do how much at the pages.
func policyOf(c *config.Config) web.Policy {
	p := c.People
	quota := func(q config.Quota) people.Quota {
		return people.Quota{Documents: q.Documents, Characters: q.Characters, Open: q.Open, Bytes: q.Bytes}
	}
	return web.Policy{Public: p.Public, Proxies: p.Proxies, SessionIdle: p.SessionIdle, See: web.See(p.See), From: web.From(p.From),
		Accounts: people.Policy{Quota: quota(p.Quota), PublicQuota: quota(p.OpenQuota), PublicQueue: p.Queue,
			PublicAccounts: p.Accounts, Registrations: p.Registrations},
		Calls: p.Calls, NoStore: c.Retention.NoStore}
}

const (
	// sweepEvery is how often the rules of the site are applied.
	sweepEvery = time.Hour
	// erasurePoll is how often deletions of other processes are looked for.
	erasurePoll = time.Second
	// erasureRetry is when a deletion that failed is tried again.
	erasureRetry = time.Minute
)

// sweep applies the rules of the site in the background, and carries out what other processes of the
// site want deleted, until ctx ends.
func (s *Daemon) sweep(ctx context.Context, e *retain.Eraser) error {
	tick := time.NewTicker(erasurePoll)
	defer tick.Stop()
	var swept, failed time.Time
	for {
		if now := time.Now(); now.Sub(swept) >= sweepEvery {
			swept = now
			did, err := e.Sweep(ctx, instance.Retention(s.o.Config), false)
			if err != nil && ctx.Err() == nil {
				s.log.Error("retention", "error", err)
			}
			s.log.Info("retention", "did", did)
			s.settleOld(ctx)
		} else if now.Sub(failed) >= erasureRetry {
			if _, err := e.Resume(ctx); err != nil && ctx.Err() == nil {
				failed = now
				s.log.Error("deletion", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// sweepNow answers the command line.
func (s *Daemon) sweepNow(w http.ResponseWriter, r *http.Request) {
	did, err := s.eraser.Sweep(r.Context(), instance.Retention(s.o.Config), false)
	if err != nil {
		s.log.Error("retention", "error", err)
		writeJSON(w, http.StatusInternalServerError, map[string]string{"error": err.Error()})
		return
	}
	writeJSON(w, http.StatusOK, did)
}
