package cluster

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"sync"

	"concordat"
)

// A Position says how far each shard of a site had come when something was written, so that a reader at any node
// sees that and all before. The zero Position asks for nothing. It is safe for concurrent use.
type Position struct {
	mu  sync.Mutex // guards seq
	seq map[concordat.ShardID]uint64
}

type positionKey struct{}

// WithPosition returns a context whose writes through a Node are noted in p, and whose questions are answered by
// copies that have come at least as far as p when they are asked; a shard of which no copy comes so far within two
// seconds is listed as missing.
func WithPosition(ctx context.Context, p *Position) context.Context {
	return context.WithValue(ctx, positionKey{}, p)
}

func positionOf(ctx context.Context) *Position {
	p, _ := ctx.Value(positionKey{}).(*Position)
	return p
}

func (p *Position) note(id concordat.ShardID, seq uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seq == nil {
		p.seq = map[concordat.ShardID]uint64{}
	}
	p.seq[id] = max(p.seq[id], seq)
}

// of returns the record of the shard that a reader has to see.
func (p *Position) of(id concordat.ShardID) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seq[id]
}

// MarshalText writes p in letters, digits, - and _, empty for the zero Position; doc/cluster.md has the form.
func (p *Position) MarshalText() ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var b []byte
	for _, id := range slices.Sorted(maps.Keys(p.seq)) {
		n, ok := shardNumber(id)
		if !ok {
			return nil, fmt.Errorf("position of shard %s: %w", id, concordat.ErrInvalid)
		}
		b = append(b, byte(n))
		b = binary.AppendUvarint(b, p.seq[id])
	}
	return base64.RawURLEncoding.AppendEncode(nil, b), nil
}

// UnmarshalText adds what MarshalText wrote to p. It fails with concordat.ErrInvalid on other text.
func (p *Position) UnmarshalText(text []byte) error {
	const most = MaxShards * (1 + binary.MaxVarintLen64)
	if len(text) > base64.RawURLEncoding.EncodedLen(most) {
		return fmt.Errorf("position of %d bytes: %w", len(text), concordat.ErrInvalid)
	}
	b, err := base64.RawURLEncoding.AppendDecode(nil, text)
	if err != nil {
		return fmt.Errorf("position: %w: %w", concordat.ErrInvalid, err)
	}
	r := &reader{b, true}
	seqs := map[concordat.ShardID]uint64{}
	for r.ok && len(r.b) > 0 {
		number := r.bytes(1)
		if seq := r.uvarint(); r.ok {
			seqs[ShardName(int(number[0]))] = seq
		}
	}
	if !r.ok {
		return fmt.Errorf("position: %w", concordat.ErrInvalid)
	}
	for id, seq := range seqs {
		p.note(id, seq)
	}
	return nil
}
