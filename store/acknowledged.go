package store

import (
	"context"
	"errors"
	"slices"
	"strings"

	"concordat"
	"concordat/store/engine"
)

// Acknowledged stores the last acknowledged record of each shard of a cluster; see migration 140.
type Acknowledged struct{ base }

// AcknowledgedRecord is a record of a shard's log.
type AcknowledgedRecord struct {
	Shard         concordat.ShardID
	Epoch, Record uint64
}

// Note stores each record unless a newer one is already stored: one with a higher epoch, or with the same epoch and a higher number.
func (a *Acknowledged) Note(ctx context.Context, cluster string, records []AcknowledgedRecord) error {
	records = slices.Clone(records)
	slices.SortFunc(records, func(x, y AcknowledgedRecord) int { return strings.Compare(string(x.Shard), string(y.Shard)) }) // no deadlock
	err := checkName("cluster", cluster)
	for _, r := range records {
		err = errors.Join(err, checkName("shard", r.Shard))
	}
	if err == nil {
		err = a.write(ctx, func(c engine.Conn) error {
			for _, r := range records {
				if _, err := c.Exec(ctx, `INSERT INTO acknowledged (cluster, shard, epoch, record) VALUES (?, ?, ?, ?)
					ON CONFLICT (cluster, shard) DO UPDATE SET epoch = excluded.epoch, record = excluded.record
					WHERE acknowledged.epoch < excluded.epoch OR acknowledged.epoch = excluded.epoch AND acknowledged.record < excluded.record`,
					cluster, r.Shard, int64(r.Epoch), int64(r.Record)); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return a.fail(err, "record the acknowledged positions")
}

// Noted returns the records of the cluster's shards in order.
func (a *Acknowledged) Noted(ctx context.Context, cluster string) ([]AcknowledgedRecord, error) {
	out, err := engine.Collect(ctx, a.read(), func(s engine.Scanner) (r AcknowledgedRecord, err error) {
		var epoch, record int64
		err = s.Scan(&r.Shard, &epoch, &record)
		r.Epoch, r.Record = uint64(epoch), uint64(record)
		return r, err
	}, `SELECT shard, epoch, record FROM acknowledged WHERE cluster = ? ORDER BY shard`, cluster)
	return out, a.fail(err, "read the acknowledged positions")
}
