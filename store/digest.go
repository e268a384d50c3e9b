package store

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"

	"concordat"
)

// TextHash returns the SHA-256 of a text, hexadecimal.
func TextHash(text string) string {
	h := sha256.Sum256([]byte(text))
	return hex.EncodeToString(h[:])
}

// FingerprintsForm names the form in which fingerprints of an epoch show a sentence to a partner.
func FingerprintsForm(e concordat.Epoch, s concordat.Scheme) string {
	return "fingerprints " + e.String() + " " + string(s)
}

// SentenceDigest names a sentence by its letters and digits alone, for the record of what partners
// were shown ([DB.Expose]).
func SentenceDigest(sentence string) Digest {
	h := sha256.New()
	h.Write([]byte("concordat/exposure/1\x00"))
	h.Write([]byte(strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, sentence)))
	return Digest(h.Sum(nil)[:len(Digest{})])
}
