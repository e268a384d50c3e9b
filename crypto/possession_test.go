package crypto_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"testing"

	"concordat/crypto"
)

// TestProofOfPossession: a card proves each TLS key for its own site and serial. A card with the key of another site's card, including
// its proof, or with a different serial, is refused even though its root key signed it.
func TestProofOfPossession(t *testing.T) {
	victim, bad := newSite(t, "victim", 1), newSite(t, "bad", 2)
	root, err := bad.Root()
	if err != nil {
		t.Fatal(err)
	}
	body := func(c *crypto.Card) []byte { return bytes.Clone(c.Bytes()[:len(c.Bytes())-ed25519.SignatureSize]) }
	own := body(bad.card)
	if c, err := crypto.ParseCard(crypto.SignCard(root, own)); err != nil || !c.Proven {
		t.Fatalf("signed again as it was: %v", err)
	}
	const entry = ed25519.PublicKeySize + ed25519.SignatureSize
	last := func(c *crypto.Card) []byte { // its last TLS key and proof
		b := body(c)
		end := len(b) - 2 - len(c.Contact) - 1 - len(c.Suites) - 1
		return b[end-entry : end]
	}
	stolen := bytes.Replace(own, last(bad.card), last(victim.card), 1)
	if _, err := crypto.ParseCard(crypto.SignCard(root, stolen)); !errors.Is(err, crypto.ErrSignature) {
		t.Errorf("another site's key with the proof of its own card: error %v, want ErrSignature", err)
	}
	binary.BigEndian.PutUint64(own[4+1+ed25519.PublicKeySize:], bad.card.Serial+1)
	if _, err := crypto.ParseCard(crypto.SignCard(root, own)); !errors.Is(err, crypto.ErrSignature) {
		t.Errorf("the proof of another serial: error %v, want ErrSignature", err)
	}
}
