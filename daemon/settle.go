package daemon

import (
	"context"
	"time"

	"concordat/instance"
	"concordat/partners"
	"concordat/site"
)

// The process that opens the index reconciles it with the catalogue before answering requests.

// settleOld completes the work of processes that no longer run.
func (s *Daemon) settleOld(ctx context.Context) {
	sum, err := s.o.Site.SettleBefore(ctx, time.Now().Add(-instance.SettleAfter))
	s.tellSettled(sum, err)
	s.settleMirrors(ctx)
}

// settleMirrors removes what interrupted syncs left in the indexes of mirrors.
func (s *Daemon) settleMirrors(ctx context.Context) {
	err := partners.SettleMirrors(ctx, s.o, func(folder string, documents int) {
		s.log.Info("leftovers of an interrupted sync", "folder", folder, "documents", documents)
	})
	if err != nil && ctx.Err() == nil {
		s.log.Error("mirrors", "error", err)
	}
}

func (s *Daemon) tellSettled(sum site.Settled, err error) {
	if err != nil {
		s.log.Error("cannot finish interrupted work", "error", err)
	}
	if sum != (site.Settled{}) {
		s.log.Info("finished interrupted work", "removed", sum.Removed, "completed", sum.Completed, "taken_again", sum.Retaken)
	}
}
