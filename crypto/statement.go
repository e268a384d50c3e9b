package crypto

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"
)

// SignStatement signs what the site answered: kind (1 to 32 ASCII letters and hyphens), the moment in
// whole milliseconds (at is cut to them), SHA-256 of the request's payload, and the answer's payload.
// It returns the signing key's epoch and the signature.
func (id *Identity) SignStatement(kind string, at time.Time, request [32]byte, payload []byte) (uint32, []byte, error) {
	k, err := id.signer(at)
	if err != nil {
		return 0, nil, err
	}
	b, err := statement(id.Site(), k.epoch, kind, at, request, payload)
	if err != nil {
		return 0, nil, err
	}
	return k.epoch, ed25519.Sign(ed25519.NewKeyFromSeed(k.seed), b), nil
}

// VerifyStatement checks a statement against the card of its site. It fails with ErrSignature, and
// with ErrNoKey where the card has no such signing key for that time. The card need not be in force:
// an old answer stays what it was.
func (c *Card) VerifyStatement(epoch uint32, kind string, at time.Time, request [32]byte, payload, signature []byte) error {
	b, err := statement(c.Site, epoch, kind, at, request, payload)
	if err != nil {
		return err
	}
	key, ok := c.verifier(epoch, at)
	if !ok {
		return fmt.Errorf("signing key %d of %s at %s: %w", epoch, c.Site.Short(), at.UTC().Format(time.RFC3339), ErrNoKey)
	}
	if !ed25519.Verify(key, b, signature) {
		return ErrSignature
	}
	return nil
}

// statement returns the bytes that are signed.
func statement(site SiteID, epoch uint32, kind string, at time.Time, request [32]byte, payload []byte) ([]byte, error) {
	if kind == "" || len(kind) > 32 {
		return nil, fmt.Errorf("kind %q: %w", kind, ErrFormat)
	}
	for _, r := range []byte(kind) {
		if (r < 'a' || r > 'z') && r != '-' {
			return nil, fmt.Errorf("kind %q: %w", kind, ErrFormat)
		}
	}
	b := append([]byte(labelStatement), site[:]...)
	b = binary.BigEndian.AppendUint32(b, epoch)
	b = appendTime(b, at)
	b = append(append(b, byte(len(kind))), kind...)
	b = append(b, request[:]...)
	sum := sha256.Sum256(payload)
	return append(b, sum[:]...), nil
}
