package crypto

import (
	"crypto/sha256"
	"fmt"
	"io"
	"time"
)

// SealReply seals the answer to a request with the request's one-time key, so that not even the sites' own keys can open it later. t is
// TypeReply, TypeError, TypeEvidence or another type that is not a request.
func (id *Identity) SealReply(to *Opened, t MessageType, payload []byte, now time.Time, random io.Reader) ([]byte, error) {
	mid, err := draw(random, len(MessageID{}))
	if err != nil {
		return nil, err
	}
	h := Header{Type: t, To: to.From, ID: MessageID(mid), TTL: MaxTTL, ReplyTo: to.Digest}
	return id.seal(h, to.replyKey, pad(payload), now)
}

// SealRefusal answers a request whose sender is verified but that was not opened. The request's one-time key is therefore unknown, so the
// refusal, of type TypeError, is sealed to the sender's card.
func (id *Identity) SealRefusal(v *Verified, to *Card, payload []byte, now time.Time, random io.Reader) ([]byte, error) {
	if to.Site != v.From {
		return nil, fmt.Errorf("%w: the card belongs to site %s", ErrCard, to.Site)
	}
	key, err := to.sealTo(SuiteXWing, now)
	if err != nil {
		return nil, err
	}
	mid, err := draw(random, len(MessageID{}))
	if err != nil {
		return nil, err
	}
	h := Header{Type: TypeError, To: v.From, SealingEpoch: key.Epoch, ID: MessageID(mid), TTL: MaxTTL, ReplyTo: v.Digest}
	return id.seal(h, key.sealing, pad(payload), now)
}

// Pending is a request waiting for its reply. It contains the one-time key, so drop it as soon as the reply is opened.
type Pending struct {
	To     SiteID
	ID     MessageID
	Digest [32]byte  // SHA-256 of the request's envelope
	Until  time.Time // a later reply is refused
	seed   []byte
}

// Reply is a decrypted answer.
type Reply struct {
	Header
	Payload []byte
}

// OpenReply verifies and decrypts the answer to p. types lists the accepted types; TypeError is always accepted. It fails with
// ErrEnvelope, ErrStale or ErrOpen as VerifyRequest and Open do, and with ErrEnvelope for a reply to a different request.
func (id *Identity) OpenReply(env []byte, p *Pending, from *Card, policy Policy, now time.Time, types ...MessageType) (*Reply, error) {
	v, err := id.verify(env, from, policy, now, func(h Header) bool {
		ok := h.Type == TypeError
		for _, t := range types {
			ok = ok || h.Type == t
		}
		return ok && h.From == p.To && h.ReplyTo == p.Digest && (h.SealingEpoch == 0 || h.Type == TypeError)
	})
	if err != nil {
		return nil, err
	}
	if err := v.timely(now); err != nil {
		return nil, err
	}
	if now.After(p.Until) {
		return nil, fmt.Errorf("%w: the request expired at %s", ErrStale, p.Until.Format(time.RFC3339))
	}
	key, err := kem.NewPrivateKey(p.seed)
	if v.SealingEpoch != 0 {
		key, err = id.opener(v.SealingEpoch)
	}
	if err != nil {
		return nil, err
	}
	b, err := v.open(key)
	if err != nil {
		return nil, err
	}
	return &Reply{Header: v.Header, Payload: b}, nil
}

const pendingSize = 32 + 16 + 32 + 8 + sealSeedSize

// Bytes encodes p for storage, so that a reply can be opened after a restart. The result is secret.
func (p *Pending) Bytes() []byte {
	b := append(make([]byte, 0, pendingSize), p.To[:]...)
	b = append(append(b, p.ID[:]...), p.Digest[:]...)
	return append(appendTime(b, p.Until), p.seed...)
}

// ParsePending is the inverse of Bytes.
func ParsePending(b []byte) (*Pending, error) {
	d := &decoder{b: b}
	p := &Pending{To: d.array32(), ID: d.array16(), Digest: d.array32(), Until: d.time()}
	p.seed = append(p.seed, d.take(sealSeedSize)...)
	return p, d.end("pending request")
}

// DigestOf returns the SHA-256 of a payload; statements and audit records identify a payload by it.
func DigestOf(b []byte) [32]byte { return sha256.Sum256(b) }
