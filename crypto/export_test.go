package crypto

import (
	"crypto/ed25519"
	"encoding/binary"
	"time"
)

// Resign puts id's name and signature on an envelope, as a member can who holds its bytes.
func Resign(id *Identity, env []byte, now time.Time) []byte {
	k, err := id.signer(now)
	if err != nil {
		panic(err)
	}
	b := append([]byte(nil), env[:len(env)-ed25519.SignatureSize]...)
	site := id.Site()
	copy(b[8:], site[:])
	binary.BigEndian.PutUint32(b[76:], k.epoch)
	return append(b, ed25519.Sign(ed25519.NewKeyFromSeed(k.seed), signed(b))...)
}

// Plain returns what a keystore of id holds.
func Plain(id *Identity) []byte { return id.plain() }

// EpochSecret returns the secret of an epoch.
func EpochSecret(e FederationEpoch) [32]byte { return e.secret }

// Readdress puts id into the recipient's place of an envelope.
func Readdress(id *Identity, env []byte) []byte {
	b := append([]byte(nil), env...)
	site := id.Site()
	copy(b[40:], site[:])
	return b
}
