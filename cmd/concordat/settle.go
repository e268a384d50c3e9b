package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"concordat"
	"concordat/site"
)

// Index and catalogue are brought to agreement by who opens the index, before it answers anybody.

// settledSetting is there once the index of a site was compared with its catalogue as a whole: versions before it did not
// note what they began.
const settledSetting = "index.settled"

// settleAfter is how old what was begun is before somebody else settles it.
const settleAfter = time.Hour

// settle ends what this process, or one before it, has begun to take in.
func (o *opened) settle(ctx context.Context) error {
	workers := []string{""} // as a site of one machine, whose store it may be
	if o.worker() != "" {
		workers = append(workers, o.worker())
	}
	for _, worker := range workers {
		err := patiently(ctx, func() error {
			sum, err := o.Settle(ctx, worker)
			o.settled.Removed += sum.Removed
			o.settled.Completed += sum.Completed
			return err
		})
		if err != nil {
			return err
		}
	}
	if o.shard == nil {
		return nil
	}
	_, err := o.store.Setting(ctx, settledSetting)
	if !errors.Is(err, concordat.ErrNotFound) {
		return err
	}
	if err := o.settleWhole(ctx); err != nil {
		return fmt.Errorf("compare the index with the catalogue: %w", err)
	}
	return o.store.SetSetting(ctx, settledSetting, time.Now().UTC().Format(time.RFC3339))
}

// A catalogue that lacks more than this of the index is not that of the index: nothing is removed then, and doctor says so.
const (
	mostExtra      = 1000
	mostExtraShare = 10 // one of so many
)

// settleWhole takes out of the index what the catalogue does not have.
func (o *opened) settleWhole(ctx context.Context) error {
	known := map[concordat.Ref]bool{}
	if err := o.eachDocument(ctx, func(r concordat.Ref) { known[r] = true }); err != nil {
		return err
	}
	all := o.shard.Refs()
	extra := slices.DeleteFunc(slices.Clone(all), func(r concordat.Ref) bool { return known[r] })
	if len(extra) > mostExtra && len(extra) > len(all)/mostExtraShare {
		return nil
	}
	for part := range slices.Chunk(extra, fillBatch) {
		if err := o.index.Delete(ctx, part...); err != nil {
			return err
		}
	}
	o.settled.Removed += len(extra)
	return nil
}

// settleOld ends what processes have begun that are no more.
func (s *server) settleOld(ctx context.Context) {
	sum, err := s.o.SettleBefore(ctx, time.Now().Add(-settleAfter))
	s.tellSettled(sum, err)
}

func (s *server) tellSettled(sum site.Settled, err error) {
	if err != nil {
		s.log.Error("what was cut short", "error", err)
	}
	if sum != (site.Settled{}) {
		s.log.Info("what was cut short", "removed", sum.Removed, "completed", sum.Completed)
	}
}
