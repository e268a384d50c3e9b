package instance

import (
	"context"

	"concordat"
	"concordat/cluster"
	"concordat/store"
)

// acknowledged records in the store which changes a cluster's shards have acknowledged.
type acknowledged struct{ store *store.Acknowledged }

var _ cluster.Acknowledged = acknowledged{}

// Note implements cluster.Acknowledged.
func (a acknowledged) Note(ctx context.Context, name string, at map[concordat.ShardID]cluster.Position) error {
	records := make([]store.AcknowledgedRecord, 0, len(at))
	for id, p := range at {
		records = append(records, store.AcknowledgedRecord{Shard: id, Epoch: p.Epoch, Record: p.Seq})
	}
	return a.store.Note(ctx, name, records)
}

// Noted implements cluster.Acknowledged.
func (a acknowledged) Noted(ctx context.Context, name string) (map[concordat.ShardID]cluster.Position, error) {
	records, err := a.store.Noted(ctx, name)
	out := make(map[concordat.ShardID]cluster.Position, len(records))
	for _, r := range records {
		out[r.Shard] = cluster.Position{Epoch: r.Epoch, Seq: r.Record}
	}
	return out, err
}
