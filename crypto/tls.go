package crypto

import (
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"slices"
	"time"
)

// Pin is the SHA-256 of a TLS key as encoded in a certificate (SubjectPublicKeyInfo, DER).
type Pin [32]byte

// TLS returns the certificate (DER) and key that the site currently presents as client and server.
func (id *Identity) TLS(now time.Time) (cert []byte, key ed25519.PrivateKey, err error) {
	for i := len(id.tls) - 1; i >= 0; i-- {
		if k := id.tls[i]; k.covers(now) {
			return k.cert, ed25519.NewKeyFromSeed(k.seed), nil
		}
	}
	return nil, nil, fmt.Errorf("TLS key: %w", ErrNoKey)
}

// PinOf returns the pin of a certificate's key (RawSubjectPublicKeyInfo of crypto/x509).
func PinOf(subjectPublicKeyInfo []byte) Pin { return sha256.Sum256(subjectPublicKeyInfo) }

// spkiPrefix is the DER encoding of an Ed25519 SubjectPublicKeyInfo up to the 32 bytes of the key (RFC 8410, section 4).
var spkiPrefix = []byte{0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00}

func tlsPin(key ed25519.PublicKey) Pin {
	return PinOf(append(append([]byte(nil), spkiPrefix...), key...))
}

// newTLSKey creates a key and its self-signed certificate. The certificate contains only the key; partners trust its pin on the card, and
// an observer of the connection learns no name from it.
func newTLSKey(t term, site SiteID, random io.Reader) (tlsKey, error) {
	seed, err := draw(random, ed25519.SeedSize)
	if err != nil {
		return tlsKey{}, err
	}
	key := ed25519.NewKeyFromSeed(seed)
	cert, err := selfSigned(key, serialOf(labelSite, site, key.Public().(ed25519.PublicKey)), t, random)
	if err != nil {
		return tlsKey{}, err
	}
	return tlsKey{term: t, seed: seed, cert: cert}, nil
}

// serialOf returns a serial number that shows the purpose of a key to anyone who knows the site.
func serialOf(label string, site SiteID, key ed25519.PublicKey) *big.Int {
	sum := sha256.Sum256(slices.Concat([]byte(label), site[:], key))
	return new(big.Int).SetBytes(sum[:16])
}

func selfSigned(key ed25519.PrivateKey, serial *big.Int, t term, random io.Reader) ([]byte, error) {
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: "concordat"},
		NotBefore:    t.from.Add(-Skew).Truncate(time.Second),
		NotAfter:     t.to.Add(Skew).Truncate(time.Second),
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		DNSNames:     []string{"concordat.invalid"},
	}
	cert, err := x509.CreateCertificate(random, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("certificate: %w", err)
	}
	return cert, nil
}

// GuestTLS returns a certificate (DER) and key for one visit to the site, because the caller fetches the card from a server not yet known
// and must not present a key that identifies the caller. To anyone who knows the site's name, the certificate shows that its bearer knows
// it too. It reveals nothing else, since every certificate has a new key.
func GuestTLS(to SiteID, now time.Time, random io.Reader) (cert []byte, key ed25519.PrivateKey, err error) {
	seed, err := draw(random, ed25519.SeedSize)
	if err != nil {
		return nil, nil, err
	}
	key = ed25519.NewKeyFromSeed(seed)
	day := now.UTC().Truncate(24 * time.Hour) // exact times could identify machines
	serial := serialOf(labelGuest, to, key.Public().(ed25519.PublicKey))
	cert, err = selfSigned(key, serial, term{from: day, to: day.Add(48 * time.Hour)}, random)
	return cert, key, err
}

// Guest reports whether GuestTLS made the certificate for a visit to the site. Proof of possession of its key is separate, as in TLS.
func (s SiteID) Guest(c *x509.Certificate) bool {
	key, ok := c.PublicKey.(ed25519.PublicKey)
	return ok && c.SerialNumber.Cmp(serialOf(labelGuest, s, key)) == 0
}
