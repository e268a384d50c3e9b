package instance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"concordat"
)

// settledSetting is set after a site's whole index has been compared with its catalogue, because earlier versions did not record the work
// that they began.
const settledSetting = "index.settled"

// SettleAfter is the age at which another process settles unfinished work.
const SettleAfter = time.Hour

// settle completes the intakes begun by this process or an earlier one.
func (o *Instance) settle(ctx context.Context) error {
	if o.own != nil && o.own.ahead > 0 {
		intakes, err := o.Store.Catalogue.Intakes(ctx, o.Worker())
		if err != nil {
			return err
		}
		var explained uint64 // number of changes explained by recorded unfinished additions
		for _, one := range intakes {
			explained += uint64(len(one.Rows))
		}
		if o.own.ahead > explained {
			if err := retake(ctx, o, intakes); err != nil {
				return fmt.Errorf("add documents to the catalogue again: %w", err)
			}
		}
	}
	workers := []string{""} // work begun when the site had one machine, which might have used this store
	if o.Worker() != "" {
		workers = append(workers, o.Worker())
	}
	for _, worker := range workers {
		err := Retry(ctx, func() error {
			sum, err := o.Site.Settle(ctx, worker)
			o.Settled.Removed += sum.Removed
			o.Settled.Completed += sum.Completed
			return err
		})
		if err != nil {
			return err
		}
	}
	if o.own == nil {
		return nil
	}
	if err := o.own.noteApplied(ctx); err != nil {
		return err
	}
	_, err := o.Store.Setting(ctx, settledSetting)
	if !errors.Is(err, concordat.ErrNotFound) {
		return err
	}
	if err := o.settleWhole(ctx); err != nil {
		return fmt.Errorf("compare the index with the catalogue: %w", err)
	}
	return o.Store.SetSetting(ctx, settledSetting, time.Now().UTC().Format(time.RFC3339))
}

// If the catalogue lacks more of the index's documents than this, the two do not belong together. In that case, nothing is removed, and
// doctor reports it.
const (
	maxExtra      = 1000
	maxExtraShare = 10 // one in this many
)

// settleWhole removes documents from the index that are not in the catalogue.
func (o *Instance) settleWhole(ctx context.Context) error {
	extra, err := extraRefs(ctx, o)
	if err != nil {
		return err
	}
	for part := range slices.Chunk(extra, fillBatch) {
		if err := o.Index.Delete(ctx, part...); err != nil {
			return err
		}
	}
	o.Settled.Removed += len(extra)
	return nil
}

// extraRefs returns the documents in the index but not in the catalogue; it returns none if there are so many that the index must belong
// to another site.
func extraRefs(ctx context.Context, o *Instance) ([]concordat.Ref, error) {
	known := map[concordat.Ref]bool{}
	if err := o.EachDocument(ctx, func(r concordat.Ref) { known[r] = true }); err != nil {
		return nil, err
	}
	all := o.own.shard.Index().Refs()
	extra := slices.DeleteFunc(slices.Clone(all), func(r concordat.Ref) bool { return known[r] })
	if len(extra) > maxExtra && len(extra) > len(all)/maxExtraShare {
		return nil, nil
	}
	return extra, nil
}
