package daemon

import (
	"context"
	"time"

	"concordat/instance"
	"concordat/partners"
	"concordat/site"
)

// Index and catalogue are brought to agreement by who opens the index, before it answers anybody.

// settleOld ends what processes have begun that are no more.
func (s *Daemon) settleOld(ctx context.Context) {
	sum, err := s.o.Site.SettleBefore(ctx, time.Now().Add(-instance.SettleAfter))
	s.tellSettled(sum, err)
	s.settleMirrors(ctx)
}

// settleMirrors clears the indexes of mirrors of what syncs left that were cut short.
func (s *Daemon) settleMirrors(ctx context.Context) {
	err := partners.SettleMirrors(ctx, s.o, func(folder string, documents int) {
		s.log.Info("what a sync left that was cut short", "folder", folder, "documents", documents)
	})
	if err != nil && ctx.Err() == nil {
		s.log.Error("mirrors", "error", err)
	}
}

func (s *Daemon) tellSettled(sum site.Settled, err error) {
	if err != nil {
		s.log.Error("what was cut short", "error", err)
	}
	if sum != (site.Settled{}) {
		s.log.Info("what was cut short", "removed", sum.Removed, "completed", sum.Completed)
	}
}
