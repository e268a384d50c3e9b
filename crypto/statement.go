package crypto

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"
)

// Answer is a site's answer to a request in the form that the site signs, independent of the envelope that carries it. It includes the
// recipient and the submission, so that it cannot serve as evidence in another site's report or about another text.
type Answer struct {
	Kind       string    // 1 to 32 lower-case ASCII letters and hyphens
	At         time.Time // in whole milliseconds, truncated
	Asker      SiteID
	Job        [16]byte // the request's job, or zero
	Commitment [32]byte // commitment to the submission if the request has one; otherwise zero
	Request    [32]byte // SHA-256 of the request's payload or, for a refusal, of the request's envelope
	Payload    []byte
}

// SignAnswer signs a and returns the epoch of the signing key and the signature. It fails with ErrFormat for an invalid kind and with
// ErrNoKey if no signing key is in force.
func (id *Identity) SignAnswer(a *Answer) (epoch uint32, signature []byte, err error) {
	return id.sign(a.At, func(epoch uint32) ([]byte, error) { return a.signed(id.Site(), epoch) })
}

// VerifyAnswer verifies the signature over a by the card's site. It fails with ErrSignature, or with ErrNoKey if the card has no such
// signing key for that time. The card need not be in force, because old answers remain valid.
func (c *Card) VerifyAnswer(epoch uint32, a *Answer, signature []byte) error {
	b, err := a.signed(c.Site, epoch)
	if err != nil {
		return err
	}
	return c.verify(epoch, a.At, b, signature)
}

// signed returns the bytes to sign.
func (a *Answer) signed(site SiteID, epoch uint32) ([]byte, error) {
	b, err := statement(labelAnswer, site, epoch, a.Kind, a.At)
	if err != nil {
		return nil, err
	}
	b = append(b, a.Asker[:]...)
	b = append(b, a.Job[:]...)
	b = append(b, a.Commitment[:]...)
	return digests(b, a.Request, a.Payload), nil
}

// SignStatement signs a document made by the site, for example a report. The signature covers its kind (1 to 32 lower-case ASCII letters
// and hyphens), the time (at is truncated to whole milliseconds), the digest of a request or zero for none, and the payload. It returns
// the epoch of the signing key and the signature. Use [Identity.SignAnswer] for answers to partners.
func (id *Identity) SignStatement(kind string, at time.Time, request [32]byte, payload []byte) (uint32, []byte, error) {
	return id.sign(at, func(epoch uint32) ([]byte, error) {
		b, err := statement(labelStatement, id.Site(), epoch, kind, at)
		return digests(b, request, payload), err
	})
}

// VerifyStatement verifies a statement against its site's card, as [Card.VerifyAnswer] does. It also verifies answers from versions of
// the program that did not sign the asker.
func (c *Card) VerifyStatement(epoch uint32, kind string, at time.Time, request [32]byte, payload, signature []byte) error {
	b, err := statement(labelStatement, c.Site, epoch, kind, at)
	if err != nil {
		return err
	}
	return c.verify(epoch, at, digests(b, request, payload), signature)
}

// sign signs the bytes that signed returns for the epoch of the key in force.
func (id *Identity) sign(at time.Time, signed func(epoch uint32) ([]byte, error)) (uint32, []byte, error) {
	k, err := id.signer(at)
	if err != nil {
		return 0, nil, err
	}
	b, err := signed(k.epoch)
	if err != nil {
		return 0, nil, err
	}
	return k.epoch, ed25519.Sign(ed25519.NewKeyFromSeed(k.seed), b), nil
}

func (c *Card) verify(epoch uint32, at time.Time, signed, signature []byte) error {
	key, ok := c.verifier(epoch, at)
	if !ok {
		return fmt.Errorf("signing key %d of %s at %s: %w", epoch, c.Site.Short(), at.UTC().Format(time.RFC3339), ErrNoKey)
	}
	if !ed25519.Verify(key, signed, signature) {
		return ErrSignature
	}
	return nil
}

// statement returns the first bytes to sign: label, site, epoch, time and kind.
func statement(label string, site SiteID, epoch uint32, kind string, at time.Time) ([]byte, error) {
	if kind == "" || len(kind) > 32 {
		return nil, fmt.Errorf("statement kind %q: %w", kind, ErrFormat)
	}
	for _, r := range []byte(kind) {
		if (r < 'a' || r > 'z') && r != '-' {
			return nil, fmt.Errorf("statement kind %q: %w", kind, ErrFormat)
		}
	}
	b := append([]byte(label), site[:]...)
	b = binary.BigEndian.AppendUint32(b, epoch)
	b = appendTime(b, at)
	return append(append(b, byte(len(kind))), kind...), nil
}

// digests appends the digests of the request and of the payload.
func digests(b []byte, request [32]byte, payload []byte) []byte {
	b = append(b, request[:]...)
	sum := sha256.Sum256(payload)
	return append(b, sum[:]...)
}
