// Package cms makes and checks detached signatures in the form that PDF readers and OpenSSL understand:
// CMS SignedData (RFC 5652) over SHA-256, by an X.509 certificate.
//
// A good signature says that the holder of the certificate's key signed these bytes. Whose certificate it
// is the package does not say: that is the caller's to know.
package cms

import (
	"bytes"
	"crypto"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"errors"
	"fmt"

	"github.com/smallstep/pkcs7"
)

// ErrSignature says that the content is not what was signed.
var ErrSignature = errors.New("the content is not what was signed")

// signingCertificateV2 binds the signature to its certificate (RFC 5035), as PAdES wants it (ETSI EN 319
// 142-1, 6.3).
var signingCertificateV2 = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 47}

type essCertificate struct{ Hash []byte }

type signingCertificate struct{ Certificates []essCertificate }

// Overhead is the most bytes by which a signature is longer than its certificates.
const Overhead = 2048

// Sign returns a detached signature of content in DER, with the chain, whose first certificate is the
// key's. The key is ECDSA or RSA.
func Sign(content []byte, key crypto.Signer, chain []*x509.Certificate) ([]byte, error) {
	if len(chain) == 0 {
		return nil, errors.New("sign: no certificate")
	}
	s, err := pkcs7.NewSignedData(content)
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	s.SetDigestAlgorithm(pkcs7.OIDDigestAlgorithmSHA256)
	sum := sha256.Sum256(chain[0].Raw)
	err = s.AddSignerChain(chain[0], key, chain[1:], pkcs7.SignerInfoConfig{ExtraSignedAttributes: []pkcs7.Attribute{
		{Type: signingCertificateV2, Value: signingCertificate{[]essCertificate{{sum[:]}}}}}})
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	s.Detach()
	return s.Finish()
}

// Verify checks a detached signature in DER over content and returns the certificate that made it. It
// fails with ErrSignature if the content is another. It does not ask whether the certificate is
// trusted, nor whether it is in force now.
func Verify(der, content []byte) (*x509.Certificate, error) {
	p, err := pkcs7.Parse(der)
	if err != nil {
		return nil, fmt.Errorf("signature: %w", err)
	}
	p.Content = content
	c := p.GetOnlySigner()
	if c == nil {
		return nil, errors.New("signature: not of one certificate")
	}
	var mismatch *pkcs7.MessageDigestMismatchError
	switch err := p.Verify(); {
	case errors.As(err, &mismatch):
		return c, ErrSignature
	case err != nil:
		return c, fmt.Errorf("signature: %w", err)
	}
	var named signingCertificate
	sum := sha256.Sum256(c.Raw)
	if err := p.UnmarshalSignedAttribute(signingCertificateV2, &named); err != nil {
		return c, fmt.Errorf("signature: it does not name its certificate: %w", err)
	}
	if len(named.Certificates) == 0 || !bytes.Equal(named.Certificates[0].Hash, sum[:]) {
		return c, errors.New("signature: it names another certificate")
	}
	return c, nil
}
