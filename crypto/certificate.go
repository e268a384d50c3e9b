package crypto

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"fmt"
	"math/big"
	"time"
)

// documentSigning is the extended key usage of certificates that sign documents (RFC 9336).
var documentSigning = asn1.ObjectIdentifier{1, 3, 6, 1, 5, 5, 7, 3, 36}

// ReportCertificate returns the key that signs the site's documents for programs that support X.509 but not Ed25519, such as PDF readers,
// and its self-signed certificate (ECDSA P-256), both for the signing key in force. They depend only on that signing key, so a reader
// that has accepted the certificate once will recognise it. title is the site's display name.
func (id *Identity) ReportCertificate(now time.Time, title string) (*x509.Certificate, *ecdsa.PrivateKey, error) {
	k, err := id.signer(now)
	if err != nil {
		return nil, nil, err
	}
	key, err := reportKey(k.seed)
	if err != nil {
		return nil, nil, err
	}
	site := id.Site()
	serial := sha256.Sum256(append([]byte(labelReportKey+"\x00serial\x00"), append(site[:], k.public...)...))
	serial[0] = serial[0]&0x7f | 1 // positive, and of constant length
	name := pkix.Name{CommonName: "Concordat " + site.Short()}
	if title != "" {
		name = pkix.Name{CommonName: title, OrganizationalUnit: []string{"Concordat " + site.Short()}}
	}
	template := &x509.Certificate{
		SerialNumber: new(big.Int).SetBytes(serial[:16]),
		Subject:      name,
		NotBefore:    k.from.Add(-Skew).Truncate(time.Second),
		NotAfter:     k.to.Add(Skew).Truncate(time.Second),
		KeyUsage:     x509.KeyUsageDigitalSignature | x509.KeyUsageContentCommitment,
		// Readers that do not know document signing look for email protection.
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageEmailProtection},
		UnknownExtKeyUsage:    []asn1.ObjectIdentifier{documentSigning},
		BasicConstraintsValid: true,
		SignatureAlgorithm:    x509.ECDSAWithSHA256,
	}
	// Without a random source, signing follows RFC 6979, so that key and content determine the signature.
	der, err := x509.CreateCertificate(nil, template, template, key.Public(), key)
	if err != nil {
		return nil, nil, fmt.Errorf("certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	return cert, key, err
}

// reportKey derives the key from the seed of a signing key. In one of four billion cases, a draw is not a scalar of the curve; reportKey
// then uses the next draw.
func reportKey(seed []byte) (*ecdsa.PrivateKey, error) {
	for i := byte(0); ; i++ {
		key, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), expand([32]byte(seed), labelReportKey, string(i)))
		if err == nil || i == 255 {
			return key, err
		}
	}
}
