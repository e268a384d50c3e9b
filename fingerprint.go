package concordat

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strconv"
)

// These constants are the geometry of a fingerprint. It is fixed. Every scheme uses the same 100 bits, so every fingerprint fits the same
// five fields of the index.
const (
	Bits     = 100 // bits of a fingerprint
	Bands    = 5   // bands of a fingerprint
	BandBits = 20  // bits of a band
	// Complete is the maximum distance at which two fingerprints are certain to share a whole band, since four differing bits cannot
	// affect all five bands (Manku, Jain and Das Sarma 2007, section 3).
	Complete = Bands - 1

	// Nibbles is the number of 4-bit groups; in schemes with b = 4, each is a hash.
	Nibbles = Bits / 4
	// CompleteNibbles is the maximum number of differing nibbles at which one-nibble probing ([ProbeOne]) is certain to find a pair,
	// because if at most nine differ, at least one band contains at most one of them.
	CompleteNibbles = 2*Bands - 1

	// FingerprintBytes is the length of the binary form.
	FingerprintBytes = 13
)

const (
	bandMask = 1<<BandBits - 1
	lowMask  = 1<<60 - 1
	highMask = 1<<40 - 1
)

// Fingerprint is the 100-bit sketch of a sentence. Word 0 contains bits 0 to 59 (bands 0 to 2), and word 1 contains bits 60 to 99 (bands
// 3 and 4); the other bits are zero. No band crosses a word boundary, and == compares fingerprints.
type Fingerprint [2]uint64

// FingerprintOf returns the fingerprint with the given bands; only the lower 20 bits of each are used.
func FingerprintOf(bands [Bands]uint32) Fingerprint {
	var f Fingerprint
	for i, b := range bands {
		f[i/3] |= uint64(b&bandMask) << (BandBits * (i % 3))
	}
	return f
}

// Band returns the 20 bits of band i, for 0 ≤ i < Bands.
func (f Fingerprint) Band(i int) uint32 {
	return uint32(f[i/3]>>(BandBits*(i%3))) & bandMask
}

// Distance returns the number of bits in which f and g differ, 0 to 100. Two fingerprints at
// distance Complete or less share at least one whole band, so an index finds them for certain.
// The fingerprints must come from one scheme; Distance cannot tell.
func (f Fingerprint) Distance(g Fingerprint) int {
	return bits.OnesCount64(f[0]^g[0]) + bits.OnesCount64(f[1]^g[1])
}

// NibbleDistance returns the number of 4-bit groups in which f and g differ, 0 to 25; in a scheme with b = 4, this is the number of
// differing hashes.
func (f Fingerprint) NibbleDistance(g Fingerprint) int {
	return differingNibbles(f[0]^g[0]) + differingNibbles(f[1]^g[1])
}

func differingNibbles(x uint64) int {
	x |= x >> 2
	x |= x >> 1
	return bits.OnesCount64(x & 0x1111111111111111)
}

// AppendBinary appends f as a 13-byte big-endian number with four leading zero bits (doc/format.md). It never fails.
func (f Fingerprint) AppendBinary(b []byte) ([]byte, error) {
	hi := f[1] << 20 >> 24      // bits 64 to 99
	low := f[0] | f[1]<<60      // bits 0 to 63
	b = append(b, byte(hi>>32)) // bits 96 to 99
	b = binary.BigEndian.AppendUint32(b, uint32(hi))
	return binary.BigEndian.AppendUint64(b, low), nil
}

// ParseFingerprint is the inverse of AppendBinary. It rejects other lengths and nonzero leading bits.
func ParseFingerprint(b []byte) (Fingerprint, error) {
	if len(b) != FingerprintBytes {
		return Fingerprint{}, fmt.Errorf("fingerprint has %d bytes, want %d", len(b), FingerprintBytes)
	}
	if b[0]&0xf0 != 0 {
		return Fingerprint{}, fmt.Errorf("fingerprint has more than %d bits", Bits)
	}
	hi := uint64(b[0])<<32 | uint64(binary.BigEndian.Uint32(b[1:]))
	low := binary.BigEndian.Uint64(b[5:])
	return Fingerprint{low & lowMask, (low>>60 | hi<<4) & highMask}, nil
}

// Halves returns the number as hi·2^64 + lo, with hi below 2^36. Benchmarks exchange fingerprints in this form.
func (f Fingerprint) Halves() (hi, lo uint64) {
	return f[1] >> 4, f[0] | f[1]<<60
}

// FingerprintFromHalves is the inverse of Halves; it uses only the lower 36 bits of hi.
func FingerprintFromHalves(hi, lo uint64) Fingerprint {
	return Fingerprint{lo & lowMask, (lo>>60 | hi<<4) & highMask}
}

// String returns the 25 hexadecimal digits of f, highest first.
func (f Fingerprint) String() string {
	hi, lo := f.Halves()
	return fmt.Sprintf("%09x%016x", hi, lo)
}

// MarshalText returns String.
func (f Fingerprint) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText reads the 25 hexadecimal digits of String.
func (f *Fingerprint) UnmarshalText(b []byte) error {
	if len(b) != Nibbles {
		return fmt.Errorf("fingerprint has %d characters, want %d hexadecimal digits", len(b), Nibbles)
	}
	hi, err := strconv.ParseUint(string(b[:9]), 16, 64)
	if err != nil {
		return fmt.Errorf("fingerprint %q is not hexadecimal", b)
	}
	lo, err := strconv.ParseUint(string(b[9:]), 16, 64)
	if err != nil {
		return fmt.Errorf("fingerprint %q is not hexadecimal", b)
	}
	*f = FingerprintFromHalves(hi, lo)
	return nil
}
