package profile

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"

	"github.com/dchest/siphash"
)

// prfName is part of the digest of keyed schemes.
const prfName = "features siphash-2-4/1"

// prf replaces each feature with its image under a pseudo-random function, SipHash-2-4 (Aumasson and Bernstein 2012) with 128 bits
// derived from the scheme's key. The secrecy of keyed fingerprints depends on it alone. The hash functions of a sketch are designed for
// speed, and their seeds could be computed from fingerprints of known text.
type prf struct{ k0, k1 uint64 }

// newPRF returns the function for a key, or nil for the empty key.
func newPRF(key []byte) *prf {
	if len(key) == 0 {
		return nil
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte("concordat/profile/features/1\x00"))
	sum := mac.Sum(nil)
	return &prf{binary.LittleEndian.Uint64(sum), binary.LittleEndian.Uint64(sum[8:])}
}

// apply changes features in place; equal features remain equal.
func (p *prf) apply(features []uint64) {
	if p == nil {
		return
	}
	var b [8]byte
	for i, f := range features {
		binary.LittleEndian.PutUint64(b[:], f)
		features[i] = siphash.Hash(p.k0, p.k1, b[:])
	}
}
