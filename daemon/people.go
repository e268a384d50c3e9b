package daemon

import (
	"context"
	"net/http"
	"time"

	"concordat/instance"
	"concordat/instance/config"
	"concordat/people"
	"concordat/site/compare"
	"concordat/site/retain"
	"concordat/web"
	"concordat/web/review"
)

// policyOf returns the configured policy for people on the pages.
func policyOf(c *config.Config) web.Policy {
	p := c.People
	quota := func(q config.Quota) people.Quota {
		return people.Quota{Documents: q.Documents, Characters: q.Characters, Open: q.Open, Bytes: q.Bytes}
	}
	return web.Policy{Public: p.Public, Proxies: p.Proxies, SessionIdle: p.SessionIdle, See: review.See(p.See), From: review.From(p.From),
		Accounts: people.Policy{Quota: quota(p.Quota), PublicQuota: quota(p.OpenQuota), PublicQueue: p.Queue,
			PublicAccounts: p.Accounts, Registrations: p.Registrations},
		Calls: p.Calls, NoStore: c.Retention.NoStore}
}

const (
	// sweepEvery is the interval at which the site's retention rules are applied.
	sweepEvery = time.Hour
	// erasurePoll is the interval for checking whether other processes have requested deletions.
	erasurePoll = time.Second
	// erasureRetry is the delay before retrying a deletion that failed or that left bytes on the disk of an absent machine.
	erasureRetry = 15 * time.Second
)

// sweep applies the site's retention rules in the background and performs deletions requested by other processes of the site, until ctx
// ends.
func (s *Daemon) sweep(ctx context.Context, e *retain.Eraser) error {
	tick := time.NewTicker(erasurePoll)
	defer tick.Stop()
	var swept, failed, refused time.Time
	for {
		if now := time.Now(); now.Sub(swept) >= sweepEvery {
			swept = now
			s.guarded(ctx, "retention", func() error {
				did, err := e.Sweep(ctx, instance.Retention(s.o.Config), false)
				s.tellSwept(did)
				return err
			})
			s.guarded(ctx, "settling", func() error {
				s.refreshKeys(ctx)
				s.settleOld(ctx)
				return nil
			})
		} else if now.Sub(failed) >= erasureRetry {
			if !s.guarded(ctx, "deletion", func() error { _, err := e.Resume(ctx); return err }) {
				failed = now
			}
		} else if now.Sub(refused) >= erasureRetry { // so that new deletions do not wait for old ones
			if !s.guarded(ctx, "deletion", func() error { return e.Advance(ctx) }) {
				refused = now
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// guarded runs background work, logs failures and panics, and reports whether the work succeeded.
func (s *Daemon) guarded(ctx context.Context, work string, f func() error) bool {
	err := compare.Guard(f)
	if !s.o.Site.NotePanic(err, "work", work) && err != nil && ctx.Err() == nil {
		s.log.Error(work, "error", err)
	}
	return err == nil
}

// tellSwept logs the deletions made under the site's rules, if any.
func (s *Daemon) tellSwept(did *retain.Swept) {
	if did == nil || did.Resumed+did.Reports+did.Texts+did.Originals+did.Documents+did.Cases+did.Files+did.Accounts == 0 {
		return
	}
	s.log.Info("retention", "resumed", did.Resumed, "reports", did.Reports, "texts", did.Texts, "originals", did.Originals,
		"documents", did.Documents, "cases", did.Cases, "files", did.Files, "accounts", did.Accounts)
}

// refreshKeys renews the card of a site that does not listen for partners; otherwise, the server for partners renews it.
func (s *Daemon) refreshKeys(ctx context.Context) {
	if s.Partners.Load() != nil {
		return
	}
	if err := s.o.Keys.Refresh(ctx); err != nil && ctx.Err() == nil {
		s.log.Error("card of the site", "error", err)
	}
}

// sweepNow sweeps at a command's request.
func (s *Daemon) sweepNow(w http.ResponseWriter, r *http.Request) {
	did, err := s.eraser.Sweep(r.Context(), instance.Retention(s.o.Config), false)
	if err != nil {
		s.log.Error("retention", "error", err)
		writeJSON(w, http.StatusInternalServerError, map[string]string{"error": err.Error()})
		return
	}
	writeJSON(w, http.StatusOK, did)
}
