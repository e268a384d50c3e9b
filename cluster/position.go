package cluster

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

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

// PositionHeader carries a Position, as MarshalText writes it: in an answer, what the request wrote; in a request, what its
// answer has to know of. A browser's cookie does the same for a minute.
const PositionHeader = "Concordat-Position"

const (
	positionCookie = "concordat_position"
	positionTime   = time.Minute // after which followers have long caught up
)

// KeepPosition lets a caller of h read what it wrote, at whichever node its next request comes.
func KeepPosition(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var p Position
		// What is no position asks for nothing: it is the caller's own.
		_ = p.UnmarshalText([]byte(r.Header.Get(PositionHeader)))
		if c, err := r.Cookie(positionCookie); err == nil {
			_ = p.UnmarshalText([]byte(c.Value)) // as above
		}
		before, _ := p.MarshalText() // of shards with numbers only
		to := &positioned{ResponseWriter: w, position: &p, before: string(before)}
		h.ServeHTTP(to, r.WithContext(WithPosition(r.Context(), &p)))
		to.begin()
	})
}

// positioned adds to the answer what the request wrote.
type positioned struct {
	http.ResponseWriter
	position *Position
	before   string
	begun    bool
}

// Unwrap is for http.ResponseController.
func (w *positioned) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *positioned) WriteHeader(code int) {
	w.begin()
	w.ResponseWriter.WriteHeader(code)
}

func (w *positioned) Write(b []byte) (int, error) {
	w.begin()
	return w.ResponseWriter.Write(b)
}

func (w *positioned) begin() {
	if w.begun {
		return
	}
	w.begun = true
	if text, err := w.position.MarshalText(); err == nil && string(text) != w.before {
		w.Header().Set(PositionHeader, string(text))
		http.SetCookie(w, &http.Cookie{Name: positionCookie, Value: string(text), Path: "/", MaxAge: int(positionTime.Seconds()), HttpOnly: true, SameSite: http.SameSiteLaxMode})
	}
}
