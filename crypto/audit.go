package crypto

import (
	"crypto/ed25519"
	"encoding/binary"
	"fmt"
	"time"
)

// Head identifies the last entry of a site's audit; the site signs it. Partners store each other's heads, so that a rewritten audit
// contradicts them. Package store keeps the audit itself.
type Head struct {
	Site      SiteID
	Seq       uint64
	Hash      [32]byte // hash of entry Seq; zeros for an empty audit
	At        time.Time
	KeyEpoch  uint32
	Signature []byte
}

// HeadSize is the length of an encoded head.
const HeadSize = 32 + 8 + 32 + 8 + 4 + ed25519.SignatureSize

// SignHead signs the head of the site's audit.
func (id *Identity) SignHead(seq uint64, hash [32]byte, at time.Time) (*Head, error) {
	k, err := id.signer(at)
	if err != nil {
		return nil, err
	}
	h := &Head{Site: id.Site(), Seq: seq, Hash: hash, At: milli(at), KeyEpoch: k.epoch}
	h.Signature = ed25519.Sign(ed25519.NewKeyFromSeed(k.seed), append([]byte(labelHead), h.body()...))
	return h, nil
}

func (h *Head) body() []byte {
	b := binary.BigEndian.AppendUint64(h.Site[:len(h.Site):len(h.Site)], h.Seq)
	b = appendTime(append(b, h.Hash[:]...), h.At)
	return binary.BigEndian.AppendUint32(b, h.KeyEpoch)
}

// Bytes returns the encoded head, HeadSize bytes.
func (h *Head) Bytes() []byte { return append(h.body(), h.Signature...) }

// ParseHead decodes a head but does not check its signature; use Check.
func ParseHead(b []byte) (*Head, error) {
	d := &decoder{b: b}
	h := &Head{Site: d.array32(), Seq: d.u64(), Hash: d.array32(), At: d.time(), KeyEpoch: d.u32()}
	h.Signature = d.take(ed25519.SignatureSize)
	return h, d.end("audit head")
}

// Check fails with ErrCard, ErrNoKey or ErrSignature unless the card's site signed the head.
func (h *Head) Check(c *Card) error {
	if h.Site != c.Site {
		return fmt.Errorf("audit head: %w: the card belongs to site %s", ErrCard, c.Site)
	}
	key, ok := c.verifier(h.KeyEpoch, h.At)
	if !ok {
		return fmt.Errorf("audit head: signing key %d: %w", h.KeyEpoch, ErrNoKey)
	}
	if !ed25519.Verify(key, append([]byte(labelHead), h.body()...), h.Signature) {
		return fmt.Errorf("audit head: %w", ErrSignature)
	}
	return nil
}
